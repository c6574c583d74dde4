"""The capability policy of mellea, with every field kept, and how it becomes a policy of Remit."""

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
# The least that the keeper takes; what is below is cut here.
LEAST_OUTPUT = 1024
LEAST_TIMEOUT = 0.001


@dataclass
class Artifact:
    """A file that the code has made and that is on the host now."""

    path: Path
    size_bytes: Optional[int] = None
    content_type: Optional[str] = None


@dataclass
class CapabilityPolicy:
    """What code may do. The first fields are mellea's, in its order; each of them is kept.

    Three mean something safer than there: roots that are None are the private workspace only
    (unrestricted is the word "all", which only a tier without a wall can give);
    env_var_access=True gives the variables of `env` and no others; package_installation=True
    lets `packages` be installed before the run, and never by the code.
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
    # Remit's own.
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
        """The fields that are kept: all of them, on the tiers with a wall."""
        return [name for name, kept in _flags(type(self)) if kept]

    def unenforced_capabilities(self) -> List[str]:
        """The fields that only say something: none, unless a subclass adds some."""
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
# What each tier does when it runs on Remit: the docker names are no containers there.
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
            f'{name}="all": no tier with a wall gives all of the host', where=name,
            remedy='Name the folders, or name the tier "local_unsafe", which has no wall.',
        )  # fmt: skip
    return [str(path) for path in roots or []]


def _exports(paths: Any) -> List[str]:
    """Patterns of the workspace; an absolute path has to lie in it."""
    out = []
    for path in map(str, paths):
        inside = path.removeprefix(WORKSPACE + "/")
        if inside.startswith("/"):
            raise PolicyError(f"artifact_export_paths: {path} is not in {WORKSPACE}, where the code writes", where="artifact_export_paths")
        out.append(inside)
    return out


def to_policy(capabilities: Any, *, timeout: Optional[float] = None) -> Policy:
    """The policy of Remit that keeps a CapabilityPolicy: ours, or mellea's, which has fewer fields."""
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
    # Limits that the caller did not name are ours: where no cgroup keeps them for all processes together,
    # a limit for each is enough, and the result says so.
    if "memory" not in fields:
        fields["memory_fallback"] = "per_process"
    if "cpu" not in fields:
        fields["cpu_fallback"] = "per_process"
    return Policy(**fields)
