"""Converts results of Remit into the form that callers of mellea expect."""

from __future__ import annotations

import mimetypes
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Optional

from .._errors import RemitError
from .._result import Result
from ._policy import Artifact

MARK = "... [truncated]"


@dataclass
class ExecutionResult:
    """The result of the code. `skipped` means that it did not run, or not to its end."""

    success: bool
    stdout: Optional[str]
    stderr: Optional[str]
    skipped: bool = False
    skip_message: Optional[str] = None
    analysis_result: Optional[Any] = None
    exit_code: Optional[int] = None
    timed_out: bool = False
    artifacts: List[Artifact] = field(default_factory=list)
    execution_mode: str = "unknown"
    working_directory: Optional[str] = None
    # The result of Remit, with all details.
    remit: Optional[Result] = field(default=None, repr=False, compare=False)

    def to_validationresult_reason(self) -> str:
        """The reason why the code was skipped, else its stdout if it succeeded, else its stderr."""
        reason = self.skip_message or (self.stdout if self.success else self.stderr)
        assert reason is not None, "a result has a skip_message or output"
        return reason


def truncated(text: str, most: Optional[int], cut: bool = False) -> str:
    """Truncate to `most` bytes, including the mark for missing text. `cut`: text is missing already."""
    data = text.encode()
    if cut and (most is None or len(data) + len(MARK) <= most):
        return text + MARK
    if most is None or (len(data) <= most and not cut):
        return text
    keep = most - len(MARK)
    if keep <= 0:
        return data[:most].decode(errors="ignore")
    return data[:keep].decode(errors="ignore") + MARK


def artifact(path: Path) -> Artifact:
    return Artifact(path, path.stat().st_size, mimetypes.guess_type(path.name)[0])


def artifacts_of(result: Result) -> List[Artifact]:
    """Files that this run has exported, or changed in a folder of the host."""
    paths = [a.host_path for a in result.artifacts]
    paths += [c.host_path for c in result.changes if c.kind in ("created", "modified") and c.host_path]
    return [artifact(path) for path in sorted(map(Path, paths)) if path.is_file() and not path.is_symlink()]


def _ended(result: Result) -> Dict[str, Any]:
    """Exit code and streams of a program that ran."""
    stderr = result.stderr.strip()
    exit_code = result.exit_code
    if exit_code is None:
        exit_code = -(result.signal or 9)
    if result.status not in ("ok", "error", "exit", "killed"):
        stderr = f"{stderr}\n[{result.status}]".strip()
    return {"success": result.ok, "stdout": result.stdout.strip(), "stderr": stderr, "exit_code": exit_code}


def skipped(message: str, **more: Any) -> Dict[str, Any]:
    return {"success": False, "stdout": None, "stderr": None, "skipped": True, "skip_message": message, **more}


def refused(error: RemitError) -> Dict[str, Any]:
    """The members for a run that was refused."""
    words = "Package installation failed" if error.where == "packages" else "Refused"
    return skipped(f"{words}: {error}")


def members(result: Result, policy: Any) -> Dict[str, Any]:
    """The members of an ExecutionResult for a result."""
    if result.status == "timeout":
        return skipped("Execution timed out.", timed_out=True)
    error = result.error
    if result.status == "rejected" and error is not None:
        found = re.search(r"import of '([\w.]+)'", error.value)
        return skipped(f"Unauthorized imports detected: {found[1].split('.')[0]}" if found else f"Rejected: {error.value}")
    if result.status == "install_failed":
        return skipped(f"Package installation failed: {error.value if error else ''}")
    out = _ended(result)
    out["stdout"] = truncated(out["stdout"], policy.stdout_max_bytes, result.stdout_truncated)
    out["stderr"] = truncated(out["stderr"], policy.stderr_max_bytes, result.stderr_truncated)
    if result.ok:
        out["artifacts"] = artifacts_of(result)
    return out
