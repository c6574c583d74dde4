"""One call of execute_code: offers agent-framework's tools to a run, and converts the result into contents."""

from __future__ import annotations

import asyncio
import base64
import contextvars
import json
import mimetypes
import os
import stat
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Any, Dict, List, Mapping, Optional, Set, Tuple

from agent_framework import Content

from .._aio import submit_async
from .._connection import submit_shared
from .._job import Job
from .._policy import Policy
from .._result import Result
from .._tools import Tool
from ._codeact import OUTPUT, AllowedDomain, FileMount, ProcessExecutionLimits, run_policy, workspace
from ._tool import time_allowed

NOTHING = "The code ran and printed nothing."
NOTES_MAX = 20


@dataclass(frozen=True)
class Setup:
    """The settings of a call, which do not change during the call."""

    tools: Mapping[str, Any]
    mounts: Tuple[FileMount, ...]
    domains: Tuple[AllowedDomain, ...]
    policy: Policy
    limits: ProcessExecutionLimits
    max_files: int


# ---- tools ----

# Keywords that Remit checks. The framework checks the others afterwards.
_PLAIN = {
    "type", "required", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength",
    "minItems", "maxItems", "minProperties", "maxProperties", "$ref", "title", "description", "default",
}  # fmt: skip
_SEVERAL = {"properties", "$defs", "definitions"}


def checked(schema: Any) -> Any:
    """Remove keywords that Remit would refuse."""
    if not isinstance(schema, dict):
        return schema
    out: Dict[str, Any] = {}
    for word, value in schema.items():
        if word in _PLAIN:
            out[word] = value
        elif word in _SEVERAL and isinstance(value, dict):
            out[word] = {name: checked(one) for name, one in value.items()}
        elif word in ("items", "additionalProperties"):
            out[word] = checked(value)
        elif word == "anyOf":
            out[word] = [checked(one) for one in value]
    return out


def plain(value: Any) -> Any:
    """Convert to JSON data: models by their own methods, other objects to text."""

    def more(one: Any) -> Any:
        for method in ("model_dump", "to_dict", "isoformat"):
            if callable(getattr(one, method, None)):
                return getattr(one, method)()
        return list(one) if isinstance(one, (set, frozenset, tuple)) else str(one)

    return json.loads(json.dumps(value, default=more))


