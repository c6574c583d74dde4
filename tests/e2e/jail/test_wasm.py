"""The tier wasm: CPython as WebAssembly in the jail of the tier local.

The tests that run code need remit-wasm, which `make wasm` builds. Without it, tests/run.py prints that they do not run.
"""

import errno
import json
import pathlib
import re

import pytest
from conftest import ROOT, wasm_is_built
from session_client import SessionClient

# Without the program, tests with this mark are not collected, and tests/run.py prints a line about it.
needs_program = pytest.mark.wasm_is_built(True)


def run(remit, code, *flags, **more) -> dict:
    return remit.json(code, "--tier", "wasm", *flags, **more)


# ---- with and without the program ----


@pytest.mark.wasm_is_built(False)
def test_tier_without_its_program_is_refused_with_the_remedy(remit):
    result = run(remit, "print(1)")
    assert (result["status"], result["error"]["where"]) == ("refused", "tier")
    assert "remit-wasm" in result["error"]["value"] and "make wasm" in result["error"]["remedy"]
    assert "refused here" in remit("matrix").stdout.partition("wasm:")[2].partition("\n\n")[0]


def test_doctor_tells_whether_the_tier_is_built(remit):
    found = json.loads(remit("doctor", "--json").stdout)["wasm"]
    assert found["yes"] == wasm_is_built()
    assert found["program"].endswith("/wasm/remit-wasm") if found["yes"] else "make wasm" in found["remedy"]
    assert re.search(r"^(yes|no) +wasm ", remit("doctor").stdout, re.M)


# ---- programs ----


@needs_program
def test_program_runs_and_reports(remit, covers):
    code = "import sys\nprint('out')\nprint('err', file=sys.stderr)\nsys.platform, __name__, sys.version_info[0]\n"
    result = run(remit, code)
    assert (result["status"], result["exit_code"], result["tier"]) == ("ok", 0, "wasm")
    assert (result["stdout"], result["stderr"]) == ("out\n", "err\n")
    assert "wasi" in json.dumps(result["value"])
    for row in result["enforcement"]:
        assert row["strength"] == "enforced", row
        covers(remit, row["field"], *row["mechanisms"], tier="wasm")


@needs_program
def test_exit_codes_and_errors_are_those_of_the_program(remit):
    assert run(remit, "raise SystemExit(7)")["exit_code"] == 7
    result = run(remit, "def f():\n    return 1 / 0\n\nf()\n")
    assert (result["status"], result["exit_code"]) == ("error", 1)
    assert (result["error"]["name"], result["error"]["line"]) == ("ZeroDivisionError", 2)
    assert "1 / 0" in result["stderr"]
    assert run(remit, "x = (")["error"]["name"] == "SyntaxError"


@needs_program
def test_input_arguments_and_environment_arrive(remit):
    done = remit(
        "run", "--tier", "wasm", "--env", "A=1", "-c",
        "import os, sys; print(sys.stdin.read(), sys.argv[1:], os.environ['A'], 'SECRET' in os.environ)",
        "x", "y", input="text", env={"SECRET": "planted"},
    )  # fmt: skip
    assert done.stdout == "text ['x', 'y'] 1 False\n", done


@needs_program
def test_workspace_is_written_and_exported(remit, covers):
    code = (
        "import os\nprint(os.getcwd())\nos.makedirs('a/b')\nopen('a/b/f', 'w').write('x' * 10)\nos.rename('a/b/f', 'out.txt')\n"
        "os.symlink('out.txt', 'link')\nprint(open('link').read(), os.readlink('link'), sorted(os.listdir('.')))\n"
        "os.unlink('link'); os.rmdir('a/b'); print(os.path.getsize('out.txt'))\n"
    )
    target = remit.folder / "wasm-export"
    result = run(remit, code, "--export", "out.txt", "--artifacts", target)
    assert result["stdout"] == "/workspace\nxxxxxxxxxx out.txt ['a', 'link', 'out.txt']\n10\n"
    assert [a["path"] for a in result["artifacts"]] == ["out.txt"]
    covers(remit, "artifact_export_paths", "openat2", tier="wasm")


