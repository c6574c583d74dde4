"""Remit runs Python that a language model wrote, strictly within its remit.

    import remit

    result = remit.run("print(sum(range(10)))", timeout=5)
    result.status, result.stdout          # ('ok', '45\\n')

Without further arguments the code has no network, no files of the host, no processes and no
environment. Each of these is a field of the policy, kept by the Linux kernel or refused
(Unenforceable) before anything runs; result.enforcement says what kept it.
"""

from __future__ import annotations

from ._connection import Connection, submit_shared
from ._errors import (
    Busy,
    Elsewhere,
    Failed,
    Gone,
    InstallFailed,
    InternalError,
    KernelError,
    OutOfMemory,
    PolicyError,
    ProtocolError,
    RemitError,
    Unenforceable,
    Unsupported,
)
from ._job import Job
from ._policy import Policy
from ._result import Artifact, Change, Denial, Display, Enforcement, Error, Result, Skipped, Usage, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import Any, Callable, Iterable, Mapping, Optional, Sequence, Union

    from typing_extensions import Unpack

    from ._fields import PolicyFields
    from ._job import Input, JobArguments, OnOutput, RunArguments
    from ._policy import PolicyLike
    from ._report import Findings, Matrix, Plan
    from ._sandbox import Sandbox
    from ._stream import Output, Stream
    from ._tools import Answer, Question, Tool

__all__ = [
    "Artifact", "Busy", "Change", "Connection", "Denial", "Display", "Elsewhere", "Enforcement", "Error", "Failed", "Findings",
    "Gone", "InstallFailed", "InternalError", "KernelError", "Matrix", "OutOfMemory", "Output", "Plan", "Policy", "PolicyError",
    "ProtocolError", "Question", "RemitError", "Result", "Sandbox", "Skipped", "Stream", "Tool", "Unenforceable", "Unsupported", "Usage", "Value", "doctor",
    "explain", "matrix", "run", "run_async", "stream",
]  # fmt: skip
__version__: str


def run(
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
    **fields: Unpack[PolicyFields],
) -> Result:
    """Run one program in a fresh jail and wait for its end.

    A program that fails, is killed or runs out of time is a Result; an exception means that
    there is none. Ctrl-C interrupts the program.

    policy: what it may do, as a Policy or a policy document. All other keywords are fields of
        the policy by their short names, and go over it: timeout=5, memory="1G", read=["data"].
        The interpreter is this one, unless python="..." names another.
    name: the file name in tracebacks.
    stdin: text, bytes or an open file with a descriptor.
    args: sys.argv[1:].
    inputs: files of the workspace, by path: text or bytes, or a path object that names a file.
    artifacts: the folder for files that leave the jail; export=["*.csv"] says which.
    tools: functions that the code may call by their names; see Tool.
    on_output: called with ("stdout" or "stderr", text) for each piece of output as it comes.
    on_question: asked before a tool is called that needs approval, or a host that nobody has named: it answers False,
        True (this once), "run" or "always". Without it the answer is no.
    """
    return submit_shared(
        Job(
            code, policy=policy, name=name, stdin=stdin, args=args, inputs=inputs,
            artifacts=artifacts, tools=tools, on_output=on_output, on_question=on_question, **fields,
        )
    )  # fmt: skip


async def run_async(code: Union[str, bytes], **arguments: Unpack[RunArguments]) -> Result:
    """run() for asyncio, with its arguments: the event loop goes on, and cancelling it interrupts the program.

    on_output and on_question are called in another thread.
    """
    from ._aio import submit_async

    return await submit_async(submit_shared, Job(code, **arguments))


def stream(code: Union[str, bytes], **arguments: Unpack[JobArguments]) -> Stream:
    """The output of a run, piece by piece. Arguments are those of run(), but for on_output.

        async with remit.stream(code, timeout=5) as pieces:
            async for piece in pieces:
                print(piece.stream, piece.text)
        pieces.result
    """
    from ._stream import Stream

    return Stream(submit_shared, code, arguments)


def explain(policy: PolicyLike = None, **fields: Unpack[PolicyFields]) -> Plan:
    """What would keep each field of a policy here. Nothing runs; what would be refused is refused here too."""
    from . import _report

    return _report.explain(Policy(policy, **fields))


def doctor() -> Findings:
    """Find out what this machine and this user can enforce, by trying it."""
    from . import _report

    return _report.doctor()


def matrix() -> Matrix:
    """What keeps each field, by tier, on this machine."""
    from . import _report

    return _report.matrix()


# Not every program needs these.
_LATE = {
    "Findings": "_report", "Matrix": "_report", "Plan": "_report", "Output": "_stream", "Stream": "_stream",
    "Question": "_tools", "Sandbox": "_sandbox", "Tool": "_tools",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("remit")
    if name in _LATE:
        from importlib import import_module

        return getattr(import_module(f".{_LATE[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
