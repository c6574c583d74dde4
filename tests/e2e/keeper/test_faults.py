"""Whichever process dies at whatever moment: the caller gets a clear error or a clean end, and nothing is left."""

import json
import os
import pathlib
import random
import signal
import subprocess
import threading
import time

import pytest
from leftovers import groups, mounts, processes, remaining
from shared_keeper import SharedKeeper, children
from waiting import until

SLEEP = "print('up', flush=True); import time; time.sleep(600)"


def check_clean(remit):
    assert remaining(lambda: processes(remit.command)) == []
    assert mounts() == []
    remit("doctor", "--clean")
    assert remaining(groups) == []
    assert remit.json("print(1)")["stdout"] == "1\n"


def is_sleeping(pid):
    """Whether the process has printed and sleeps. Only root can read this."""
    try:
        return os.geteuid() != 0 or "nanosleep" in pathlib.Path(f"/proc/{pid}/wchan").read_text()
    except OSError:
        return False


def started(remit, *flags):
    remit.json("pass")  # probes the machine first, so that the keeper's first child is a jail
    # No test waits for this timeout, unless it sets another.
    flags = ("--timeout", "300s", *flags)
    p = remit.popen("run", "--json", *flags, "-c", SLEEP, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)

    def all_below() -> list[int]:
        pids = [p.pid]
        for _ in range(3):
            pids += children(pids[-1])[:1]
        return pids[1:] if len(pids) == 4 and is_sleeping(pids[3]) else []

    keeper, init, code = until(all_below)
    time.sleep(0 if os.geteuid() == 0 else 1)  # only root can read whether it sleeps
    return p, keeper, init, code


def test_run_ends_cleanly_when_caller_dies(remit):
    p, *_ = started(remit)
    p.kill()
    p.wait()
    p.stdout.close()
    check_clean(remit)


def test_run_ends_cleanly_when_keeper_dies(remit):
    p, keeper, *_ = started(remit)
    os.kill(keeper, signal.SIGKILL)
    out, _ = p.communicate(timeout=60)
    assert p.returncode == 125 and out == b""
    check_clean(remit)


