"""Denials in the result, with the field and the flag that would allow the access."""

import contextlib
import ctypes
import os
import platform
import pty
import re
import signal
import subprocess
import time

import pytest

from leftovers import remaining
from shared_keeper import SharedKeeper, is_alive

TRY = """
import ctypes, errno, os, socket
libc = ctypes.CDLL(None, use_errno=True)
def call(f, *args):
    ctypes.set_errno(0)
    return f(*args), errno.errorcode.get(ctypes.get_errno())
def attempt(f):
    try: f()
    except OSError as e: print(errno.errorcode[e.errno])
    else: print("done")
"""

FLOOD = "import socket\nwhile True:\n    try: socket.socket()\n    except OSError: pass\n"
FEW = "import socket\nfor _ in range(3):\n    try: socket.socket()\n    except OSError: pass\n"


@pytest.fixture
def keeper(remit):
    k = SharedKeeper(remit)
    yield k
    k.close()


@pytest.fixture(params=["cold", "warm"])
def run(request, remit):
    """Runs programs, cold or warm."""
    if request.param == "cold":
        yield lambda code, *flags, **more: remit.json(code, *flags, env={"REMIT_KEEPER": ""}, **more)
        return
    k = SharedKeeper(remit)
    yield k.warm
    k.close()


def rows(result):
    """Denials reported by the kernel, by what was tried. Without those that only the program reports."""
    return {row["what"]: row for row in result["denials"] if row["source"] == "kernel"}


@pytest.mark.parametrize(
    "code, words",
    [
        ("open('/dev/stdin')", "open(0)"), ("open('/dev/stdout', 'w')", "sys.stdout"), ("open('/dev/fd/0')", "/dev/fd leads to /proc"),
        ("open('/proc/self/status')", "A jail has no /proc"), ("__import__('os').listdir('/')", "/ cannot be listed"),
        ("__import__('os').listdir('/sys')", "no /sys"),
    ],
)  # fmt: skip
def test_path_that_no_jail_has_is_explained_where_it_fails(remit, code, words):
    result = remit.json(code)
    assert words in result["error"]["remedy"]
    assert [(d["field"], d["flag"]) for d in result["denials"]] == [(None, None)]
    assert words in remit("run", "-c", code).stderr
    assert remit.json("open('/srv/x')")["error"].get("remedy") is None


def test_socket_denial_is_explained(run):
    result = run(TRY + "for _ in range(3): attempt(socket.socket)\nattempt(lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM))")
    assert result["stdout"] == "EPERM\n" * 4 and result["status"] == "ok"
    assert result["denials"] == [
        {"source": "kernel", "syscall": "socket", "what": "socket(AF_INET, SOCK_STREAM)", "count": 3,
         "field": "network_access", "flag": "--net", "reported": {}},
        {"source": "kernel", "syscall": "socket", "what": "socket(AF_INET6, SOCK_DGRAM)", "count": 1,
         "field": "network_access", "flag": "--net", "reported": {}},
    ]  # fmt: skip
    assert result["denials_seen"] is True and result["denials_left_out"] == 0


def test_allowed_calls_are_not_denials(run):
    """The self-test of every jail tries forbidden calls. They must not count as the program's."""
    result = run("import threading\nt = threading.Thread(target=print); t.start(); t.join()\nprint(len(open(__import__('os').__file__).read()) > 0)")
    assert result["status"] == "ok" and result["denials"] == [] and result["denials_seen"] is True


def test_fork_and_exec_denials_name_their_target(run):
    result = run(TRY + "attempt(os.fork)\nattempt(lambda: os.execv('/bin/sh', ['sh']))")
    assert result["stdout"] == "EPERM\n" * 2
    seen = rows(result)
    (fork,) = [row for what, row in seen.items() if what in ("clone", "fork")]
    assert fork["field"] == "subprocess_execution" and fork["flag"] == "--subprocess"
    assert seen["execve"]["reported"] == {"path": "/bin/sh"} and seen["execve"]["flag"] == "--subprocess"


def test_denied_attacks_name_no_field(run):
    code = TRY + (
        "print(call(libc.mount, b'none', b'/mnt', b'tmpfs', 0, 0), call(libc.unshare, 0x10000000), call(libc.ptrace, 0, 0, 0, 0))\n"
        "print(call(libc.setns, 0, 0x20000), call(libc.chroot, b'/tmp'), call(libc.setuid, 0))"
    )
    result = run(code)
    assert set(re.findall(r"\(-1, '(\w+)'\)", result["stdout"])) == {"EPERM"}
    seen = rows(result)
    assert {"mount", "unshare(CLONE_NEWUSER)", "ptrace", "setns(CLONE_NEWNS)", "chroot", "setuid"} <= set(seen)
    assert all(row["field"] is None and row["flag"] is None for row in seen.values())
    assert seen["mount"]["reported"] == {"path": "/mnt"} and seen["chroot"]["reported"] == {"path": "/tmp"}


