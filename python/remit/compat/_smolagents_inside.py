"""The part of RemitPythonExecutor that runs in the jail: tools as functions, variables, values, and the check of imports.

This file is not imported: its text runs after that of _typed.py, in a module with `bridge`, the only function of the host,
and `namespace`, the namespace of the code. It serves only convenience, not isolation.
"""

import _ast
import builtins

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List

    from ._typed import dumps, loads, pack

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


# ---- values of steps ----

# Remit's runner, whose builtin display() belongs to its module "cell".
_cell = builtins.display.__globals__  # type: ignore[attr-defined]
_display = _cell["own_module"]("display")
_parts_of = _cell["parts_of"]
# The same name as in smolagents.py.
TYPED = "application/vnd.remit.typed+json"
# No program can use this name.
VALUE = "<value>"


def _place(node: "Any") -> "Dict[str, int]":
    return {key: getattr(node, key) for key in ("lineno", "col_offset", "end_lineno", "end_col_offset")}


def _assign(value: "Any", store: "Any") -> "Callable[[Dict[str, Any]], Any]":
    def run(names: "Dict[str, Any]") -> "Any":
        names[VALUE] = found = _cell["evaluate"]([value], names)
        try:
            _cell["evaluate"]([store], names)
        finally:
            names.pop(VALUE, None)
        return found

    return run


def parts_of(tree: "Any", name: str, flags: int) -> "List[Any]":
    """Compile a step. If its last statement is an assignment, the assigned value is the value of the step."""
    last: "Any" = tree.body[-1] if tree.body else None
    if type(last) is _ast.AugAssign and type(last.target) is _ast.Name:
        target = _ast.Name(last.target.id, _ast.Load(), **_place(last.target))
        return [*_parts_of(tree, name, flags), compile(_ast.Expression(target), name, "eval", flags, True)]
    if type(last) not in (_ast.Assign, _ast.AnnAssign) or last.value is None:
        return _parts_of(tree, name, flags)  # type: ignore[no-any-return]
    before = _parts_of(_ast.Module(tree.body[:-1], []), name, flags) if tree.body[1:] else []
    value = compile(_ast.Expression(last.value), name, "eval", flags, True)
    last.value = _ast.Name(VALUE, _ast.Load(), **_place(last.value))
    return [*before, _assign(value, compile(_ast.Module([last], []), name, "exec", flags, True))]


def give_value(value: "Any") -> None:
    """Send the value of a step, also as typed data if it can pass."""
    bundle = _display.bundle_of(value, int(_cell["limits"]["value_bytes"]))
    bundle.attempt(TYPED, pack, value)
    _display.send("value", bundle)


_cell["parts_of"] = parts_of
_display.give_value = give_value
