"""The part of RemitPythonExecutor that runs in the jail: tools as functions, variables, and the check of imports.

This file is not imported: its text runs after that of _typed.py, in a module with `bridge`, the only function of the host,
and `namespace`, the namespace of the code. It serves only convenience, not isolation.
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
    """Ends the code once it has given its answer; `except Exception` does not catch it."""


def _tool(name: str) -> "Callable[..., Any]":
    def call(*args: "Any", **kwargs: "Any") -> "Any":
        given = dumps([args, kwargs])
        try:
            reply = bridge(tool=name, given=given)
            # If an event loop runs, the bridge returns a future, but these tools are plain functions.
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
    """Define functions for the tools, and replace the list of authorized imports."""
    names, _authorized[:] = loads(text)
    namespace.update((name, _tool(name)) for name in names)
    builtins.__import__ = _checked


def set_variables(text: str) -> None:
    namespace.update(loads(text))


def _is_authorized(path: str) -> bool:
    """ "numpy.random" authorizes itself and its parent packages; "numpy.*" authorizes all of numpy."""
    for known in _authorized:
        if known == "*" or known == path or known.startswith(f"{path}."):
            return True
        if known.endswith(".*") and f"{path}.".startswith(known[:-1]):
            return True
    return False


def _checked(name: str, globals: "Any" = None, locals: "Any" = None, fromlist: "Any" = (), level: int = 0) -> "Any":
    """Check imports of the code itself, but not those of other modules."""
    if globals is namespace and not level and not _is_authorized(name):
        raise ImportError(f"Import of {name} is not allowed. Authorized imports are: {_authorized}")
    return _import(name, globals, locals, fromlist, level)