def test_denied_connect_reports_address(run):
    code = TRY + (
        "a, b = socket.socketpair()\n"
        "raw = b'\\x02\\0' + (443).to_bytes(2, 'big') + bytes((10, 1, 2, 3)) + bytes(8)\n"
        "print(call(libc.connect, a.fileno(), raw, 16), call(libc.connect, a.fileno(), ctypes.c_void_p(1), 16))"
    )
    result = run(code)
    assert result["stdout"] == "(-1, 'EPERM') (-1, 'EPERM')\n"
    reported = [row["reported"] for row in result["denials"] if row["syscall"] == "connect"]
    assert reported == [{"address": "10.1.2.3:443"}, {}]


def test_unreadable_or_unterminated_arguments_are_handled(run):
    code = TRY + (
        "import mmap\n"
        "m = mmap.mmap(-1, 8192, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
        "at = ctypes.addressof(ctypes.c_char.from_buffer(m))\n"
        "m[4086:4096] = b'/bin/twice'\n"
        "assert libc.munmap(ctypes.c_void_p(at + 4096), 4096) == 0\n"
        "long = ctypes.create_string_buffer(b'/' + b'a' * 5000)\n"
        "strange = ctypes.create_string_buffer(b'/\\x1b[2J\\n\\xff\"')\n"
        "for p in (at + 4086, 0, 1, 2 ** 64 - 1, ctypes.addressof(long), ctypes.addressof(strange)):\n"
        "    print(call(libc.execve, ctypes.c_void_p(p), None, None))\n"
        "os._exit(0)"
    )
    result = run(code)
    assert result["stdout"] == "(-1, 'EPERM')\n" * 6
    reported = [(row["count"], row["reported"].get("path")) for row in result["denials"] if row["syscall"] == "execve"]
    # A null pointer is not a path, so it is not reported.
    assert reported[0] == (1, "/bin/twice") and reported[1] == (2, None)
    assert reported[2] == (1, "/" + "a" * 251 + "...") and reported[3] == (1, '/\x1b[2J\n\ufffd"')


def test_granted_access_is_not_denied(remit):
    flags = ("--net", "--subprocess", "--memory-fallback", "per_process", "--cpu-fallback", "per_process")
    code = TRY + (
        "attempt(lambda: socket.socket().close())\nattempt(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))\n"
        "import subprocess; print(subprocess.run(['/usr/bin/true']).returncode)\n"
        "try: socket.getaddrinfo('localhost', 80)\nexcept OSError: pass"
    )
    result = remit.json(code, *flags, env={"REMIT_KEEPER": ""})
    assert result["stdout"] == "done\nEAFNOSUPPORT\n0\n", result
    (row,) = result["denials"]
    assert row["what"] == "socket(AF_PACKET, SOCK_RAW)" and row["field"] is None


def test_denials_of_child_processes_are_reported(remit):
    flags = ("--subprocess", "--memory-fallback", "per_process", "--cpu-fallback", "per_process")
    code = "import subprocess, sys; print(subprocess.run([sys.executable, '-c', 'import socket; socket.socket()'], stderr=-3).returncode)"
    result = remit.json(code, *flags, env={"REMIT_KEEPER": ""})
    assert result["stdout"] == "1\n"
    assert rows(result)["socket(AF_INET, SOCK_STREAM)"]["flag"] == "--net"


# ---- without the kernel's notifications ----


class Instruction(ctypes.Structure):
    _fields_ = [("code", ctypes.c_ushort), ("jt", ctypes.c_ubyte), ("jf", ctypes.c_ubyte), ("k", ctypes.c_uint)]


class Program(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.POINTER(Instruction))]


def listen_first():
    """Before exec: install a filter that allows everything and has a listener. A process can have only one listener."""
    libc = ctypes.CDLL(None, use_errno=True)
    allow = Program(1, ctypes.pointer(Instruction(6, 0, 0, 0x7FFF0000)))
    number = {"x86_64": 317, "aarch64": 277}[platform.machine()]
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    listener = libc.syscall(number, 1, 8, ctypes.byref(allow))
    assert listener >= 0
    os.set_inheritable(listener, True)


