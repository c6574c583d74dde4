"""Tools: functions of the host that code may call. Each call runs in a separate thread."""

from __future__ import annotations

import inspect
import json
import threading
import typing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterable, Optional, Union

    from . import _core

    Answer = Union[bool, str]

# In the order of enum remit_approval and enum remit_answer.
APPROVALS = "never", "always", "first"
ANSWERS = "no", "once", "run", "always"

_PLAIN: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    list: {"type": "array"},
    dict: {"type": "object"},
}
SUPPORTED = "str, int, float, bool, None, list, dict, list[...], dict[str, ...], Optional, Union, Literal and Any"


def _schema(annotation: Any, place: str) -> dict[str, Any]:
    if annotation is typing.Any:
        return {}
    if annotation in _PLAIN:
        return dict(_PLAIN[annotation])
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal:
        return {"enum": list(args)}
    if origin is typing.Union or type(annotation).__name__ == "UnionType":
        return {"anyOf": [_schema(arg, place) for arg in args]}
    if origin in (list, tuple) and len(args) == 1 or str(origin).endswith("abc.Sequence'>"):
        return {"type": "array", "items": _schema(args[0], place)}
    if origin is dict and args[0] is str:
        return {"type": "object", "additionalProperties": _schema(args[1], place)}
    raise TypeError(f"{place}: the type {annotation!r} is not supported: it must be made of {SUPPORTED}")


def schema_of(function: Callable[..., Any], name: str) -> dict[str, Any]:
    """Make a JSON Schema of the arguments from their type hints. Every argument must have one."""
    try:
        hints = typing.get_type_hints(function)
    except NameError as e:
        raise TypeError(f"tool {name}: a type hint uses an undefined name: {e}") from None
    properties, required = {}, []
    for parameter in inspect.signature(function).parameters.values():
        place = f"tool {name}: argument {parameter.name!r}"
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"{place}: it must be possible to pass it by name")
        if parameter.name not in hints:
            raise TypeError(f"{place}: it needs a type hint, made of {SUPPORTED}")
        properties[parameter.name] = _schema(hints[parameter.name], place)
        if parameter.default is parameter.empty:
            required.append(parameter.name)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


class Tool:
    """A function of the host that code may call by its name.

    function: a function with type hints for all arguments, whose result can be converted to JSON. It may be `async`.
    approval: when on_question is called: "never", "always", or "first", which means only before the first call of a run.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: Optional[str] = None,
        description: Optional[str] = None,
        approval: str = "never",
        schema: Optional[dict[str, Any]] = None,
    ):
        if not callable(function):
            raise TypeError(f"a tool must be a function, not {type(function).__name__}")
        self.function = function
        self.name = str(name or getattr(function, "__name__", ""))
        if not self.name.isidentifier():
            raise ValueError(f"{self.name!r} cannot be the name of a tool: it must be an identifier")
        if approval not in APPROVALS:
            raise ValueError(f"tool {self.name}: approval={approval!r}: it must be one of {', '.join(map(repr, APPROVALS))}")
        self.approval = approval
        self.description = inspect.cleandoc(description or function.__doc__ or "")
        self.schema = schema if schema is not None else schema_of(function, self.name)

    def _run_call(self, call: _core.Call, arguments: bytes) -> None:
        try:
            value = self.function(**json.loads(arguments))
            if inspect.isawaitable(value):
                value = _await(value)
            reply = json.dumps(value, allow_nan=False).encode()
        except Exception as e:  # the code sees the error
            call.fail(f"{type(e).__name__}: {e}".replace("\0", "").encode(errors="replace"))
            return
        call.reply(reply)

    def _start_call(self, call: _core.Call, arguments: bytes) -> None:
        threading.Thread(target=self._run_call, args=(call, arguments), name=f"remit {self.name}", daemon=True).start()

    def for_core(self) -> tuple[bytes, bytes, bytes, int, Callable[[_core.Call, bytes], None]]:
        """The form for the extension."""
        schema = json.dumps(self.schema).encode()
        return self.name.encode(), self.description.encode(), schema, APPROVALS.index(self.approval), self._start_call


def _await(value: Any) -> Any:
    import asyncio

    async def wait() -> Any:
        return await value

    return asyncio.run(wait())


class Question:
    """A request of the code that must be approved: `kind` is "tool" or "host", `subject` is its name, `detail` the
    arguments of a tool as JSON."""

    def __init__(self, kind: str, subject: str, detail: Optional[str]):
        self.kind = kind
        self.subject = subject
        self.detail = detail

    def __repr__(self) -> str:
        return f"Question({self.kind!r}, {self.subject!r}, {self.detail!r})"


def convert_tools(tools: Iterable[Union[Tool, Callable[..., Any]]]) -> tuple[Any, ...]:
    made = [tool if isinstance(tool, Tool) else Tool(tool) for tool in tools]
    names = [tool.name for tool in made]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"tools: two tools have the name {name!r}")
    return tuple(tool.for_core() for tool in made)


def question_callback(on_question: Optional[Callable[[Question], Answer]]) -> Optional[Callable[..., int]]:
    """Convert the answers False, True (once), "run" and "always"."""
    if on_question is None:
        return None
    if not callable(on_question):
        raise TypeError(f"on_question must be callable, not {type(on_question).__name__}")
    callback = on_question

    def answer_question(kind: bytes, subject: bytes, detail: Optional[str]) -> int:
        answer = callback(Question(kind.decode(), subject.decode(errors="replace"), detail))
        if isinstance(answer, bool):
            return int(answer)
        if answer in ANSWERS:
            return ANSWERS.index(answer)
        raise TypeError(f"on_question returned {answer!r}: it must be True, False or one of {', '.join(map(repr, ANSWERS))}")

    return answer_question
