"""Code that attacks the fork of its own session: at other moments, in other ways, and from inside a fork."""

from __future__ import annotations

import os
import pathlib
import re
import time

import leftovers
import pytest
from test_fork import begin, client, fork, refusal  # noqa: F401

# Raw system calls, and the runner's modules, which code can find
TOOLS = """
import ctypes, os, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    ctypes.set_errno(0)
    return libc.syscall(number, *[ctypes.c_long(a) if isinstance(a, int) else a for a in args]), ctypes.get_errno()
def parts():
    frame = sys._getframe()
    while 'own_module' not in frame.f_globals:
        frame = frame.f_back
    return frame.f_globals['own_module']
NEWNS, NEWUSER, NEWPID = 0x20000, 0x10000000, 0x20000000
CLONE, FORK, VFORK, UNSHARE, SETNS, CLONE3, CAPSET, PTRACE, MOUNT, KILL, PRCTL = 56, 57, 58, 272, 308, 435, 126, 101, 165, 62, 157
"""

ATTEMPTS = """
outcomes = {}
for name, args in {
    'fork': (FORK,), 'vfork': (VFORK,), 'clone': (CLONE, 0x1200011, 0, 0, 0, 0), 'spawn': (CLONE, 0x4111, 0, 0, 0, 0),
    'clone into a namespace': (CLONE, NEWUSER | 17, 0, 0, 0, 0), 'clone3': (CLONE3, 0, 88),
    'unshare': (UNSHARE, NEWUSER | NEWNS), 'unshare user': (UNSHARE, NEWUSER), 'unshare mounts': (UNSHARE, NEWNS),
    'setns': (SETNS, 3, NEWUSER), 'setns 2': (SETNS, 21, NEWUSER), 'setns 3': (SETNS, 25, NEWPID),
    'trace': (PTRACE, 16, 1, 0, 0), 'mount': (MOUNT, 0, 0, 0, 0, 0), 'kill': (KILL, 3, 0), 'kill all': (KILL, -1, 9), 'kill init': (KILL, 1, 9),
    'undump': (PRCTL, 4, 1, 0, 0, 0), 'keepcaps': (PRCTL, 8, 1, 0, 0, 0), 'securebits': (PRCTL, 28, 0, 0, 0, 0), 'ambient': (PRCTL, 47, 2, 0, 0, 0),
}.items():
    outcomes[name] = call(*args)
print(sorted(name for name, (done, errno) in outcomes.items() if done != -1 or errno not in (1, 38)))
head = (ctypes.c_uint32 * 2)(0x20080522, 0)
full = (ctypes.c_uint32 * 6)(*[0xFFFFFFFF] * 6)
print(libc.syscall(ctypes.c_long(CAPSET), head, full), ctypes.get_errno() in (0, 1))
"""


def test_forkable_session_cannot_fork_itself(client):
    begin(client, TOOLS)
    assert client.out(ATTEMPTS) == "[]\n-1 True\n"
    fork(client)
    for name in ("s", "b"):
        assert client.out(ATTEMPTS, session=name) == "[]\n-1 True\n"
    assert client.out("print('lives')") == "lives\n"


def with_patched_fork(body: str) -> str:
    """Replace the runner's fork function with this body."""
    indented = "\n".join("        " + line for line in body.strip().splitlines())
    return TOOLS + f"""
branch = parts()('branch')
true = branch._remit
class Other:
    def __getattr__(self, name): return getattr(true, name)
    def branch(self, command):
{indented}
branch._remit = Other()
"""


def test_other_forks_are_refused_during_fork(client):
    begin(client, with_patched_fork("global outcomes\noutcomes = [call(FORK), call(CLONE, 0x1200011, 0, 0, 0, 0), call(UNSHARE, NEWUSER | NEWNS), call(SETNS, 21, NEWUSER), call(CLONE3, 0, 88)]\nreturn true.branch(command)"))
    fork(client)
    for name in ("s", "b"):
        assert client.out("print([e for done, e in outcomes])", session=name) == "[1, 1, 1, 1, 38]\n"


def test_one_request_makes_one_copy(client):
    begin(client, with_patched_fork("first = true.branch(command)\nif first is None: return None\nglobal second\nsecond = true.branch(command)\nreturn first"))
    fork(client)
    assert client.out("print('alone')", session="b") == "alone\n"
    assert client.out("print(second != bytes(12))") == "True\n"


