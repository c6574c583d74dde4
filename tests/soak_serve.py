"""Puts `remit serve` under load, as root and as an ordinary user: 64 clients
stream for a minute, then 500 clients disconnect in the middle of their runs. Checks
that nothing is left.

    tests/soak_serve.py [SECONDS]
"""

from __future__ import annotations

import contextlib
import json
import pathlib
import socket
import sys
import threading
import time

ROOT = pathlib.Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "e2e")]

from conftest import Remit  # noqa: E402
from leftovers import groups, mounts, processes, remaining  # noqa: E402
from served import Served, serve  # noqa: E402
from soak import keeper_facts, staged  # noqa: E402

CLIENTS = 64
LEAVERS = 500
LINES = 20
CODE = f"import time\nfor i in range({LINES}): print(i, flush=True); time.sleep(0.01)"
# How much the server may grow after its buffers have grown once.
GROWTH_KIB = 4096


def stream(s: Served, until: float, answered: list[int], problems: list[str]) -> None:
    while time.monotonic() < until and not problems:
        try:
            events = s.events("/v1/runs", {"code": CODE})
        except (OSError, AssertionError) as e:
            problems.append(f"a stream failed: {e!r}")
            return
        text = "".join(e["text"] for e in events if e["type"] == "output")
        if text != "".join(f"{i}\n" for i in range(LINES)) or events[-1]["type"] != "result":
            problems.append(f"a stream is incomplete: {events[-1]}")
        answered.append(1)


def leave(s: Served, n: int) -> None:
    body = json.dumps({"code": "import time\nprint('x' * 100000, flush=True)\ntime.sleep(60)", "stream": "ndjson"})
    head = f"POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {s.token}\r\nContent-Type: application/json\r\n"
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", s.port), timeout=60) as c:
        c.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        if n % 3:
            c.recv(100)


def together(count: int, work) -> None:
    threads = [threading.Thread(target=work, args=(n,)) for n in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def soak(remit: Remit, seconds: float) -> list[str]:
    problems: list[str] = []
    answered: list[int] = []
    with serve(remit) as s:
        together(CLIENTS, lambda n: stream(s, time.monotonic() + seconds / 6, answered, problems))
        s.wait_for_no_hosted_sessions()
        first = keeper_facts(s.process.pid)
        answered.clear()
        together(CLIENTS, lambda n: stream(s, time.monotonic() + seconds, answered, problems))
        s.wait_for_no_hosted_sessions()
        last = keeper_facts(s.process.pid)
        print(f"{remit.label}: {len(answered) / seconds:.0f} streams per second by {CLIENTS} clients, server {first[0]} -> {last[0]} KiB, {first[1]} -> {last[1]} descriptors")
        if last[0] > first[0] + GROWTH_KIB or last[1] > first[1]:
            problems.append(f"the server grew from {first} to {last}")
        together(LEAVERS, lambda n: leave(s, n))
        s.wait_for_no_hosted_sessions(120)
        if s.run("print(1)")["stdout"] != "1\n":
            problems.append("no client is served after the others disconnected")
        print(f"{remit.label}: {LEAVERS} clients have disconnected, and none of their runs is left")
    for name, look in (("processes", lambda: processes(remit.command)), ("groups", groups), ("mounts", mounts)):
        if left := remaining(look):
            problems.append(f"{name} left: {left}")
    return problems


def main() -> int:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60
    with staged() as remits:
        problems = [p for remit in remits for p in soak(remit, seconds)]
    print("\n".join(problems) or "nothing is left")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
