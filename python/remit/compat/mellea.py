"""Remit inside mellea: an execution environment, a python_tool, and install().

    from remit.compat.mellea import python_tool
    tool = python_tool()                # the safe tier, with the arguments of mellea's python_tool

or, for existing code:

    import remit.compat.mellea
    remit.compat.mellea.install()       # mellea's own python_tool and requirements run on Remit
"""

from __future__ import annotations

import dataclasses
import shutil
import tempfile
import warnings
import weakref
from pathlib import Path
from typing import Any, Callable, List, Optional, Set

from mellea.backends.tools import MelleaTool
from mellea.stdlib.requirements import python_reqs, python_tools
from mellea.stdlib import tools
from mellea.stdlib.tools import execution_policy, interpreter

from .._errors import RemitError
from . import _environment, _translate
from ._policy import CapabilityPolicy as RemitPolicy

# The tiers of mellea that run on Remit. The others stay with mellea: "local_unsafe" promises nothing, and "static" runs
# nothing.
TIERS = ("local", "docker", "docker_unsafe")
_DEFAULTS = {"local": execution_policy.LOCAL_POLICY, "docker": execution_policy.DOCKER_POLICY}

_original_make: Callable[..., Any] = interpreter.make_execution_environment
_original_tool: Callable[..., Any] = interpreter.python_tool


class RemitEnvironment(interpreter.ExecutionEnvironment):
    """Runs code in Remit's tier local, with a CapabilityPolicy of mellea or of remit.compat.

    Files that are passed to copy_in() are in the workspace of all later runs.
    """

    def __init__(
        self,
        allowed_imports: Optional[List[str]] = None,
        policy: Optional[Any] = None,
        working_directory: Optional[str] = None,
        installed_packages: Optional[Set[str]] = None,
        failed_packages: Optional[Set[str]] = None,
        tier: Optional[str] = None,
        export_dir: Optional[Path] = None,
    ):
        super().__init__(allowed_imports=allowed_imports, policy=policy, working_directory=working_directory)
        self._tier = tier or "local"
        self._export_dir = None if export_dir is None or str(export_dir) == "." else Path(export_dir)
        self._inputs: dict[str, bytes] = {}
        # mellea shares these sets between the environments of a tool. On Remit, packages are not installed on the host.
        self._installed_packages = set() if installed_packages is None else installed_packages
        self._failed_packages = set() if failed_packages is None else failed_packages

    def __enter__(self) -> RemitEnvironment:
        return self

    def __exit__(self, *_: object) -> None:
        self._inputs.clear()

    def copy_in(self, host_path: Path, container_path: str) -> None:
        """Put a file into the workspace of later runs."""
        inside = str(container_path).removeprefix("/workspace/")
        if inside.startswith("/"):
            raise ValueError(f"{container_path} is not in /workspace, the folder for files of the code")
        self._inputs[inside] = Path(host_path).read_bytes()

    def execute(self, code: str, timeout: Optional[int] = None) -> Any:
        """Run the code, and return mellea's form of the result."""
        policy = self.policy if self.policy is not None else RemitPolicy()
        exports = None
        if policy.artifact_export_paths:
            if self._export_dir is not None:
                self._export_dir.mkdir(parents=True, exist_ok=True)
            exports = tempfile.mkdtemp(prefix="remit-", dir=self._export_dir)
        try:
            result = _environment.run(
                code, "local", policy, timeout=self._resolve_timeout(timeout), allowed_imports=self.allowed_imports,
                folder=self.working_directory, export_dir=exports, inputs=self._inputs,
            )  # fmt: skip
            found = _translate.members(result, policy)
        except RemitError as e:
            result, found = None, _translate.refused(e)
        found["artifacts"] = [tools.Artifact(a.path, a.size_bytes, a.content_type) for a in found.get("artifacts", [])]
        out = interpreter.ExecutionResult(execution_mode="local", working_directory=self.working_directory, **found)
        out.remit = result
        if exports and not out.artifacts:
            shutil.rmtree(exports, ignore_errors=True)
        elif exports and self._export_dir is None:
            weakref.finalize(out, shutil.rmtree, exports, True)
        return out


