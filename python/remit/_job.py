"""Jobs: checks the arguments of a run and converts them for the extension."""

from __future__ import annotations

import os
import sys

from ._errors import PolicyError
from ._policy import Policy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterable, Mapping, Optional, Sequence, TypedDict, Union

    from ._fields import PolicyFields
    from ._policy import PolicyLike
    from ._tools import Answer, Question, Tool

    Input = Union[str, bytes, os.PathLike[str]]
    OnOutput = Callable[[str, str], object]

    class _Given(TypedDict, total=False):
        name: Optional[str]
        stdin: Any
        args: Optional[Sequence[str]]
        inputs: Optional[Mapping[str, Input]]
        on_question: Optional[Callable[[Question], Answer]]

    class CellArguments(_Given, total=False):
        """The keywords of Sandbox.run()."""

        on_output: Optional[OnOutput]

    class JobArguments(PolicyFields, _Given, total=False):
        """The keywords of remit.stream()."""

        policy: PolicyLike
        artifacts: Optional[Union[str, os.PathLike[str]]]
        tools: Iterable[Union[Tool, Callable[..., Any]]]

    class RunArguments(JobArguments, total=False):
        """The keywords of remit.run()."""

        on_output: Optional[OnOutput]

STREAMS = {1: "stdout", 2: "stderr"}


def to_bytes(argument: str, value: Any, wanted: str) -> bytes:
    if isinstance(value, str):
        try:
            return value.encode()
        except UnicodeEncodeError as e:
            raise PolicyError(f"{argument}: not valid text: {e}") from None
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise TypeError(f"{argument} must be {wanted}, not {type(value).__name__}")


def path_bytes(argument: str, value: Any) -> bytes:
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{argument} must be a path, not {type(value).__name__}")
    path = os.fsencode(value)
    if not path or b"\0" in path:
        raise PolicyError(f"{argument}: {value!r} is not a valid path")
    return path


def convert_inputs(inputs: Optional[Mapping[str, Input]]) -> tuple[tuple[bytes, Optional[bytes], Optional[bytes]], ...]:
    """Text or bytes are the content of a file; a path object names a file of the host."""
    if inputs is None:
        return ()
    if not hasattr(inputs, "items"):
        raise TypeError(f"inputs must be a dict of contents by path, not {type(inputs).__name__}")
    files: list[tuple[bytes, Optional[bytes], Optional[bytes]]] = []
    for path, content in inputs.items():
        inside = path_bytes("inputs", path)
        if isinstance(content, os.PathLike):
            if not os.path.isfile(content):
                raise PolicyError(f"inputs[{path!r}]: {os.fspath(content)} is not a regular file")
            files.append((inside, path_bytes("inputs", content), None))
        else:
            files.append((inside, None, to_bytes(f"inputs[{path!r}]", content, "str, bytes or a path object")))
    return tuple(files)


def convert_args(args: Optional[Sequence[str]]) -> tuple[bytes, ...]:
    if args is None:
        return ()
    if isinstance(args, (str, bytes)):
        raise TypeError("args must be a list of texts, not a single text")
    out = []
    for arg in args:
        text = to_bytes("args", arg, "a list of texts")
        if b"\0" in text:
            raise PolicyError(f"args: {arg!r} contains a NUL byte")
        out.append(text)
    return tuple(out)


def convert_stdin(stdin: Any) -> tuple[bytes, int]:
    """Returns bytes, and a descriptor that is read during the run, or -1."""
    if stdin is None:
        return b"", -1
    if hasattr(stdin, "fileno"):
        return b"", stdin.fileno()
    return to_bytes("stdin", stdin, "str, bytes or an open file"), -1


# Making a policy takes longer than the rest of a job, and most programs use the same few policies.
RECENT_MAX = 64
_recent: dict[tuple[object, ...], Policy] = {}


def _key_of(policy: PolicyLike, fields: dict[str, Any]) -> Optional[tuple[object, ...]]:
    """The key of a policy in the cache; None if the policy depends on anything else: a list, the current folder, the
    environment."""
    if isinstance(policy, Policy) and not fields:
        return sys.executable, policy
    if policy is not None or "python" in fields:
        return None
    # A dict treats True and 1 as equal; a policy does not.
    key: list[object] = [sys.executable]
    for keyword, value in fields.items():
        if type(value) not in (str, int, float, bool):
            return None
        key += (keyword, type(value), value)
    return tuple(key)


