"""
The same programs in a warm child: a fork of the zygote that has joined a jail
and waits there for the program.

warm            every program whose plan can be warm: contained, and no process
                of it is left below the keeper.
warm control    all mechanisms of the field left out: it escapes.
warm alone      one mechanism kept: contained. One program for each mechanism,
                because the same code locks down every child, whatever then runs.
"""

from __future__ import annotations

import os

import pytest
from callers import (
    caller_labels,
    get_caller,
    get_world,
    holes_binary,
    mechanisms_here,
    record_coverage,
    release_binary,
    require_built,
    skip_or_fail,
)
from outcome import containment_problems, control_problems
from program import load_all
from test_escape import fail_with, field_mechanisms, mechanisms_to_test_alone
from warm import BENIGN, LONG_RUN_TIMEOUT, WarmKeeper, can_be_warm, get_keeper

PROGRAMS = {program.name: program for program in load_all()}

# One program for each mechanism that stops it.
WITNESSES = {
    "mount_namespace": "fs_r1_read_host_files",
    "landlock": "fs_r1_read_host_files",
    "network_namespace": "net2_connect_loopback",
    "seccomp": "pr1_fork",
    "empty_environment": "in1_environment",
    "rlimit_as": "rs5_map_and_touch",
    "cgroup_memory": "rs5_map_and_touch",
    "cgroup_pids": "rs7_thread_bomb",
    "rlimit_nproc": "rs7_thread_bomb",
    "cgroup_cpu": "rs17_processor_time",
    "rlimit_cpu": "rs17_processor_time",
    "rlimit_nofile": "rs9_open_files",
    "rlimit_fsize": "rs6_one_large_file",
    "tmpfs_size": "rs6_fill_writable_mounts",
    "tmpfs_inodes": "rs8_many_empty_files",
    "noexec_mount": "pr17_execute_in_workspace",
    "affinity": "rs17_more_processors",
    "timer": "rs1_sleep_forever",
    "capture": "rs10_flood_stdout",
}


def cases():
    """Yields the programs of one caller after the other, so that only one keeper at a time has work."""
    for label in caller_labels():
        for program in PROGRAMS.values():
            if program.machine not in (None, os.uname().machine):
                continue
            if label in program.users and can_be_warm(program.policy, label):
                yield pytest.param(program, label, id=f"{program.name}-{label}")


def witness_cases(with_control: bool):
    """Yields a program and its user: for the control, in which all mechanisms are
    left out, or together with the only mechanism that is kept."""
    for label in caller_labels():
        kept = mechanisms_here(label) or {}
        seen = set()
        for mechanism, name in WITNESSES.items():
            program = PROGRAMS[name]
            if not can_be_warm(program.policy, label):
                continue
            if with_control and program.control and name not in seen:
                seen.add(name)
                yield pytest.param(program, label, id=f"{name}-{label}")
            if not with_control and mechanism in mechanisms_to_test_alone(program, kept):
                yield pytest.param(program, label, mechanism, id=f"{name}-{label}-{mechanism}")


def assert_warm(rounds) -> None:
    for one in rounds:
        assert one.result, one.describe()
        assert one.result["start"] == "warm", one.describe()


@pytest.mark.parametrize(("program", "caller_label"), list(cases()))
def test_warm_contains(program, caller_label):
    keeper = get_keeper(require_built(release_binary()), caller_label)
    rounds = keeper.attack(program)
    problems = containment_problems(program, rounds, keeper.caller)
    fail_with(program, problems + keeper.leftovers(), rounds)
    assert_warm(rounds)
    mechanisms = field_mechanisms(program, rounds[-1].mechanisms())
    record_coverage(program, mechanisms & set(program.kept_by), keeper.caller, "warm")


@pytest.fixture
def keeper_with_holes():
    """Returns a function that makes keepers which leave mechanisms out; closes them at the end."""
    made = []

    def make(label: str, left_out: tuple[str, ...]) -> WarmKeeper:
        made.append(WarmKeeper(require_built(holes_binary()), get_caller(label), left_out))
        return made[-1]

    yield make
    for keeper in made:
        keeper.close()


def mechanisms_of(program, label) -> set[str]:
    mechanisms = field_mechanisms(program, mechanisms_here(label) or {})
    assert mechanisms, f"no mechanism enforces {program.field}, so none can be left out"
    return mechanisms


@pytest.mark.parametrize(("program", "caller_label"), list(witness_cases(True)))
def test_warm_control_escapes(program, caller_label, keeper_with_holes):
    bait = program.control_needs
    if bait and not getattr(get_world(), bait).exists():
        skip_or_fail(f"only root can place the bait \"{bait}\"")
    keeper = keeper_with_holes(caller_label, tuple(sorted(mechanisms_of(program, caller_label))))
    rounds = keeper.attack(program)
    fail_with(program, control_problems(program, rounds), rounds)
    assert_warm(rounds)


@pytest.mark.parametrize(("program", "caller_label", "mechanism"), list(witness_cases(False)))
def test_warm_single_mechanism_contains(program, caller_label, mechanism, keeper_with_holes):
    others = tuple(sorted(mechanisms_of(program, caller_label) - {mechanism}))
    keeper = keeper_with_holes(caller_label, others)
    rounds = keeper.attack(program)
    problems = containment_problems(program, rounds, keeper.caller, program.tolerates)
    fail_with(program, [f"{mechanism} alone: {w}" for w in problems], rounds)
    assert_warm(rounds)
    record_coverage(program, {mechanism}, keeper.caller, "warm alone")


@pytest.mark.parametrize("caller_label", caller_labels())
def test_leftover_process_below_the_keeper_is_detected(caller_label):
    """A running program stands for a process that was left over."""
    keeper = get_keeper(require_built(release_binary()), caller_label)
    keeper.await_child({"timeout": LONG_RUN_TIMEOUT})
    keeper.until(keeper.is_settled, "the keeper does not settle")
    with keeper.client("import time; time.sleep(600)") as client:
        keeper.until(lambda: keeper.status()["running"], "the program does not run")
        keeper.until(lambda: keeper.is_full(keeper.status()), "the pools do not fill")
        assert not keeper.is_settled()
        client.kill()
    assert keeper.leftovers() == []


@pytest.mark.parametrize("caller_label", caller_labels())
def test_policies_documented_as_cold_start_cold(caller_label):
    """can_be_warm() chooses the programs above: the product must follow the same rule."""
    keeper = get_keeper(require_built(release_binary()), caller_label)
    programs = [p for p in PROGRAMS.values() if caller_label in p.users]
    cold = {str(p.policy): p.policy for p in programs if not can_be_warm(p.policy, caller_label)}
    for policy in cold.values():
        if policy.get("network_access") == "host":
            # A shared keeper does not give the host's network to a run.
            assert keeper.run(BENIGN, policy).status == "refused"
            continue
        for _ in range(2):
            one = keeper.run(BENIGN, policy)
            assert (one.status, one.result["start"]) == ("ok", "cold"), one.describe()
        assert not keeper.leftovers()


@pytest.mark.parametrize("caller_label", caller_labels())
def test_closed_keeper_leaves_nothing(caller_label):
    """The keepers are closed here, so this must be the last test of the file."""
    left = get_keeper(require_built(release_binary()), caller_label).close()
    assert left == []
    get_keeper.cache_clear()
