"""Programs that listen in a sandbox, and what reaches them through the server: "PORT-ID.domain"."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import select
import socket
import struct
import subprocess
import sys
import termios
import time

import leftovers
import pytest
from conftest import ROOT, make_remit, users
from served import serve
from test_e2b import DOMAIN, Box, of
from test_serve_tls import serve_tls
from waiting import until

sys.path.insert(0, str(ROOT / "tests" / "python"))
import venvs  # noqa: E402

ALLOWED = ("--allow-host", f".{DOMAIN}", "--memory-fallback", "per_process", "--cpu", "unlimited")
LOOPBACK = ("--net=loopback", *ALLOWED)
MIB = 1 << 20
# A program that does what the path says, with one thread for each connection.
PROGRAM = r"""
import hashlib, json, os, socket, struct, threading, time
def read_until(s, mark, got=b""):
    while mark not in got:
        piece = s.recv(65536)
        if not piece: raise EOFError
        got += piece
    return got
def read_body(s, head, rest):
    sum = hashlib.sha256(); size = 0
    if b"transfer-encoding: chunked" in head.lower():
        while True:
            rest = read_until(s, b"\r\n", rest)
            n, _, rest = rest.partition(b"\r\n")
            left = int(n, 16)
            if not left: break
            while len(rest) < left + 2: rest += s.recv(65536)
            sum.update(rest[:left]); size += left; rest = rest[left + 2:]
    else:
        left = next((int(l[15:]) for l in head.split(b"\r\n") if l.lower().startswith(b"content-length:")), 0)
        while size < left:
            if not rest: rest = s.recv(65536)
            sum.update(rest); size += len(rest); rest = b""
    return [size, sum.hexdigest()]
def reply(s, body, more=""):
    s.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n{more}\r\n".encode() + body)
def serve(s):
    raw = read_until(s, b"\r\n\r\n")
    head, _, rest = raw.partition(b"\r\n\r\n")
    what = head.split(b" ")[1].split(b"?")[0].decode()
    if what == "/head": reply(s, head)
    elif what == "/name": reply(s, NAME.encode())
    elif what == "/body": reply(s, json.dumps(read_body(s, head, rest)).encode())
    elif what == "/big":
        s.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for i in range(64): s.sendall(b"100000\r\n" + bytes([i]) * (1 << 20) + b"\r\n")
        s.sendall(b"0\r\n\r\n")
    elif what == "/until-the-end":
        s.sendall(b"HTTP/1.0 200 OK\r\n\r\n" + b"x" * 100000)
    elif what == "/kept":
        reply(s, b"kept", "Connection: keep-alive\r\n")
        reply(s, read_until(s, b"\r\n\r\n"))
    elif what == "/switch" or what == "/uninvited":
        s.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n\x81\x02hi")
        while piece := rest or s.recv(65536):
            s.sendall(piece.upper()); rest = b""
        s.sendall(b"bye")
    elif what == "/deaf": s.sendall(b"HTTP/1.1 101 Switching Protocols\r\n\r\n"); time.sleep(30)
    elif what == "/early": s.sendall(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n"); reply(s, b"late")
    elif what == "/half": s.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n0123456789")
    elif what == "/reset":
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    elif what == "/full":  # as much as is taken without a reader, and then a reset
        s.settimeout(1)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        s.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * (64 << 20))
    elif what == "/garbage": s.sendall(bytes(range(256)) * 16)
    elif what == "/ssh": s.sendall(b"SSH-2.0-program\r\n"); s.recv(1)
    elif what == "/endless": s.sendall(b"HTTP/1.1 200 ")
    elif what == "/silent": s.recv(1)
    while what == "/endless" or what == "/endless-interim":
        s.sendall(b"x" * 65536 if what == "/endless" else b"HTTP/1.1 100 a\r\n\r\n" * 1000)
    while what == "/flood":
        s.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + b"y" * 65536)
    if what == "/exit": os._exit(0)
def one(s):
    try:
        with s: serve(s)
    except (OSError, EOFError): pass
