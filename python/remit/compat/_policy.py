"""The capability policy of mellea with every field enforced, and its conversion into a policy of Remit."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Dict, List, Literal, Optional, Union

from .._errors import PolicyError
from .._policy import Policy

ExecutionTier = Literal["static", "local_unsafe", "local", "docker_unsafe", "docker", "landlock", "unsafe_in_process"]
Roots = Union[List[Path], Literal["all"], None]

# The folder in which the code starts and may write.
WORKSPACE = "/workspace"
# The smallest values that the keeper accepts. Smaller limits are applied here.
LEAST_OUTPUT = 1024
LEAST_TIMEOUT = 0.001


@dataclass
class Artifact:
    """A file that the code has created and that is now on the host."""

    path: Path
    size_bytes: Optional[int] = None
    content_type: Optional[str] = None


@dataclass
class CapabilityPolicy:
    """What code may do. The first fields are those of mellea, in its order; all of them are enforced.

    Three are safer than in mellea: roots that are None allow only the private workspace ("all" means unrestricted, which
    only a tier without a wall accepts); env_var_access=True allows only the variables of `env`; with
    package_installation=True, `packages` are installed before the run, never by the code.
    """

    filesystem_read_roots: Roots = None
    filesystem_write_roots: Roots = None
    network_access: bool = False
    package_installation: bool = False
    subprocess_execution: bool = False
    env_var_access: bool = True
    timeout: int = 30
    stdout_max_bytes: Optional[int] = None
    stderr_max_bytes: Optional[int] = None
    artifact_export_paths: List[Path] = field(default_factory=list)
    packages: List[str] = field(default_factory=list)
    # Fields of Remit.
    env: Dict[str, str] = field(default_factory=dict)
    network_allow: List[str] = field(default_factory=list)
    memory_bytes: Union[int, str, None] = None
    cpu_seconds: Optional[float] = None
    processes: Optional[int] = None
    disk_bytes: Union[int, str, None] = None

    ENFORCED_filesystem_read_roots: ClassVar[bool] = True
    ENFORCED_filesystem_write_roots: ClassVar[bool] = True
    ENFORCED_network_access: ClassVar[bool] = True
    ENFORCED_package_installation: ClassVar[bool] = True
    ENFORCED_subprocess_execution: ClassVar[bool] = True
    ENFORCED_env_var_access: ClassVar[bool] = True
    ENFORCED_timeout: ClassVar[bool] = True
    ENFORCED_stdout_max_bytes: ClassVar[bool] = True
    ENFORCED_stderr_max_bytes: ClassVar[bool] = True
    ENFORCED_artifact_export_paths: ClassVar[bool] = True
    ENFORCED_packages: ClassVar[bool] = True
    ENFORCED_env: ClassVar[bool] = True
    ENFORCED_network_allow: ClassVar[bool] = True
    ENFORCED_memory_bytes: ClassVar[bool] = True
    ENFORCED_cpu_seconds: ClassVar[bool] = True
    ENFORCED_processes: ClassVar[bool] = True
    ENFORCED_disk_bytes: ClassVar[bool] = True

    def enforced_capabilities(self) -> List[str]:
        """The fields that are enforced: all of them, in the tiers with a wall."""
        return [name for name, kept in _flags(type(self)) if kept]

    def unenforced_capabilities(self) -> List[str]:
        """The fields that are not enforced: none, unless a subclass adds some."""
        return [name for name, kept in _flags(type(self)) if not kept]


def _flags(cls: type) -> List[tuple[str, bool]]:
    found: Dict[str, bool] = {}
    for base in reversed(cls.__mro__):
        for name, kept in vars(base).items():
            if name.startswith("ENFORCED_") and isinstance(kept, bool):
                found[name.removeprefix("ENFORCED_")] = kept
    return list(found.items())


LOCAL_POLICY = CapabilityPolicy(subprocess_execution=True)
DOCKER_POLICY = CapabilityPolicy(package_installation=True, subprocess_execution=True, timeout=60)

_COLUMNS = (
    "execute_code", "timeout_enforcement", "import_allowlist", "policy_applied", "copy_in", "copy_out",
    "package_installation", "docker_isolation",
)  # fmt: skip


def _row(*true: str) -> Dict[str, bool]:
    return {column: column in true for column in _COLUMNS}


_WALLED = "execute_code", "timeout_enforcement", "import_allowlist", "policy_applied", "package_installation"
# What each tier does on Remit. The docker tiers are not containers there.
COMPATIBILITY_MATRIX: Dict[str, Dict[str, bool]] = {
    "static": _row("import_allowlist"),
    "local_unsafe": _row("execute_code", "timeout_enforcement", "import_allowlist"),
    "local": _row(*_WALLED),
    "docker_unsafe": _row(*_WALLED),
    "docker": _row(*_WALLED),
    "landlock": _row(*(c for c in _WALLED if c != "package_installation")),
    "unsafe_in_process": _row("execute_code", "import_allowlist"),
}


def _roots(name: str, roots: Any) -> List[str]:
    if roots == "all":
        raise PolicyError(
            f'{name}="all": no tier with a wall can allow all of the host', where=name,
            remedy='Name the folders, or choose the tier "local_unsafe", which has no wall.',
        )  # fmt: skip
    return [str(path) for path in roots or []]


def _exports(paths: Any) -> List[str]:
    """Convert to patterns in the workspace. An absolute path must be inside it."""
    out = []
    for path in map(str, paths):
        inside = path.removeprefix(WORKSPACE + "/")
        if inside.startswith("/"):
            raise PolicyError(f"artifact_export_paths: {path} is not in {WORKSPACE}, where the code writes", where="artifact_export_paths")
        out.append(inside)
    return out


def to_policy(capabilities: Any, *, timeout: Optional[float] = None) -> Policy:
    """Convert a CapabilityPolicy, of this module or of mellea, which has fewer fields, into a policy of Remit."""
    c = capabilities
    fields: Dict[str, Any] = {
        "read": _roots("filesystem_read_roots", c.filesystem_read_roots),
        "write": _roots("filesystem_write_roots", c.filesystem_write_roots),
        "net": c.network_access,
        "subprocess": c.subprocess_execution,
        "timeout": max(c.timeout if timeout is None else timeout, LEAST_TIMEOUT),
        "export": _exports(c.artifact_export_paths),
        "package": list(c.packages),
    }
    env = dict(getattr(c, "env", {}))
    if env and not c.env_var_access:
        raise PolicyError("env names variables, but env_var_access is False", where="env")
    fields["env"] = env
    for keyword, name in (("stdout_max", "stdout_max_bytes"), ("stderr_max", "stderr_max_bytes")):
        if getattr(c, name) is not None:
            fields[keyword] = max(getattr(c, name), LEAST_OUTPUT)
    for keyword, name in (("memory", "memory_bytes"), ("cpu", "cpu_seconds"), ("processes", "processes"), ("disk", "disk_bytes")):
        if getattr(c, name, None) is not None:
            fields[keyword] = getattr(c, name)
    if getattr(c, "network_allow", None):
        fields["allow_host"] = list(c.network_allow)
    # Limits that the caller did not set are Remit's defaults. If no cgroup can enforce them for all processes together, a
    # limit for each process is enough, which the result shows.
    if "memory" not in fields:
        fields["memory_fallback"] = "per_process"
    if "cpu" not in fields:
        fields["cpu_fallback"] = "per_process"
    return Policy(**fields)