def names_tier(policy: PolicyLike, fields: dict[str, Any], tier: str) -> bool:
    if "tier" in fields:
        return bool(fields["tier"] == tier)
    return policy is not None and hasattr(policy, "keys") and "tier" in policy.keys() and bool(policy["tier"] == tier)


def resolve_policy(policy: PolicyLike, fields: dict[str, Any]) -> Policy:
    key = _key_of(policy, fields)
    if key is not None and key in _recent:
        return _recent[key]
    # By default the code runs with the current interpreter and its packages. The tier wasm has only its own.
    named = "python" in fields or (policy is not None and hasattr(policy, "keys") and "python" in policy.keys())
    if sys.executable and not named and not names_tier(policy, fields, "wasm"):
        fields["python"] = sys.executable
    made = Policy(policy, **fields) if fields or not isinstance(policy, Policy) else policy
    if key is not None:
        if len(_recent) >= RECENT_MAX:
            _recent.clear()
        _recent[key] = made
    return made


def output_callback(on_output: Optional[OnOutput]) -> Optional[Callable[[int, bytes], object]]:
    """Decode incrementally, since the border of two pieces may cut a character."""
    if on_output is None:
        return None
    if not callable(on_output):
        raise TypeError(f"on_output must be callable, not {type(on_output).__name__}")
    import codecs

    make = codecs.getincrementaldecoder("utf-8")
    decoders = {stream: make("replace") for stream in STREAMS}
    callback: OnOutput = on_output

    def pass_on(stream: int, piece: bytes) -> None:
        text = decoders[stream].decode(piece)
        if text:
            callback(STREAMS[stream], text)

    return pass_on


class Cell:
    """The arguments of a cell, in the form for the extension."""

    __slots__ = ("arguments",)

    def __init__(
        self,
        code: Union[str, bytes],
        *,
        name: Optional[str] = None,
        stdin: Any = None,
        args: Optional[Sequence[str]] = None,
        inputs: Optional[Mapping[str, Input]] = None,
        on_output: Optional[OnOutput] = None,
        on_question: Optional[Callable[[Question], Answer]] = None,
    ):
        self._set_arguments(code, name, stdin, args, inputs, on_output, on_question)

    def _set_arguments(
        self,
        code: Union[str, bytes],
        name: Optional[str],
        stdin: Any,
        args: Optional[Sequence[str]],
        inputs: Optional[Mapping[str, Input]],
        on_output: Optional[OnOutput],
        on_question: Optional[Callable[[Question], Answer]],
        policy: Optional[str] = None,
        artifacts: Optional[Union[str, os.PathLike[str]]] = None,
        tools: Iterable[Union[Tool, Callable[..., Any]]] = (),
    ) -> None:
        if name is not None and not isinstance(name, str):
            raise TypeError(f"name must be a text, not {type(name).__name__}")
        if name is not None and "\0" in name:
            raise PolicyError(f"name: {name!r} contains a NUL byte")
        stdin_bytes, stdin_fd = convert_stdin(stdin)
        given, question = (), None
        if tools or on_question is not None:
            from ._tools import convert_tools, question_callback

            given, question = convert_tools(tools), question_callback(on_question)
        self.arguments = (
            to_bytes("code", code, "str or bytes"),
            policy,
            name,
            stdin_bytes,
            stdin_fd,
            convert_args(args),
            convert_inputs(inputs),
            None if artifacts is None else path_bytes("artifacts", artifacts),
            given,
            output_callback(on_output),
            question,
        )


class Job(Cell):
    """The arguments of a run: those of a cell, and a policy."""

    __slots__ = ("walled",)

    def __init__(
        self,
        code: Union[str, bytes],
        *,
        policy: PolicyLike = None,
        name: Optional[str] = None,
        stdin: Any = None,
        args: Optional[Sequence[str]] = None,
        inputs: Optional[Mapping[str, Input]] = None,
        artifacts: Optional[Union[str, os.PathLike[str]]] = None,
        tools: Iterable[Union[Tool, Callable[..., Any]]] = (),
        on_output: Optional[OnOutput] = None,
        on_question: Optional[Callable[[Question], Answer]] = None,
        **fields: Any,
    ):
        made = resolve_policy(policy, fields)
        self.walled = "tier" not in made or made["tier"] != "unsafe"
        self._set_arguments(code, name, stdin, args, inputs, on_output, on_question, made.to_json(), artifacts, tools)
