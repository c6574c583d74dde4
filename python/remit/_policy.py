"""Policies: checks keywords and documents against the table of fields."""

from __future__ import annotations

import os
from ._errors import PolicyError
from ._fields import FIELDS

TYPE_CHECKING = False  # importing typing would take longer than the rest of this module
if TYPE_CHECKING:
    import json
    from typing import Any, Callable, Iterator, Mapping, NoReturn, Optional, Union

    from typing_extensions import Unpack

    from ._fields import PolicyFields

    PolicyLike = Union["Policy", Mapping[str, Any], None]

_NAMES = {entry[0] for entry in FIELDS.values()} | {"preset"}
_MODES = "ro", "rw", "overlay", "direct"


def _wrong(keyword: str, value: object, wanted: str) -> NoReturn:
    shown = repr(value)
    if len(shown) > 60:
        shown = shown[:57] + "..."
    raise PolicyError(f"{keyword}={shown}: it must be {wanted}", where=FIELDS[keyword][0] if keyword in FIELDS else keyword)


def _nearest(name: str, known: Any) -> str:
    """Returns `: did you mean "memory"?` for a misspelt name, or "" if no name is similar."""
    import difflib

    near = difflib.get_close_matches(name, list(known), 1)
    return f': did you mean "{near[0]}"?' if near else ""


def _unknown_keyword(name: str) -> TypeError:
    for keyword, entry in FIELDS.items():
        if entry[0] == name:
            return TypeError(f'unknown field "{name}": the keyword is "{keyword}"')
    return TypeError(f'unknown field "{name}"{_nearest(name, (*FIELDS, "preset"))}')


def _unknown_name(name: str) -> str:
    if name in FIELDS:
        return f'unknown field "{name}": in a document its name is "{FIELDS[name][0]}"'
    return f'unknown field "{name}"{_nearest(name, (*_NAMES, *FIELDS))}'


# ---- one value of each type ----


def _bool(keyword: str, value: Any) -> Any:
    return value if isinstance(value, bool) else _wrong(keyword, value, "True or False")


def _range(keyword: str, unit: str) -> str:
    _, _, least, most, unlimited, _ = FIELDS[keyword]
    return f"{least:,} to {most:,}{unit}" + (' or "unlimited"' if unlimited else "")


def _number(unit: str, example: str) -> Callable[[str, Any], Any]:
    """Texts are passed on: the keeper parses them."""

    def convert(keyword: str, value: Any) -> Any:
        if isinstance(value, str) and value:
            return value
        wanted = f"a number, {_range(keyword, unit)}{example}"
        if isinstance(value, bool) or not isinstance(value, (int, float) if unit == " seconds" else int):
            _wrong(keyword, value, wanted)
        _, _, least, most, _, _ = FIELDS[keyword]
        if not (least is None or most is None or least <= value <= most):
            _wrong(keyword, value, wanted)
        return value

    return convert


_seconds = _number(" seconds", ', or a text like "1.5s"')


def _time(keyword: str, value: Any) -> Any:
    # Compare the name of the type, since importing datetime takes time.
    return _seconds(keyword, value.total_seconds() if type(value).__name__ == "timedelta" else value)


def _choice(keyword: str, value: Any) -> Any:
    choices = FIELDS[keyword][5]
    return value if value in choices else _wrong(keyword, value, "one of " + ", ".join(map(repr, choices)))


def _switch(keyword: str, value: Any) -> Any:
    choices = FIELDS[keyword][5]
    if isinstance(value, bool) or value in choices:
        return value
    *others, last = map(repr, choices)
    _wrong(keyword, value, f"{', '.join(['True', 'False', *others])} or {last}")


def _text(keyword: str, value: Any) -> Any:
    if not isinstance(value, (str, os.PathLike)) or not os.fspath(value):
        _wrong(keyword, value, "a name or a path")
    value = os.fspath(value)
    return os.path.abspath(value) if "/" in value else value


def _items(keyword: str, value: Any, wanted: str) -> list[Any]:
    # Refuse a text, which is a list of letters but never meant as such.
    if isinstance(value, (str, bytes, dict)) or isinstance(value, os.PathLike):
        _wrong(keyword, value, wanted)
    try:
        return list(value)
    except TypeError:
        _wrong(keyword, value, wanted)


def _list(keyword: str, value: Any) -> Any:
    items = _items(keyword, value, "a list of texts")
    for item in items:
        if not isinstance(item, str) or not item:
            _wrong(keyword, value, "a list of texts")
    return items


def _path(keyword: str, value: Any) -> str:
    if not isinstance(value, (str, os.PathLike)) or not os.fspath(value):
        _wrong(keyword, value, "a path")
    path = os.path.abspath(os.fspath(value))
    if not os.path.lexists(path):
        raise PolicyError(f"{keyword}: {path} does not exist", where=FIELDS[keyword][0])
    return path


def _paths(keyword: str, value: Any) -> Any:
    return [_path(keyword, item) for item in _items(keyword, value, "a list of paths")]


def _place(keyword: str, value: Any) -> str:
    """A path in the jail, which need not exist on the host; the keeper checks it."""
    if not isinstance(value, (str, os.PathLike)) or not os.fspath(value):
        _wrong(keyword, value, "an absolute path in the jail")
    return os.fspath(value)


