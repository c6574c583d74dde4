"""The half of RemitPythonExecutor that lives in the jail: tools as functions, variables, and what may be imported.

It is no module here: its text is run behind that of _typed.py, in a module that has `bridge`, the one function of the
host, and `namespace`, that of the code. All of it is for the code's convenience, and none of it a wall.
"""

import builtins

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List

    from ._typed import dumps, loads

    bridge: Callable[..., Any]
    namespace: Dict[str, Any]

_import = builtins.__import__
_authorized: "List[str]" = []


class FinalAnswerException(BaseException):
    """Ends the code when it has given its answer; no `except Exception` stops it."""


def _tool(name: str) -> "Callable[..., Any]":
    def call(*args: "Any", **kwargs: "Any") -> "Any":
        given = dumps([args, kwargs])
        try:
            reply = bridge(tool=name, given=given)
            # Where an event loop runs a call has to be waited for; these tools are plain functions.
            value, is_final = loads(reply if isinstance(reply, str) else reply.result())
        except Exception as e:
            if type(e).__name__ != "ToolError":
                raise
            raise type(e)(name, e.message) from None  # type: ignore[attr-defined]
        if is_final:
            raise FinalAnswerException
        return value

    call.__name__ = call.__qualname__ = name
    return call


def set_tools(text: str) -> None:
    """Functions for the tools, and modules that may be imported; each time anew."""
    names, _authorized[:] = loads(text)
    namespace.update((name, _tool(name)) for name in names)
    builtins.__import__ = _checked


def set_variables(text: str) -> None:
    namespace.update(loads(text))


def _is_authorized(path: str) -> bool:
    """ "numpy.random" is for itself and what it stands in; "numpy.*" for all of numpy."""
    for known in _authorized:
        if known == "*" or known == path or known.startswith(f"{path}."):
            return True
        if known.endswith(".*") and f"{path}.".startswith(known[:-1]):
            return True
    return False


def _checked(name: str, globals: "Any" = None, locals: "Any" = None, fromlist: "Any" = (), level: int = 0) -> "Any":
    """What the code itself imports is looked at, and not what modules import."""
    if globals is namespace and not level and not _is_authorized(name):
        raise ImportError(f"Import of {name} is not allowed. Authorized imports are: {_authorized}")
    return _import(name, globals, locals, fromlist, level)
