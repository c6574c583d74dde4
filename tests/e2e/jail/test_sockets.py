"""Unix sockets, FIFOs and descriptors of processes, which programs of one jail use among themselves (`--subprocess`),
and which reach nothing outside of it."""

from __future__ import annotations

import json
import os
import pathlib
import secrets
import socket
import subprocess
import tempfile

import pytest
from meeting import TRY, assert_strangers, meet, printed
from shared_keeper import SharedKeeper


@pytest.fixture
def flags(remit) -> list[str]:
    """The flags for programs. An ordinary user cannot write cgroups, and must accept limits of each process."""
    return ["--subprocess"] + ([] if remit.by_root else ["--memory-fallback", "per_process", "--cpu-fallback", "per_process"])


def note(result: dict) -> str:
    (row,) = [r for r in result["enforcement"] if r["field"] == "subprocess_execution"]
    return row["note"]


# ---- what works ----

SERVE = (
    TRY
    + """
import subprocess, sys
ASK = '''
import socket, sys
kind, name = int(sys.argv[1]), bytes.fromhex(sys.argv[2])
with socket.socket(socket.AF_UNIX, kind) as s:
    s.connect(name)
    s.send(b"hello")
'''
def ask(kind, name):
    with socket.socket(socket.AF_UNIX, kind) as s:
        s.bind(name)
        if kind != socket.SOCK_DGRAM:
            s.listen()
        subprocess.run([sys.executable, "-c", ASK, str(int(kind)), name.hex()], check=True)
        return (s if kind == socket.SOCK_DGRAM else s.accept()[0]).recv(100)
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
    for place in (b"/workspace/", b"/tmp/", b"\\0"):
        assert ask(kind, place + b"s%d" % kind) == b"hello", (kind, place)
print("met")
"""
)


def test_programs_of_a_jail_meet_over_unix_sockets(remit, flags):
    result = remit.json(SERVE, *flags)
    assert printed(result) == "met\n"
    assert note(result).endswith("; unix sockets and FIFOs inside the jail"), result


def test_unix_sockets_work_with_each_network(remit, flags):
    for network in ("--net=loopback", "--net"):
        assert printed(remit.json(SERVE, *flags, network)) == "met\n"


POOLS = """
import concurrent.futures as cf, multiprocessing as mp, multiprocessing.shared_memory as sm, os
def double(x): return 2 * x
def fill(shared, lock, value, name, queue):
    with lock:
        value.value += 1
    shared["done"] = os.getpid()
    block = sm.SharedMemory(name); block.buf[0] = 7; block.close()
    queue.put("from the child")
if __name__ == "__main__":
    for method in mp.get_all_start_methods():
        c = mp.get_context(method)
        with c.Pool(2) as pool:
            assert pool.map(double, range(5)) == [0, 2, 4, 6, 8], method
        with cf.ProcessPoolExecutor(2, mp_context=c) as pool:
            assert list(pool.map(double, range(5))) == [0, 2, 4, 6, 8], method
        with c.Manager() as manager:
            shared, lock, value, queue = manager.dict(), c.Lock(), c.Value("i", 0), c.Queue()
            block = sm.SharedMemory(create=True, size=10)
            one = c.Process(target=fill, args=(shared, lock, value, block.name, queue))
            one.start(); assert queue.get() == "from the child"; one.join()
            assert (one.exitcode, shared["done"], value.value, block.buf[0]) == (0, one.pid, 1, 7), method
            block.close(); block.unlink()
        with c.Pool(1) as pool:  # a listener and a connection travel to another process
            print(method)
"""


def test_multiprocessing_starts_processes_in_every_way(remit, flags):
    result = remit.json(POOLS, *flags, "--timeout", "100", "--open-files", "512")
    assert printed(result).split() == ["fork", "spawn", "forkserver"], result


REST = """
import fcntl, os, select, signal, subprocess, sys, time
os.mkfifo("fifo")
child = subprocess.Popen([sys.executable, "-c", "open('fifo', 'w').write('through it')"])
assert open("fifo").read() == "through it" and child.wait() == 0
child = subprocess.Popen(["sleep", "100"])
fd = os.pidfd_open(child.pid, 0)
signal.pidfd_send_signal(fd, signal.SIGTERM)
assert select.select([fd], [], [], 50)[0]
assert os.waitid(os.P_PIDFD, fd, os.WEXITED).si_status == signal.SIGTERM
LOCK = "import fcntl, sys; f = open('locked', 'r+'); getattr(fcntl, sys.argv[1])(f, fcntl.LOCK_EX | fcntl.LOCK_NB)"
for kind in ("lockf", "flock"):
    with open("locked", "w") as f:
        getattr(fcntl, kind)(f, fcntl.LOCK_EX)
        held = subprocess.run([sys.executable, "-c", LOCK, kind], capture_output=True, text=True)
        assert "BlockingIOError" in held.stderr, held
    subprocess.run([sys.executable, "-c", LOCK, kind], check=True)
import asyncio
async def main():
    one = await asyncio.create_subprocess_exec("sleep", "0")
    assert await one.wait() == 0
    async def serve(reader, writer):
        writer.write(await reader.readline()); writer.close()
    async with await asyncio.start_unix_server(serve, "server.sock"):
        reader, writer = await asyncio.open_unix_connection("server.sock")
        writer.write(b"echo\\n")
        return await reader.readline()
assert asyncio.run(main()) == b"echo\\n"
print("all")
"""


