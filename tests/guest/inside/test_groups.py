"""Limits by cgroup v2: for root in the top cgroup, and for root and an ordinary user
in a leaf of a delegated cgroup."""

import json
import os
import signal
import subprocess

import groups
import pytest
from conftest import enforced, make_remit
from leftovers import processes, remaining
from places import PlacedRemit
from shared_keeper import SharedKeeper
from tracing import tracing

ALL = ["cgroup_memory", "cgroup_pids", "cgroup_cpu", "cgroup_kill"]
MIB = 1 << 20
# The parent waits for a child that allocates too much memory; killing only the child would let the parent live.
GREEDY_CHILD = """
import os
if os.fork() == 0:
    x = []
    while True: x.append(bytearray(1 << 20))
os.wait()
print("survived")
"""
FORKS = """
import os, time
made = 0
try:
    while made < 50:
        if os.fork() == 0: time.sleep(60)
        made += 1
except OSError as e:
    print(made, e.errno)
"""
SPINNING_CHILDREN = """
import os, time
for _ in range(3):
    if os.fork() == 0:
        while True: pass
time.sleep(600)
"""
WAIT = "import sys; print('here', flush=True); sys.stdin.read()"


@pytest.fixture(params=["root at the top", pytest.param("root", marks=pytest.mark.full), "user"])
def placed(request, stage):
    label = request.param.split()[0]
    folder = make_remit(label, stage).folder
    if request.param.endswith("top"):
        yield PlacedRemit(label, folder, groups.TOP)
    else:
        with groups.delegated("given", None if label == "root" else "remit-test") as group:
            yield PlacedRemit(label, folder, group / "main")
            groups.assert_nothing_left(group)
    groups.assert_nothing_left()


def capabilities(remit) -> dict:
    done = remit("doctor", "--json")
    assert done.returncode == 0, (done.stdout, done.stderr)
    return {row["name"]: row for row in json.loads(done.stdout)["capabilities"]}


def live_group(remit):
    """Returns the cgroup of the only run."""
    (found,) = groups.until(lambda: [p for p in remit.home.glob("remit-*") if groups.is_populated(p)])
    return found


def test_doctor_reports_cgroup_v2(placed):
    found = capabilities(placed)
    for name in ALL:
        assert found[name]["yes"], found[name]
        assert found[name]["why"].rstrip("/") == f"cgroup v2 at {placed.home}"


def test_run_has_one_cgroup_with_all_limits(placed):
    with placed.popen("run", "--memory", "100M", "--processes", "9", "-c", WAIT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
        assert run.stdout.readline() == b"here\n"
        group = live_group(placed)
        read = {name: (group / name).read_text().strip() for name in ("memory.max", "memory.oom.group", "pids.max")}
        members = (group / "cgroup.procs").read_text().split()
        run.stdin.close()
        assert run.wait(timeout=60) == 0
    assert read == {"memory.max": str(100 * MIB), "memory.oom.group": "1", "pids.max": "10"}
    assert len(members) == 2, "pid 1 and the program"


def test_memory_limit_ends_all_processes(placed):
    result = placed.json(GREEDY_CHILD, "--subprocess", "--memory", "60M")
    assert (result["status"], result["stdout"]) == ("memory_limit", ""), result
    assert enforced(result, "memory_bytes") == ["cgroup_memory"]
    assert 30 * MIB < result["usage"]["memory_peak_bytes"] <= 60 * MIB


@pytest.mark.full
def test_tmpfs_files_count_as_memory(placed):
    code = "open('/tmp/x', 'wb').write(bytes(90 << 20))"
    assert placed.json(code, "--memory", "60M")["status"] == "memory_limit"


def test_process_limit_counts_all_processes(placed):
    flags = ("--subprocess", "--processes", "8", "--timeout", "20s")
    result = placed.json(FORKS, *flags)
    assert (result["status"], result["stdout"]) == ("ok", "7 11\n"), result
    assert "cgroup_pids" in enforced(result, "processes")
    assert result["usage"]["processes_peak"] <= 9


def test_cpu_limit_counts_all_processes(placed):
    result = placed.json(SPINNING_CHILDREN, "--subprocess", "--cpu", "1s", "--timeout", "120s")
    assert result["status"] == "cpu_limit", result
    assert result["usage"]["cpu_ms"] >= 1000


def test_cold_run_is_cloned_into_its_cgroup(placed):
    with tracing() as trace:
        result = placed.json("print(1)")
    assert (result["status"], result["start"]) == ("ok", "cold")
    assert len(trace.made()) == 1, trace.text
    assert trace.moved() == [], "CLONE_INTO_CGROUP was not used"


def test_many_processes_are_killed_in_one_step(placed):
    code = "import os, time\nfor _ in range(40):\n    if os.fork() == 0: break\ntime.sleep(600)"
    with tracing() as trace:
        result = placed.json(code, "--subprocess", "--timeout", "2s")
    assert result["status"] == "timeout", result
    assert trace.kills() >= 1, trace.text


def test_warm_runs_are_limited_by_cgroups(placed):
    keeper = SharedKeeper(placed)
    try:
        with tracing() as trace:
            assert keeper.warm("print(1)")["stdout"] == "1\n"
        assert trace.moved(), "a child of the zygote moves itself into its cgroup"
        result = keeper.warm("x = []\nwhile True: x.append(bytearray(1 << 20))", "--memory", "60M")
        assert (result["status"], result["start"]) == ("memory_limit", "warm"), result
        assert enforced(result, "memory_bytes") == ["cgroup_memory"]
        assert keeper.warm("print(2)", "--memory", "60M")["stdout"] == "2\n"
    finally:
        keeper.close()
    assert remaining(lambda: processes(placed.command)) == []


@pytest.mark.full
def test_cgroups_of_a_killed_keeper_are_removed_by_the_next(placed):
    keeper = SharedKeeper(placed)
    keeper.await_child()
    assert groups.remaining(placed.home)
    os.kill(keeper.pid, signal.SIGKILL)
    keeper.process.wait()
    assert remaining(lambda: processes(placed.command)) == []
    assert placed.json("print(3)")["stdout"] == "3\n"
    groups.assert_nothing_left(placed.home)


@pytest.mark.full
def test_concurrent_runs_work(placed):
    both = [placed.popen("run", "-c", "print(4)", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) for _ in range(4)]
    assert [run.communicate(timeout=120)[0] for run in both] == [b"4\n"] * 4


def test_ordinary_user_without_a_cgroup_gets_a_refusal(stage):
    remit = make_remit("user", stage)
    found = capabilities(remit)
    assert not any(found[name]["yes"] for name in ALL)
    assert "/sys/fs/cgroup" in found["cgroup_memory"]["why"]
    result = remit.json(GREEDY_CHILD, "--subprocess", "--memory", "60M", "--cpu", "unlimited")
    assert (result["status"], result["error"]["where"]) == ("refused", "memory_bytes"), result
    result = remit.json("x = []\nwhile True: x.append(bytearray(1 << 20))")
    assert (result["status"], result["error"]["name"]) == ("error", "MemoryError"), result