@needs_program
@pytest.mark.parametrize(
    "flags,field",
    [
        (("--export-file-max", "1000"), "artifact_file_bytes"),
        (("--export-max", "1500"), "artifact_bytes"),
        (("--export-files", "1"), "artifact_files"),
        (("--export-depth", "2"), "artifact_depth"),
        (("--export-time", "1ms", "--export-files", "5000"), "artifact_time"),
    ],
)
def test_exports_are_limited(remit, covers, flags, field):
    count = 2000 if field == "artifact_time" else 2
    code = f"import os\nos.makedirs('a/b')\nfor i in range({count}): open(f'a/b/{{i}}' if i else 'x', 'w').write('x' * 1200)\n"
    result = run(remit, code, "--export", "**", "--artifacts", remit.folder / f"wasm-{field}", *flags)
    assert result["status"] == "ok" and len(result["artifacts"]) < count, result
    assert any(field in skipped["reason"] for skipped in result["artifacts_skipped"]), result["artifacts_skipped"]
    covers(remit, field, "export_cap", tier="wasm")


@needs_program
def test_host_is_seen_only_through_the_policy(remit):
    inside = remit.file("wasm-in/data.txt", "given")
    outside = remit.file("wasm-out/secret.txt", "planted")
    code = (
        f"print(open({str(inside)!r}).read())\n"
        f"for path in ({str(outside)!r}, {str(inside.parent)!r} + '/../wasm-out/secret.txt', '/etc/shadow', '/proc/self/status', '/.sentinel'):\n"
        "    try: print(open(path).read())\n"
        "    except OSError as e: print(type(e).__name__)\n"
        f"try: open({str(inside)!r}, 'w')\n"
        "except OSError as e: print(type(e).__name__)\n"
    )
    result = run(remit, code, "--read", inside.parent)
    lines = result["stdout"].split()
    assert lines[0] == "given" and "planted" not in result["stdout"]
    assert set(lines[1:5]) == {"FileNotFoundError"} and lines[5] == "PermissionError", lines
    assert lines[6] in ("OSError", "PermissionError") and inside.read_text() == "given"


@needs_program
def test_changes_of_a_folder_are_committed(remit, covers):
    folder = remit.file("wasm-rw/old.txt", "old").parent
    remit.own(folder)
    result = run(remit, f"open({str(folder)!r} + '/new.txt', 'w').write('new')", "--write", folder)
    assert result["status"] == "ok", result
    assert (folder / "new.txt").read_text() == "new"
    hidden = f"open({str(folder)!r} + '/.gitignore', 'w').write('x')"
    assert run(remit, hidden, "--write", folder)["status"] == "ok" and not (folder / ".gitignore").exists()
    assert run(remit, hidden, "--write", folder, "--commit-name", ".gitignore")["status"] == "ok"
    assert (folder / ".gitignore").read_text() == "x"
    covers(remit, "commit_names", "commit", tier="wasm")


# ---- limits ----


@needs_program
def test_memory_ends_at_the_limit_without_a_kill(remit, covers):
    code = "x = []\ntry:\n    while True: x.append(bytearray(1 << 20))\nexcept MemoryError: print(len(x))"
    result = run(remit, code, "--memory", "300M", "--disk", "32M", "--open-files", "64")
    (row,) = [r for r in result["enforcement"] if r["field"] == "memory_bytes"]
    assert "linear_memory" in row["mechanisms"] and ("cgroup_memory" in row["mechanisms"]) == remit.by_root
    most = int(row["note"].split()[0])
    assert result["status"] == "ok", result
    assert most - 40 <= int(result["stdout"]) < most <= 300 - 48
    assert result["usage"]["memory_peak_bytes"] < 300 << 20
    covers(remit, "memory_bytes", *row["mechanisms"], tier="wasm")


