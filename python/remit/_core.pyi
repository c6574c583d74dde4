"""The extension module, which wraps libremit (python/core.c)."""

from typing import Any, Callable, Optional

version: str

class Failure(Exception): ...

class Result:
    @property
    def status(self) -> str: ...
    @property
    def stdout(self) -> bytes: ...
    @property
    def stderr(self) -> bytes: ...
    @property
    def json(self) -> bytes: ...

class Connection:
    def __new__(cls, command: Optional[bytes], keeper: Optional[bytes], private: bool, /) -> "Connection": ...
    @property
    def closed(self) -> bool: ...
    @property
    def owner(self) -> int: ...
    def close(self) -> None: ...
    def run(
        self,
        code: bytes,
        policy: Optional[str],
        name: Optional[str],
        stdin: bytes,
        stdin_fd: int,
        argv: tuple[bytes, ...],
        files: tuple[tuple[bytes, Optional[bytes], Optional[bytes]], ...],
        artifacts: Optional[bytes],
        tools: tuple[Any, ...],
        on_output: Optional[Callable[[int, bytes], object]],
        on_question: Optional[Callable[..., int]],
        interrupt_fd: int,
        /,
    ) -> Result: ...

class Session:
    def __new__(
        cls, connection: Connection, policy: Optional[str], artifacts: Optional[bytes], tools: tuple[Any, ...], forkable: bool, /
    ) -> "Session": ...
    @property
    def closed(self) -> bool: ...
    def run(
        self,
        code: bytes,
        policy: Optional[str],
        name: Optional[str],
        stdin: bytes,
        stdin_fd: int,
        argv: tuple[bytes, ...],
        files: tuple[tuple[bytes, Optional[bytes], Optional[bytes]], ...],
        artifacts: Optional[bytes],
        tools: tuple[Any, ...],
        on_output: Optional[Callable[[int, bytes], object]],
        on_question: Optional[Callable[..., int]],
        interrupt_fd: int,
        /,
    ) -> Result: ...
    def interrupt(self) -> None: ...
    def reset(self) -> None: ...
    def commit(self) -> Result: ...
    def fork(self, artifacts: Optional[bytes], /) -> "Session": ...
    def close(self) -> Result: ...
    def drop(self) -> None: ...

class Call:
    def reply(self, json: bytes, /) -> None: ...
    def fail(self, message: bytes, /) -> None: ...
