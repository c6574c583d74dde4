"""Sandboxes: one jail with one interpreter, which runs one cell after the other."""

from __future__ import annotations

from ._connection import Connection, failure_of, keep, native, raised_for, shared
from ._errors import Unenforceable
from ._job import Cell, path_bytes, resolve_policy
from ._result import Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import Any, Callable, Iterable, Mapping, Optional, Sequence, Union

    from typing_extensions import Unpack

    from . import _core
    from ._fields import PolicyFields
    from ._errors import RemitError
    from ._job import CellArguments, Input, OnOutput
    from ._policy import PolicyLike
    from ._tools import Answer, Question, Tool


def _open(
    over: Connection, policy: str, folder: Optional[bytes], tools: tuple[Any, ...], forkable: Optional[bool]
) -> tuple[_core.Session, type[Exception], Optional[RemitError]]:
    core = native()
    unforkable = None
    for attempt in (True, False) if forkable is None else (forkable,):
        try:
            return core.Session(over._core, policy, folder, tools, attempt), core.Failure, unforkable
        except core.Failure as e:
            unforkable = failure_of(e)
        if not isinstance(unforkable, Unenforceable):
            break
    assert unforkable is not None
    raise unforkable


class Sandbox:
    """A jail for many cells: variables, imports and files stay from cell to cell.

        with remit.Sandbox(memory="1G", tools=[lookup]) as sandbox:
            sandbox.run("x = lookup('answer')")
            sandbox.run("x + 1").value.json

    Time, processor time and output are limited for each cell; memory, processes and disk for all cells together. When the
    sandbox is closed, changes of folders of mode rw are written and artifacts are exported. If an exception leaves the
    `with` block, or the sandbox is garbage-collected, neither happens. Only one cell can run at a time; a second one raises
    Busy.

    forkable: whether fork() can make branches. By default it can if the policy allows branches, which excludes networks,
        subprocesses and folders that can be written. True requires it; False means that the jail can never use
        namespaces.
    """

    def __init__(
        self,
        policy: PolicyLike = None,
        *,
        tools: Iterable[Union[Tool, Callable[..., Any]]] = (),
        artifacts: Optional[Union[str, os.PathLike[str]]] = None,
        connection: Optional[Connection] = None,
        forkable: Optional[bool] = None,
        **fields: Unpack[PolicyFields],
    ):
        if forkable not in (True, False, None):
            raise TypeError(f"forkable must be True, False or None, not {forkable!r}")
        made = resolve_policy(policy, dict(fields))
        given: tuple[Any, ...] = ()
        if tools:
            from ._tools import convert_tools

            given = convert_tools(tools)
        folder = None if artifacts is None else path_bytes("artifacts", artifacts)
        over = connection if connection is not None else shared("tier" not in made or made["tier"] != "unsafe")
        # _open() returns why the sandbox cannot have branches, or None.
        self._core, self._failure, self._unforkable = _open(over, made.to_json(), folder, given, forkable)
        keep(self)

    @classmethod
    async def open_async(cls, policy: PolicyLike = None, **arguments: Any) -> Sandbox:
        """Like Sandbox(...), for asyncio, with the same arguments."""
        from ._aio import in_thread

        return await in_thread(lambda _: cls(policy, **arguments))

    def submit(self, cell: Cell, interrupt_fd: int = -1) -> Result:
        """Run a checked cell."""
        try:
            return raised_for(Result(self._core.run(*cell.arguments, interrupt_fd)))
        except self._failure as e:
            raise failure_of(e) from None

    def run(
        self,
        code: Union[str, bytes],
        *,
        name: Optional[str] = None,
        stdin: Any = None,
        args: Optional[Sequence[str]] = None,
        inputs: Optional[Mapping[str, Input]] = None,
        on_output: Optional[OnOutput] = None,
        on_question: Optional[Callable[[Question], Answer]] = None,
    ) -> Result:
        """Run one cell and wait for its end. Ctrl-C interrupts the cell; the sandbox stays open."""
        return self.submit(
            Cell(code, name=name, stdin=stdin, args=args, inputs=inputs, on_output=on_output, on_question=on_question)
        )

    async def run_async(self, code: Union[str, bytes], **arguments: Unpack[CellArguments]) -> Result:
        """Like run(), for asyncio. Callbacks are called in another thread."""
        from ._aio import submit_async

        return await submit_async(self.submit, Cell(code, **arguments))

    def interrupt(self) -> None:
        """Raise KeyboardInterrupt in the running cell. Can be called from any thread."""
        self._core.interrupt()

    def commit(self) -> Result:
        """Write what the cells so far have changed in folders of mode rw. The result lists the changes."""
        try:
            return raised_for(Result(self._core.commit()))
        except self._failure as e:
            raise failure_of(e) from None

    async def commit_async(self) -> Result:
        """Like commit(), for asyncio."""
        from ._aio import in_thread

        return await in_thread(lambda _: self.commit())

    def reset(self) -> None:
        """Replace the jail by a fresh one. All state of the old one is lost, and no changes are written."""
        try:
            self._core.reset()
        except self._failure as e:
            raise failure_of(e) from None

    async def reset_async(self) -> None:
        """Like reset(), for asyncio."""
        from ._aio import in_thread

        return await in_thread(lambda _: self.reset())

    def fork(self, *, artifacts: Optional[Union[str, os.PathLike[str]]] = None) -> Sandbox:
        """Make a branch: an independent copy of this sandbox between two cells, with its variables and files.

        Later changes in one do not affect the other. A branch is a Sandbox with separate limits, the same policy and the
        same tools. It must be closed, too, and may have branches. Raises Unenforceable if both would share something, such
        as a thread or an open file, or if the policy excludes branches: see docs/guide/branches.md.
        """
        folder = None if artifacts is None else path_bytes("artifacts", artifacts)
        if self._unforkable is not None and not self._core.closed:
            why = self._unforkable
            raise Unenforceable(
                f"this sandbox cannot have branches: {why.message}", where=why.where,
                remedy="Remove this from the policy. Sandbox(..., forkable=True) raises this error already when it is opened.",
            )  # fmt: skip
        branch = Sandbox.__new__(Sandbox)
        branch._failure, branch._unforkable = self._failure, None
        try:
            branch._core = self._core.fork(folder)
        except self._failure as e:
            raise failure_of(e) from None
        keep(branch)
        return branch

    async def fork_async(self, *, artifacts: Optional[Union[str, os.PathLike[str]]] = None) -> Sandbox:
        """Like fork(), for asyncio."""
        from ._aio import in_thread

        return await in_thread(lambda _: self.fork(artifacts=artifacts))

    @property
    def closed(self) -> bool:
        """Whether the sandbox is closed."""
        return self._core.closed

    def close(self) -> Optional[Result]:
        """Close the sandbox: write changes and export artifacts, which the result lists. Returns None if it was already
        closed."""
        if self._core.closed:
            return None
        try:
            return raised_for(Result(self._core.close()))
        except self._failure as e:
            raise failure_of(e) from None

    async def close_async(self) -> Optional[Result]:
        """Like close(), for asyncio."""
        from ._aio import in_thread

        return await in_thread(lambda _: self.close())

    def drop(self) -> None:
        """End the sandbox at once, without writing changes or exporting artifacts."""
        try:
            self._core.drop()
        except self._failure as e:
            raise failure_of(e) from None

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, exception: Optional[type[BaseException]], *_: object) -> None:
        if exception is None:
            self.close()
        else:
            self.drop()

    async def __aenter__(self) -> Sandbox:
        return self

    async def __aexit__(self, exception: Optional[type[BaseException]], *_: object) -> None:
        if exception is None:
            await self.close_async()
        else:
            self.drop()

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a Sandbox cannot be pickled: it belongs to this process. Open one in the other process")
