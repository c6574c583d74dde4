"""Remit runs Python that a language model wrote, strictly within its remit.

    import remit

    result = remit.run("print(sum(range(10)))", timeout=5)
    result.status, result.stdout          # ('ok', '45\\n')

By default the code has no network, no files of the host, no further processes and no environment variables. Each of these
is a field of the policy. The Linux kernel enforces each field, or Remit refuses the run (Unenforceable) before anything
runs. result.enforcement lists the mechanisms.
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

    The Result also describes a program that failed, was killed or timed out; an exception means that there is no result.
    Ctrl-C interrupts the program.

    policy: what the code may do, as a Policy or a policy document. All other keywords are fields of the policy by their
        short names, and override it: timeout=5, memory="1G", read=["data"]. The code runs with the current interpreter,
        unless python="..." names another.
    name: the file name of the program in tracebacks.
    stdin: standard input: text, bytes, or an open file with a descriptor.
    args: sys.argv[1:].
    inputs: files to put into the workspace, by path: text, bytes, or a path object that names a file of the host.
    artifacts: the folder for exported files; export=["*.csv"] chooses them.
    tools: functions that the code may call by name; see Tool.
    on_output: called with ("stdout" or "stderr", text) for each piece of output as it arrives.
    on_question: called with a Question before the code calls a tool that requires approval, or reaches a host that the
        policy does not name. It returns False, True (allow it once), "run" (for this run) or "always". By default the
        answer is no.
    """
    return submit_shared(
        Job(
            code, policy=policy, name=name, stdin=stdin, args=args, inputs=inputs,
            artifacts=artifacts, tools=tools, on_output=on_output, on_question=on_question, **fields,
        )
    )  # fmt: skip


async def run_async(code: Union[str, bytes], **arguments: Unpack[RunArguments]) -> Result:
    """Like run(), for asyncio: the event loop continues, and cancelling the task interrupts the program.

    on_output and on_question are called in another thread.
    """
    from ._aio import submit_async

    return await submit_async(submit_shared, Job(code, **arguments))


def stream(code: Union[str, bytes], **arguments: Unpack[JobArguments]) -> Stream:
    """Run a program and iterate over its output. The arguments are those of run(), except on_output.

        async with remit.stream(code, timeout=5) as pieces:
            async for piece in pieces:
                print(piece.stream, piece.text)
        pieces.result
    """
    from ._stream import Stream

    return Stream(submit_shared, code, arguments)


def explain(policy: PolicyLike = None, **fields: Unpack[PolicyFields]) -> Plan:
    """Show what would enforce each field of a policy here, without running anything. Raises if a run would be refused."""
    from . import _report

    return _report.explain(Policy(policy, **fields))


def doctor() -> Findings:
    """Find out what this machine and this user can enforce, by trying it."""
    from . import _report

    return _report.doctor()


def matrix() -> Matrix:
    """Show what enforces each field on this machine, by tier."""
    from . import _report

    return _report.matrix()


# These are imported when they are first used.
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
