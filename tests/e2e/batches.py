"""Jobs and results as lines, for the tests of `remit batch`."""

from __future__ import annotations

import json
import subprocess
import time


def lines(*jobs) -> str:
    """A file of jobs; what is text already stands as it is."""
    return "".join((job if isinstance(job, str) else json.dumps(job)) + "\n" for job in jobs)


def results(text: str) -> list[dict]:
    """All lines, each of them whole."""
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


def wait_until(true, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.01)


def started(remit, jobs, *flags, before: int = 3, **more):
    """A batch that has written some results to a file."""
    path = remit.file("jobs.jsonl", lines(*jobs))
    out = remit.folder / "out.jsonl"
    out.unlink(missing_ok=True)
    p = remit.popen("batch", path, "--output", out, *flags, stderr=subprocess.PIPE, text=True, **more)
    wait_until(lambda: out.exists() and out.read_bytes().count(b"\n") >= before)
    return p, path, out


def ended(p: subprocess.Popen) -> int:
    """The exit code. One that does not end fails the test, and does not hold it up."""
    try:
        return p.wait(timeout=30)
    except subprocess.TimeoutExpired:
        p.kill()
        raise