@pytest.mark.parametrize("warm", [False, True])
def test_denials_are_silent_if_listener_exists_already(remit, warm):
    code = TRY + "attempt(socket.socket)\nattempt(lambda: os.execv('/bin/sh', ['sh']))\nprint(call(libc.unshare, 0x10000000))"
    flags = ("--preload", "json") if warm else ()
    result = remit.json(code, *flags, env={"REMIT_KEEPER": ""}, preexec_fn=listen_first, close_fds=False)
    assert result["start"] == ("warm" if warm else "cold"), result
    assert result["stdout"] == "EPERM\nEPERM\n(-1, 'EPERM')\n"
    assert result["denials"] == [] and result["denials_seen"] is False


# ---- paths ----


@pytest.mark.parametrize(
    "code, path, error, flag",
    [
        ("open('/etc/shadow')", "/etc/shadow", "ENOENT", "--read"),
        ("import os; os.listdir('/root/secret')", "/root/secret", "ENOENT", "--read"),
        ("import os; os.chdir('/usr'); open('../data/x.csv')", "/data/x.csv", "ENOENT", "--read"),
        ("open(b'/srv/\\xff')", "/srv/\\udcff", "ENOENT", "--read"),
        ("try: open('/srv/a')\nexcept OSError as e: raise ValueError('no') from e", "/srv/a", "ENOENT", "--read"),
        ("import os; open(os.__file__, 'a')", "/usr/lib", "EACCES", None),
    ],
)
def test_path_that_ends_program_is_reported(run, code, path, error, flag):
    result = run(code)
    assert result["status"] == "error"
    (row,) = result["denials"]
    assert row["source"] == "reported" and row["syscall"] is None and row["count"] == 1 and row["flag"] == flag
    assert row["reported"]["errno"] in (error, "EACCES")
    assert row["reported"]["path"].startswith(path[:5])


@pytest.mark.parametrize(
    "code",
    [
        "open('missing.csv')",
        "import os; open(os.__file__ + '.none')",
        "open('/tmp/a/b/c')",
        "raise OSError(2, 'claimed', '/workspace/x')",
        "1 / 0",
        "class E(OSError):\n    errno = property(lambda s: 1 / 0)\nraise E(2, 'x', '/etc/x')",
        "try: open('/etc/shadow')\nexcept OSError: print('went on')",
    ],
)
def test_other_errors_are_not_denials(remit, code):
    assert remit.json(code)["denials"] == []


# ---- the terminal ----


def on_terminal(remit, *args):
    """Return the standard error of a run for which it is a terminal."""
    ours, theirs = pty.openpty()
    process = remit.popen("run", *args, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    text = b""
    try:
        while piece := os.read(ours, 65536):
            text += piece
    except OSError:  # the other side is closed
        pass
    os.close(ours)
    process.wait(timeout=60)
    return text.decode().replace("\r\n", "\n")


def test_terminal_shows_denials(remit):
    assert on_terminal(remit, "-c", FEW) == (
        "remit: denied: socket(AF_INET, SOCK_STREAM) ×3: network_access is off; allow with --net\n"
    )
    shown = on_terminal(remit, "-c", "open('/etc/shadow\\n\\x1b[2J')")
    assert "\nremit: denied: path \"/etc/shadow" in shown and "\x1b" not in shown.partition("remit: denied")[2]


def test_pipe_shows_no_denials(remit):
    done = remit("run", "-c", FEW)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# ---- hostile ----


def allowed(result):
    """How many calls can have been answered in the run's time: 100 at once, then 100 per second."""
    return 100 + result["usage"]["wall_ms"] / 10 + 2


def test_flood_of_denials_slows_only_itself(keeper):
    """A process that waits for its next answer is killed at the timeout."""
    result = keeper.json(FLOOD, "--timeout", "4s", "--cpu", "60")
    assert result["status"] == "timeout"
    (row,) = result["denials"]
    assert 100 < row["count"] <= allowed(result) and result["usage"]["cpu_ms"] < 1500, result


@contextlib.contextmanager
def flooding(keeper):
    """A run that floods the keeper with denials until the block ends."""
    code = "print('begun', flush=True)\n" + FLOOD
    process = keeper.remit.popen(
        "run", "--timeout", "200s", "--cpu", "200s", "-c", code, env=keeper.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    )
    with process:
        try:
            assert process.stdout.readline() == "begun\n"
            yield process
        finally:
            process.kill()


def test_flood_of_denials_does_not_slow_other_runs(keeper):
    keeper.await_child()

    @contextlib.contextmanager
    def flood():
        with flooding(keeper) as process:
            yield
            assert process.poll() is None

    assert not keeper.is_slowed_by(flood)


def test_different_denials_are_bounded(keeper):
    """Every denial is different. The keeper stores a few and counts the rest."""
    before = memory(keeper.pid)
    code = TRY + (
        "import threading\n"
        "def hammer(n):\n"
        "    for i in range(12500): libc.execve(b'/%d/%d' % (n, i), None, None)\n"
        "all = [threading.Thread(target=hammer, args=(n,)) for n in range(8)]\n"
        "for t in all: t.start()\n"
        "for t in all: t.join()\n"
    )
    result = keeper.json(code, "--timeout", "4s", "--cpu", "60")
    assert result["status"] == "timeout"
    assert len(result["denials"]) == 32 and 100 < result["denials_left_out"] <= allowed(result)
    assert keeper.json("print(1)")["stdout"] == "1\n"
    assert memory(keeper.pid) - before < 8 * 1024


def memory(pid):
    with open(f"/proc/{pid}/status") as f:
        return int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1))


