"""The hostile programs in the tier landlock: which of them apply, and what the tier does not promise."""

from __future__ import annotations

import dataclasses
import functools
import pathlib
import sys

from callers import get_world
from program import Program

CONTAIN = pathlib.Path(__file__).parents[1] / "e2e" / "contain.py"

LIFTED = {
    "tier": "landlock",
    "processes": "unlimited",
    "disk_bytes": "unlimited",
    "files": "unlimited",
    "memory_fallback": "per_process",
}
# Fields that the tier cannot enforce, so that it refuses policies with them.
REFUSED_FIELDS = ("disk_bytes", "files", "processes")

# docs/guide/containers.md lists these as not enforced, or the program expects an environment
# that this tier does not have.
NOT_PROMISED = {
    "fs_r15_metadata": "metadata is visible",
    "fs_w10_setuid_and_devices_have_no_effect": "the workspace has the mount flags of the host's folder",
    "in4_host_name": "the host's name is visible",
    "p5_image_unchanged": "a link of the runtime leads to a file that exists and cannot be read",
    "p7_signal_or_trace_parent": "the existence of a process is visible",
    "pr6_load_library_from_workspace": "libraries can be loaded from the workspace",
}


def is_testable(program: Program) -> bool:
    policy = program.policy
    if program.field in REFUSED_FIELDS or policy.get("subprocess_execution") or policy.get("network_allow"):
        return False
    if policy.get("network_access") == "loopback":
        return False
    if policy.get("tier", "local") != "local" or any(m["host"] != m["jail"] for m in policy.get("mounts", ())):
        return False
    # Packages are installed in a jail of the tier local, which needs namespaces.
    return program.name not in NOT_PROMISED and not policy.get("packages")


def for_landlock_tier(program: Program) -> Program:
    return dataclasses.replace(program, policy={**program.policy, **LIFTED})


@functools.lru_cache(maxsize=None)
def without_namespaces(binary: str) -> str:
    """Returns a program that starts this one where namespaces are forbidden."""
    path = get_world().dir / f"contained-{len(binary)}-{abs(hash(binary))}"
    path.write_text(f'#!/bin/sh\nexec {sys.executable} {CONTAIN} {binary} "$@"\n')
    path.chmod(0o755)
    return str(path)
