"""Cgroups that systemd delegates: to a keeper that requests a scope, and to a service."""

import json
import os
import pathlib
import pwd
import re
import shutil
import signal
import socket
import subprocess

import groups
import pytest
from conftest import ROOT, TEST_USER, enforced, make_remit
from shared_keeper import children

GREEDY_CHILD = """
import os
if os.fork() == 0:
    x = []
    while True: x.append(bytearray(1 << 20))
os.wait()
print("survived")
"""
WAIT = "import sys; print('here', flush=True); sys.stdin.read()"


class Manager:
    """The systemd manager of one user."""

    def __init__(self, remit):
        self.remit = remit
        self.flags = [] if remit.by_root else ["--user"]
        self.env = {}
        self.runtime = pathlib.Path("/run")
        if not remit.by_root:
            uid = pwd.getpwnam(TEST_USER).pw_uid
            self.runtime = pathlib.Path(f"/run/user/{uid}")
            self.env = {"XDG_RUNTIME_DIR": str(self.runtime)}
            subprocess.run(["systemctl", "start", f"user@{uid}.service"], check=True)
            assert groups.until((self.runtime / "bus").exists)

    def command(self, name: str, *args: str) -> str:
        done = subprocess.run(
            [name, *self.flags, *args], text=True, capture_output=True, env=self.remit.env(self.env), **self.remit.identity()
        )
        assert done.returncode == 0, (name, args, done.stdout, done.stderr)
        return done.stdout

    def scopes(self) -> list[str]:
        listed = self.command("systemctl", "list-units", "--all", "--plain", "--no-legend", "--type=scope", "remit-*")
        return [line.split()[0] for line in listed.splitlines()]

    def units(self) -> pathlib.Path:
        """Returns the directory for the user's runtime units."""
        if self.remit.by_root:
            return pathlib.Path("/run/systemd/system")
        folder = self.runtime / "systemd" / "user"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def json(self, code: str, *flags: str) -> dict:
        return self.remit.json(code, *flags, env=self.env)


@pytest.fixture
def manager(remit):
    found = Manager(remit)
    yield found
    groups.until(lambda: not found.scopes())
    assert found.scopes() == []
    groups.assert_nothing_left()


def assert_limited_by_cgroup(result: dict) -> None:
    assert (result["status"], result["stdout"]) == ("memory_limit", ""), result
    assert enforced(result, "memory_bytes") == ["cgroup_memory"]
    assert {"cgroup_pids", "rlimit_nproc"} <= set(enforced(result, "processes"))


def test_keeper_requests_a_scope(manager):
    assert_limited_by_cgroup(manager.json(GREEDY_CHILD, "--subprocess", "--memory", "60M"))


@pytest.mark.full
def test_cgroups_are_below_the_scope_and_vanish_with_it(manager):
    with manager.remit.popen("run", "-c", WAIT, env=manager.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
        assert run.stdout.readline() == b"here\n"
        (scope,) = manager.scopes()
        names = [path.removeprefix(str(groups.TOP)) for path in groups.remaining() if "remit-keeper" not in path and scope + "/" in path]
        run.stdin.close()
        assert run.wait(timeout=60) == 0
    assert len(names) == 1 and re.search(rf"/{scope}/remit-[0-9a-f]{{16}}$", names[0]), names
    where = "/system.slice/" if manager.remit.by_root else "/user@1000.service/"
    assert where in names[0]


@pytest.mark.full
def test_killed_keeper_leaves_nothing(manager):
    run = manager.remit.popen("run", "-c", WAIT, env=manager.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert run.stdout.readline() == b"here\n"
    (keeper,) = children(run.pid)
    os.kill(keeper, signal.SIGKILL)
    assert run.wait(timeout=60) == 125
    groups.assert_nothing_left()


@pytest.mark.full
def test_doctor_probes_from_a_keeper_scope(manager):
    done = manager.remit("doctor", "--json", env=manager.env)
    rows = {row["name"]: row for row in json.loads(done.stdout)["capabilities"]}
    for name in ("cgroup_memory", "cgroup_pids", "cgroup_cpu", "cgroup_kill"):
        assert rows[name]["yes"], rows[name]
        assert re.search(r"cgroup v2 at .*/remit-\d+\.scope$", rows[name]["why"]), rows[name]


def test_shared_keeper_runs_as_its_service(manager):
    """Starts the units as they are installed."""
    folder = manager.units()
    # A system service has no HOME by default.
    home = "Environment=HOME=/root" if manager.remit.by_root else ""
    for name in ("remit-keeper.socket", "remit-keeper.service"):
        text = (ROOT / "share" / "systemd" / name).read_text()
        (folder / name).write_text(text.replace("ExecStart=remit keeper", f"ExecStart={manager.remit.command} keeper\n{home}"))
    manager.command("systemctl", "daemon-reload")
    manager.command("systemctl", "start", "remit-keeper.socket")
    env = {"REMIT_KEEPER": str(manager.runtime / "remit" / "keeper.sock")}
    try:
        for _ in range(20):
            result = manager.remit.json("x = []\nwhile True: x.append(bytearray(1 << 20))", "--memory", "60M", env=env)
            assert_limited_by_cgroup(result)
            if result["start"] == "warm":
                break
        assert result["start"] == "warm"
        assert all("/remit-keeper.service" in path for path in groups.remaining())
        assert manager.scopes() == []
    finally:
        manager.command("systemctl", "stop", "remit-keeper.socket", "remit-keeper.service")
        for name in ("remit-keeper.socket", "remit-keeper.service"):
            (folder / name).unlink()
    shutil.rmtree(manager.runtime / "remit", ignore_errors=True)


def test_user_without_systemd_runs_without_cgroups(stage):
    remit = make_remit("user", stage)
    result = remit.json("print(1)", env={"XDG_RUNTIME_DIR": "/nowhere"})
    assert result["stdout"] == "1\n"
    assert "cgroup_memory" not in enforced(result, "memory_bytes")


def test_systemd_that_is_too_slow_is_named(stage, tmp_path):
    """A bus that accepts the connection and never answers."""
    remit = make_remit("user", stage)
    tmp_path.chmod(0o777)
    for folder in tmp_path.parents:
        folder.chmod(folder.stat().st_mode | 0o111)
    with socket.socket(socket.AF_UNIX) as bus:
        bus.bind(str(tmp_path / "bus"))
        (tmp_path / "bus").chmod(0o777)
        bus.listen()
        env = {"XDG_RUNTIME_DIR": str(tmp_path)}
        late = remit.json("print(1)", "--subprocess", env=env)
        plain = remit.json("print(1)", env=env)
    assert late["status"] == "busy" and '(deadline "scope")' in late["error"]["value"], late
    assert plain["stdout"] == "1\n"
    # The next keeper asks again.
    usual = Manager(remit).json("print(1)", "--subprocess")
    assert enforced(usual, "memory_bytes") == ["cgroup_memory"]
