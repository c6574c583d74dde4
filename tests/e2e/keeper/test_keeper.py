"""A shared keeper at its default path: how it is found, used, queried and activated."""

import json
import os
import socket
import stat
import subprocess

import pytest
from conftest import PYTHON, ROOT
from fake_keeper import PROTOCOL, frame_numbers
from shared_keeper import SharedKeeper


@pytest.fixture
def runtime(remit):
    """A runtime folder for this user."""
    folder = remit.folder / f"runtime-{os.urandom(4).hex()}"
    folder.mkdir(mode=0o700)
    remit.own(folder)
    return folder


class UsualKeeper(SharedKeeper):
    """A keeper started without a path."""

    def __init__(self, remit, runtime):
        self.remit = remit
        self.path = runtime / "remit" / "keeper.sock"
        self.env = {"XDG_RUNTIME_DIR": str(runtime)}
        self.process = remit.popen("keeper", env=self.env, stdin=subprocess.DEVNULL)
        self.pid = self.process.pid
        self.until(self.path.exists)


@pytest.fixture
def usual(remit, runtime):
    keeper = UsualKeeper(remit, runtime)
    yield keeper
    keeper.close()


def test_keeper_at_default_path_is_found_and_warm(usual):
    usual.until(usual.is_full)
    result = usual.json("print(6 * 7)")
    assert (result["stdout"], result["start"]) == ("42\n", "warm")
    assert usual.status()["pools"][0]["hits"] == 1


