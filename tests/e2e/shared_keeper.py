"""A shared keeper of one user, and runs that get a warm child."""

from __future__ import annotations

import json
import os
import pathlib
import secrets
import signal
import socket
import statistics
import subprocess
import time

import waiting
from waiting import PATIENCE


class SharedKeeper:
    def __init__(self, remit, *flags, **more):
        self.remit = remit
        self.path = pathlib.Path(remit.folder) / f"keeper-{secrets.token_hex(4)}.sock"
        self.process = remit.popen("keeper", "--listen", self.path, *flags, stdin=subprocess.DEVNULL, **more)
        self.pid = self.process.pid
        self.env = {"REMIT_KEEPER": str(self.path)}
        self.until(self.listens)

    def listens(self) -> bool:
        """Whether the keeper accepts connections. Its socket exists before it listens."""
        with socket.socket(socket.AF_UNIX) as s:
            return s.connect_ex(str(self.path)) == 0

    def until(self, condition, seconds: float = PATIENCE):
        """Return the first true result of `condition`."""
        return waiting.until(condition, lambda: f"{condition} stays false; status {self.status()}", seconds)

    def status(self) -> dict:
        done = self.remit("status", "--json", env=self.env)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def json(self, code: str, *flags, env=None, **more) -> dict:
        """Return the result of one program, warm or cold."""
        return self.remit.json(code, *flags, env={**self.env, **(env or {})}, **more)

    def warm(self, code: str, *flags, **more) -> dict:
        """Return the result of one program that ran in a warm child."""
        self.await_child(*flags)
        result = self.json(code, *flags, **more)
        assert result["start"] == "warm", (result, self.status())
        return result

    def await_child(self, *flags) -> None:
        """Wait until a child is warm for a run with these flags. Run a harmless program until it starts warm; its
        pool then makes another child."""

        def is_warm() -> bool:
            warm = self.json("pass", *flags)["start"] == "warm"
            self.until(self.is_full)
            return warm

        self.until(is_warm)

    def latency(self) -> float:
        """The median time of a run that does nothing."""
        times = []
        for _ in range(15):
            begun = time.monotonic()
            assert self.json("pass")["status"] == "ok"
            times.append(time.monotonic() - begun)
        return statistics.median(times)

    def is_slowed_by(self, trouble) -> bool:
        """Whether runs take longer during `trouble`. Measure three times, since other load on the machine comes and
        goes."""

        def is_slower() -> bool:
            alone = self.latency()
            with trouble():
                return self.latency() >= 5 * alone + 0.05

        return all(is_slower() for _ in range(3))

    def is_full(self) -> bool:
        """Whether every pool has as many children as it wants."""
        now = self.status()
        return all(z["state"] == "ready" for z in now["zygotes"]) and all(
            p["waiting"] >= p["target"] and not p["building"] for p in now["pools"] if p["warm"] and p["target"]
        )

    def zygote(self) -> dict:
        """The only zygote."""
        (zygote,) = self.status()["zygotes"]
        return zygote

    def family(self) -> list[int]:
        return family(self.pid)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                assert self.process.wait(timeout=PATIENCE) == 0
            finally:
                self.process.kill()


def children(pid: int) -> list[int]:
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            return [int(child) for child in f.read().split()]
    except OSError:
        return []


def family(pid: int) -> list[int]:
    """All processes below it, nearest first."""
    found = children(pid)
    for below in found:
        found += children(below)
    return found


def is_alive(pid: int) -> bool:
    """Whether the process still has memory. A dead process may stay a zombie until the system's pid 1 reaps it."""
    try:
        with open(f"/proc/{pid}/status") as f:
            return "VmSize" in f.read()
    except OSError:
        return False


def kill(pid: int) -> None:
    """Kill the process if it still exists."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