def accept(port):
    l = socket.create_server(("127.0.0.1", port))
    def run():
        while True: threading.Thread(target=one, args=l.accept()[:1], daemon=True).start()
    threading.Thread(target=run, daemon=True).start()
"""


class PortBox(Box):
    """A sandbox with a program at port 3000."""

    def __init__(self, served, name: str = "a", listen: bool = True, **wishes):
        super().__init__(served, **wishes)
        if listen:
            self.listen(3000, name)

    def run(self, code: str) -> None:
        lines = self.execute(code)
        assert not of(lines, "error"), lines

    def listen(self, port: int, name: str = "a") -> None:
        self.run(f"NAME = {name!r}\n{PROGRAM}\naccept({port})")

    def host(self, port: int = 3000) -> str:
        return f"{port}-{self.id}.{DOMAIN}"

    def ask(self, path: str, body=None, headers=None, port: int = 3000, method: str | None = None, timeout: float = 60):
        """Send a request as any stranger could."""
        connection = self.served.connect(timeout)
        try:
            connection.request(method or ("GET" if body is None else "POST"), path, body, {"Host": self.host(port), **(headers or {})})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def text(self, path: str, *more, **options) -> str:
        status, _, text = self.ask(path, *more, **options)
        assert status == 200, (status, text[:500])
        return text.decode()

    def refusal(self, path: str = "/name", status: int = 502, **more) -> str:
        got, _, text = self.ask(path, **more)
        assert got == status, (got, text[:500])
        document = json.loads(text)
        assert document["code"] == status
        return document["message"]

    def raw(self, sent: bytes) -> bytes:
        return self.served.raw(sent.replace(b"HOST", self.host().encode()))

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.served.port), timeout=60)


def read_all(s: socket.socket) -> bytes:
    got = b""
    while piece := s.recv(65536):
        got += piece
    return got


@contextlib.contextmanager
def box_of(served, *args, **wishes):
    box = PortBox(served, *args, **wishes)
    try:
        yield box
    finally:
        box.served.request("DELETE", f"/sandboxes/{box.id}")


@pytest.fixture(scope="module", params=users())
def served(request, stage):
    remit = make_remit(request.param, stage)
    with serve(remit, *LOOPBACK, "--sandbox-ports", "public") as one:
        one.remit = remit
        yield one
    assert not leftovers.remaining(lambda: leftovers.processes(remit.command)), "processes are left"


@pytest.fixture(scope="module")
def box(served):
    with box_of(served) as one:
        yield one


@pytest.fixture(scope="module")
def any_remit(stage):
    return make_remit(users()[-1], stage)


# ---- what is forwarded ----


def test_request_reaches_program_without_secrets(box):
    sent = {
        "X-Access-Token": "secret-1", "E2B-Traffic-Access-Token": "secret-2", "E2b-Sandbox-Id": "secret-3", "Authorization": "Bearer mine",
        "Cookie": "a=b", "Connection": "keep-alive, X-Hop", "X-Hop": "secret-4", "TE": "trailers", "Origin": "https://elsewhere.test",
    }  # fmt: skip
    query = "&".join(f"q{i}=%zz" for i in range(40))
    head = box.text(f"/head?{query}", None, sent)
    assert head.splitlines()[0] == f"GET /head?{query} HTTP/1.1" and "secret" not in head
    lines = {name.lower(): value for name, _, value in (line.partition(": ") for line in head.splitlines()[1:])}
    assert lines["host"] == box.host() and lines["connection"] == "close" and "te" not in lines
    assert (lines["authorization"], lines["cookie"], lines["origin"]) == ("Bearer mine", "a=b", "https://elsewhere.test")


def test_any_method_reaches_program(box):
    for method in ("OPTIONS", "DELETE", "PATCH", "PROPFIND"):
        assert box.text("/head", None, {"Origin": "https://elsewhere.test", "Access-Control-Request-Method": "PUT"}, method=method).startswith(method)
    assert box.ask("/head", method="HEAD")[0] == 200


def test_large_bodies_are_streamed_in_both_directions(box):
    piece = os.urandom(MIB)
    whole = [48 * MIB, hashlib.sha256(piece * 48).hexdigest()]
    assert json.loads(box.text("/body", (piece for _ in range(48)))) == whole
    assert json.loads(box.text("/body", piece * 48, {"Content-Encoding": "br"})) == whole
    status, headers, text = box.ask("/big")
    assert status == 200 and headers["Connection"] == "close" and "Date" not in headers
    assert hashlib.sha256(text).digest() == hashlib.sha256(b"".join(bytes([i]) * MIB for i in range(64))).digest()
    assert len(box.text("/until-the-end")) == 100000


def test_reply_arrives_while_program_goes_on(box):
    with box.connect() as s:
        s.sendall(f"GET /kept HTTP/1.1\r\nHost: {box.host()}\r\n\r\n".encode())
        assert b"Connection: close\r\n" in (got := s.recv(65536)), got
    got = box.raw(b"GET /early HTTP/1.1\r\nHost: HOST\r\n\r\n")
    assert [line for line in got.splitlines() if line.startswith(b"HTTP/")] == [b"HTTP/1.1 100 Continue", b"HTTP/1.1 103 Early Hints", b"HTTP/1.1 200 OK"]
    assert got.endswith(b"\r\n\r\nlate")


def test_upgraded_connection_carries_bytes_in_both_directions(box):
    with box.connect() as s:
        s.sendall(f"GET /switch HTTP/1.1\r\nHost: {box.host()}\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n\r\n".encode())
        got = b""
        while b"\x81\x02hi" not in got:
            got += s.recv(65536)
        assert got.startswith(b"HTTP/1.1 101 ") and b"Connection: close" not in got
        for word in (b"abc", b"\x00\xffdef", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"):
            s.sendall(word)
            assert s.recv(65536) == word.upper()
        s.sendall(b"z" * 4 * MIB)
        got = 0
        while got < 4 * MIB:
            got += len(s.recv(65536))
        s.shutdown(socket.SHUT_WR)
        assert s.recv(65536) == b"bye" and s.recv(65536) == b""


def test_second_request_of_connection_is_not_forwarded(box):
    """It may be for another sandbox, and have a token."""
    second = b"GET /name HTTP/1.1\r\nHost: HOST\r\nE2B-Traffic-Access-Token: secret\r\n\r\n"
    for first in (b"GET /kept HTTP/1.1\r\nHost: HOST\r\n\r\n", b"GET /kept HTTP/1.1\r\nHost: HOST\r\nContent-Length: 3\r\n\r\nabc",
                  b"GET /kept HTTP/1.1\r\nHost: HOST\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"):  # fmt: skip
        with box.connect() as s:
            s.sendall((first + second).replace(b"HOST", box.host().encode()))
            got = b""
            while b"kept" not in got.partition(b"\r\n\r\n")[2]:
                got += s.recv(65536)
            s.settimeout(1)
            with pytest.raises(TimeoutError):
                got += s.recv(65536) or pytest.fail("the connection was closed")
            assert b"secret" not in got and b"/name" not in got
    for request in (b"GET /name HTTP/1.1\r\nHost: HOST\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
                    b"GET http://x/ HTTP/1.1\r\nHost: HOST\r\n\r\n", b"GET /name HTTP/1.1\r\nHost: HOST\r\nHost: x\r\n\r\n"):  # fmt: skip
        assert box.raw(request).startswith(b"HTTP/1.1 400 "), request
    # The end of a body is found strictly, so both sides agree on it.
    assert b"HTTP/1.1 400" in box.raw(b"POST /body HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nabcde\r\n0\r\n\r\n")


def test_program_is_reached_while_cell_runs(served):
    with box_of(served, listen=False) as box, box.executing(f"NAME = 'busy'\n{PROGRAM}\naccept(8080)\nprint('on')\nimport time\ntime.sleep(600)"):
        assert box.text("/name", port=8080) == "busy"


# ---- which sandbox ----


def test_sandboxes_at_the_same_port_do_not_meet(served):
    with box_of(served, "first") as one, box_of(served, "second") as other:
        for _ in range(12):  # more connections than sockets are made at a time
            assert (one.text("/name"), other.text("/name")) == ("first", "second")
        other.listen(3001, "second")
        assert other.text("/name", port=3001) == "second" and "port is not open" in one.refusal(port=3001)


def test_port_without_program_gets_502(served):
    with box_of(served, listen=False) as box:
        for port in (1, 80, 3000, 49982, 65535):
            assert "port is not open" in box.refusal(port=port)
        assert "no port 99999" in box.refusal(port=99999)
        assert "no port 0" in box.refusal(port=0)
        box.run("import socket\nother = socket.create_server(('127.0.0.2', 3000))")
        assert "port is not open" in box.refusal()


def test_new_jail_of_sandbox_is_reached_in_place_of_the_old(served):
    with box_of(served, "old") as box:
        assert box.text("/name") == "old"
        assert of(box.execute("import os\nos._exit(3)"), "error")
        assert "jail has ended" in box.refusal()
        assert box.json("POST", "/contexts/main/restart") is None
        assert "port is not open" in box.refusal()
        box.listen(3000, "new")
        assert box.text("/name") == "new"


def test_ended_sandbox_is_not_found(served):
    with box_of(served) as box:
        assert box.text("/name") == "a"
        box.kill()
        assert box.refusal() == "The sandbox was not found"
    with box_of(served) as box:
        box.ask("/exit")
        until(lambda: "jail has ended" in box.refusal())


def test_connections_end_with_their_sandbox_and_nothing_is_left(served):
    with box_of(served) as box, contextlib.ExitStack() as stack:
        files = len(os.listdir(f"/proc/{served.process.pid}/fd"))
        for _ in range(5):
            s = stack.enter_context(box.connect())
            s.sendall(f"GET /switch HTTP/1.1\r\nHost: {box.host()}\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n".encode())
            assert s.recv(65536)
        box.kill()
        while s.recv(65536):
            pass
        until(lambda: len(os.listdir(f"/proc/{served.process.pid}/fd")) <= files, "descriptors are left")


# ---- access ----


def test_private_ports_require_token(served):
    with box_of(served, network={"allowPublicTraffic": False}) as box:
        token = box.about["trafficAccessToken"]
        for headers in ({}, {"E2B-Traffic-Access-Token": token[:-1]}, {"E2B-Traffic-Access-Token": ""}, {"X-Access-Token": token}):
            assert "require its token" in box.refusal(status=403, headers=headers)
        assert box.text("/name", None, {"e2b-traffic-access-token": token}) == "a"
        assert token not in box.text("/head", None, {"e2b-traffic-access-token": token})
    assert served.request("POST", "/sandboxes", {"network": {"allowPublicTraffic": "no"}})[0] == 400


def test_key_of_server_does_not_reach_program(box):
    for headers in ({"X-API-Key": box.served.token}, {"Authorization": f"Bearer {box.served.token}"}, {"X-API-Key": f"e2b_{box.served.token}"}):
        assert "a key of this server" in box.refusal(status=400, headers=headers)
    for key in (b"Authorization: Basic eA==\r\nAuthorization: Bearer KEY", b"X-API-Key: x\r\nX-API-Key: KEY",
                b"Authorization: Token KEY", b"Authorization: KEY", b"X-API-Key: x\r\n" * 8 + b"X-API-Key: x"):  # fmt: skip
        got = box.raw(b"GET /head HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n" + key.replace(b"KEY", box.served.token.encode()) + b"\r\n\r\n")
        assert got.startswith(b"HTTP/1.1 400 ") and b"a key of this server" in got, (key, got)
    assert "X-API-Key: other" in box.text("/head", None, {"X-API-Key": "other"})


def test_option_token_makes_all_ports_private(any_remit):
    path = any_remit.folder / "ports-keys"
    path.unlink(missing_ok=True)
    keys = [any_remit("serve", "--keys", path, "--add-key", name).stdout.strip() for name in ("a", "b")]
    with serve(any_remit, *LOOPBACK, "--keys", path, "--sandbox-ports", "token") as two:
        boxes = []
        for two.token in keys:
            boxes.append(PortBox(two, "of " + two.token, network={"allowPublicTraffic": True}))
        for box, other in (boxes, boxes[::-1]):
            assert "require its token" in box.refusal(status=403)
            assert "require its token" in box.refusal(status=403, headers={"E2B-Traffic-Access-Token": other.about["trafficAccessToken"]})
            for key in keys:
                assert "require its token" in box.refusal(status=403, headers={"X-API-Key": key})
            assert box.text("/name", None, {"E2B-Traffic-Access-Token": box.about["trafficAccessToken"]}).startswith("of ")


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (("--sandbox-ports", "public", *ALLOWED), "--net=loopback"),
        (("--sandbox-ports", "public", "--net=host", *ALLOWED), "instead of --net=host"),
        (("--sandbox-ports", "public", "--net=host", "--preset", "landlock", "--allow-host", f".{DOMAIN}"), "use the tier local"),
        (LOOPBACK, "--sandbox-ports"),
    ],
)
def test_sandbox_without_ports_says_what_to_change(any_remit, flags, why):
    with serve(any_remit, *flags) as s, box_of(s, listen=False) as box:
        assert why in box.refusal()


def test_ports_of_network_proxy_are_refused(any_remit):
    """At these ports a stranger would get the network of the code, and what the proxy adds to its requests."""
    with serve(any_remit, *ALLOWED, "--sandbox-ports", "public") as s, box_of(s, network={"allowOut": ["example.com"]}) as box:
        assert box.text("/name") == "a"
        for port in (443, 80):
            assert "belongs to its network proxy" in box.refusal(port=port)


def test_ports_are_reached_over_tls(any_remit):
    with serve_tls(any_remit, *LOOPBACK, "--sandbox-ports", "public") as s, box_of(s) as box:
        piece = os.urandom(MIB)
        assert json.loads(box.text("/body", piece * 20)) == [20 * MIB, hashlib.sha256(piece * 20).hexdigest()]
        assert len(box.ask("/big")[2]) == 64 * MIB
        with s.tls.wrap_socket(box.connect(), server_hostname="localhost") as one:
            one.sendall(f"GET /switch HTTP/1.1\r\nHost: {box.host()}\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n".encode())
            got = b""
            while b"hi" not in got:
                got += one.recv(65536)
            one.sendall(b"abc")
            assert one.recv(65536) == b"ABC"
        with s.tls.wrap_socket(box.connect(), server_hostname="localhost", suppress_ragged_eofs=False) as one:
            one.sendall(f"GET /half HTTP/1.1\r\nHost: {box.host()}\r\n\r\n".encode())
            while piece := one.recv(65536):
                got = piece
            assert got.endswith(b"0123456789")


def test_port_needs_a_name_of_the_server(box):
    assert box.ask("/name", headers={"Host": f"3000-{box.id}.elsewhere.test"})[0] == 421


# ---- hostile programs and clients ----


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/garbage", "did not reply with HTTP"), ("/ssh", "did not reply with HTTP"), ("/endless", "did not reply with HTTP"),
        ("/reset", "before a reply"), ("/nothing", "before a reply"), ("/uninvited", "did not reply with HTTP"),
    ],
)  # fmt: skip
def test_reply_that_is_not_http_becomes_502(box, path, why):
    assert why in box.refusal(path)


def test_program_that_stops_in_the_middle_cuts_its_reply(box):
    got = box.raw(b"GET /half HTTP/1.1\r\nHost: HOST\r\n\r\n")
    assert got.endswith(b"\r\n\r\n0123456789") and b"Content-Length: 1000" in got


def test_floods_are_bounded_and_others_are_served(served, box):
    with contextlib.ExitStack() as stack:
        for path in ("/flood", "/endless-interim") * 4:
            s = stack.enter_context(box.connect())
            s.sendall(f"GET {path} HTTP/1.1\r\nHost: {box.host()}\r\n\r\n".encode())
            assert s.recv(1)
        rss = memory_of(served.process.pid)
        for _ in range(50):
            assert served.request("GET", "/healthz")[0] == 200
        # Time for a flood to fill memory
        time.sleep(1)
        assert memory_of(served.process.pid) < rss + 8 * MIB
        for _ in range(200):
            s.recv(65536)


def test_reset_program_costs_nothing_while_its_client_does_not_read(served, box):
    with box.connect() as s:
        s.sendall(f"GET /full HTTP/1.1\r\nHost: {box.host()}\r\n\r\n".encode())
        # The program gives up after a second.
        time.sleep(3)
        before = processor_time_of(served.process.pid)
        # What is measured is the time of doing nothing.
        time.sleep(3)
        assert processor_time_of(served.process.pid) - before < 0.1, "it asks again and again for what it does not want"
        assert s.recv(65536).startswith(b"HTTP/1.1 200 OK")


def test_switched_connection_costs_nothing_while_its_program_does_not_read(served, box):
    def send(s, size: int) -> None:
        """Send until the server takes no more for a while."""
        stuck = 0
        while size and stuck < 40:
            stuck = stuck + 1 if unsent(s) else 0
            if stuck:
                time.sleep(0.005)  # the time in which the server would take more
            else:
                size -= s.send(b"z" * min(16384, size))

    with contextlib.ExitStack() as stack:
        # Of some of these the server reads only a part, and the rest, with the client's end, waits in the kernel.
        for size in range(320, 1344, 64):
            s = stack.enter_context(box.connect())
            s.sendall(f"GET /deaf HTTP/1.1\r\nHost: {box.host()}\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n".encode())
            assert s.recv(65536).startswith(b"HTTP/1.1 101 ")
            send(s, size * 1024)
            s.shutdown(socket.SHUT_WR)
        before = processor_time_of(served.process.pid)
        # The time of doing nothing is measured.
        time.sleep(2)
        assert processor_time_of(served.process.pid) - before < 0.2, "the server sees again and again that a client has ended"


def test_many_headers_are_refused_quickly(served, box):
    before = processor_time_of(served.process.pid)
    for _ in range(20):
        got = box.raw(b"GET /name HTTP/1.1\r\nHost: HOST\r\nConnection: b,b,b,close\r\n" + b"a:\r\n" * 3900 + b"\r\n")
        assert got.startswith(b"HTTP/1.1 400 ") and b"too many headers" in got, got
    assert processor_time_of(served.process.pid) - before < 0.5


def unsent(s: socket.socket) -> int:
    """How many bytes the other end has not acknowledged."""
    return struct.unpack("i", fcntl.ioctl(s, termios.TIOCOUTQ, bytes(4)))[0]


def processor_time_of(pid: int) -> float:
    with open(f"/proc/{pid}/stat") as f:
        return sum(map(int, f.read().rpartition(")")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK")


def memory_of(pid: int) -> int:
    with open(f"/proc/{pid}/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def test_program_that_does_not_accept_blocks_only_itself(served, box):
    with box_of(served, listen=False) as deaf, contextlib.ExitStack() as stack:
        deaf.run("import socket\nl = socket.socket()\nl.bind(('127.0.0.1', 3000))\nl.listen(0)")
        all = [stack.enter_context(deaf.connect()) for _ in range(4)]  # two of them fill the kernel's queue
        for one in all:
            one.sendall(f"GET / HTTP/1.1\r\nHost: {deaf.host()}\r\n\r\n".encode())
        began = time.monotonic()
        for _ in range(20):
            assert box.text("/name") == "a" and served.request("GET", "/healthz")[0] == 200
        assert time.monotonic() - began < 8
        (late, *_) = until(lambda: select.select(all, [], [], 0)[0])
        got = read_all(late)
        assert b" 502 " in got and b"does not accept" in got


def test_limits_of_connections_and_idleness_hold(any_remit):
    with serve(any_remit, *LOOPBACK, "--sandbox-ports", "public", "--max-port-connections", "3", "--port-idle", "2") as s, box_of(s) as box:
        with contextlib.ExitStack() as stack:
            for _ in range(3):
                one = stack.enter_context(box.connect())
                one.sendall(f"GET /silent HTTP/1.1\r\nHost: {box.host()}\r\n\r\n".encode())
            assert until(lambda: box.ask("/name")[0] == 429)
            got = read_all(one)
            assert b" 502 " in got and b"does not reply" in got
        assert until(lambda: box.ask("/name")[0] == 200)
        with box.connect() as one:
            one.sendall(f"GET /switch HTTP/1.1\r\nHost: {box.host()}\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n".encode())
            while one.recv(65536):  # a connection that carries nothing is closed
                pass


def test_connections_of_one_sandbox_are_limited(served):
    with box_of(served, listen=False) as box, box_of(served, "other") as other, contextlib.ExitStack() as stack:
        box.run("import socket\nl = socket.create_server(('127.0.0.1', 3000), backlog=100)")
        # Requests of different connections are read in any order.
        all = [stack.enter_context(box.connect()) for _ in range(64 + 5)]
        for one in all:
            one.sendall(f"GET / HTTP/1.1\r\nHost: {box.host()}\r\nConnection: close\r\n\r\n".encode())
        refused = until(lambda: len(ready := select.select(all, [], [], 0)[0]) >= 5 and ready)
        for one in refused:
            got = read_all(one)
            assert b" 429 " in got and b"too many connections" in got
        assert len(refused) == 5
        assert other.text("/name") == "other"


def test_server_with_open_connection_ends_soon(any_remit):
    with serve(any_remit, *LOOPBACK, "--sandbox-ports", "public") as s:
        box = PortBox(s)
        one = box.connect()
        one.sendall(f"GET /switch HTTP/1.1\r\nHost: {box.host()}\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n".encode())
        assert one.recv(65536)
        began = time.monotonic()
    assert time.monotonic() - began < 20
    one.close()


# ---- clients ----

CLIENT = r"""
import json, os, sys, urllib.error, urllib.request
from e2b_code_interpreter import Sandbox
program, port = sys.argv[1:]
def fetch(box, **headers):
    request = urllib.request.Request(f"http://127.0.0.1:{port}/name", headers={"Host": box.get_host(3000), **headers})
    try: return urllib.request.urlopen(request).read().decode()
    except urllib.error.HTTPError as e: return e.code