@pytest.mark.parametrize(("offset", "value"), [(84, 1), (88, 0)], ids=["keeps-the-bounding-set", "is-no-branch"])
def test_copy_that_does_not_lock_itself_is_killed(client, offset, value):
    body = f"c = bytearray(command)\nc[{offset}] = {value}\ntry: return true.branch(bytes(c))\nexcept ValueError: return bytes(12)"
    begin(client, with_patched_fork(body))
    reply = refusal(client)
    assert reply["message"], reply
    assert client.out("print('lives')") == "lives\n"


def test_copy_outside_its_cgroups_is_killed(client, remit):
    begin(client, with_patched_fork("c = bytearray(command)\nc[5] &= 0x07\nreturn true.branch(bytes(c))"))
    if remit.by_root:
        assert "groups" in refusal(client)["message"]
    else:  # without cgroups, the copy cannot be outside them
        fork(client)
    assert client.out("print('lives')") == "lives\n"


def test_forged_fork_fails(client):
    begin(client, with_patched_fork("import struct\nreturn struct.pack('<IiI', 0, 0, 0)"))
    assert refusal(client)["message"]
    begin_again = client.out("print('lives')")
    assert begin_again == "lives\n"


def test_session_that_does_not_answer_fork_is_ended(client):
    begin(client, with_patched_fork("time.sleep(600)"))
    began = time.monotonic()
    assert "copied" in refusal(client)["message"]
    assert time.monotonic() - began > 3
    assert client.run("1")["status"] == "refused"


def test_unsolicited_fork_answer_ends_session(client):
    begin(client, TOOLS)
    lost = client.run("parts()('records').put(bytes((12, 0, 0, 0, 43, 0, 0, 0)) + bytes(12))")
    assert lost["status"] in ("ok", "internal_error", "killed", "error"), lost



# A helper process made by the code: vfork on another stack, with Python in it
HELPER = """
lib = ctypes.PyDLL(None)
stack = ctypes.create_string_buffer(1 << 20)
seen = []
KIND = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
def helped(body):
    def start(_):
        try:
            body()
        finally:
            os._exit(0)
    entry = KIND(start)
    top = ctypes.addressof(stack) + len(stack) & ~15
    return lib.clone(entry, ctypes.c_void_p(top), 0x4111, None)
def join():
    for number, kind in ((5, NEWUSER), (6, NEWNS), (7, 0x8000000), (8, 0x4000000), (9, NEWPID)):
        seen.append(call(SETNS, 16 + number, kind)[0])
def lie():
    parts()('records').put(bytes((12, 0, 0, 0, 43, 0, 0, 0)) + (9).to_bytes(4, 'little') + bytes(8))
"""


def with_helper(body: str) -> str:
    return with_patched_fork("import signal\nhelped(own)\nos.waitpid(-1, 0)\nreturn (9).to_bytes(4, 'little') + bytes(8)").replace("branch = parts()", HELPER + f"\ndef own():\n    {body}\nbranch = parts()", 1)


def children_of_inits(command: str) -> list[int]:
    pids = leftovers.processes(command)
    inits = {pid for pid in pids if leftovers.name_of(pid) == "remit-init"}
    return [pid for pid in pids if leftovers.parent_of(pid) in inits]


def test_helper_s_capabilities_are_useless(client):
    tries = "join(); seen.append([call(MOUNT, 0, 0, 0, 0, 0)[1], call(UNSHARE, NEWNS)[1], call(CLONE, 17, 0, 0, 0, 0)[1], call(SETNS, 21, NEWUSER)[1], call(PTRACE, 16, 2, 0, 0)[1], call(161, 0)[1], call(CLONE3, 0, 88)[1]])"
    begin(client, with_helper(tries))
    assert refusal(client)["message"]
    assert client.out("print(seen)") == "[0, 0, 0, 0, 0, [1, 1, 1, 1, 1, 1, 38]]\n"


@pytest.mark.parametrize("body", ["time.sleep(600)", "join(); time.sleep(600)", "join(); lie(); time.sleep(600)", "lie(); time.sleep(600)"], ids=["idle", "joined", "joined-and-lies", "lies"])
def test_helper_that_stays_is_killed(client, remit, body):
    begin(client, "x = 1")
    fork(client, "other")
    assert client.run(with_helper(body))["status"] == "ok"
    assert refusal(client)["message"]
    assert client.out("print(x)", session="other") == "1\n"
    lives = client.run("1")["status"] == "ok"
    # The branch, and a cold session. Every other child of a pid 1 was left by the fork.
    most = 1 + (lives and not client.shared)
    assert not leftovers.remaining(lambda: children_of_inits(remit.command)[most:])


# Other files in place of the standard streams. A check of only the descriptors above them finds nothing.
OTHER_STREAMS = """
import array, socket
one, two = socket.socketpair()
os.dup2(one.fileno(), 0); os.dup2(two.fileno(), 2)
one.close(); two.close()
"""


