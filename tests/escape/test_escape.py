"""
Every hostile program, as every user, in three variants (test_warm_escape.py has
more):

release     the product as it is: contained.
control     all mechanisms of the field left out: it escapes. Otherwise the
            program proves nothing.
alone       one mechanism of `kept-by` kept, the others of the field left out:
            contained again. So each mechanism is sufficient.
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
    release_rounds,
    require_built,
    skip_or_fail,
    sufficient_here,
)
from jail_run import attack, run
from outcome import containment_problems, control_problems
from program import Program, load_all

PROGRAMS = {program.name: program for program in load_all()}
BENIGN = "print(6 * 7)"


def field_mechanisms(program: Program, kept: dict[str, set[str]]) -> set[str]:
    """Returns what the control leaves out: the field's mechanisms on this host."""
    if program.leaves_out:
        active = set().union(*kept.values())
        return set(program.leaves_out) & active
    return set(kept.get(program.field, ()))


def mechanisms_to_test_alone(program: Program, kept: dict[str, set[str]]) -> list[str]:
    """Returns the mechanisms to test alone. If a field has only one mechanism, the
    release variant has tested it alone already."""
    mechanisms = field_mechanisms(program, kept)
    return [m for m in sufficient_here(program) if m in mechanisms and mechanisms - {m}]


def cases(variant: str):
    for program in PROGRAMS.values():
        if program.machine not in (None, os.uname().machine):
            continue
        for label in caller_labels():
            if label not in program.users:
                continue
            kept = mechanisms_here(label)
            if variant == "release":
                yield pytest.param(program, label, id=f"{program.name}-{label}")
            elif variant == "control" and program.control:
                yield pytest.param(program, label, id=f"{program.name}-{label}")
            elif variant == "alone":
                alone = mechanisms_to_test_alone(program, kept) if kept else sufficient_here(program)
                for mechanism in alone:
                    name = f"{program.name}-{label}-{mechanism}"
                    yield pytest.param(program, label, mechanism, id=name)


def fail_with(program: Program, problems: list[str], rounds) -> None:
    if problems:
        described = "\n".join(one.describe() for one in rounds)
        pytest.fail(
            f"{program.id} {program.name}: {program.expect}\n"
            + "\n".join(problems)
            + "\n"
            + described,
            pytrace=False,
        )


def enforced(program: Program, label: str) -> dict[str, set[str]]:
    kept = release_rounds(program.name, label)[-1].mechanisms()
    if not kept:
        skip_or_fail("the release binary reported no enforcement to compare with")
    return kept


@pytest.mark.parametrize(("program", "caller_label"), list(cases("release")))
def test_release_contains(program, caller_label):
    caller = get_caller(caller_label)
    rounds = release_rounds(program.name, caller_label)
    fail_with(program, containment_problems(program, rounds, caller), rounds)

    # A harmless run must work afterwards.
    after = run(release_binary(), BENIGN, {}, caller, get_world())
    assert after.status == "ok" and after.output("stdout") == "42\n", after.describe()
    mechanisms = field_mechanisms(program, rounds[-1].mechanisms())
    record_coverage(program, mechanisms & set(program.kept_by), caller, "release")


@pytest.mark.parametrize(("program", "caller_label"), list(cases("control")))
def test_control_escapes(program, caller_label):
    binary = require_built(holes_binary())
    bait = program.control_needs
    if bait and not getattr(get_world(), bait).exists():
        skip_or_fail(f"only root can place the bait \"{bait}\"")
    mechanisms = field_mechanisms(program, enforced(program, caller_label))
    assert mechanisms, f"no mechanism enforces {program.field}, so none can be left out"
    rounds = attack(
        binary, program, get_caller(caller_label), get_world(), tuple(sorted(mechanisms))
    )
    fail_with(program, control_problems(program, rounds), rounds)


@pytest.mark.parametrize(("program", "caller_label", "mechanism"), list(cases("alone")))
def test_single_mechanism_contains(program, caller_label, mechanism):
    binary = require_built(holes_binary())
    caller = get_caller(caller_label)
    mechanisms = field_mechanisms(program, enforced(program, caller_label))
    if mechanism not in mechanisms:
        skip_or_fail(f"{mechanism} does not enforce {program.field} here")
    others = tuple(sorted(mechanisms - {mechanism}))
    rounds = attack(binary, program, caller, get_world(), others)
    problems = containment_problems(program, rounds, caller, program.tolerates)
    fail_with(program, [f"{mechanism} alone: {w}" for w in problems], rounds)
    record_coverage(program, {mechanism}, caller, "alone")


@pytest.mark.parametrize("caller_label", caller_labels())
@pytest.mark.parametrize(
    "name", ["fs_r1_read_host_files", "net2_connect_loopback", "pr1_fork"]
)
def test_release_ignores_remit_holes(name, caller_label):
    program, caller = PROGRAMS[name], get_caller(caller_label)
    everything = "mount_namespace,network_namespace,landlock,seccomp"
    rounds = attack(
        require_built(release_binary()),
        program,
        caller,
        get_world(),
        more_environment={"REMIT_HOLES": everything},
    )
    fail_with(program, containment_problems(program, rounds, caller), rounds)
    kept = rounds[-1].mechanisms()
    assert set(sufficient_here(program)) <= kept[program.field], "REMIT_HOLES took effect"
