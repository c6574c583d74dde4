"""Every limit is hit, and the result names it."""

import ctypes
import json
import pathlib
import subprocess

import pytest
from conftest import enforced, skip_or_fail
from shared_keeper import children


def test_timeout_ends_every_kind_of_wait(remit, covers):
    for code in (
        "while True: pass",
        "import time; time.sleep(60)",
        "import signal\nfor s in range(1, 65):\n    try: signal.signal(s, signal.SIG_IGN)\n    except (OSError, ValueError): pass\nwhile True: pass",
        "import ctypes; ctypes.CDLL(None).pause()",
        "int('9' * 4000) ** 200000",
        "import re; re.match('(a+)+$', 'a' * 40 + 'b')",
    ):
        result = remit.json(code, "--timeout", "600ms")
        assert (result["status"], result["exit_code"], result["signal"]) == ("timeout", None, 9), code
        assert 600 <= result["usage"]["wall_ms"] < 25000
    assert enforced(result, "timeout") == ["timer"]
    covers(remit, "timeout", "timer")


def test_timeout_ends_many_threads(any_remit):
    code = "import threading\ndef spin():\n    while True: pass\nfor _ in range(40): threading.Thread(target=spin).start()"
    assert any_remit.json(code, "--timeout", "700ms")["status"] == "timeout"


def test_cpu_limit_ends_run(remit, covers):
    result = remit.json("while True: pass", "--cpu", "700ms", "--timeout", "300s")
    assert result["status"] == "cpu_limit"
    assert 650 < result["usage"]["cpu_ms"] < 3000
    result = remit.json("while True: pass", "--cpu", "1s", "--timeout", "300s")
    assert result["status"] == "cpu_limit"
    covers(remit, "cpu_seconds", *enforced(result, "cpu_seconds"))


def test_cpu_limit_counts_all_processes(remit):
    code = "import os, time\nfor _ in range(4):\n    if os.fork() == 0:\n        while True: pass\ntime.sleep(300)"
    result = remit.json(code, "--subprocess", "--cpu", "1s", "--timeout", "300s")
    if remit.by_root:
        assert result["status"] == "cpu_limit" and result["usage"]["cpu_ms"] < 4000
    else:  # without a cgroup the limit cannot be enforced, so it is refused
        assert (result["status"], result["error"]["where"]) == ("refused", "cpu_seconds")


def test_sleeping_costs_no_cpu_time(any_remit):
    assert any_remit.json("import time; time.sleep(1.5)", "--cpu", "1s")["status"] == "ok"


@pytest.mark.parametrize(
    "code",
    [
        "x = []\nwhile True: x.append(bytearray(1 << 20))",
        "x = bytearray(400 << 20); x[::4096] = b'x' * len(x[::4096])",
        "import mmap; m = mmap.mmap(-1, 400 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\nfor i in range(0, len(m), 4096): m[i] = 1",
    ],
)
def test_memory_limit_is_hit(remit, covers, code):
    result = remit.json(code, "--memory", "200M", "--disk", "32M", "--open-files", "64")
    if remit.by_root:
        assert (result["status"], result["signal"]) == ("memory_limit", 9)
        assert result["usage"]["memory_peak_bytes"] <= (200 << 20) + (16 << 20)
    else:
        assert result["status"] == "error" and result["error"]["name"] in ("MemoryError", "OSError")
        assert result["usage"]["memory_peak_bytes"] < 200 << 20
    covers(remit, "memory_bytes", *enforced(result, "memory_bytes"))


def test_memory_limit_without_cgroup_includes_files_and_pipes(remit):
    """Files, pipes and the process together stay within memory_bytes."""
    result = remit.json("pass")
    (row,) = [r for r in result["enforcement"] if r["field"] == "memory_bytes"]
    if remit.by_root:
        assert row["mechanisms"] == ["cgroup_memory"]
        return
    numbers = [int(w) for w in row["note"].split() if w.isdigit()]
    assert 500 < sum(numbers) <= 512 and len(numbers) == 4


def test_process_limit_is_hit(remit, covers):
    code = (
        "import threading, time\nn = 0\ntry:\n    while True:\n"
        "        threading.Thread(target=time.sleep, args=(60,), daemon=True).start(); n += 1\n"
        "except RuntimeError as e: print(n, e)"
    )
    result = remit.json(code, "--processes", "20")
    assert result["stdout"].split()[0] == "19", result  # the main thread counts as one
    covers(remit, "processes", *enforced(result, "processes"))


def test_disk_limit_is_hit(remit, covers):
    code = (
        "import errno\n"
        "def fill(name):\n"
        "    n = 0\n"
        "    with open(name, 'wb', buffering=0) as f:\n"
        "        try:\n"
        "            while True: n += f.write(bytes(65536))\n"
        "        except OSError as e: print(errno.errorcode[e.errno])\n"
        "    return n\n"
        "print(fill('/workspace/a') + fill('/tmp/b') + fill('/dev/shm/c') <= 8 << 20)"
    )
    result = remit.json(code, "--disk", "8M")
    assert result["stdout"] == "ENOSPC\nENOSPC\nENOSPC\nTrue\n"
    covers(remit, "disk_bytes", *enforced(result, "disk_bytes"))


def test_file_count_limit_is_hit(remit, covers):
    code = "import errno\nn = 0\ntry:\n    while True:\n        open(str(n), 'w').close(); n += 1\nexcept OSError as e: print(n < 100, errno.errorcode[e.errno])"
    result = remit.json(code, "--files", "100")
    assert result["stdout"] == "True ENOSPC\n"
    covers(remit, "files", *enforced(result, "files"))