def _places(keyword: str, value: Any) -> Any:
    return [_place(keyword, item) for item in _items(keyword, value, "a list of absolute paths in the jail")]


def _mount(keyword: str, value: Any) -> dict[str, Any]:
    wanted = "a list of (host, jail) or (host, jail, mode), of texts \"HOST:JAIL[:MODE]\" or of dicts with these keys"
    if isinstance(value, str):
        value = value.split(":")
    if isinstance(value, (list, tuple)):
        if not 2 <= len(value) <= 3:
            _wrong(keyword, value, wanted)
        value = dict(zip(("host", "jail", "mode"), value))
    if not hasattr(value, "keys") or not {"host", "jail"} <= set(value.keys()) <= {"host", "jail", "mode", "max_bytes"}:
        _wrong(keyword, value, wanted)
    mount = dict(value)
    mount["host"] = _path(keyword, mount["host"])
    mount["jail"] = os.fspath(mount["jail"])
    if mount.setdefault("mode", "ro") not in _MODES:
        _wrong(keyword, mount["mode"], "of mode " + ", ".join(_MODES))
    return mount


def _mounts(keyword: str, value: Any) -> Any:
    return [_mount(keyword, item) for item in _items(keyword, value, "a list")]


def _env(keyword: str, value: Any) -> Any:
    wanted = "a dict of texts; the value None copies the variable of this process"
    if not hasattr(value, "items"):
        _wrong(keyword, value, wanted)
    out = {}
    for name, text in value.items():
        if not isinstance(name, str) or not isinstance(text, (str, type(None))):
            _wrong(keyword, value, wanted)
        if text is None:
            text = os.environ.get(name)
            if text is None:
                raise PolicyError(f"{keyword}: this process has no variable {name}", where="env")
        out[name] = text
    return out


_CONVERT: dict[str, Callable[[str, Any], Any]] = {
    "bool": _bool,
    "bytes": _number(" bytes", ', or a text like "512M"'),
    "time": _time,
    "count": _number("", ""),
    "choice": _choice,
    "switch": _switch,
    "text": _text,
    "list": _list,
    "paths": _paths,
    "place": _place,
    "places": _places,
    "mounts": _mounts,
    "env": _env,
}


def _field(keyword: str, value: Any) -> tuple[str, Any]:
    entry = FIELDS.get(keyword)
    if entry:
        return entry[0], _CONVERT[entry[1]](keyword, value)
    if keyword != "preset":
        raise _unknown_keyword(keyword)
    if not isinstance(value, str):
        _wrong(keyword, value, "the name of a preset")
    return keyword, value


_made: list[json.JSONEncoder] = []


def _encoder() -> json.JSONEncoder:
    """The encoder is created when it is first needed, since importing json takes time."""
    if not _made:
        import json

        _made.append(json.JSONEncoder(allow_nan=False))
    return _made[0]


class Policy:
    """What code may do: a flat document of fields, each of which is enforced.

    `Policy(memory="1G", read=["data"])` uses the short names of fields, which are the flags of the command.
    `Policy(document)` takes a policy document, which has the same names as results; keywords override it. Other fields have
    their defaults. A policy is immutable; `policy.but(timeout=5)` is a changed copy.
    """

    __slots__ = ("_document", "_json")

    def __init__(self, document: PolicyLike = None, /, **fields: Unpack[PolicyFields]):
        self._document: dict[str, Any] = {}
        self._json: Optional[str] = None
        if isinstance(document, Policy):
            self._document.update(document._document)
        elif document is not None:
            if not hasattr(document, "keys"):
                raise TypeError(f"a policy is a Policy or a dict, not {type(document).__name__}")
            for name in document.keys():
                if name not in _NAMES:
                    raise PolicyError(_unknown_name(str(name)))
            self._document.update(document)
        for keyword, value in fields.items():
            name, converted = _field(keyword, value)
            self._document[name] = converted

    def but(self, **fields: Unpack[PolicyFields]) -> Policy:
        """A copy of this policy with these fields changed."""
        return Policy(self, **fields)

    def to_dict(self) -> dict[str, Any]:
        """The policy document, which contains only the fields that were set."""
        import copy

        return copy.deepcopy(self._document)

    def to_json(self) -> str:
        """The policy document as JSON."""
        if self._json is None:
            try:
                self._json = _encoder().encode(self._document)
            except (TypeError, ValueError) as e:
                raise PolicyError(f"the policy document cannot be written as JSON: {e}") from None
        return self._json

    def keys(self) -> Any:
        """The names of the fields that were set."""
        return self._document.keys()

    def __getitem__(self, name: str) -> Any:
        return self._document[name]

    def __contains__(self, name: object) -> bool:
        return name in self._document

    def __iter__(self) -> Iterator[str]:
        return iter(self._document)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Policy) and self._document == other._document

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __repr__(self) -> str:
        keywords = {entry[0]: keyword for keyword, entry in FIELDS.items()}
        return "Policy(" + ", ".join(f"{keywords.get(k, k)}={v!r}" for k, v in self._document.items()) + ")"

    def __reduce__(self) -> tuple[object, ...]:
        return Policy, (self._document,)
