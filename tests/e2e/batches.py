"""Jobs and results as lines, for the tests of `remit batch`."""

from __future__ import annotations

import json
import pathlib
import signal
import subprocess
import tempfile

from waiting import PATIENCE, until


def lines(*jobs) -> str:
    """Return a file of jobs. A job that is already a string is used as it is."""
    return "".join((job if isinstance(job, str) else json.dumps(job)) + "\n" for job in jobs)


def results(text: str) -> list[dict]:
    """Parse a text of results. Every line must be complete."""
    assert text == "" or text.endswith("\n"), text[-200:]
    return [json.loads(line) for line in text.split("\n")[:-1]]


def batch(remit, *jobs, flags=(), **more) -> list[dict]:
    done = remit("batch", *flags, input=lines(*jobs), **more)
    assert done.returncode == 0, done
    return results(done.stdout)


def numbers(count: int) -> list[dict]:
    return [{"id": f"job {n}", "code": f"print({n})"} for n in range(count)]


def slow(count: int, seconds: float = 0.1) -> list[dict]:
    return [{"id": n, "code": f"import time; time.sleep({seconds}); print({n})"} for n in range(count)]


class Gate:
    """A folder that jobs share with the test. Each job creates a file there when it begins, and waits until the test
    lets it continue."""

    def __init__(self, remit):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="gate-", dir=remit.folder))
        remit.own(self.path)
        self.flags = ("--mount", f"{self.path}:/gate:direct", "--timeout", "100s")

    def job(self, name, before: str = "", after: str = "") -> dict:
        wait = f"open('/gate/begun-{name}', 'w').close()\nwhile not os.path.exists('/gate/on-{name}'): time.sleep(0.02)\n"
        return {"id": name, "code": f"import os, time\n{before}\n{wait}{after}"}

    def begun(self) -> int:
        return len(list(self.path.glob("begun-*")))

    def let(self, *names) -> None:
        for name in names:
            (self.path / f"on-{name}").touch()


def started(remit, jobs, *flags, before: int = 3, **more):
    """Start a batch, and return as soon as its file has `before` results."""
    path = remit.file("jobs.jsonl", lines(*jobs))
    out = remit.folder / "out.jsonl"
    out.unlink(missing_ok=True)
    p = remit.popen("batch", path, "--output", out, *flags, stderr=subprocess.PIPE, text=True, **more)
    until(lambda: out.exists() and out.read_bytes().count(b"\n") >= before)
    return p, path, out


def interrupt(p: subprocess.Popen) -> None:
    """Send a SIGINT and wait until it is delivered: two that are pending at the same time count as one."""

    def was_delivered():
        with open(f"/proc/{p.pid}/status") as f:
            waiting = next(int(line.split()[1], 16) for line in f if line.startswith("ShdPnd"))
        return not waiting >> (signal.SIGINT - 1) & 1

    p.send_signal(signal.SIGINT)
    until(lambda: p.poll() is not None or was_delivered())


def wait_for_exit(p: subprocess.Popen) -> int:
    """Return the exit code. A process that does not end fails the test without blocking it."""
    try:
        return p.wait(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        p.kill()
        raise
