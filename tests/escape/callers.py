"""The users who run Remit in these tests, the binaries, and the mechanisms of each field."""

from __future__ import annotations

import atexit
import ctypes
import functools
import json
import os
import pwd

import jail_run
import program as program_module
import world as world_module
from conftest import ROOT, TEST_USER, make_test_user, skip_or_fail


def release_binary() -> str:
    return os.environ.get("REMIT", str(ROOT / "build" / "remit"))


def holes_binary() -> str:
    return os.environ.get("REMIT_HOLES_BUILD", str(ROOT / "build-holes" / "remit"))


def require_built(binary: str) -> str:
    if not jail_run.is_executable(binary):
        skip_or_fail(f"{binary} is not built")
    return binary


def _user_name(label: str) -> str:
    if label == "root":
        return "root"
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid()).pw_name
    make_test_user()
    return TEST_USER


@functools.lru_cache(maxsize=None)
def get_caller(label: str) -> jail_run.Caller:
    caller = jail_run.Caller(label, _user_name(label))
    atexit.register(caller.close)
    return caller


def caller_labels() -> list[str]:
    return ["root", "user"] if os.geteuid() == 0 else ["user"]


@functools.lru_cache(maxsize=None)
def get_world() -> world_module.World:
    world = world_module.World()
    atexit.register(world.close)
    return world


@functools.lru_cache(maxsize=None)
def landlock_abi() -> int:
    create_ruleset, version = 444, 1
    return ctypes.CDLL(None).syscall(create_ruleset, None, 0, version)


def sufficient_here(program: program_module.Program) -> list[str]:
    """Returns the mechanisms of `kept-by` that this kernel fully supports."""
    return [m for m in program.kept_by if m != "landlock" or landlock_abi() >= program.landlock_abi]


@functools.lru_cache(maxsize=None)
def mechanisms_here(label: str) -> dict[str, set[str]] | None:
    """Returns the mechanisms of each field for this user, as a run reports them; None if it reports none."""
    if not jail_run.is_executable(release_binary()):
        return None
    one = jail_run.run(
        release_binary(), "print('hello')", {}, get_caller(label), get_world()
    )
    return one.mechanisms() or None


@functools.lru_cache(maxsize=None)
def release_rounds(name: str, label: str) -> list[jail_run.Run]:
    program = program_module.load(program_module.PROGRAMS / f"{name}.py")
    return jail_run.attack(
        require_built(release_binary()), program, get_caller(label), get_world()
    )


def record_coverage(
    program: program_module.Program,
    mechanisms: set[str],
    caller: jail_run.Caller,
    variant: str,
    tier: str = "local",
) -> None:
    """Appends what was tested, and for which user, to the file that REMIT_COVERAGE names."""
    path = os.environ.get("REMIT_COVERAGE")
    if not path:
        return
    with open(path, "a") as f:
        for mechanism in sorted(mechanisms):
            row = {
                "field": program.field,
                "mechanism": mechanism,
                "tier": tier,
                "user": caller.label,
                "variant": variant,
                "program": program.name,
            }
            f.write(json.dumps(row) + "\n")