def make_execution_environment(
    tier: str,
    policy: Optional[Any] = None,
    allowed_imports: Optional[List[str]] = None,
    working_directory: Optional[str] = None,
    _install_cache: Optional[Set[str]] = None,
    _failed_cache: Optional[Set[str]] = None,
    export_dir: Optional[Path] = None,
) -> Any:
    """Like mellea's function, but the tiers that promise isolation run on Remit."""
    if tier not in TIERS:
        return _original_make(tier, policy, allowed_imports, working_directory, _install_cache, _failed_cache, export_dir)
    if policy is None:
        policy = _DEFAULTS.get(tier)
    return RemitEnvironment(allowed_imports, policy, working_directory, _install_cache, _failed_cache, tier, export_dir)


def _with_packages(policy: Optional[Any], packages: Optional[List[str]]) -> Optional[Any]:
    """Add packages to the policy."""
    if not packages:
        return policy
    interpreter._validate_package_names(packages)
    if policy is None:
        return tools.CapabilityPolicy(package_installation=True, packages=list(packages))
    merged = list(dict.fromkeys([*policy.packages, *packages]))
    with warnings.catch_warnings():
        # mellea has already warned when the policy was created.
        warnings.simplefilter("ignore", UserWarning)
        return dataclasses.replace(policy, package_installation=True, packages=merged)


def python_tool(
    tier: Optional[str] = None,
    packages: Optional[List[str]] = None,
    artifact_dir: Optional[Path] = None,
    policy: Optional[Any] = None,
    allowed_imports: Optional[List[str]] = None,
    name: str = "python",
    suppress_agg: bool = False,
) -> Any:
    """Like mellea's python_tool, with the same arguments, but on Remit.

    The default tier is the safe one. The docker tiers run in it, too, and warn. The other tiers, without isolation or
    without execution, stay with mellea.
    """
    chosen = tier or "local"
    if chosen not in TIERS:
        return _original_tool(chosen, packages, artifact_dir, policy, allowed_imports, name, suppress_agg)
    if chosen != "local":
        _environment.warn_of_docker(chosen, 2)
    wanted = _with_packages(policy, packages)

    def run_python(code: str) -> interpreter.ExecutionResult:
        """Execute Python code and return the result with any output artifacts."""
        if not suppress_agg and interpreter._needs_matplotlib_preamble(code):
            code = interpreter._MATPLOTLIB_AGG_PREAMBLE + code
        folder = tempfile.mkdtemp(prefix="remit-") if artifact_dir is None else str(artifact_dir)
        Path(folder).mkdir(parents=True, exist_ok=True)
        exports = bool(wanted is not None and wanted.artifact_export_paths)
        try:
            # Exported files get a separate folder; other files stay where the code created them.
            environment = make_execution_environment(
                chosen, wanted, allowed_imports, None if exports else folder,
                export_dir=Path(folder) if exports else None,
            )  # fmt: skip
            result = environment.execute(code)
        except BaseException:
            if artifact_dir is None:
                shutil.rmtree(folder, ignore_errors=True)
            raise
        if artifact_dir is None:
            if result.artifacts:
                weakref.finalize(result, shutil.rmtree, folder, True)
            else:
                shutil.rmtree(folder, ignore_errors=True)
        return result

    return MelleaTool.from_callable(run_python, name=name)


def install() -> None:
    """Make mellea's tiers local, docker and docker_unsafe run on Remit in this process."""
    for module in (interpreter, tools, python_reqs, python_tools):
        module.make_execution_environment = make_execution_environment
    for module in (interpreter, tools):
        module.python_tool = python_tool


def uninstall() -> None:
    """Undo install()."""
    for module in (interpreter, tools, python_reqs, python_tools):
        module.make_execution_environment = _original_make
    for module in (interpreter, tools):
        module.python_tool = _original_tool
