"""Runs for asyncio. Each run has a separate thread, which only waits in C."""

from __future__ import annotations

import asyncio
import os
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, TypeVar

    from ._job import Cell
    from ._result import Result

    Answer = TypeVar("Answer")


class Interrupt:
    """A descriptor that becomes readable when a run should be interrupted."""

    def __init__(self) -> None:
        self.read, self._write = os.pipe()
        os.set_blocking(self._write, False)

    def set(self) -> None:
        try:
            os.write(self._write, b"!")
        except BlockingIOError:
            pass  # it is already readable

    def close(self) -> None:
        os.close(self.read)
        os.close(self._write)


async def submit_async(submit: Callable[[Any, int], Result], job: Cell) -> Result:
    """Run a job. Cancelling interrupts the program and waits for its end."""
    return await in_thread(lambda interrupt_fd: submit(job, interrupt_fd))


async def in_thread(wait: Callable[[int], Answer]) -> Answer:
    """Call a blocking function in a thread, with a descriptor that becomes readable on cancellation. Even then, wait until
    it returns."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Answer] = loop.create_future()
    interrupt = Interrupt()

    def settle(set_one: Callable[[Any], None], what: Any) -> None:
        if not done.cancelled():
            set_one(what)

    def work() -> None:
        try:
            outcome: tuple[Any, Any] = done.set_result, wait(interrupt.read)
        except BaseException as e:  # raised where the result is awaited
            outcome = done.set_exception, e
        try:
            loop.call_soon_threadsafe(settle, *outcome)
        except RuntimeError:
            pass  # the loop is closed, and no task waits

    thread = threading.Thread(target=work, name="remit", daemon=True)
    thread.start()
    cancelled = None
    try:
        while not done.done():
            try:
                await asyncio.shield(done)
            except asyncio.CancelledError as e:
                if done.cancelled():
                    raise
                cancelled = e
                interrupt.set()
            except BaseException:
                break  # raised by the run: see below
    finally:
        if done.done():
            thread.join()
            interrupt.close()
        else:
            interrupt.set()  # the thread uses the descriptors until it ends
    if cancelled is not None:
        done.exception()  # retrieve the exception, so that asyncio does not log it
        raise cancelled
    return done.result()
