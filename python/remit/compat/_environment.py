"""Environments: where code runs, by tier. The default tier is the safe one."""

from __future__ import annotations

import shutil
import tempfile
import warnings
import weakref
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

from .._connection import submit_shared
from .._errors import RemitError
from .._job import Job
from .._policy import Policy
from .._result import Result
from ._policy import DOCKER_POLICY, LOCAL_POLICY, WORKSPACE, CapabilityPolicy, to_policy
from ._translate import ExecutionResult, members, refused, skipped

# mellea's tier: Remit's tier, and the default policy
_TIERS: Dict[str, Tuple[str, CapabilityPolicy]] = {
    "static": ("static", CapabilityPolicy()),
    "local": ("local", LOCAL_POLICY),
    "docker": ("local", DOCKER_POLICY),
    "docker_unsafe": ("local", DOCKER_POLICY),
    "landlock": ("landlock", CapabilityPolicy()),
    "local_unsafe": ("unsafe", CapabilityPolicy()),
}
TIERS = (*_TIERS, "unsafe_in_process")

# Code starts in the workspace, so this program changes to the folder that the caller has chosen. It runs the code from a
# file, so that tracebacks have source lines.
_START = "__import__('os').chdir({folder!r}); exec(compile(open({path!r}, encoding='utf-8').read(), {path!r}, 'exec'))"


def warn_of_docker(tier: str, stacklevel: int) -> None:
    warnings.warn(
        f"the tier {tier!r} is not a container here: the code runs in Remit's tier 'local', with the same policy",
        UserWarning, stacklevel=stacklevel + 1,
    )  # fmt: skip


def _walled_policy(tier: str, policy: Any, timeout: Optional[float], folder: Optional[str]) -> Policy:
    made = to_policy(policy, timeout=timeout)
    if tier == "landlock":
        # The preset of this tier lifts the fields that it cannot enforce.
        document = {k: v for k, v in made.to_dict().items() if k not in ("filesystem_write_roots", "memory_fallback", "cpu_fallback")}
        return Policy({"preset": "landlock", **document})
    made = made.but(tier=tier)  # type: ignore[arg-type]
    if folder:
        made = made.but(write=[*made["filesystem_write_roots"], folder])
    return made


def run(
    code: str, tier: str, policy: Any, *, timeout: Optional[float], allowed_imports: Optional[List[str]],
    folder: Optional[str], export_dir: Optional[str], inputs: Optional[Dict[str, Any]] = None,
) -> Result:  # fmt: skip
    """Run code for an environment. It starts in `folder`, where its changes stay if it succeeds."""
    made = _walled_policy(tier, policy, timeout, folder)
    if allowed_imports:
        made = made.but(allow_import=allowed_imports)
    files = dict(inputs or {})
    if folder and tier != "static":
        path = f"{WORKSPACE}/main.py"
        # The validator must see the code itself, so check the code first.
        if allowed_imports:
            checked = submit_shared(Job(code, policy=made.but(tier="static", write=[])))
            if checked.status == "rejected" and checked.error and checked.error.name == "ImportError":
                return checked
            made = Policy({k: v for k, v in made.to_dict().items() if k != "allowed_imports"})
        files["main.py"] = code
        code = _START.format(folder=folder, path=path)
        return submit_shared(Job(code, policy=made, name="<start>", inputs=files, artifacts=export_dir))
    return submit_shared(Job(code, policy=made, inputs=files, artifacts=export_dir))


class Environment:
    """An environment for code, with one tier and one policy.

    tier: "local" if None. The tiers without isolation must be chosen explicitly, and warn: "local_unsafe" (a process of the
        host) and "unsafe_in_process" (this interpreter; only the validator and the capture of output apply).
    allowed_imports: the only modules that the code may import. None or []: all.
    working_directory: a folder of the host in which the code starts, and which it may change.
    """

    def __init__(
        self,
        allowed_imports: Optional[List[str]] = None,
        policy: Optional[CapabilityPolicy] = None,
        working_directory: Optional[str] = None,
        tier: Optional[str] = None,
        export_dir: Optional[Path] = None,
        *,
        _stacklevel: int = 2,
    ):
        self.tier = tier or "local"
        if self.tier not in TIERS:
            raise ValueError(f"unknown tier {tier!r}: it must be one of {', '.join(map(repr, TIERS))}")
        self.allowed_imports = allowed_imports
        self.policy = policy if policy is not None else _TIERS.get(self.tier, ("", CapabilityPolicy()))[1]
        self.working_directory = working_directory
        self.export_dir = export_dir
        if self.tier in ("local_unsafe", "unsafe_in_process"):
            warnings.warn(
                f"the tier {self.tier!r} has no wall: this code can do everything that you can do",
                UserWarning, stacklevel=_stacklevel,
            )  # fmt: skip
        if self.tier in ("docker", "docker_unsafe"):
            warn_of_docker(self.tier, _stacklevel)

    @property
    def execution_mode(self) -> str:
        """The tier in which the code really runs."""
        return {"docker": "local", "docker_unsafe": "local"}.get(self.tier, self.tier)

    def unenforced_capabilities(self) -> List[str]:
        """The fields of the policy that this tier does not enforce: none, if it has a wall."""
        if self.tier == "unsafe_in_process":
            kept = {"stdout_max_bytes", "stderr_max_bytes"}
        elif self.tier == "local_unsafe":
            kept = {"timeout", "stdout_max_bytes", "stderr_max_bytes"}
        else:
            return self.policy.unenforced_capabilities()
        return [name for name in self.policy.enforced_capabilities() if name not in kept]

    def execute(self, code: str, timeout: Optional[int] = None) -> ExecutionResult:
        """Run the code and return the result."""
        if not isinstance(code, str):
            raise TypeError(f"code must be str, not {type(code).__name__}")
        shape = {"execution_mode": self.execution_mode, "working_directory": self.working_directory}
        if self.tier == "unsafe_in_process":
            from ._in_process import run_here

            return ExecutionResult(**{**shape, **run_here(code, self.policy, self.allowed_imports)})
        exports = None
        if self.policy.artifact_export_paths and self.tier != "static":
            exports = tempfile.mkdtemp(prefix="remit-", dir=self.export_dir)
        try:
            result = run(
                code, _TIERS[self.tier][0], self.policy, timeout=timeout, allowed_imports=self.allowed_imports,
                folder=self.working_directory, export_dir=exports,
            )  # fmt: skip
            found = members(result, self.policy) if self.tier != "static" else _static(result)
        except RemitError as e:
            result, found = None, refused(e)
        out = ExecutionResult(**{**shape, **found}, remit=result)
        if exports and not out.artifacts:
            shutil.rmtree(exports, ignore_errors=True)
        elif exports and self.export_dir is None:
            weakref.finalize(out, shutil.rmtree, exports, True)
        return out


def _static(result: Result) -> Dict[str, Any]:
    if result.status == "ok":
        return {**skipped("The code parses. The static tier runs nothing."), "success": True}
    if result.error is not None and result.error.name == "SyntaxError":
        return skipped("Parse failed.", analysis_result=result.error)
    return members(result, CapabilityPolicy())


def make_execution_environment(
    tier: str,
    policy: Optional[CapabilityPolicy] = None,
    allowed_imports: Optional[List[str]] = None,
    working_directory: Optional[str] = None,
    export_dir: Optional[Path] = None,
) -> Environment:
    """Create an environment by the name of its tier."""
    return Environment(allowed_imports, policy, working_directory, tier, export_dir, _stacklevel=3)