def test_unsafe_code_dies_with_its_keeper(remit):
    """Without a jail the kernel kills the process that the keeper started."""
    alive = remit.folder / "alive"
    code = f"import os, time; open({str(alive)!r}, 'w').write(str(os.getpid())); time.sleep(300)"
    p = remit.popen("run", "--tier", "unsafe", "--timeout", "300s", "-c", code, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    pid = int(until(lambda: alive.exists() and alive.read_text()))
    (keeper,) = children(p.pid)
    os.kill(keeper, signal.SIGKILL)
    assert p.wait(timeout=60) == 125
    assert remaining(lambda: [pid] if pathlib.Path(f"/proc/{pid}").exists() else []) == []


def test_run_ends_cleanly_when_pid_1_dies(remit):
    p, _, init, _ = started(remit)
    os.kill(init, signal.SIGKILL)
    out, _ = p.communicate(timeout=60)
    result = json.loads(out)
    assert (result["status"], result["signal"], result["stdout"]) == ("killed", 9, "up\n")
    check_clean(remit)


def test_code_is_never_host_root(remit):
    p, _, init, code = started(remit)
    for pid in (init, code):
        with open(f"/proc/{pid}/status") as f:
            fields = dict(line.split(":", 1) for line in f)
        uids = {int(u) for u in fields["Uid"].split()}
        if remit.by_root:
            assert len(uids) == 1 and 0x70000000 <= uids.pop() < 0x70010000
            assert fields["Groups"].split() == []
        else:
            assert uids == {os.stat(remit.folder).st_uid}
        assert {int(fields[c], 16) for c in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {0}
        assert int(fields["NoNewPrivs"]) == 1
    p.kill()
    p.communicate()
    check_clean(remit)


def test_code_with_subprocesses_has_empty_bounding_set(remit):
    p, _, _, code = started(remit, "--subprocess", "--memory-fallback", "per_process", "--cpu-fallback", "per_process")
    assert "CapBnd:\t0000000000000000\n" in pathlib.Path(f"/proc/{code}/status").read_text()
    p.kill()
    p.communicate()
    check_clean(remit)


def test_code_killed_from_outside_is_reported(remit):
    p, _, _, code = started(remit)
    os.kill(code, signal.SIGKILL)
    out, _ = p.communicate(timeout=60)
    result = json.loads(out)
    assert (result["status"], result["signal"], result["stdout"]) == ("killed", 9, "up\n")
    check_clean(remit)


def test_code_stopped_from_outside_times_out(remit):
    p, _, _, code = started(remit, "--timeout", "8s")
    os.kill(code, signal.SIGSTOP)
    out, _ = p.communicate(timeout=60)
    assert json.loads(out)["status"] == "timeout"
    check_clean(remit)


@pytest.mark.parametrize("victim", ["caller", "keeper", "init"])
def test_death_at_any_moment_of_start_leaves_nothing(remit, victim):
    rng = random.Random(victim)
    remit.json("pass")
    for _ in range(25):
        p = remit.popen("run", "--json", "-c", "print(1)", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        time.sleep(rng.uniform(0, 0.025))  # another moment in each round
        pid = p.pid
        for _ in range({"caller": 0, "keeper": 1, "init": 2}[victim]):
            pid = next(iter(children(pid)), None) if pid else None
        if pid:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        out, _ = p.communicate(timeout=60)
        if out:
            assert json.loads(out)["status"] in ("ok", "killed", "internal")
    check_clean(remit)


def test_shared_keeper_serves_fifty_clients_at_once(any_remit, stage):
    """Each client gets its answer."""
    keeper = SharedKeeper(any_remit)
    answers = []

    def ask(count):
        for _ in range(count):
            answers.append(keeper.json("print(1)", timeout=300)["status"])

    threads = [threading.Thread(target=ask, args=(4,)) for _ in range(50)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    keeper.close()
    assert answers == ["ok"] * 200
    check_clean(any_remit)


def test_shared_keeper_serves_only_its_user(stage):
    from conftest import make_remit, skip_or_fail, users

    if "root" not in users():
        skip_or_fail("needs two users")
    remit, other = make_remit("user", stage), make_remit("root", stage)
    keeper = SharedKeeper(remit)
    path, env = keeper.path, keeper.env
    assert remit.json("print(1)", env=env)["stdout"] == "1\n"
    assert remit.json("import time; time.sleep(9)", "--timeout", "300ms", env=env)["status"] == "timeout"
    done = other("run", "-c", "print(1)", env=env)
    assert done.returncode == 125 and "another user" in done.stderr
    assert oct(path.stat().st_mode & 0o777) == "0o600"
    second = remit("keeper", "--listen", path)
    assert second.returncode == 125 and "another keeper is listening" in second.stderr
    keeper.close()
    assert not path.exists()
    done = remit("run", "-c", "print(1)", env=env)
    assert done.returncode == 125 and "keeper" in done.stderr
    check_clean(remit)


def test_read_root_swapped_during_start_is_never_another_folder(remit):
    """The jail has one of the two folders, or the run is refused."""
    good = remit.file("swap/good/who", "good").parent
    evil = remit.file("swap/evil/who", "evil").parent
    for path in (good.parent, good, evil):
        remit.own(path)
    root = good.parent / "root"
    stop = threading.Event()

    def swap():
        while not stop.is_set():
            for target in (good, evil):
                temp = good.parent / "temp"
                try:
                    os.symlink(target, temp)
                    os.replace(temp, root)
                except OSError:
                    pass

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for _ in range(20):
            result = remit.json(f"print(open('{root}/who').read())", "--read", root)
            assert result["status"] == "refused" or result["stdout"] in ("good\n", "evil\n"), result
    finally:
        stop.set()
        thread.join()
    check_clean(remit)


def test_keeper_without_memory_fails_and_does_not_hang(remit):
    """An address space that is too small for the keeper gives an error."""
    limit = f'ulimit -v 40000; exec "$@"'
    done = subprocess.run(
        ["sh", "-c", limit, "sh", *remit.argv("run", "--json", "--stdin-max", "1G", "-c", "import sys; print(len(sys.stdin.read()))")],
        input=b"x" * (100 << 20), env=remit.env(), cwd=remit.folder, capture_output=True, timeout=120, **remit.identity(),
    )  # fmt: skip
    assert done.returncode != 0
    check_clean(remit)


OPEN = """
import os
def is_open(fd):
    try: os.fstat(fd); return True
    except OSError: return False
print([fd for fd in range(1024) if is_open(fd)])
"""


def test_caller_s_descriptors_do_not_reach_code(remit):
    r, w = os.pipe()
    result = remit.json(OPEN, pass_fds=(w,))
    os.close(r)
    os.close(w)
    assert result["stdout"] == "[0, 1, 2, 3]\n", result