def test_file_in_place_of_stream_is_not_shared(client):
    begin(client, TOOLS + OTHER_STREAMS)
    assert "something open" in refusal(client)["message"]
    assert client.out("os.close(0); os.dup2(1, 2)\nprint('lives')") == "lives\n"
    fork(client)
    assert client.out("print('alone')", session="b") == "alone\n"


STEPS = re.findall(r"^\t(STEP_\w+)", (pathlib.Path(__file__).parents[3] / "src" / "jail" / "lock" / "step.h").read_text(), re.MULTILINE)
READY = f"({STEPS.index('STEP_READY')})"

# A copy that the code makes: locked correctly, except that it may keep another standard input
OWN_COPY = """
def copy():
    for fd in range(27, 32):
        try: os.write(fd, b'0')
        except OSError: pass
    for right in range(64): call(PRCTL, 24, right, 0, 0, 0)
    libc.syscall(ctypes.c_long(CAPSET), (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)())
    for fd in (1, 2, 3): os.dup2(16 + fd, fd)
    os.dup2(16, 0) if HONEST else os.dup2(21, 0)  # a namespace
    os.closerange(4, 200)
    os.write(3, bytes((12, 0, 0, 0, 14, 0, 0, 0)) + ready + bytes(8))
    os.write(3, bytes((0, 0, 0, 0, 17, 0, 0, 0)))
    REST
def own():
    join()
    if libc.fork() == 0:
        try: copy()
        finally: os._exit(7)
"""


def with_own_copy(honest=True, rest="time.sleep(600)") -> str:
    after = with_patched_fork("helped(own)\nos.waitpid(-1, 0)\nreturn ready + bytes(8)")
    before = f"{HELPER}\nHONEST = {honest}\nready = {READY}.to_bytes(4, 'little')\n{OWN_COPY.replace('REST', rest)}"
    return after.replace("branch = parts()", f"{before}\nbranch = parts()", 1)


@pytest.mark.parametrize("honest", [True, False], ids=["honest", "keeps-a-namespace"])
def test_copy_has_separate_streams_or_is_killed(client, honest):
    """The honest copy is accepted, so the descriptor makes the difference."""
    begin(client, with_own_copy(honest))
    if honest:
        fork(client)
    else:
        assert "something open" in refusal(client)["message"]


def test_copy_that_does_not_stop_is_killed(client):
    """It could hide its descriptors from the check."""
    begin(client, with_own_copy(rest="\n    while True: pass"))
    assert '(deadline "copy")' in refusal(client)["message"]
    assert client.out("print('lives')") == "lives\n"


# In the copy, before it locks itself, code may send the first message on the branch's channel.
SENDS = TOOLS + """
import array, socket
def child():
    s = socket.socket(fileno=os.dup(16 + 3))
    files = [os.open('/workspace/pin', os.O_RDONLY) for _ in range(COUNT)]
    s.sendmsg([bytes((0, 0, 0, 0, 21, 0, 0, 0))], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', files))])
    for fd in (s.detach(), *files):
        os.close(fd)
handler = ctypes.PYFUNCTYPE(None)(child)
libc.__register_atfork(None, None, handler, None)
open('/workspace/pin', 'wb').write(bytes(4096))
"""


def pinned(command: str) -> list[str]:
    """Descriptors of Remit's processes that refer to the code's file."""
    found = []
    for pid in leftovers.processes(command):
        for path in pathlib.Path(f"/proc/{pid}/fd").glob("*"):
            try:
                found.append(os.readlink(path))
            except FileNotFoundError:  # closed meanwhile
                continue
    return [target for target in found if target.endswith("/pin")]


@pytest.mark.parametrize("count", [1, 2, 5])
def test_descriptors_sent_by_copy_are_closed(client, remit, count):
    begin(client, f"COUNT = {count}\n" + SENDS)
    reply = client.request("fork", branch="b", session="s")
    if "failed" not in reply:
        client.request("drop", session="b")
    assert leftovers.remaining(lambda: pinned(remit.command)) == []
    assert client.out("print('lives')") == "lives\n"


def test_cgroups_of_copy_are_removed_with_session_in_them(client):
    """The helper may write the pid of the session's pid 1 to the cgroup files with which it should join them itself."""
    put = "join()\n    for fd in range(27, 32):\n        try: os.write(fd, b'1')\n        except OSError: pass"
    begin(client, with_helper(put))
    assert refusal(client)["message"]
    client.request("drop")
    assert leftovers.remaining(leftovers.groups) == []
