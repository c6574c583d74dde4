"""The output of a run as it arrives, for `async for`."""

from __future__ import annotations

import asyncio

from ._aio import submit_async
from ._job import Job

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, AsyncIterator, Callable, Optional, Union

    from ._job import JobArguments
    from ._result import Result


class Output:
    """A piece of output: `stream` is "stdout" or "stderr"."""

    __slots__ = ("stream", "text")

    def __init__(self, stream: str, text: str):
        self.stream = stream
        self.text = text

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Output({self.stream!r}, {self.text!r})"


class Stream:
    """A run whose output can be iterated over. After the last piece, `result` is the result.

    The run starts with the first iteration. If the loop may end early, by `break` or an exception, close the stream (`async
    with`, or `await stream.aclose()`), which interrupts the run.
    """

    def __init__(self, submit: Callable[[Any, int], Result], code: Union[str, bytes], arguments: JobArguments):
        self._submit = submit
        self._pieces: asyncio.Queue[Optional[Output]] = asyncio.Queue()
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._task: Optional[asyncio.Task[Result]] = None
        self._job = Job(code, on_output=self._put_piece, **arguments)
        self._result: Optional[Result] = None

    def _put_piece(self, stream: str, text: str) -> None:
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._pieces.put_nowait, Output(stream, text))

    @property
    def result(self) -> Result:
        """The result of the program."""
        if self._result is None:
            raise RuntimeError("the result is only available after the last piece of output")
        return self._result

    async def _iterate(self) -> AsyncIterator[Output]:
        if self._loop is not None:
            raise RuntimeError("a stream can only be iterated over once")
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.ensure_future(submit_async(self._submit, self._job))
        self._task.add_done_callback(lambda _: self._pieces.put_nowait(None))
        try:
            while True:
                piece = await self._pieces.get()
                if piece is None:
                    break
                yield piece
            self._result = await self._task
        finally:
            await self.aclose()

    def __aiter__(self) -> AsyncIterator[Output]:
        return self._iterate()

    async def aclose(self) -> None:
        """Interrupt the run, if it is still running, and wait for its end."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            try:
                await self._task
            except asyncio.CancelledError:
                pass

    async def __aenter__(self) -> Stream:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