def made(**wishes):
    box = Sandbox.create(**wishes)
    assert not box.run_code("NAME = 'sdk'\n" + program + "\naccept(3000)").error
    return box
with made() as one, made(network={"allow_public_traffic": False}) as other:
    print(json.dumps([one.get_host(3000) == f"3000-{one.sandbox_id}.boxes.test", fetch(one), fetch(other),
                      fetch(other, **{"e2b-traffic-access-token": other.traffic_access_token})]))
"""


def test_pypi_client_reaches_program_by_get_host(served):
    here = f"http://127.0.0.1:{served.port}"
    env = {"E2B_API_KEY": f"e2b_{served.token}", "E2B_API_URL": here, "E2B_SANDBOX_URL": here, "E2B_DOMAIN": DOMAIN}
    done = subprocess.run([venvs.framework("e2b"), "-c", CLIENT, PROGRAM, str(served.port)], env=served.remit.env(env),
                          cwd=served.remit.folder, capture_output=True, text=True, timeout=300, **served.remit.identity())  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    assert json.loads(done.stdout) == [True, "sdk", 403, "sdk"]


def test_curl_reaches_program_by_name(served, box):
    done = subprocess.run(["curl", "-sS", "--resolve", f"{box.host()}:{served.port}:127.0.0.1", f"http://{box.host()}:{served.port}/name"],
                          capture_output=True, text=True, timeout=60)  # fmt: skip
    assert done.stdout == "a", done