def test_denials_of_many_threads_are_counted(run):
    code = TRY + (
        "import threading\n"
        "wrong = []\n"
        "def hammer():\n"
        "    for _ in range(4):\n"
        "        if call(libc.socket, 2, 1, 0) != (-1, 'EPERM'): wrong.append(1)\n"
        "all = [threading.Thread(target=hammer) for n in range(20)]\n"
        "for t in all: t.start()\n"
        "for t in all: t.join()\n"
        "print(wrong)"
    )
    result = run(code)
    assert result["stdout"] == "[]\n"
    assert rows(result)["socket(AF_INET, SOCK_STREAM)"]["count"] == 80


def test_program_may_end_while_calls_wait(keeper):
    """The main thread ends while other threads wait for the answers to their calls."""
    code = TRY + (
        "import threading, time\n"
        "made = []\n"
        "def hammer():\n"
        "    while True: made.append(libc.socket(2, 1, 0))\n"
        "for n in range(8): threading.Thread(target=hammer, daemon=True).start()\n"
        "while len(made) < 120: time.sleep(0.01)\n"
    )
    for end, status in (("", "ok"), ("os._exit(3)", "exit"), ("os.kill(2, 9)", "killed"), ("ctypes.string_at(0)", "killed")):
        result = keeper.json(code + end, "--timeout", "200s", "--cpu", "60")
        assert result["status"] == status, (end, result)
        assert result["denials"][0]["count"] > 100
    assert keeper.json("print(1)")["stdout"] == "1\n"


def test_signal_during_waiting_call_restarts_it(run):
    """The call is restarted and refused in the end."""
    code = TRY + (
        "import signal\n"
        "rang = []\n"
        "signal.signal(signal.SIGALRM, lambda *_: rang.append(1))\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.003, 0.003)\n"
        "answers = {call(libc.socket, 2, 1, 0) for _ in range(140)}\n"
        "signal.setitimer(signal.ITIMER_REAL, 0)\n"
        "print(answers <= {(-1, 'EPERM'), (-1, 'EINTR')}, (-1, 'EPERM') in answers, len(rang) > 0)"
    )
    assert run(code)["stdout"] == "True True True\n"


def test_call_is_refused_whatever_its_argument_becomes(run):
    """The reported argument may be wrong, but the call is never made."""
    code = TRY + (
        "import threading\n"
        "path = ctypes.create_string_buffer(b'/bin/true', 64)\n"
        "stop = []\n"
        "def swap():\n"
        "    while not stop:\n"
        "        path.value = b'/usr/bin/env'\n"
        "        path.value = b'/bin/true'\n"
        "t = threading.Thread(target=swap); t.start()\n"
        "answers = {call(libc.execve, path, None, None) for _ in range(90)}\n"
        "stop.append(1); t.join(); print(answers)"
    )
    result = run(code)
    assert result["stdout"] == "{(-1, 'EPERM')}\n"
    assert sum(row["count"] for row in result["denials"]) == 90


def test_listener_is_not_in_jail(run):
    code = "import os\nfound = []\nfor fd in range(256):\n    try: os.fstat(fd); found.append(fd)\n    except OSError: pass\nprint(found)"
    assert run(code)["stdout"] == "[0, 1, 2, 3]\n"


def test_keeper_that_dies_takes_waiting_calls_with_it(remit):
    k = SharedKeeper(remit)
    with flooding(k) as process:
        time.sleep(2)  # until calls wait for the keeper
        inside = k.family()
        assert inside
        os.kill(k.pid, signal.SIGKILL)
        k.process.wait()
        assert process.wait(timeout=60) != 0
    assert remaining(lambda: [pid for pid in inside if is_alive(pid)]) == []
