"""The exceptions: one for each code of the C library, by what the caller can do about it."""

from __future__ import annotations


class RemitError(Exception):
    """Something kept a run from having a result.

    `code` is the name that the C library has for it, `where` the policy field or the step
    of the jail, and `remedy` what to do about it; both may be "".
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
    """The policy, the job or an argument is wrong: fix it."""

    code = "input"


class Unenforceable(RemitError):
    """The policy cannot be kept here, so nothing ran: see the remedy."""

    code = "refused"


class Busy(RemitError):
    """Too much at once: try again later."""

    code = "busy"


class Gone(RemitError):
    """The keeper went away, and the run with it."""

    code = "gone"


class KernelError(RemitError):
    """A system call failed."""

    code = "kernel"


class OutOfMemory(RemitError, MemoryError):
    """No memory."""

    code = "memory"


class ProtocolError(RemitError):
    """The other side broke the protocol."""

    code = "protocol"


class InternalError(RemitError):
    """A defect in Remit."""

    code = "internal"


class InstallFailed(RemitError):
    """A package could not be installed, so there is no sandbox. For a run it is a status of its result."""

    code = "install_failed"


class Elsewhere(RemitError):
    """Refused by a shared keeper: a private one can."""

    code = "elsewhere"


class Unsupported(RemitError):
    """This copy of the package cannot run anything: it imports, and that is all."""

    code = "unsupported"


class Failed(RemitError):
    """A program did not end well. Only Result.check() raises it; `result` has the rest."""

    code = "failed"


BY_CODE: dict[str, type[RemitError]] = {
    cls.code: cls
    for cls in (PolicyError, Unenforceable, Busy, Gone, KernelError, OutOfMemory, ProtocolError, InternalError, InstallFailed, Elsewhere)
}


def make(code: str, message: str, *, where: str = "", remedy: str = "", errno: int = 0) -> RemitError:
    """The exception for a code of the C library."""
    return BY_CODE.get(code, InternalError)(message, where=where, remedy=remedy, errno=errno)
