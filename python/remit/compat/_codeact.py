"""The arguments of agent-framework's CodeAct providers: mounts, domains and limits, and their conversion into a policy."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Callable, Dict, Iterable, List, Literal, Mapping, NamedTuple, Optional, Sequence, Tuple, TypeVar, Union

from .._policy import Policy

MountMode = Literal["overlay", "read-only", "read-write"]
ExecutionMode = Literal["subprocess", "unsafe_in_process"]
MODES = {"overlay": "overlay", "read-only": "ro", "read-write": "rw"}
WORKSPACE = "/input"
OUTPUT = "/output"

Item = TypeVar("Item")


class FileMount(NamedTuple):
    """A folder of the host, and its path in the jail.

    mode: "overlay" (changes are discarded), "read-only", or "read-write" (after a successful run changes are written to the
    host, and returned as files). write_bytes_limit: the most bytes that the code may write there.
    """

    host_path: Union[str, Path]
    mount_path: str
    mode: MountMode = "overlay"
    write_bytes_limit: Optional[int] = None


class AllowedDomain(NamedTuple):
    """A host that the code may reach: "api.example.com", optionally with a port or with "https://" before it."""

    target: str
    methods: Optional[Tuple[str, ...]] = None


FileMountInput = Union[str, Tuple[Union[str, Path], str], FileMount]
AllowedDomainInput = Union[str, Tuple[str, Union[str, Sequence[str]]], AllowedDomain]


@dataclass(frozen=True)
class ProcessExecutionLimits:
    """Limits of one call, with the names of agent-framework's local CodeAct. Limits of files apply to returned files."""

    timeout_seconds: float = 10.0
    max_code_bytes: int = 64 * 1024
    max_stdout_bytes: int = 64 * 1024
    max_stderr_bytes: int = 64 * 1024
    max_result_bytes: int = 128 * 1024
    max_captured_file_bytes: int = 5 * 1024 * 1024
    max_total_captured_file_bytes: int = 25 * 1024 * 1024


# The policy field of each limit.
LIMITS = {
    "timeout_seconds": "timeout",
    "max_code_bytes": "code_max",
    "max_stdout_bytes": "stdout_max",
    "max_stderr_bytes": "stderr_max",
    "max_result_bytes": "value_max",
}
# Those of Monty's resource limits that can be enforced for CPython.
RESOURCES = {"max_duration_secs": "timeout", "max_memory": "memory"}


def each(given: Any, is_one: Callable[[Any], bool]) -> List[Any]:
    """Return a list of one or several items."""
    return [given] if is_one(given) else list(given)


# ---- mounts ----


def mount_path(path: str) -> str:
    """Normalise the path in the jail."""
    raw = path.strip().replace("\\", "/")
    if not raw:
        raise ValueError("mount_path must not be empty")
    parts = [part for part in PurePosixPath(raw).parts if part not in ("/", ".")]
    if ".." in parts:
        raise ValueError(f"mount_path {path!r} must not contain '..'")
    if not parts:
        raise ValueError(f"mount_path {path!r} must name something below /")
    return "/" + "/".join(parts)


def folder(path: Union[str, Path]) -> Path:
    """An existing folder, by its real path. Symbolic links are refused, since they could be changed before a run."""
    named = Path(path).expanduser()
    if named.is_symlink():
        raise ValueError(f"{path} is a symbolic link: name the folder that it leads to")
    if not named.is_dir():
        raise ValueError(f"{path} must be an existing folder")
    return named.resolve()


def _is_mount(given: Any) -> bool:
    # Mounts of other providers have the same attributes with the same meaning.
    return isinstance(given, str) or hasattr(given, "mount_path") or (
        isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], (str, Path)) and isinstance(given[1], str)
    )


def _mount(given: Any) -> FileMount:
    if isinstance(given, str):
        return FileMount(given, given)
    if not hasattr(given, "mount_path"):
        return FileMount(*given)
    return FileMount(given.host_path, given.mount_path, getattr(given, "mode", "overlay"), getattr(given, "write_bytes_limit", None))