class ToolHost:
    """Calls tools in the agent's event loop and context, so that they become spans below execute_code."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._context = contextvars.copy_context()
        self._waiting: Set[Future[Any]] = set()

    def make(self, name: str, tool: Any) -> Tool:
        def call(**arguments: Any) -> Any:
            coroutine = tool.invoke(arguments=arguments, skip_parsing=True)
            future = self._context.copy().run(asyncio.run_coroutine_threadsafe, coroutine, self._loop)
            self._waiting.add(future)
            try:
                return plain(future.result())
            finally:
                self._waiting.discard(future)

        # The framework drops unknown arguments; here they are an error of the code.
        schema = {"additionalProperties": False, **checked(tool.parameters())}
        return Tool(call, name=name, description=str(tool.description or ""), schema=schema)

    def close(self) -> None:
        """Cancel all calls."""
        for future in list(self._waiting):
            future.cancel()


# ---- returned files ----


def _read(root: str, relative: str, most: int) -> Optional[bytes]:
    """Read a file below a folder. Returns None if it is not a regular file with a single hard link, if a symbolic link is
    in its path, or if it is too long."""
    with ExitStack() as stack:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        try:
            fd = os.open(root, flags | os.O_DIRECTORY)
            stack.callback(os.close, fd)
            *folders, name = relative.split("/")
            for one in folders:
                fd = os.open(one, flags | os.O_DIRECTORY, dir_fd=fd)
                stack.callback(os.close, fd)
            fd = os.open(name, flags, dir_fd=fd)
        except OSError:
            return None
        stack.callback(os.close, fd)
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1 or found.st_size > most:
            return None
        with open(fd, "rb", closefd=False) as file:
            data = file.read(most + 1)
        return data if len(data) <= most else None


class Captured:
    """Collects files as contents, up to the limits. Omitted files are mentioned."""

    def __init__(self, setup: Setup) -> None:
        self._left = setup.limits.max_total_captured_file_bytes
        self._most = setup.limits.max_captured_file_bytes
        self._files = setup.max_files
        self.contents: List[Any] = []

    def omit(self, path: str, why: str) -> None:
        self.contents.append(Content.from_text(f"[file {path} omitted: {why}]"))

    def add(self, path: str, root: str, relative: str, media_type: Optional[str] = None) -> None:
        if not self._files:
            return self.omit(path, "too many files for one call")
        data = _read(root, relative, min(self._most, self._left))
        if data is None:
            return self.omit(path, f"larger than {self._most} bytes (the limit of a file), or all files together exceed the limit of a call")
        self._left -= len(data)
        self._files -= 1
        kind = media_type or mimetypes.guess_type(path)[0] or "application/octet-stream"
        self.contents.append(Content.from_data(data=data, media_type=kind, additional_properties={"path": path}))


def captured(result: Result, mounts: List[FileMount], artifacts: Optional[str], setup: Setup) -> List[Any]:
    out = Captured(setup)
    roots = {mount.mount_path: os.fspath(mount.host_path) for mount in mounts if mount.mode == "read-write"}
    for change in sorted(result.changes if result.committed else [], key=lambda one: str(one.path)):
        root = next((path for path in roots if change.path.startswith(f"{path}/")), None)
        if root and change.kind in ("created", "modified") and not change.path.endswith("/"):
            out.add(change.path, roots[root], change.path[len(root) + 1 :])
    for row in result.artifacts if artifacts else ():
        out.add(f"{workspace(setup.policy)}/{row.path}", artifacts or "", row.path, row.content_type)
    for skipped in (*result.changes_skipped, *result.artifacts_skipped)[:NOTES_MAX]:
        out.omit(skipped.path, skipped.reason)
    return out.contents


# ---- contents ----


def _stream(text: str, name: str, is_truncated: bool) -> List[Any]:
    text = text.replace("\r\n", "\n")
    if is_truncated:
        text += f"\n[{name} truncated]"
    more = {} if name == "stdout" else {"additional_properties": {"stream": name}}
    return [Content.from_text(text, **more)] if text else []


def _value(result: Result) -> List[Any]:
    value = result.value
    if value is None:
        return []
    return [Content.from_text(json.dumps(value.json, ensure_ascii=False) if value.json is not None else value.text)]


def _images(result: Result) -> List[Any]:
    """Figures, and other displayed images."""
    bundles = [display.mime for display in result.displays] + ([result.value.mime] if result.value else [])
    return [
        Content.from_data(data=base64.b64decode(data), media_type=kind)
        for bundle in bundles
        for kind, data in bundle.items()
        if kind in ("image/png", "image/jpeg")
    ]


def _error(result: Result, setup: Setup) -> Any:
    message, error = "Execution error", result.error
    if result.status == "timeout":
        details = f"TimeoutError: the code took longer than {time_allowed(setup.policy)}"
    elif result.status == "memory_limit":
        details = "MemoryError: the code needed more memory than memory_bytes allows"
    elif result.status == "rejected" and error is not None:
        message = "Invalid code"
        found = [f"line {one['line']}: {one['value']}" for one in error.document.get("findings", ())]
        details = "\n".join(found) or error.value
    elif error is not None:
        details = f"{error.name}: {error.value}"
    else:
        details = result.headline
    shown = result.stderr if result.status in ("error", "exit") else ""
    details = "\n".join(part.rstrip("\n") for part in (details, shown, *result.advice) if part)
    return Content.from_error(message=message, error_code=result.status, error_details=details)


def contents(result: Result, mounts: List[FileMount], artifacts: Optional[str], setup: Setup) -> List[Any]:
    """The output, the value and files; or the output and the error. The list is never empty."""
    out = _stream(result.stdout, "stdout", result.stdout_truncated)
    if not result.ok:
        return [*out, *captured(result, mounts, artifacts, setup), _error(result, setup)]
    out += _stream(result.stderr, "stderr", result.stderr_truncated) + _value(result) + _images(result)
    out += captured(result, mounts, artifacts, setup)
    out += [Content.from_text(line, additional_properties={"stream": "denials"}) for line in result.denied]
    return out or [Content.from_text(NOTHING)]


# ---- the call ----


def _invalid(why: str) -> List[Any]:
    return [Content.from_error(message="Invalid code", error_code="input", error_details=why)]


async def execute(setup: Setup, code: str) -> List[Any]:
    """Run the code. Its errors become contents; a policy that cannot be enforced raises."""
    try:
        size = len(code.encode())
    except UnicodeEncodeError as e:
        return _invalid(f"not valid text: {e}")
    most = setup.policy["code_bytes"]
    if isinstance(most, int) and size > most:
        return _invalid(f"it has {size} bytes (limit {most})")
    if not code.strip():
        return _invalid("the code is empty")
    with ExitStack() as stack:
        mounts, artifacts = list(setup.mounts), None
        if has_output(mounts):
            mounts.append(FileMount(stack.enter_context(TemporaryDirectory(prefix="remit-output-")), OUTPUT, "read-write"))
        if "artifact_export_paths" in setup.policy:
            artifacts = stack.enter_context(TemporaryDirectory(prefix="remit-artifacts-"))
        host = ToolHost()
        tools = [host.make(name, tool) for name, tool in setup.tools.items()]
        job = Job(code, policy=run_policy(setup.policy, mounts, setup.domains), tools=tools, artifacts=artifacts)
        try:
            result = await submit_async(submit_shared, job)
        finally:
            host.close()
        return await asyncio.to_thread(contents, result, mounts, artifacts, setup)


def has_output(mounts: List[FileMount]) -> bool:
    """Whether the call gets a temporary folder /output: if it has any mounts, and none at this path."""
    return bool(mounts) and all(mount.mount_path != OUTPUT for mount in mounts)
