"""Rule 2: if a step of the lock-down fails, the run must end."""

import contextlib
import os
import pathlib
import re
import signal
import subprocess

import pytest
from conftest import ROOT
from leftovers import name_of, processes, remaining, workspaces
from shared_keeper import family, kill
from waiting import PATIENCE, until

TABLE = (ROOT / "src" / "jail" / "lock" / "step.c").read_text()
ROWS = re.findall(r'\[STEP_(?!READY)\w+\] =\s*\{\s*"([^"]+)",\s*(STAGE_\w+)', TABLE)
STEPS = [name for name, _ in ROWS]
# A zygote's child performs these as well, except for reading the parameters, which only a cold child does.
WARM = [name for name, stage in ROWS if stage in ("STAGE_JOIN", "STAGE_LOCK") and name != "read the keeper's parameters"]


# The steps of a jail without namespaces
BARE = [name for name, stage in ROWS if stage in ("STAGE_ENTER", "STAGE_LOCK")]
BARE += ["resolve host folders", "become the jail's user", "mount the workspace", "prepare Landlock rules", "start pid 2"]


def way_to(step):
    """Flags of a run that reaches this step."""
    if step == "open network listeners":
        return ("--allow-host", "example.com:443", "--memory-fallback", "per_process")
    return ("--preload", "json") if (step, "STAGE_JOIN") in ROWS else ()


def test_step_table_is_parsed():
    assert len(STEPS) > 28 and "leave the host's root" in STEPS and "load the filter" in STEPS


@pytest.mark.parametrize("step", STEPS)
def test_failing_step_ends_run_with_its_name(holes, step):
    result = holes.json("print('ran')", *way_to(step), env={"REMIT_FAIL_STEP": step})
    assert result["stdout"] == "" and result["status"] == "internal", result
    assert result["error"]["where"] == step and result["error"]["value"]
    assert remaining(lambda: processes(holes.command)) == []


@pytest.mark.parametrize("step", WARM)
def test_failing_step_in_zygote_child_ends_run_with_its_name(holes, step):
    result = holes.json("print('ran')", "--preload", "json", env={"REMIT_FAIL_STEP": step})
    assert result["stdout"] == "" and result["status"] == "internal", result
    assert result["error"]["where"] == step and result["error"]["value"]
    assert remaining(lambda: processes(holes.command)) == []


@pytest.mark.parametrize("step", BARE)
def test_failing_step_without_namespaces_ends_run_with_its_name(holes, step):
    result = holes.json("print('ran')", "--preset", "landlock", env={"REMIT_FAIL_STEP": step})
    assert result["stdout"] == "" and result["status"] == "internal", result
    assert result["error"]["where"] == step and result["error"]["value"]
    assert remaining(lambda: processes(holes.command)) == [] and remaining(lambda: workspaces(holes)) == []


def test_release_build_cannot_fail_steps(remit):
    assert b"REMIT_FAIL_STEP" not in pathlib.Path(remit.command).read_bytes()
    assert remit.json("print(1)", env={"REMIT_FAIL_STEP": "load the filter"})["status"] == "ok"


def kill_at(holes, step, number, *flags) -> None:
    """Kill the caller, the keeper or a pid 1 in turn, while a run waits at a step."""
    # If the caller or the keeper is killed, code that still ran would last. If a pid 1 is killed, the run may be
    # repeated.
    code = "print(1)" if number % 3 == 2 else "import time; time.sleep(300)"
    env = {"REMIT_WAIT_STEP": step}
    with holes.popen(
        "run", "--timeout", "300s", *flags, "-c", code, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as p:
        try:
            (waits,) = until(lambda: [pid for pid in family(p.pid) if name_of(pid) == "remit-waits"], "no process waits at the step")
            below = family(p.pid)
            keeper, victim = below[0], (p.pid, below[0], below[-1])[number % 3]
            kill(victim)
            if keeper in (victim, waits):  # a stopped process does not notice the keeper's end, and nothing else ends it
                with contextlib.suppress(ProcessLookupError):
                    os.kill(waits, signal.SIGCONT)
            p.communicate(timeout=PATIENCE)  # the run must end, with any result
        finally:
            p.kill()
    assert remaining(lambda: processes(holes.command)) == []


@pytest.mark.parametrize("number", range(len(STEPS)))
def test_process_killed_at_step_leaves_nothing(holes, number):
    kill_at(holes, STEPS[number], number, *way_to(STEPS[number]))


@pytest.mark.parametrize("number", range(len(BARE)))
def test_process_killed_at_step_without_namespaces_leaves_nothing(holes, number):
    """Except for the workspace of a killed keeper, which the next keeper removes."""
    kill_at(holes, BARE[number], number, "--preset", "landlock")
    assert holes("doctor", "--clean").returncode == 0
    assert remaining(lambda: workspaces(holes)) == []
