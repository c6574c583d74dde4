"""Python values as JSON text that keeps their types, for both sides of a wall.

The host imports this file, and the code in the jail gets its text: so it needs nothing but the standard library. Only
data is made of what the other side has sent, never code; each kind of it is a row of a table.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime
import decimal
import io
import json
import pathlib
import sys
from typing import Any, Callable, Dict, Tuple

MARK = "__type__"


class CannotPass(TypeError):
    """A value of a type that does not cross the wall."""


def _png(image: Any) -> str:
    out = io.BytesIO()
    image.save(out, format="PNG")
    return base64.b64encode(out.getvalue()).decode()


def _image(data: str) -> Any:
    import PIL.Image

    # No other format: each has a decoder of its own, and the bytes are foreign.
    return PIL.Image.open(io.BytesIO(base64.b64decode(data)), formats=["PNG"])


def _array(data: Any) -> Any:
    import numpy

    rows, kind = data
    # Plain numbers only: the name of a type can ask for any amount of memory.
    if numpy.dtype(kind).kind not in "biufc" or numpy.dtype(kind).itemsize > 32:
        raise CannotPass(f"an array of {kind} cannot be passed")
    return numpy.array(rows, dtype=kind)


def _moment(kind: Any) -> Tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    return lambda value: value.isoformat(), lambda data: kind.fromisoformat(data)


def _items(kind: Any) -> Tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    return lambda value: [pack(item) for item in value], lambda data: kind(unpack(item) for item in data)


# name: (type, to data, from data). A datetime is a date too, so the order counts.
KINDS: Dict[str, Tuple[Any, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "tuple": (tuple, *_items(tuple)),
    "set": (set, *_items(set)),
    "frozenset": (frozenset, *_items(frozenset)),
    "bytes": (bytes, lambda value: base64.b64encode(value).decode(), lambda data: base64.b64decode(data)),
    "complex": (complex, lambda value: [value.real, value.imag], lambda data: complex(*data)),
    "datetime": (datetime.datetime, *_moment(datetime.datetime)),
    "date": (datetime.date, *_moment(datetime.date)),
    "time": (datetime.time, *_moment(datetime.time)),
    "timedelta": (datetime.timedelta, lambda value: value.total_seconds(), lambda data: datetime.timedelta(seconds=data)),
    "Decimal": (decimal.Decimal, str, decimal.Decimal),
    "Path": (pathlib.PurePath, str, pathlib.Path),
}
# Of packages that are not looked for: who has such a value has loaded them.
FOREIGN: Dict[str, Tuple[str, str, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "ndarray": ("numpy", "ndarray", lambda value: [value.tolist(), str(value.dtype)], _array),
    "image": ("PIL.Image", "Image", _png, _image),
}


def pack(value: Any) -> Any:
    """What JSON can hold."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, list):
        return [pack(item) for item in value]
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value) and MARK not in value:
            return {key: pack(item) for key, item in value.items()}
        return {MARK: "dict", "data": [[pack(key), pack(item)] for key, item in value.items()]}
    for name, (kind, to_data, _) in KINDS.items():
        if isinstance(value, kind):
            return {MARK: name, "data": to_data(value)}
    for name, (module, kind_name, to_data, _) in FOREIGN.items():
        if module in sys.modules and isinstance(value, getattr(sys.modules[module], kind_name)):
            return {MARK: name, "data": to_data(value)}
    if "numpy" in sys.modules and isinstance(value, sys.modules["numpy"].generic):
        return pack(value.item())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: pack(getattr(value, field.name)) for field in dataclasses.fields(value)}
    raise CannotPass(f"a value of the type {type(value).__name__} cannot be passed: make plain data of it")


def unpack(data: Any) -> Any:
    """The value again; a dataclass is a dictionary now."""
    if isinstance(data, list):
        return [unpack(item) for item in data]
    if not isinstance(data, dict):
        return data
    name = data.get(MARK)
    if name is None:
        return {key: unpack(item) for key, item in data.items()}
    if name == "dict":
        return {unpack(key): unpack(item) for key, item in data["data"]}
    from_data = KINDS[name][2] if name in KINDS else FOREIGN[name][3]
    return from_data(data["data"])


def dumps(value: Any) -> str:
    """A text for the other side."""
    return json.dumps(pack(value))


def loads(text: str) -> Any:
    """The value of a text from the other side."""
    return unpack(json.loads(text))
