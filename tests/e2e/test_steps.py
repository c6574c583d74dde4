"""Rule 2: no step of the lock-down may fail and let the run go on."""

import pathlib
import re
import subprocess
import time

import pytest
from conftest import ROOT
from leftovers import gone, name_of, processes, workspaces
from shared_keeper import children, kill

TABLE = (ROOT / "src" / "jail" / "step.c").read_text()
ROWS = re.findall(r'\[STEP_(?!READY)\w+\] =\s*\{\s*"([^"]+)",\s*(STAGE_\w+)', TABLE)
STEPS = [name for name, _ in ROWS]
# A zygote's child carries these out too; the order is read by cold ones only.
WARM = [name for name, stage in ROWS if stage in ("STAGE_JOIN", "STAGE_LOCK") and name != "read the keeper's order"]


# And a jail without namespaces these.
BARE = [name for name, stage in ROWS if stage in ("STAGE_ENTER", "STAGE_LOCK")]
BARE += ["resolve host folders", "take the jail's user", "mount the workspace", "prepare Landlock rules", "start pid 2"]


def way_to(step):
    """Flags of a run that comes to this step."""
    if step == "open the ways out":
        return ("--allow-host", "example.com:443", "--memory-fallback", "per_process")
    return ("--preload", "json") if (step, "STAGE_JOIN") in ROWS else ()


def test_the_table_was_found():
    assert len(STEPS) > 28 and "leave the host's root" in STEPS and "load the filter" in STEPS


@pytest.mark.parametrize("step", STEPS)
def test_a_step_that_fails_ends_the_run_with_its_name(holes, step):
    result = holes.json("print('ran')", *way_to(step), env={"REMIT_FAIL_STEP": step})
    assert result["stdout"] == "" and result["status"] == "internal", result
    assert result["error"]["where"] == step and result["error"]["value"]
    assert gone(lambda: processes(holes.command)) == []


@pytest.mark.parametrize("step", WARM)
def test_a_step_that_fails_in_a_zygotes_child_ends_the_run_with_its_name(holes, step):
    result = holes.json("print('ran')", "--preload", "json", env={"REMIT_FAIL_STEP": step})
    assert result["stdout"] == "" and result["status"] == "internal", result
    assert result["error"]["where"] == step and result["error"]["value"]
    assert gone(lambda: processes(holes.command)) == []


@pytest.mark.parametrize("step", BARE)
def test_a_step_that_fails_without_namespaces_ends_the_run_with_its_name(holes, step):
    result = holes.json("print('ran')", "--preset", "landlock", env={"REMIT_FAIL_STEP": step})
    assert result["stdout"] == "" and result["status"] == "internal", result
    assert result["error"]["where"] == step and result["error"]["value"]
    assert gone(lambda: processes(holes.command)) == [] and gone(lambda: workspaces(holes)) == []


def test_the_release_build_has_no_such_switch(remit):
    assert b"REMIT_FAIL_STEP" not in pathlib.Path(remit.command).read_bytes()
    assert remit.json("print(1)", env={"REMIT_FAIL_STEP": "load the filter"})["status"] == "ok"


def descendants(pid):
    below = children(pid)
    return below + [q for p in below for q in descendants(p)]


def await_family(p) -> list[int]:
    """The command and all below it, once the step waits."""
    family = []
    while not any(name_of(pid) == "remit-waits" for pid in family):
        assert p.poll() is None, p.communicate()
        time.sleep(0.02)
        family = [p.pid, *descendants(p.pid)]
    return family


@pytest.mark.parametrize("number", range(len(STEPS)))
def test_whoever_is_killed_at_a_step_nothing_is_left(holes, number):
    """The caller, the keeper and pid 1 in turn; the step waits for it."""
    victim = ("caller", "keeper", "last")[number % 3]
    env = {"REMIT_WAIT_STEP": STEPS[number]}
    with holes.popen("run", *way_to(STEPS[number]), "-c", "print(1)", env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
        family = await_family(p)
        kill({"caller": family[0], "keeper": family[1], "last": family[-1]}[victim])
        p.communicate(timeout=60)  # it ends, whatever it says
    assert gone(lambda: processes(holes.command)) == []


@pytest.mark.parametrize("number", range(len(BARE)))
def test_whoever_is_killed_at_a_step_without_namespaces_nothing_is_left(holes, number):
    """But for the folder of a keeper that was killed, which the next one removes."""
    victim = ("caller", "keeper", "last")[number % 3]
    env = {"REMIT_WAIT_STEP": BARE[number]}
    with holes.popen("run", "--preset", "landlock", "-c", "print(1)", env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
        family = await_family(p)
        kill({"caller": family[0], "keeper": family[1], "last": family[-1]}[victim])
        p.communicate(timeout=60)
    assert gone(lambda: processes(holes.command)) == []
    assert holes("doctor", "--clean").returncode == 0
    assert gone(lambda: workspaces(holes)) == []
