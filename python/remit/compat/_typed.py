"""Converts Python values to JSON text with their types and back, on both sides of a jail.

The host imports this file, and the jail receives its text, so it needs only the standard library. Received text only
becomes data, never code; each type is a row of a table.
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
    """A value whose type cannot be passed."""


def _png(image: Any) -> str:
    out = io.BytesIO()
    image.save(out, format="PNG")
    return base64.b64encode(out.getvalue()).decode()


def _image(data: str) -> Any:
    import PIL.Image

    # Accept only PNG: the bytes are untrusted, and each format has its own decoder.
    return PIL.Image.open(io.BytesIO(base64.b64decode(data)), formats=["PNG"])


def _array(data: Any) -> Any:
    import numpy

    rows, kind = data
    # Accept only plain numbers: the name of a type can request any amount of memory.
    if numpy.dtype(kind).kind not in "biufc" or numpy.dtype(kind).itemsize > 32:
        raise CannotPass(f"an array of {kind} cannot be passed")
    return numpy.array(rows, dtype=kind)


def _moment(kind: Any) -> Tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    return lambda value: value.isoformat(), lambda data: kind.fromisoformat(data)


def _items(kind: Any) -> Tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    return lambda value: [pack(item) for item in value], lambda data: kind(unpack(item) for item in data)


# name: (type, to data, from data). The order matters, since a datetime is also a date.
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
# Types of other packages. These are never imported here: a value of such a type exists only if its package is loaded.
FOREIGN: Dict[str, Tuple[str, str, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "ndarray": ("numpy", "ndarray", lambda value: [value.tolist(), str(value.dtype)], _array),
    "image": ("PIL.Image", "Image", _png, _image),
}


def pack(value: Any) -> Any:
    """Convert a value into JSON data."""
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
    raise CannotPass(f"a value of the type {type(value).__name__} cannot be passed: convert it to plain data")


def unpack(data: Any) -> Any:
    """Convert back; a dataclass becomes a dictionary."""
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
    """Write a value as text for the other side."""
    return json.dumps(pack(value))


def loads(text: str) -> Any:
    """Read a value from a text of the other side."""
    return unpack(json.loads(text))