@needs_program
def test_time_output_and_disk_are_limited(remit, covers):
    assert run(remit, "while True: pass", "--timeout", "1s")["status"] == "timeout"
    assert run(remit, "import time; time.sleep(60)", "--timeout", "1s")["status"] == "timeout"
    assert run(remit, "while True: pass", "--cpu", "1s")["status"] == "cpu_limit"
    result = run(remit, "print('x' * 5000)", "--stdout-max", "1k")
    assert len(result["stdout"]) == 1024
    assert run(remit, "while True: print('x' * 5000)", "--stdout-max", "1k", "--output-ceiling", "5")["status"] == "output_limit"
    fill = "import errno\ntry:\n    with open('f', 'wb') as f:\n        while True: f.write(bytes(65536))\nexcept OSError as e: print(e.errno == errno.{})"
    assert run(remit, fill.format("ENOSPC"), "--disk", "8M")["stdout"] == "True\n"
    assert run(remit, fill.format("EFBIG"), "--file-bytes", "1M")["stdout"] == "True\n"
    result = run(remit, "f = []\ntry:\n    while True: f.append(open('x', 'w'))\nexcept OSError as e: print(e.errno, len(f))", "--open-files", "32")
    number, count = map(int, result["stdout"].split())
    assert count < 32


@needs_program
def test_deep_recursion_is_an_error_of_python(remit):
    result = run(remit, "def f(n): return f(n + 1)\ntry: f(0)\nexcept RecursionError: print('stopped')\n")
    assert result["stdout"] == "stopped\n"


@needs_program
def test_code_is_checked_by_the_validator(remit, covers):
    result = run(remit, "import math\nimport os", "--allow-import", "math")
    assert result["status"] == "rejected"


@needs_program
def test_process_gets_hardly_more_memory_than_its_guest(remit):
    """The kernel's limit is for a guest that has broken out of WebAssembly."""
    program = remit.popen("run", "--tier", "wasm", "--memory", "300M", "-c", "print('begun', flush=True); import time; time.sleep(60)", stdout=-1, text=True)
    try:
        assert program.stdout.readline() == "begun\n"
        own = str(pathlib.Path(remit.command).parent / "wasm" / "remit-wasm")
        (folder,) = [p for p in pathlib.Path("/proc").glob("[0-9]*") if command_line(p).startswith(own)]
        soft, hard = re.search(r"^Max data size +(\d+) +(\d+) ", (folder / "limits").read_text(), re.M).groups()
        assert soft == hard and int(hard) < 300 << 20
        status = (folder / "status").read_text()
        assert re.search(r"^Seccomp:\t2$", status, re.M) and re.search(r"^Threads:\t1$", status, re.M)
    finally:
        program.kill()
        program.communicate()


def command_line(folder) -> str:
    try:
        return (folder / "cmdline").read_text()
    except OSError:  # it has ended
        return ""


# ---- traps and sessions ----

ENDLESS = """
import sys
sys.setrecursionlimit(10 ** 8)
class A:
    def __getattr__(self, name): return getattr(self, name + "x")
A().y
"""


@needs_program
def test_trap_ends_the_run_with_a_sentence_and_a_signal(remit):
    result = run(remit, ENDLESS)
    assert result["status"] == "killed" and result["signal"] in (4, 11), result
    assert re.search(r"^remit-wasm: the interpreter was stopped after .+$", result["stderr"], re.M), result["stderr"]


@needs_program
def test_session_keeps_variables_and_is_interrupted(remit):
    client = SessionClient(remit)
    client.open(policy={"tier": "wasm"})
    assert client.run("x = 20")["status"] == "ok"
    assert client.run("x + 1")["value"]["json"] == 21
    for endless in "while True: pass", "import time\ntime.sleep(600)":
        wait = client.begin_cell(f"print('begun', flush=True)\n{endless}")
        client.request("interrupt")
        result = wait()
        assert (result["status"], result["session"]["state"]) == ("interrupted", "open"), result
    assert client.run("x")["value"]["json"] == 20
    client.leave()


