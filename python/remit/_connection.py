"""Connections to a keeper, and the shared connection of remit.run()."""

from __future__ import annotations

import os
import sys
import weakref
from _thread import allocate_lock

from ._errors import Gone, PolicyError, RemitError, Unsupported, make
from ._job import Job, path_bytes
from ._result import Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional, Union

    from typing_extensions import Unpack

    from . import _core
    from ._job import JobArguments, RunArguments
    from ._stream import Stream

COMMAND = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_native", "remit")
# Statuses that are raised as exceptions: nothing ran, and the caller must act.
_RAISED = {"refused", "busy", "internal"}

_live: weakref.WeakSet[Any] = weakref.WeakSet()


def unsupported() -> Unsupported:
    """The exception that all functions raise if the package has no binaries."""
    system = {"darwin": "macOS", "win32": "Windows"}.get(sys.platform, sys.platform)
    return Unsupported(
        f"remit cannot run code here: it needs a Linux kernel, and this copy of the package, for {system}, contains no binaries",
        remedy="Run the program on Linux: in WSL 2 on Windows, in a Linux virtual machine (Lima, Multipass) or in a "
        "Linux container on macOS, and install the package there. On Linux itself, install the wheel for Linux.",
    )


def native() -> Any:
    """The extension module. Raises Unsupported if the package has none."""
    try:
        from . import _core
    except ImportError as e:
        if os.path.exists(COMMAND):
            raise
        raise unsupported() from e
    return _core


def _error_of(result: Result) -> RemitError:
    error = result.error
    if error is None:
        return make("internal", f"the run ended as {result.status} without a reason")
    found = error.document
    where = found.get("where", "")
    # The package has written the policy document, so line numbers in it mean nothing to the caller.
    message = error.value.removeprefix("policy:1: ")
    if where and not message.startswith(where):
        message = f"{where}: {message}"
    raised = make(error.name, message, where=where, remedy=found.get("remedy", ""))
    raised.result = result  # type: ignore[attr-defined]
    return raised


def raised_for(result: Result) -> Result:
    """Return the result, or raise if nothing ran."""
    if result.status in _RAISED:
        raise _error_of(result)
    return result


def keep(thing: Any) -> None:
    """Remember an object that must be dropped after a fork."""
    _live.add(thing)


class Connection:
    """A connection to a keeper, the process that builds and watches jails.

    Without arguments it connects to the user's shared keeper if one runs, else it starts a private one, which ends when the
    connection is closed or garbage-collected. Any number of threads may use a connection. After a fork it belongs to the
    parent.
    """

    def __init__(self, keeper: Optional[Union[str, os.PathLike[str]]] = None, *, private: bool = False):
        core = native()
        path = None if keeper is None else path_bytes("keeper", keeper)
        if path and private:
            raise PolicyError("keeper and private exclude each other")
        try:
            self._core: _core.Connection = core.Connection(os.fsencode(COMMAND), path, bool(private))
        except core.Failure as e:
            raise failure_of(e) from None
        self._failure: type[Exception] = core.Failure
        keep(self)

    def run(self, code: Union[str, bytes], **arguments: Unpack[RunArguments]) -> Result:
        """Run one program in a fresh jail and wait for its end: see remit.run()."""
        return self.submit(Job(code, **arguments))

    def submit(self, job: Job, interrupt_fd: int = -1) -> Result:
        """Run a checked job."""
        try:
            result = Result(self._core.run(*job.arguments, interrupt_fd))
        except self._failure as e:
            raise failure_of(e) from None
        return raised_for(result)

    async def run_async(self, code: Union[str, bytes], **arguments: Unpack[RunArguments]) -> Result:
        """Like run(), for asyncio: the event loop continues, and cancelling the task interrupts the run."""
        from ._aio import submit_async

        return await submit_async(self.submit, Job(code, **arguments))

    def stream(self, code: Union[str, bytes], **arguments: Unpack[JobArguments]) -> Stream:
        """Run a program and iterate over its output: see remit.stream()."""
        from ._stream import Stream

        return Stream(self.submit, code, arguments)

    @property
    def closed(self) -> bool:
        """Whether the connection is closed."""
        return self._core.closed

    def close(self) -> None:
        """Close the connection, and end its private keeper, once the runs of other threads have ended."""
        self._core.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a Connection cannot be pickled: it belongs to this process. Open one in the other process")


def failure_of(e: Exception) -> RemitError:
    code, errno, where, message, remedy = e.args
    return make(code, message.removeprefix("policy:1: "), where=where, remedy=remedy, errno=errno)


# ---- the shared connection ----

# The connections of remit.run(), by whether the tier has a wall: a keeper that has built a jail can no longer run code
# without one.
_shared: dict[bool, Connection] = {}
_lock = allocate_lock()


def shared(walled: bool = True) -> Connection:
    """The shared connection. It is opened when it is first needed, and again after a fork or if its keeper is gone."""
    found = _shared.get(walled)
    if found is not None:
        return found
    with _lock:
        if walled not in _shared:
            _shared[walled] = Connection(private=not walled)
        return _shared[walled]


def submit_shared(job: Job, interrupt_fd: int = -1) -> Result:
    connection = shared(job.walled)
    try:
        return connection.submit(job, interrupt_fd)
    except Gone:
        with _lock:
            if _shared.get(job.walled) is connection:
                del _shared[job.walled]
        raise


def _after_fork() -> None:
    """In the child, drop the copies of connections, which would keep the parent's keepers alive."""
    global _lock
    _lock = allocate_lock()
    _shared.clear()
    for thing in list(_live):
        getattr(thing._core, "drop", thing._core.close)()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