def test_default_path_is_private_to_its_user(usual):
    assert stat.S_IMODE(usual.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(usual.path.parent.stat().st_mode) == 0o700


def test_empty_remit_keeper_selects_private_keeper(usual):
    usual.until(usual.is_full)
    assert usual.json("print(1)", env={"REMIT_KEEPER": ""})["start"] == "cold"
    assert usual.status()["latency_us"]["count"] == 0


def test_private_keeper_does_what_found_keeper_cannot(usual):
    flags = ("--net=host", "--memory-fallback", "per_process")
    assert usual.json("print(1)", *flags)["status"] == "ok"
    named = usual.json("print(1)", *flags, env={"REMIT_KEEPER": str(usual.path)})
    assert named["status"] == "refused" and named["error"]["where"] == "network_access"


def test_second_keeper_does_not_replace_first(usual):
    done = usual.remit("keeper", env=usual.env)
    assert done.returncode == 125 and "another keeper is listening" in done.stderr
    assert usual.json("print(1)")["status"] == "ok"


def test_socket_without_listener_is_skipped(remit, runtime):
    (runtime / "remit").mkdir(mode=0o700)
    remit.own(runtime / "remit")
    with socket.socket(socket.AF_UNIX) as left_over:
        left_over.bind(str(runtime / "remit" / "keeper.sock"))
    result = remit.json("print(1)", env={"XDG_RUNTIME_DIR": str(runtime)})
    assert (result["status"], result["start"]) == ("ok", "cold")


def test_keeper_without_runtime_folder_needs_path(remit):
    if remit.by_root:
        assert "/run/remit/keeper.sock" in remit("status").stderr
    else:
        done = remit("keeper")
        assert done.returncode == 2 and "--listen" in done.stderr


def test_status_shows_zygotes_and_pools(usual):
    usual.until(usual.is_full)
    usual.json("print(1)")
    shown = usual.remit("status", env=usual.env).stdout
    assert str(usual.path) in shown and "ZYGOTE" in shown and "POOL" in shown and "1 runs so far" in shown
    doc = usual.status()
    assert doc["pid"] == usual.pid and doc["zygotes"][0]["state"] == "ready"
    assert doc["zygotes"][0]["memory_bytes"] > 1 << 20 and doc["pools"][0]["memory_bytes"] > 0


def test_status_without_keeper_is_error(remit, runtime):
    done = remit("status", env={"XDG_RUNTIME_DIR": str(runtime)})
    assert done.returncode == 125 and "keeper" in done.stderr and done.stdout == ""


ACTIVATE = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
os.execv(sys.argv[2], ["remit", "keeper"])
"""


def test_socket_passed_by_systemd_is_used(remit, runtime):
    """sd_listen_fds(3): descriptor 3, LISTEN_PID and LISTEN_FDS."""
    path = runtime / "activated.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        remit.own(path)
        keeper = subprocess.Popen(
            ["/usr/bin/python3", "-I", "-c", ACTIVATE, str(listener.fileno()), remit.command],
            env=remit.env(), cwd=remit.folder, pass_fds=[listener.fileno()], **remit.identity(),
        )  # fmt: skip
        try:
            done = remit("run", "--json", "-c", "print(1)", env={"REMIT_KEEPER": str(path)})
            assert json.loads(done.stdout)["status"] == "ok", done
            assert json.loads(remit("status", "--json", env={"REMIT_KEEPER": str(path)}).stdout)["pid"] == keeper.pid
        finally:
            keeper.terminate()
            assert keeper.wait(timeout=60) == 0
    assert path.exists()  # the socket belongs to systemd


def test_batch_uses_shared_keeper(usual):
    usual.until(usual.is_full)
    jobs = "".join(json.dumps({"id": i, "code": f"print({i})"}) + "\n" for i in range(6))
    done = usual.remit("batch", "-j", 2, "-", input=jobs, env=usual.env)
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert [r["stdout"] for r in results] == [f"{i}\n" for i in range(6)]
    assert {r["start"] for r in results} == {"warm"}


def test_modes_of_displays_share_a_pool(usual):
    usual.until(usual.is_full)
    pools = len(usual.status()["pools"])
    for mode, count in (("none", 0), ("all", 1), ("explicit", 1), ("none", 0)):
        usual.until(usual.is_full)
        result = usual.json("display(1)", "--display-mode", mode)
        assert (len(result["displays"]), result["start"]) == (count, "warm"), mode
    assert len(usual.status()["pools"]) == pools


JOB = ["JOB", "name\0a.py\0stays\0yes\0"]
CODE = ["CODE", "import sys; assert not hasattr(sys, 'left'); sys.left = 1"]
WHOLE = [JOB, CODE, ["STDIN_END", ""], ["START", ""]]


def frames_received(keeper, *sent):
    """Return the frames that a client receives for each group of frames it sends."""
    script = (ROOT / "tests" / "e2e" / "keeper" / "raw_client.py").read_text()
    argv = [PYTHON, "-c", script, keeper.path, str(PROTOCOL), json.dumps(frame_numbers()), *map(json.dumps, sent)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=120, **keeper.remit.identity())
    return json.loads(done.stdout)


def test_kept_connection_serves_further_jobs(usual):
    assert frames_received(usual, WHOLE, WHOLE, WHOLE) == [["ENFORCEMENT", "STAYS", "ok", "RESULT"]] * 3


@pytest.mark.parametrize("before", [[], [WHOLE]], ids=["new connection", "kept connection"])
def test_session_can_be_interrupted_before_it_opens(usual, before):
    *_, last = frames_received(usual, *before, [["OPEN", ""], ["INTERRUPT", ""]])
    assert last[-2:] == ["interrupted", "RESULT"]


def test_connection_is_kept_only_on_request(usual):
    once = [["JOB", "name\0a.py\0"], *WHOLE[1:]]
    assert frames_received(usual, once, once) == [["ENFORCEMENT", "ok", "RESULT"], ["END"]]


@pytest.mark.parametrize("late", [WHOLE, [["POLICY", "{}"]], [["STATUS", ""]], [["CODE", "1"]]], ids=lambda late: late[0][0])
def test_frames_sent_before_result_are_not_next_job(usual, late):
    first, second = frames_received(usual, [*WHOLE, *late], WHOLE)
    assert "STAYS" not in first and second == ["END"]
    assert usual.json("print(1)")["status"] == "ok"


def test_connection_is_closed_after_incomplete_job(usual):
    first, second = frames_received(usual, [["POLICY", "{"], *WHOLE], WHOLE)
    assert (first, second) == (["ENFORCEMENT", "refused", "RESULT"], ["END"])
