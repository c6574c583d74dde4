"""The exceptions, one for each error code of the C library."""

from __future__ import annotations


class RemitError(Exception):
    """A run has no result.

    `code` is the name of the error in the C library, `where` is the policy field or the step of the jail, and `remedy` is
    what to do about it; both may be "".
    """

    code = "internal"

    def __init__(self, message: str, *, where: str = "", remedy: str = "", errno: int = 0):
        super().__init__(message)
        self.message = message
        self.where = where
        self.remedy = remedy
        self.errno = errno

    def __str__(self) -> str:
        return f"{self.message}\n{self.remedy}" if self.remedy else self.message

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.message, self.where, self.remedy, self.errno)


def _rebuild(cls: type[RemitError], message: str, where: str, remedy: str, errno: int) -> RemitError:
    return cls(message, where=where, remedy=remedy, errno=errno)


class PolicyError(RemitError, ValueError):
    """The policy, the job or an argument is invalid."""

    code = "input"


class Unenforceable(RemitError):
    """This machine cannot enforce the policy, so nothing ran: see the remedy."""

    code = "refused"


class Busy(RemitError):
    """Too many runs or cells at once: try again later."""

    code = "busy"


class Gone(RemitError):
    """The keeper has ended, and the run with it."""

    code = "gone"


class KernelError(RemitError):
    """A system call failed."""

    code = "kernel"


class OutOfMemory(RemitError, MemoryError):
    """Out of memory."""

    code = "memory"


class ProtocolError(RemitError):
    """The keeper violated the protocol."""

    code = "protocol"


class InternalError(RemitError):
    """A bug in Remit."""

    code = "internal"


class InstallFailed(RemitError):
    """A package could not be installed, so the sandbox was not opened. For a run, this is a status of its result."""

    code = "install_failed"


class Elsewhere(RemitError):
    """The shared keeper refused the policy, but a private keeper can run it."""

    code = "elsewhere"


class Unsupported(RemitError):
    """This copy of the package has no binaries: it can be imported, but cannot run code."""

    code = "unsupported"


class Failed(RemitError):
    """A program did not succeed. Only Result.check() raises this; `result` has the details."""

    code = "failed"


BY_CODE: dict[str, type[RemitError]] = {
    cls.code: cls
    for cls in (PolicyError, Unenforceable, Busy, Gone, KernelError, OutOfMemory, ProtocolError, InternalError, InstallFailed, Elsewhere)
}


def make(code: str, message: str, *, where: str = "", remedy: str = "", errno: int = 0) -> RemitError:
    """The exception for a code of the C library."""
    return BY_CODE.get(code, InternalError)(message, where=where, remedy=remedy, errno=errno)