def test_fifos_pidfds_locks_and_asyncio_work(remit, flags):
    assert printed(remit.json(REST, *flags)) == "all\n"


# ---- what is refused ----


def test_without_programs_there_are_neither_sockets_nor_fifos(remit):
    code = TRY + "print(attempt(socket.socket, socket.AF_UNIX), attempt(os.mkfifo, 'fifo'), attempt(os.pidfd_open, os.getpid()))"
    assert printed(remit.json(code)) == "EPERM EPERM ENOSYS\n"


def test_only_fifos_are_made_by_mknod(remit, flags):
    code = TRY + (
        "import stat\n"
        "print(*(attempt(os.mknod, 'node', kind | 0o600, os.makedev(1, 3))\n"
        "        for kind in (stat.S_IFSOCK, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO | stat.S_ISUID)))"
    )
    assert printed(remit.json(code, *flags)) == "EPERM EPERM EPERM EPERM\n"


class Bait:
    """Sockets and a FIFO of the host, in a folder that the policy mounts, open to every user."""

    def __init__(self, remit):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="remit-bait-", dir="/var/tmp"))
        self.sockets = {}
        for name, kind in (("stream", socket.SOCK_STREAM), ("dgram", socket.SOCK_DGRAM), ("seqpacket", socket.SOCK_SEQPACKET)):
            s = self.sockets[name] = socket.socket(socket.AF_UNIX, kind | socket.SOCK_NONBLOCK)
            s.bind(str(self.folder / name))
            if kind != socket.SOCK_DGRAM:
                s.listen()
        os.mkfifo(self.folder / "fifo")
        self.fifo = os.open(self.folder / "fifo", os.O_RDONLY | os.O_NONBLOCK)
        (self.folder / "data").write_text("of the host")
        for path in self.folder.iterdir():
            path.chmod(0o777)
            remit.own(path)
        self.folder.chmod(0o755)
        remit.own(self.folder)

    def visits(self) -> list[str]:
        found = []
        for name, s in self.sockets.items():
            try:
                found.append((name, s.recv(100) if s.type & socket.SOCK_DGRAM else s.accept()[1]))
            except BlockingIOError:
                pass
        if data := os.read(self.fifo, 100):
            found.append(("fifo", data))
        return found

    def close(self) -> None:
        for s in self.sockets.values():
            s.close()
        os.close(self.fifo)
        subprocess.run(["rm", "-rf", self.folder], check=True)


@pytest.fixture
def bait(remit):
    made = Bait(remit)
    yield made
    made.close()


# Every way to a socket of the host that is a file below `folder`.
REACH = (
    TRY
    + """
import sys
folder = sys.argv[1]
def dial(kind, name):
    with socket.socket(socket.AF_UNIX, kind) as s:
        s.connect(f"{folder}/{name}")
        s.send(b"hello")
def send(name):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.sendto(b"hello", f"{folder}/{name}")
def pair(how, name):
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    if how == "connect":
        a.connect(f"{folder}/{name}"); a.send(b"hello")
    elif how == "sendto":
        a.sendto(b"hello", f"{folder}/{name}")
    else:
        a.sendmsg([b"hello"], [], 0, f"{folder}/{name}")
def write():
    os.write(os.open(f"{folder}/fifo", os.O_WRONLY | os.O_NONBLOCK), b"hello")
print(open(f"{folder}/data").read())
print(attempt(dial, socket.SOCK_STREAM, "stream"), attempt(dial, socket.SOCK_SEQPACKET, "seqpacket"),
      attempt(dial, socket.SOCK_DGRAM, "dgram"), attempt(send, "dgram"), attempt(pair, "sendto", "dgram"),
      attempt(pair, "sendmsg", "dgram"), attempt(pair, "connect", "dgram"), attempt(write))
"""
)


def reach(remit, bait, *flags, visits=()) -> tuple[list[str], dict]:
    path = remit.file("reach.py", REACH)
    done = remit("run", "--json", *flags, path, bait.folder)
    result = json.loads(done.stdout)
    lines = printed(result).splitlines()
    assert lines[0] == "of the host"
    assert bait.visits() == list(visits), result
    return lines[1].split(), result