def mounts(given: Union[FileMountInput, Sequence[FileMountInput]]) -> List[FileMount]:
    out = []
    for one in each(given, _is_mount):
        if not _is_mount(one):
            raise TypeError(f"a file mount must be a path, (host path, mount path) or a FileMount, not {one!r}")
        made = _mount(one)
        if made.mode not in MODES:
            raise ValueError(f"mode {made.mode!r} of the mount {made.mount_path}: it must be one of {', '.join(map(repr, MODES))}")
        limit = made.write_bytes_limit
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
            raise ValueError(f"write_bytes_limit {limit!r} of the mount {made.mount_path}: it must be a number above 0")
        out.append(made._replace(host_path=folder(made.host_path), mount_path=mount_path(made.mount_path)))
    return out


# ---- domains ----

_TARGET = re.compile(r"(?:(?P<scheme>https?)://)?(?P<host>[a-z0-9*_.-]+|\[[0-9a-f:.]+\])(?::(?P<port>\d{1,5}))?/?")
PORTS = {"https": 443, "http": 80}


def domain_target(target: str) -> str:
    """Normalise to HOST or HOST:PORT. What cannot be enforced is refused."""
    found = _TARGET.fullmatch(target.strip().lower())
    if not found:
        raise ValueError(
            f"allowed domain {target!r}: it must be a host, HOST:PORT, http://HOST or https://HOST. "
            "A path cannot be enforced, since requests in TLS cannot be inspected"
        )
    port = found["port"] or (PORTS[found["scheme"]] if found["scheme"] else None)
    return f"{found['host']}:{port}" if port else found["host"]


def _is_domain(given: Any) -> bool:
    if isinstance(given, str) or hasattr(given, "target"):
        return True
    if not isinstance(given, tuple) or len(given) != 2 or not isinstance(given[0], str):
        return False
    # A tuple of two hosts is two domains; a tuple of a host and methods is one.
    return not isinstance(given[1], str) or given[1].isalpha()


def domains(given: Union[AllowedDomainInput, Sequence[AllowedDomainInput]]) -> List[AllowedDomain]:
    out = []
    for one in each(given, _is_domain):
        if not _is_domain(one):
            raise TypeError(f"an allowed domain must be a host, (host, methods) or an AllowedDomain, not {one!r}")
        target, methods = (one, None) if isinstance(one, str) else one
        if methods is not None:
            named = [methods] if isinstance(methods, str) else list(methods)
            if not named or not all(isinstance(m, str) and m.strip().isalpha() for m in named):
                raise ValueError(f"methods {methods!r} of {target}: they must be names such as 'GET', at least one")
            methods = tuple(sorted({m.strip().upper() for m in named}))
        target = domain_target(target)
        if methods and not target.endswith(":80"):
            raise ValueError(f"methods of {target} cannot be enforced, since requests in TLS cannot be inspected. Use http://{target.split(':')[0]}")
        out.append(AllowedDomain(target, methods))
    return out


def _entries(domain: AllowedDomain) -> List[str]:
    has_port = re.search(r":\d+$", domain.target)
    targets = [domain.target] if has_port else [f"{domain.target}:443", f"{domain.target}:80"]
    words = f":methods={'+'.join(domain.methods)}" if domain.methods else ""
    return [target + words for target in targets]


# ---- the policy ----


def resources(given: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    out = {}
    for name, value in (given or {}).items():
        if name not in RESOURCES:
            raise ValueError(f"resource_limits: {name!r} cannot be enforced: it must be one of {', '.join(map(repr, RESOURCES))}")
        out[RESOURCES[name]] = value
    return out


def base_policy(limits: ProcessExecutionLimits, own: Policy) -> Policy:
    """The policy of the limits, overridden by Remit's fields."""
    named: Dict[str, Any] = {keyword: getattr(limits, name) for name, keyword in LIMITS.items()}
    return Policy({**Policy(**named), **own})


def workspace(policy: Policy) -> str:
    """The folder in which the code starts."""
    return str(policy["workspace"]) if "workspace" in policy else "/workspace"


def run_policy(base: Policy, file_mounts: Iterable[FileMount], allowed: Iterable[AllowedDomain]) -> Policy:
    """The policy of one call."""
    fields: Dict[str, Any] = {}
    made = [
        {"host": os.fspath(m.host_path), "jail": m.mount_path, "mode": MODES[m.mode], **({"max_bytes": m.write_bytes_limit} if m.write_bytes_limit else {})}
        for m in file_mounts
    ]
    hosts = [entry for domain in allowed for entry in _entries(domain)]
    if made:
        fields["mount"] = [*base.to_dict().get("mounts", []), *made]
    if hosts:
        fields["allow_host"] = [*base.to_dict().get("network_allow", []), *hosts]
    return base.but(**fields)
