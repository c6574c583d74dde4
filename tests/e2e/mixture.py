"""Programs that end in every possible way."""

from __future__ import annotations

import json
import random

# (code, flags, accepted statuses)
MIX = [
    ("print(1)", [], {"ok"}),
    ("print('x' * 100000)", [], {"ok"}),
    ("1/0", [], {"error"}),
    ("import sys; sys.exit(3)", [], {"exit"}),
    ("import os; os.kill(os.getpid(), 11)", [], {"killed"}),
    ("while True: pass", ["--timeout", "50ms"], {"timeout"}),
    ("x = []\nwhile True: x.append(bytearray(1 << 20))", ["--memory", "250M", "--disk", "32M"], {"memory_limit", "error"}),
    ("while True: print('y' * 9999)", ["--stdout-max", "2k", "--output-ceiling", "9"], {"output_limit"}),
    ("import threading, time\nfor _ in range(200): threading.Thread(target=time.sleep, args=(9,), daemon=True).start()", ["--processes", "20"], {"error"}),
    ("open('f', 'wb').write(bytes(9 << 20))", ["--disk", "1M"], {"error"}),
    ("import os; os.write(3, b'garbage' * 100)", [], {"ok", "exit", "error"}),
    ("x = (", ["--tier", "static"], {"rejected"}),
    ("print(1)", ["--write", "/nonexistent"], {"refused"}),
]  # fmt: skip


# An overloaded machine may miss one of Remit's deadlines. That is not a defect if the result names the deadline
# (docs/reference/deadlines.md).
LATE = 'deadline "'


def run_one(remit, rng: random.Random, env: dict[str, str], late: list[str]) -> str | None:
    """Run a random program and return what was wrong with the result, or None. Append to `late` if the machine was
    too slow."""
    code, flags, wanted = rng.choice(MIX)
    answer = remit("run", "--json", *flags, "-c", code, env=env)
    try:
        result = json.loads(answer.stdout)
    except ValueError:
        return f"{code!r} {flags}: {answer.stderr}"
    if result["status"] == "busy" and LATE in result["error"]["value"]:
        late.append(result["error"]["value"])
        return None
    return None if result["status"] in wanted else f"{code!r} {flags}: {result['status']} {result['error']}"