def test_bait_is_reached_without_a_wall(remit, bait):
    """The attempts are real: without a jail they arrive."""
    done = subprocess.run(["/usr/bin/python3", remit.file("reach.py", REACH), bait.folder], capture_output=True, text=True, **remit.identity())
    assert done.stdout.splitlines()[1].split() == ["ok"] * 8, done
    assert {name for name, _ in bait.visits()} == {"stream", "dgram", "seqpacket", "fifo"}


@pytest.mark.parametrize("mode", ["ro", "direct"])
def test_sockets_in_a_mounted_folder_of_the_host_are_not_reached(remit, flags, bait, mode):
    mount = ("--mount", f"{bait.folder}:{bait.folder}:{mode}")
    # A FIFO there is a file, and mode direct grants writing to files.
    refused, result = reach(remit, bait, *mount, *flags, visits=[("fifo", b"hello")] if mode == "direct" else [])
    assert refused[:7] == ["EPERM"] * 4 + ["EAFNOSUPPORT"] * 3, result
    assert "a folder of the host is mounted in mode ro or direct" in note(result)
    if mode == "ro":
        assert refused[7] == "EACCES"


def test_a_pair_reaches_no_socket_in_a_read_root(remit, bait):
    """Without programs, one end of a datagram pair could send to a socket of the host."""
    # Where memory is bounded strictly, there are no such pairs anyway.
    loose = () if remit.by_root else ("--memory-fallback", "per_process")
    for flags in ((), loose, ("--net=loopback", *loose)):
        refused, result = reach(remit, bait, "--read", bait.folder, *flags)
        assert "ok" not in refused, result
    code = "import socket; a, b = socket.socketpair(); a.send(b'x'); print(b.recv(1)); socket.socketpair(type=socket.SOCK_SEQPACKET)"
    assert printed(remit.json(code, "--read", bait.folder, *loose)) == "b'x'\n"


@pytest.mark.parametrize("mode", ["overlay", "rw"])
def test_sockets_below_an_overlay_are_not_those_of_the_host(remit, flags, bait, mode):
    mount = ("--mount", f"{bait.folder}:{bait.folder}:{mode}")
    refused, result = reach(remit, bait, *mount, *flags)
    assert refused == ["ECONNREFUSED"] * 7 + ["ENXIO"], result
    assert note(result).endswith("; unix sockets and FIFOs inside the jail")


def test_sockets_and_fifos_are_not_committed_or_exported(remit, flags):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="remit-commit-", dir="/var/tmp"))
    remit.own(folder)
    code = (
        "import os, socket\n"
        f"for place in ({str(folder)!r}, '/workspace'):\n"
        "    os.mkfifo(place + '/fifo'); socket.socket(socket.AF_UNIX).bind(place + '/sock'); open(place + '/file', 'w').write('kept')"
    )
    try:
        artifacts = remit.folder / f"artifacts-{secrets.token_hex(4)}"
        result = remit.json(code, *flags, "--write", folder, "--export", "**", "--artifacts", artifacts)
        assert result["status"] == "ok", result
        assert [p.name for p in folder.iterdir()] == ["file"], result
        assert [p.name for p in artifacts.iterdir()] == ["file"], result
    finally:
        subprocess.run(["rm", "-rf", folder], check=True)


def test_peer_of_the_channel_cannot_be_signalled_or_opened(remit, flags):
    """The descriptor of the keeper that a socket returns is of no use."""
    code = (
        TRY
        + """
import signal, struct
channel = socket.socket(fileno=os.dup(3))
pid = struct.unpack("3i", channel.getsockopt(socket.SOL_SOCKET, 17, 12))[0]
try:
    fd = struct.unpack("i", channel.getsockopt(socket.SOL_SOCKET, 77, 4))[0]
except OSError:
    fd = -1
print(pid, fd < 0 or attempt(signal.pidfd_send_signal, fd, 0), attempt(os.pidfd_open, 1), attempt(os.pidfd_open, os.getppid()))
"""
    )
    pid, signalled, first, _ = printed(remit.json(code, *flags)).split()
    assert pid == "0" and signalled in ("True", "EINVAL", "EPERM", "ESRCH") and first == "ok", (pid, signalled, first)


# ---- two runs that try to meet ----

def test_two_runs_do_not_meet_over_unix_sockets(remit, flags):
    assert_strangers(meet(remit, *flags))


@pytest.fixture
def keeper(remit):
    made = SharedKeeper(remit)
    yield made
    made.close()


def test_two_warm_runs_do_not_meet_over_unix_sockets(remit, flags, keeper):
    """Warm runs without sockets share an empty network. These must not."""
    if not remit.by_root:
        keeper.await_child(*flags)
    assert_strangers(meet(remit, *flags, env=keeper.env))


def test_a_warm_run_gets_a_private_network(remit, flags, keeper):
    # Runs of root with programs always start cold.
    result = keeper.json(SERVE, *flags) if remit.by_root else keeper.warm(SERVE, *flags)
    assert printed(result) == "met\n"
