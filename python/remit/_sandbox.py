"""Sandboxes: one jail with one interpreter, in which one cell runs after the other."""

from __future__ import annotations

from ._connection import Connection, failure_of, keep, native, raised_for, shared
from ._job import Cell, path_bytes, take_policy
from ._result import Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import Any, Callable, Iterable, Mapping, Optional, Sequence, Union

    from typing_extensions import Unpack

    from . import _core
    from ._fields import PolicyFields
    from ._job import Input, OnOutput
    from ._policy import PolicyLike
    from ._tools import Answer, Question, Tool


class Sandbox:
    """A jail that lives on: variables, imports and files stay from cell to cell.

        with remit.Sandbox(memory="1G", tools=[lookup]) as sandbox:
            sandbox.run("x = lookup('answer')")
            sandbox.run("x + 1").value.json

    Time, processor time and output are limited for each cell, memory, processes and disk for all of them. Folders of
    mode rw are written, and artifacts come out, when it is closed; left by an exception, or forgotten, it
    ends without either. One cell at a time: a second one is Busy.
    """

    def __init__(
        self,
        policy: PolicyLike = None,
        *,
        tools: Iterable[Union[Tool, Callable[..., Any]]] = (),
        artifacts: Optional[Union[str, os.PathLike[str]]] = None,
        connection: Optional[Connection] = None,
        **fields: Unpack[PolicyFields],
    ):
        made = take_policy(policy, dict(fields))
        given: tuple[Any, ...] = ()
        if tools:
            from ._tools import take_tools

            given = take_tools(tools)
        folder = None if artifacts is None else path_bytes("artifacts", artifacts)
        core = native()
        over = connection if connection is not None else shared("tier" not in made or made["tier"] != "unsafe")
        try:
            self._core: _core.Session = core.Session(over._core, made.to_json(), folder, given)
        except core.Failure as e:
            raise failure_of(e) from None
        self._failure: type[Exception] = core.Failure
        keep(self)

    def submit(self, cell: Cell, interrupt_fd: int = -1) -> Result:
        """Run a cell that is checked already."""
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
        """Run one cell and wait for its end. Ctrl-C interrupts it; the sandbox lives on."""
        return self.submit(
            Cell(code, name=name, stdin=stdin, args=args, inputs=inputs, on_output=on_output, on_question=on_question)
        )

    async def run_async(
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
        """run() for asyncio; callbacks are called in another thread."""
        from ._aio import submit_async

        cell = Cell(code, name=name, stdin=stdin, args=args, inputs=inputs, on_output=on_output, on_question=on_question)
        return await submit_async(self.submit, cell)

    def interrupt(self) -> None:
        """KeyboardInterrupt for the cell that runs, from any thread."""
        self._core.interrupt()

    def reset(self) -> None:
        """A fresh jail: nothing of the old one is left, and nothing was written."""
        try:
            self._core.reset()
        except self._failure as e:
            raise failure_of(e) from None

    @property
    def closed(self) -> bool:
        """Whether it can be used no more."""
        return self._core.closed

    def close(self) -> Optional[Result]:
        """End it properly; the result has the artifacts and changes. None if it was closed already."""
        if self._core.closed:
            return None
        try:
            return raised_for(Result(self._core.close()))
        except self._failure as e:
            raise failure_of(e) from None

    def drop(self) -> None:
        """End it at once: nothing is written, and nothing comes out."""
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

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a Sandbox cannot be pickled: it belongs to this process. Open one in the other process")