@needs_program
def test_files_of_a_session_have_linux_errors_and_folders_can_be_removed(remit):
    """The interpreter has other numbers for errors, and cannot list a folder by its descriptor."""
    client = SessionClient(remit)
    client.open(policy={"tier": "wasm"})
    client.run("import os\nos.makedirs('a/b/c')\nfor name in ('a/x', 'a/b/y', 'a/b/c/z'): open(name, 'w').close()\nkept = 1")
    missing = client.request("file", op="read", path="none")["failed"]
    assert missing["errno"] == errno.ENOENT, missing
    assert client.request("file", op="make", path="/etc/x")["failed"]["errno"] in (errno.EROFS, errno.EACCES)
    assert "failed" not in client.request("file", op="remove", path="a")
    assert client.run("os.path.exists('a'), kept")["value"]["json"] == [False, 1]
    client.leave()


@needs_program
def test_program_without_memory_is_an_error_and_session_goes_on(remit):
    # Without a control group, files and buffers are part of it.
    result = run(remit, "l = []\nwhile True: l.append(bytes(1000))", "--memory", "200M", "--disk", "1M", "--files", "100", "--open-files", "16")
    assert (result["status"], result["error"]["name"]) == ("error", "MemoryError")
    assert "MemoryError" in result["stderr"]
    client = SessionClient(remit)
    client.open(policy={"tier": "wasm", "memory_bytes": "200M", "disk_bytes": "1M", "files": 100, "open_files": 16})
    assert client.run("l = []\nwhile True: l.append(bytes(1000))")["status"] == "error"
    assert client.run("n = len(l); l = None; n > 1000")["value"]["json"] is True
    client.leave()


@needs_program
def test_refused_path_is_a_denial_with_linux_error(remit):
    (row,) = run(remit, "import os\nos.mkdir('/new')")["denials"]
    assert (row["field"], row["reported"]) == ("filesystem_write_roots", {"path": "/new", "errno": "EROFS"})


# ---- what the tier lacks ----


@needs_program
@pytest.mark.parametrize(
    "flags,field",
    [
        (("--subprocess",), "subprocess_execution"),
        (("--net",), "network_access"),
        (("--net=loopback",), "network_access"),
        (("--net=host",), "network_access"),
        (("--allow-host", "example.org:443"), "network_allow"),
        (("--package", "numpy"), "packages"),
        (("--preload", "json"), "preload"),
        (("--python", "/usr/bin/python3"), "python"),
        (("--mount", "/tmp:/x:direct"), "mounts"),
    ],
)
def test_what_the_tier_lacks_is_refused_by_name(remit, flags, field):
    result = run(remit, "print(1)", *flags)
    assert (result["status"], result["error"]["where"]) == ("refused", field)
    assert result["error"]["remedy"] and result["stdout"] == ""


@needs_program
def test_interpreter_has_no_processes_threads_or_sockets(remit):
    code = (
        "import os\nfor name in ('fork', 'execv', 'posix_spawn', 'kill'): print(hasattr(os, name))\n"
        "import threading\ntry: threading.Thread(target=print).start()\nexcept RuntimeError: print('no thread')\n"
        "try:\n    import _ctypes\nexcept ImportError: print('no ctypes')\n"
    )
    assert run(remit, code)["stdout"] == "False\nFalse\nFalse\nFalse\nno thread\nno ctypes\n"


# ---- the second wall ----


def calls_of_filter() -> set[str]:
    """The calls that the filter of this tier lets pass, from the golden file, without those that the closing filter removes."""
    rows = (ROOT / "tests" / "unit" / "jail" / "verdicts.txt").read_text().splitlines()
    allowed = {row.split()[2] for row in rows if row.startswith("x86_64 ") and re.search(r" guest=(allow|arguments)", row)}
    return allowed - {"seccomp", "prlimit64", "sendmsg"}


def test_filter_lets_few_calls_pass():
    allowed = calls_of_filter()
    assert len(allowed) == 37  # as docs/guide/wasm.md and SECURITY.md state
    assert not allowed & {"execve", "clone", "socket", "connect", "kill", "open", "futex", "ptrace", "prctl", "recvmsg", "memfd_create"}
