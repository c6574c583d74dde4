"""
The same programs in the tier landlock, where a container forbids namespaces.

bare            every program whose field the tier enforces: it is contained, and
                no workspace is left.
bare control    without Landlock and the filter it escapes. A few programs, one for
                each way out that only these two close in this tier.
"""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import tempfile
import time

import pytest
from bare import NOT_PROMISED, for_landlock_tier, is_testable, without_namespaces
from callers import caller_labels, get_caller, get_world, holes_binary, record_coverage, release_binary, require_built
from jail_run import Run, attack
from outcome import containment_problems, control_problems
from program import Program, load_all
from test_escape import fail_with, field_mechanisms

PROGRAMS = {program.name: program for program in load_all()}
CONTROLS = ("fs_r15_extended_attributes", "fs_r1_read_host_files", "net2_connect_loopback", "pr1_fork")


def cases():
    for program in PROGRAMS.values():
        if program.machine not in (None, os.uname().machine):
            continue
        for label in caller_labels():
            if label in program.users and is_testable(program):
                yield pytest.param(program, label, id=f"{program.name}-{label}")


@functools.lru_cache(maxsize=None)
def workspace_parent() -> str:
    """Makes a directory for workspaces that only these tests use."""
    folder = tempfile.mkdtemp(prefix="remit-bare-", dir="/tmp")
    os.chmod(folder, 0o1777)
    atexit.register(shutil.rmtree, folder)
    return folder


def attack_bare(program: Program, label: str, binary: str, left_out: tuple[str, ...] = ()) -> list[Run]:
    more = {"TMPDIR": workspace_parent()}
    return attack(without_namespaces(require_built(binary)), for_landlock_tier(program), get_caller(label), get_world(), left_out, more)


def remaining_workspaces() -> list[str]:
    """Waits until no workspace is left. Returns those that are left after 60 seconds."""
    end = time.monotonic() + 60
    while (found := os.listdir(workspace_parent())) and time.monotonic() < end:
        time.sleep(0.02)  # polls
    return found


@pytest.mark.parametrize(("program", "caller_label"), list(cases()))
def test_bare_contains(program, caller_label):
    caller = get_caller(caller_label)
    rounds = attack_bare(program, caller_label, release_binary())
    problems = containment_problems(program, rounds, caller)
    fail_with(program, problems + remaining_workspaces(), rounds)
    assert all(one.result["tier"] == "landlock" for one in rounds)
    mechanisms = field_mechanisms(program, rounds[-1].mechanisms())
    record_coverage(program, mechanisms & set(program.kept_by), caller, "bare", tier="landlock")


@pytest.mark.parametrize("caller_label", caller_labels())
@pytest.mark.parametrize("name", CONTROLS)
def test_bare_control_escapes(name, caller_label):
    rounds = attack_bare(PROGRAMS[name], caller_label, holes_binary(), ("landlock", "seccomp"))
    fail_with(PROGRAMS[name], control_problems(PROGRAMS[name], rounds), rounds)


@pytest.mark.parametrize("caller_label", caller_labels())
@pytest.mark.parametrize("name", NOT_PROMISED)
def test_unpromised_access_does_no_harm(name, caller_label):
    caller = get_caller(caller_label)
    rounds = attack_bare(PROGRAMS[name], caller_label, release_binary())
    assert all(one.result and one.findings == {} and not one.report["left"] for one in rounds), rounds
    assert caller.victim_is_alive() and remaining_workspaces() == []