def test_file_size_limit_is_hit(remit, covers):
    code = "import errno\ntry:\n    with open('x', 'wb', buffering=0) as f:\n        while True: f.write(bytes(65536))\nexcept OSError as e: print(errno.errorcode[e.errno])\nimport os; print(os.path.getsize('x'))"
    result = remit.json(code, "--file-size", "1M")
    assert result["stdout"] == f"EFBIG\n{1 << 20}\n"
    covers(remit, "file_bytes", *enforced(result, "file_bytes"))


def test_open_file_limit_is_hit(remit, covers):
    code = "import errno\nkeep = []\ntry:\n    while True: keep.append(open('/dev/null'))\nexcept OSError as e: print(len(keep) < 40, errno.errorcode[e.errno])"
    result = remit.json(code, "--open-files", "40")
    assert result["stdout"] == "True EMFILE\n"
    covers(remit, "open_files", *enforced(result, "open_files"))


def test_cpu_count_is_limited(remit, covers):
    code = "import os; print(os.cpu_count(), len(os.sched_getaffinity(0)))\ntry: os.sched_setaffinity(0, range(64)); print('raised')\nexcept PermissionError: print('refused')"
    result = remit.json(code, "--cpus", "1")
    assert result["stdout"] == "1 1\nrefused\n"
    covers(remit, "cpus", *enforced(result, "cpus"))
    code = "import threading, time\ndef spin():\n    import hashlib\n    b = bytes(1 << 20)\n    end = time.monotonic() + 1\n    while time.monotonic() < end: hashlib.sha256(b)\nts = [threading.Thread(target=spin) for _ in range(6)]\n[t.start() for t in ts]; [t.join() for t in ts]"
    usage = remit.json(code, "--cpus", "1")["usage"]
    assert usage["cpu_ms"] <= 1.15 * usage["wall_ms"] + 20


def test_output_is_cut_at_limit_and_drained_beyond(remit, covers):
    code = "import sys\nfor i in range(100): sys.stdout.write('x' * 1000); sys.stderr.write('y' * 1000)\nsys.stdout.write('end')"
    result = remit.json(code, "--stdout-max", "5000", "--stderr-max", "3000")
    assert result["status"] == "ok"
    assert result["stdout"] == "x" * 5000 and result["stdout_truncated"]
    assert result["stderr"] == "y" * 3000 and result["stderr_truncated"]
    covers(remit, "stdout_max_bytes", "capture")
    covers(remit, "stderr_max_bytes", "capture")


def test_character_is_not_cut_in_two(any_remit):
    result = any_remit.json("print('é' * 2000)", "--stdout-max", "1025")
    assert result["stdout"] == "é" * 512 and "stdout_base64" not in result


def test_output_ceiling_ends_flood(remit, covers):
    done = remit("run", "--json", "--stdout-max", "1k", "--output-ceiling", "10", "-c", "while True: print('x' * 1000)")
    result = json.loads(done.stdout)
    assert result["status"] == "output_limit" and done.returncode == 141
    assert len(result["stdout"]) == 1024
    covers(remit, "output_ceiling", "capture")


def test_code_and_input_are_limited(remit, covers):
    path = remit.file("long.py", "#" * 3000)
    done = remit("run", "--json", "--code-max", "2000", path)
    result = json.loads(done.stdout)
    assert result["status"] == "refused" and "code_bytes" in result["error"]["value"]
    assert done.returncode == 125
    covers(remit, "code_bytes", "frame_cap")
    done = remit("run", "--json", "--stdin-max", "1000", "-c", "import time; time.sleep(60)", input="x" * 5000)
    result = json.loads(done.stdout)
    assert result["status"] == "refused" and "stdin_bytes" in result["error"]["value"]
    covers(remit, "stdin_bytes", "frame_cap")


def test_hundred_mebibytes_of_code_are_error(any_remit):
    path = any_remit.file("huge.py", b"#" * (100 << 20))
    done = any_remit("run", path)
    path.unlink()
    assert done.returncode in (2, 125) and "huge.py" in done.stderr + "code_bytes"


def test_unlimited_is_a_value(any_remit):
    result = any_remit.json("print(1)", "--timeout", "unlimited", "--cpu", "unlimited", "--memory", "unlimited")
    rows = {r["field"]: r for r in result["enforcement"]}
    for field in ("timeout", "cpu_seconds", "memory_bytes"):
        assert rows[field]["value"] == "unlimited" and rows[field]["strength"] == "granted"
    assert result["status"] == "ok"


def below(pid: int) -> list[int]:
    return [found for child in children(pid) for found in (child, *below(child))]


def test_jail_pages_are_not_merged_even_if_caller_s_are(any_remit):
    """K9: systemd's MemoryKSM setting is inherited by everything that a service starts."""
    libc = ctypes.CDLL(None)

    def merged(pid: int | str) -> bool:
        return "ksm_merge_any: yes" in pathlib.Path(f"/proc/{pid}/ksm_stat").read_text()

    if not pathlib.Path("/proc/self/ksm_stat").exists() or "ksm_merge_any" not in pathlib.Path("/proc/self/ksm_stat").read_text():
        skip_or_fail("the kernel does not report whether a process's pages are merged")
    p = any_remit.popen(
        "run", "-c", "print('ready', flush=True); input()", preexec_fn=lambda: libc.prctl(67, 1, 0, 0, 0),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert p.stdout.readline() == "ready\n"
        found = below(p.pid)
        assert merged(p.pid) and len(found) >= 2, found
        assert [pid for pid in found if merged(pid)] == []
    finally:
        p.communicate("\n", timeout=60)
