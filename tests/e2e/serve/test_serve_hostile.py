"""`remit serve` against hostile clients, and its keys."""

from __future__ import annotations

import contextlib
import hashlib
import json
import pathlib
import re
import resource
import select
import signal
import socket
import stat
import threading
import time

import leftovers
import pytest
from conftest import PYTHON, make_remit, users
from served import serve
from shared_keeper import family, is_alive
from waiting import until

HEAD = "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer {token}\r\n"
CODE = '{"code": "1"}'


@pytest.fixture(scope="module")
def any_served(stage):
    with serve(make_remit(users()[-1], stage)) as s:
        yield s


def status_of(answer: bytes) -> int:
    assert answer.startswith(b"HTTP/1.1 "), answer
    return int(answer.split(b" ")[1])


# Two readers could interpret each of these in two ways. The second request must not be answered, whatever happens to
# the first.
AMBIGUOUS = {
    "two lengths": "Content-Length: 13\r\nContent-Length: 13\r\n\r\n" + CODE,
    "two lengths that differ": "Content-Length: 13\r\nContent-Length: 4\r\n\r\n" + CODE,
    "a list of lengths": "Content-Length: 13, 13\r\n\r\n" + CODE,
    "a length with a sign": "Content-Length: +13\r\n\r\n" + CODE,
    "a length that is hexadecimal": "Content-Length: 0xd\r\n\r\n" + CODE,
    "a length beyond all numbers": "Content-Length: 99999999999999999999\r\n\r\n" + CODE,
    "a length and chunks": "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\nd\r\n" + CODE + "\r\n0\r\n\r\n",
    "chunks and a length": "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\nd\r\n" + CODE + "\r\n0\r\n\r\n",
    "two encodings": "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
    "an unknown encoding": "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "an obscured encoding": "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "a blank before the colon": "Content-Length : 13\r\n\r\n" + CODE,
    "a folded line": "X-A: b\r\n c\r\nContent-Length: 13\r\n\r\n" + CODE,
    "a bare LF": "X-A: b\nContent-Length: 13\r\n\r\n" + CODE,
    "a bare CR": "X-A: b\rContent-Length: 13\r\n\r\n" + CODE,
    "a NUL": "X-A: b\0\r\nContent-Length: 13\r\n\r\n" + CODE,
    "two hosts": "Host: localhost\r\nContent-Length: 13\r\n\r\n" + CODE,
    "no name": ": x\r\nContent-Length: 13\r\n\r\n" + CODE,
    "a chunk size with a prefix": "Transfer-Encoding: chunked\r\n\r\n0xd\r\n" + CODE + "\r\n0\r\n\r\n",
    "a chunk size with a sign": "Transfer-Encoding: chunked\r\n\r\n+d\r\n" + CODE + "\r\n0\r\n\r\n",
    "a chunk with an extension": "Transfer-Encoding: chunked\r\n\r\nd;a=b\r\n" + CODE + "\r\n0\r\n\r\n",
    "a chunk that is too long": "Transfer-Encoding: chunked\r\n\r\nc\r\n" + CODE + "\r\n0\r\n\r\n",
    "chunks with bare LF": "Transfer-Encoding: chunked\r\n\r\nd\n" + CODE + "\n0\n\n",
    "a chunk beyond all numbers": "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffd\r\n" + CODE,
    "trailers": "Transfer-Encoding: chunked\r\n\r\nd\r\n" + CODE + "\r\n0\r\nX: y\r\n\r\n",
}


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_no_request_is_smuggled(any_served, name):
    sent = HEAD.format(token=any_served.token) + AMBIGUOUS[name]
    answer = any_served.raw(sent.encode() + b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert status_of(answer) in (400, 413) and answer.count(b"X-Content-Type-Options") == 1, answer
    assert b"Connection: close\r\n" in answer and b'"version"' not in answer


@pytest.mark.parametrize(
    "line",
    [
        "GET  /healthz HTTP/1.1", "GET /healthz HTTP/1.2", "GET /healthz HTTP/2.0", "GET /healthz", "/healthz", "GET\t/healthz HTTP/1.1",
        "GET http://localhost/healthz HTTP/1.1", "GET healthz HTTP/1.1", "GET * HTTP/1.1", "GET /h\x7f HTTP/1.1", "", "\r\nGET /healthz HTTP/1.1",
        "AVERYLONGMETHODTHATISNONE /healthz HTTP/1.1", "GET /healthz?%zz HTTP/1.1", "GET /healthz#x HTTP/1.1",
    ],
)  # fmt: skip
def test_malformed_request_line_is_refused(any_served, line):
    answer = any_served.raw(f"{line}\r\nHost: localhost\r\n\r\n".encode())
    assert status_of(answer) == 400 and answer.count(b"X-Content-Type-Options") == 1, answer


def test_chunked_and_pipelined_requests_are_answered(any_served):
    head = HEAD.format(token=any_served.token)
    chunked = head + "Transfer-Encoding: chunked\r\n\r\n3\r\n" + CODE[:3] + "\r\nA\r\n" + CODE[3:] + "\r\n0\r\n\r\n"
    plain = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    last = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    answer = any_served.raw((chunked + plain * 500 + last).encode(), timeout=60)
    assert answer.count(b"HTTP/1.1 200 ") == 502 and answer.count(b'"status":"ok"') == 502


def test_expected_body_gets_100_continue(any_served):
    with socket.create_connection(("127.0.0.1", any_served.port), timeout=60) as s:
        s.sendall((HEAD.format(token=any_served.token) + "Expect: 100-continue\r\nContent-Length: 13\r\n\r\n").encode())
        assert s.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        s.sendall(CODE.encode())
        assert s.recv(1000).startswith(b"HTTP/1.1 200 ")


def test_too_large_request_is_not_read(any_served):
    head = HEAD.format(token=any_served.token)
    assert status_of(any_served.raw((head + "Content-Length: 999999999999\r\n\r\n{").encode())) == 413
    assert status_of(any_served.raw((head + "X: " + "y" * 20000).encode())) == 400
    many = '{"code": "1", "x": [' + "0," * 100000 + "0]}"
    status, _, text = any_served.request("POST", "/v1/runs", many, headers={"Content-Type": "application/json"})
    assert status == 413 and b"100000 values" in text
    assert any_served.request("POST", "/v1/runs", {"code": f"{',' * 200000!r}"})[0] == 200
    deep = '{"code": "1", "x": ' + "[" * 90000 + "]" * 90000 + "}"
    status, _, text = any_served.request("POST", "/v1/runs", deep, headers={"Content-Type": "application/json"})
    assert status == 400 and b"depth" in text
    for body in ("{", '{"code": "1", "code": "2"}', "\xff", '{"code": "\\ud800"}', "1", ""):
        assert any_served.request("POST", "/v1/runs", body.encode("latin-1"), headers={"Content-Type": "application/json"})[0] == 400, body


def unread_bytes(port: int) -> int:
    """The bytes that the kernel still buffers for the server's connections."""
    lines = pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]
    return sum(int(queues.split(":")[1], 16) for _, local, _, _, queues, *_ in map(str.split, lines) if local.endswith(f":{port:04X}"))


def test_bodies_are_limited_in_total(any_served):
    """Three bodies lack their end, and the third one exceeds the total of 256 MiB. It is refused, and the other two
    are not, although their next bytes arrive at the same time."""
    head = HEAD.format(token=any_served.token) + f"Content-Length: {91 * 2**20}\r\n\r\n"
    sent = 0

    def send(s: socket.socket, count: int) -> None:
        nonlocal sent
        s.sendall(b" " * count)
        sent += count

    with contextlib.ExitStack() as all_of_them:
        first, second, third = (all_of_them.enter_context(socket.create_connection(("127.0.0.1", any_served.port), timeout=60)) for _ in range(3))
        begun = []
        for s, pieces in ((first, 90), (second, 90), (third, 75)):
            s.sendall(head.encode())
            begun.append(s)
            for _ in range(pieces):
                send(s, 2**20 - len(begun))
                for one in begun:  # the server closes a connection that is silent for ten seconds
                    send(one, 1)
        send(third, 256 * 2**20 - sent)
        until(lambda: not unread_bytes(any_served.port), "the bodies were not read")
        any_served.process.send_signal(signal.SIGSTOP)
        for s in (third, first, second):
            send(s, 1)
        any_served.process.send_signal(signal.SIGCONT)
        assert status_of(third.recv(1000)) == 503
        assert select.select([first, second], [], [], 0.5)[0] == []
    assert any_served.run("1")["status"] == "ok"


def test_page_of_other_origin_gets_nothing(any_served):
    def request(headers: dict, path: str = "/v1/sessions", method: str = "GET", body=None):
        return any_served.request(method, path, body, headers=headers)[0]

    here = f"http://127.0.0.1:{any_served.port}"
    assert request({}) == request({"Origin": here}) == 200
    for origin in ("http://evil.example", "null", here.replace("127.0.0.1", "localhost"), f"{here}.evil.example", "file://"):
        assert request({"Origin": origin}) == 403, origin
    # Names that another DNS server may resolve to this machine
    for host in ("evil.example", f"evil.example:{any_served.port}", "127.0.0.1.nip.io", "0.0.0.0"):
        assert request({"Host": host}) == 421, host
    assert request({"Host": "localhost"}) == request({"Host": f"[::1]:{any_served.port}"}) == 200
    # A form cannot send JSON.
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonx"):
        assert request({"Content-Type": kind}, "/v1/runs", "POST", CODE) == 415, kind
    assert request({"Content-Type": "application/json; charset=utf-8"}, "/v1/runs", "POST", CODE) == 200
    status, headers, _ = any_served.request("OPTIONS", "/v1/runs", headers={"Origin": here, "Access-Control-Request-Method": "POST"})
    assert status == 405 and not [h for h in headers if h.lower().startswith("access-control")]


def test_named_hosts_and_origins_are_allowed(any_remit):
    page = "https://page.example"
    with serve(any_remit, "--allow-host", "a.example", "--allow-host", ".b.example", "--allow-origin", page, "--listen", "127.0.0.2:0") as s:
        for host, status in (("a.example", 200), ("x.a.example", 421), ("x.b.example", 200), ("b.example", 421), ("127.0.0.2", 200), ("127.0.0.3", 421)):
            assert s.request("GET", "/v1/sessions", headers={"Host": host})[0] == status, host
        status, headers, _ = s.request("GET", "/v1/sessions", headers={"Origin": page})
        assert status == 200 and headers["Access-Control-Allow-Origin"] == page and headers["Vary"] == "Origin"
        asks = {"Access-Control-Request-Method": "POST", "Authorization": ""}
        status, headers, _ = s.request("OPTIONS", "/v1/runs", headers={"Origin": page, **asks})
        assert status == 204 and "Authorization" in headers["Access-Control-Allow-Headers"]
        status, headers, _ = s.request("OPTIONS", "/v1/runs", headers={"Origin": "https://other.example", **asks})
        assert status == 403 and "Access-Control-Allow-Origin" not in headers


def test_requests_without_token_are_refused(any_served):
    for token in ("", "x", any_served.token[:-1], any_served.token.upper() + "0"):
        assert any_served.request("GET", "/v1/sessions", token=token)[0] == 401
        assert any_served.request("POST", "/v1/runs", {"code": "1"}, token=token)[0] == 401
    status, headers, _ = any_served.request("GET", "/v1/status", token="")
    assert status == 401 and headers["WWW-Authenticate"] == "Bearer"
    for headers in ({"X-API-Key": any_served.token}, {"X-API-KEY": f"e2b_{any_served.token}"}):
        assert any_served.request("GET", "/v1/sessions", headers={"Authorization": "", **headers})[0] == 200


def test_clients_that_leave_leave_no_runs(any_served):
    """A hundred clients leave during a run, during its request and during a stream."""
    head = HEAD.format(token=any_served.token)
    body = json.dumps({"code": "import time\nprint('x' * 100000, flush=True)\ntime.sleep(60)", "stream": "ndjson"})
    whole = f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()

    def leave(n: int) -> None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", any_served.port), timeout=60) as s:
            s.sendall(whole if n % 3 else whole[:-5])
            if n % 3 == 1:
                s.recv(10)
            if n % 2:  # with a reset
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    threads = [threading.Thread(target=leave, args=(n,)) for n in range(100)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    any_served.wait_for_no_clients()
    any_served.wait_for_no_hosted_sessions()
    assert any_served.run("print(1)")["stdout"] == "1\n"


def resident_bytes(served) -> int:
    """The server's resident memory in bytes."""
    with open(f"/proc/{served.process.pid}/status") as f:
        (kib,) = [int(line.split()[1]) for line in f if line.startswith("VmRSS")]
    return kib * 1024


def test_server_dumps_no_core(stage):
    """A core would have keys and the headers that clients set. A limit of one byte prevents cores and core handlers."""
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
    try:
        with serve(make_remit(users()[-1], stage)) as s:
            limits = pathlib.Path(f"/proc/{s.process.pid}/limits").read_text()
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))
    assert re.search(r"Max core file size +[01] ", limits), limits


def test_slow_reader_does_not_delay_others(any_served):
    before = resident_bytes(any_served)
    body = json.dumps({"code": "for _ in range(64): print('x' * 1000000)", "policy": {"stdout_max_bytes": "64M"}, "stream": "ndjson"})
    with socket.create_connection(("127.0.0.1", any_served.port), timeout=60) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.sendall(f"{HEAD.format(token=any_served.token)}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        for _ in range(3):
            time.sleep(1)  # time in which unread output could accumulate
            assert any_served.run("print(1)")["stdout"] == "1\n"
        # Unread output does not accumulate in the server: the run waits for its client.
        assert any_served.metric("remit_rooms") == 1
        assert resident_bytes(any_served) - before < 60 * 2**20
    any_served.wait_for_no_hosted_sessions()


def test_incomplete_request_is_closed(any_served):
    with socket.create_connection(("127.0.0.1", any_served.port), timeout=60) as s:
        began = time.monotonic()
        s.sendall(b"GET /healthz HTTP/1.1\r\n")
        assert s.recv(1000) == b""
        assert 5 < time.monotonic() - began


def test_thirty_two_streams_run_concurrently(any_served):
    """Each stream has its own output."""
    wrong = []

    def client(n: int) -> None:
        for i in range(3):
            events = any_served.events("/v1/runs", {"code": f"for i in range(5): print({n * 10 + i})"})
            text = "".join(e["text"] for e in events if e["type"] == "output")
            if text != f"{n * 10 + i}\n" * 5 or events[-1]["result"]["status"] != "ok":
                wrong.append((n, events))

    threads = [threading.Thread(target=client, args=(n,)) for n in range(32)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong, wrong[0]
    any_served.wait_for_no_hosted_sessions()


# ---- keys ----


def add_key(remit, path, name: str) -> str:
    done = remit("serve", "--keys", path, "--add-key", name)
    assert done.returncode == 0, done
    return done.stdout.strip()


def change_key(path, name: str, **more) -> None:
    document = json.loads(path.read_text())
    (row,) = [k for k in document["keys"] if k["name"] == name]
    row.update(more)
    path.write_text(json.dumps(document))


def test_keys_are_stored_as_hashes_and_shown_once(remit):
    path = remit.folder / "keys.json"
    path.unlink(missing_ok=True)
    key = add_key(remit, path, "alice")
    assert len(key) == 40 and key not in path.read_text()
    assert hashlib.sha256(key.encode()).hexdigest() in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    done = remit("serve", "--keys", path, "--add-key", "alice")
    assert done.returncode == 2 and "already" in done.stderr
    path.chmod(0o666)
    done = remit("serve", "--keys", path, "--listen", "127.0.0.1:0")
    assert done.returncode == 2 and "other users can write" in done.stderr
    path.unlink()


def test_public_address_needs_keys_and_tls(remit):
    for address in ("0.0.0.0:0", "[::]:0", "192.0.2.1:0"):
        done = remit("serve", "--listen", address)
        assert done.returncode == 125 and "other machines" in done.stderr and "--add-key" in done.stderr
    done = remit("serve", "--listen", "0.0.0.0:0", "--open")
    assert done.returncode == 125
    for wrong in ("localhost", "1.2.3:80", "127.0.0.1:99999", "[::1:80", "unix:" + "x" * 200):
        assert remit("serve", "--listen", wrong).returncode == 2, wrong


def test_key_cannot_access_sessions_of_another(remit):
    path = remit.folder / "keys.json"
    path.unlink(missing_ok=True)
    alice, bob = add_key(remit, path, "alice"), add_key(remit, path, "bob")
    with serve(remit, "--keys", path) as s:
        mine = s.json("POST", "/v1/sessions", {}, status=201, token=alice)["id"]
        for method, end, body in (
            ("GET", "", None), ("DELETE", "", None), ("DELETE", "?drop=1", None), ("POST", "/cells", {"code": "1"}),
            ("POST", "/interrupt", {}), ("POST", "/reset", {}), ("POST", "/fork", {}), ("GET", "/files?path=.", None),
        ):  # fmt: skip
            s.json(method, f"/v1/sessions/{mine}{end}", body, status=404, token=bob)
        assert s.json("GET", "/v1/sessions", token=bob) == []
        run = s.json("POST", "/v1/runs", {"code": "open('a', 'w').write('1')", "policy": {"artifact_export_paths": ["a"]}}, token=alice)["id"]
        assert s.request("GET", f"/v1/runs/{run}/artifacts/a", token=bob)[0] == 404
        assert s.request("GET", f"/v1/runs/{run}/artifacts/a", token=alice)[0] == 200
        s.token = alice
        with s.stream("/v1/runs", {"code": "f()", "tools": [{"name": "f"}]}) as events:
            next(events)
            call = next(events)
            s.json("POST", f"/v1/calls/{call['id']}", {"result": 1}, status=404, token=bob)
            s.json("POST", f"/v1/calls/{call['id']}", {"result": 1}, token=alice)
    path.unlink()


def test_key_sees_only_its_own_numbers(remit):
    path = remit.folder / "keys.json"
    path.unlink(missing_ok=True)
    alice, bob, root = (add_key(remit, path, name) for name in ("alice", "bob", "root"))
    change_key(path, "root", operator=True)
    with serve(remit, "--keys", path) as s:
        for _ in range(2):
            s.json("POST", "/v1/sessions", {"policy": {"preload": ["json"]}}, status=201, token=alice)
        for key, rooms in ((alice, 2), (bob, 0)):
            assert s.json("GET", "/v1/status", token=key) == {"remit_version": s.json("GET", "/healthz")["version"], "rooms": rooms}
            text = s.request("GET", "/metrics", token=key)[2].decode()
            assert [line for line in text.splitlines() if line[0] != "#"] == [f"remit_rooms {rooms}"]
        seen = s.json("GET", "/v1/status", token=root)
        assert seen["pid"] and seen["pools"] and len(seen["sessions"]) == 2 and seen["rooms"] == 0
        text = s.request("GET", "/metrics", token=root)[2].decode()
        assert "\nremit_rooms 2\n" in text and 'route="/v1/sessions",status="2xx"' in text
    path.unlink()


def test_unauthorized_requests_do_not_fill_log(remit):
    path, log = remit.folder / "keys.json", remit.folder / "strangers.log"
    path.unlink(missing_ok=True)
    alice, often = add_key(remit, path, "alice"), add_key(remit, path, "often")
    change_key(path, "often", per_minute=3)
    with serve(remit, "--keys", path, "--log", log) as s:
        asked = [("GET", "/v1/sessions", token) for token in ("", "wrong", often)] + [("GET", "/healthz", ""), ("GET", "/nothing", ""), ("POST", "/execute", "")]
        for _ in range(30):
            for method, where, token in asked:
                s.request(method, where, token=token)
            assert s.request("GET", "/v1/sessions", token=alice)[0] == 200
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    left_out = sum(line.get("left_out", 0) for line in lines)
    lines = [line for line in lines if "left_out" not in line]
    assert sum(line["key"] == "alice" for line in lines) == 30 and sum(line["status"] == 200 and line["key"] == "often" for line in lines) >= 3
    # A minute may end meanwhile.
    unauthorized = [line for line in lines if line["key"] == "" or line["status"] == 429]
    assert 60 <= len(unauthorized) <= 120 and len(lines) + left_out == 30 * 7
    assert any(line["status"] == 429 and line["key"] == "often" for line in lines)
    path.unlink()
    log.unlink()


def test_key_has_limits_and_policy(remit):
    path = remit.folder / "keys.json"
    path.unlink(missing_ok=True)
    key = add_key(remit, path, "small")
    change_key(
        path, "small", concurrency=2, per_minute=1000, memory_bytes="1G",
        policy={"memory_bytes": "400M", "timeout": "5s", "blocked_imports": ["socket"]}, free=["cpu_seconds"],
    )  # fmt: skip
    often = add_key(remit, path, "often")
    change_key(path, "often", per_minute=3)
    with serve(remit, "--keys", path) as s:
        s.token = key
        got = s.run("1")
        assert {e["field"]: e["value"] for e in got["enforcement"]}["memory_bytes"] == 400 * 2**20
        for policy in ({"memory_bytes": "401M"}, {"timeout": "6s"}, {"blocked_imports": []}, {"network_access": True}, {"env_var_access": True}):
            got = s.json("POST", "/v1/runs", {"code": "1", "policy": policy}, status=403)
            assert got["error"]["where"] == next(iter(policy))
        narrow = {"memory_bytes": "300M", "timeout": "4s", "blocked_imports": ["socket", "ssl"], "cpu_seconds": 60}
        assert s.run("1", policy=narrow)["status"] == "ok"
        # First the limit of total memory, then the limit of concurrency
        s.json("POST", "/v1/sessions", {}, status=201)
        s.json("POST", "/v1/sessions", {"policy": {"timeout": "2s"}}, status=201)
        got = s.json("POST", "/v1/runs", {"code": "1"}, status=429)
        assert "at once" in got["error"]["message"]
        for v in s.json("GET", "/v1/sessions"):
            s.json("DELETE", f"/v1/sessions/{v['id']}?drop=1")
        statuses = [s.request("GET", "/v1/sessions", token=often)[0] for _ in range(5)]
        assert statuses == [200, 200, 200, 429, 429]
    change_key(path, "small", memory_bytes="500M")
    with serve(remit, "--keys", path) as s:
        s.token = key
        s.json("POST", "/v1/sessions", {}, status=201)
        assert "memory" in s.json("POST", "/v1/runs", {"code": "1"}, status=429)["error"]["message"]
    path.unlink()


def test_unlimited_memory_exceeds_every_key(remit):
    path = remit.folder / "keys.json"
    path.unlink(missing_ok=True)
    key = add_key(remit, path, "some")
    change_key(path, "some", memory_bytes="4G")
    with serve(remit, "--keys", path) as s:
        s.token = key
        s.json("POST", "/v1/sessions", {"policy": {"memory_bytes": "512M"}}, status=201)
        for memory in ("unlimited", "1T", "4G"):
            policy = {"memory_bytes": memory}
            for path_, body in (("/v1/runs", {"code": "1"}), ("/v1/sessions", {})):
                got = s.json("POST", path_, {**body, "policy": policy}, status=429)
                assert "memory" in got["error"]["message"], (memory, got)
        assert s.run("1", policy={"memory_bytes": "512M"})["status"] == "ok"
    path.unlink()


def test_malformed_key_file_is_refused(any_remit):
    path = any_remit.file("keys.json")
    good = {"name": "a", "sha256": "0" * 64}
    for wrong, why in (
        ("{", "keys"), ({"keys": []}, "has no keys"), ({"keys": [{"name": "a"}]}, "sha256"), ({"keys": [good, good]}, "two keys"),
        ({"keys": [{**good, "polcy": {}}]}, "polcy"), ({"keys": [{**good, "policy": {"x": 1}}]}, "x"), ({"keys": [{**good, "concurrency": 0}]}, "concurrency"),
        ({"keys": [{**good, "free": ["nothing"]}]}, "free[0]"), ({"keys": [{**good, "name": "a b"}]}, "name"), ({"keys": [good], "more": 1}, "keys"),
        ({"keys": [{**good, "operator": 1}]}, "operator"),
    ):  # fmt: skip
        path.write_text(wrong if isinstance(wrong, str) else json.dumps(wrong))
        path.chmod(0o600)
        done = any_remit("serve", "--keys", path, "--listen", "127.0.0.1:0", "--python", PYTHON)
        assert done.returncode == 2 and why in done.stderr, (wrong, done)
    path.unlink()


def test_second_server_does_not_replace_first(any_remit):
    path = any_remit.folder / "serve.sock"
    with serve(any_remit, "--listen", f"unix:{path}") as s:
        done = any_remit("serve", "--listen", f"unix:{path}")
        assert done.returncode == 2 and "in use" in done.stderr
        done = any_remit("serve", "--listen", f"127.0.0.1:{s.port}")
        assert done.returncode == 2 and "in use" in done.stderr
    assert not path.exists()
    # The socket of a killed server is replaced, a file is not.
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    any_remit.own(path)
    with serve(any_remit, "--listen", f"unix:{path}"):
        pass
    path.write_text("mine")
    assert any_remit("serve", "--listen", f"unix:{path}").returncode == 2 and path.read_text() == "mine"
    path.unlink()


def test_killed_server_leaves_no_run(remit):
    with serve(remit) as s:
        code = "import time\nprint(1, flush=True)\ntime.sleep(1000)"
        with s.stream("/v1/runs", {"code": code, "policy": {"timeout": "300s"}}) as events:
            next(events), next(events)
            below = family(s.process.pid)
            s.process.kill()
            s.process.wait()
            with contextlib.suppress(Exception):
                list(events)
        assert len(below) > 2 and not leftovers.remaining(lambda: [pid for pid in below if is_alive(pid)], 60)
        # Keeps serve() from stopping the server again
        s.process.wait = lambda *_: 0
        s.process.send_signal = lambda *_: None


@pytest.mark.parametrize(
    "flags, words",
    [
        (("--tier", "vm"), "not built yet"),
        (("--preset", "landlock", "--preload", "json"), "preload"),
        (("--python", "/nowhere/python3"), "/nowhere/python3"),
    ],
)
def test_unenforceable_policy_is_refused_at_start(any_remit, flags, words):
    """`remit run` prints the same. This holds for the policy of the server and for those of keys."""
    wanted = any_remit("run", "--python", PYTHON, *flags, "-c", "1")
    done = any_remit("serve", "--listen", "127.0.0.1:0", "--python", PYTHON, *flags)
    assert (done.returncode, done.stdout) == (125, "") and words in done.stderr and done.stderr == wanted.stderr, done
    path = any_remit.folder / "never-keys"
    path.unlink(missing_ok=True)
    for name in ("fine", "never"):
        any_remit("serve", "--keys", path, "--add-key", name)
    document = json.loads(path.read_text())
    document["keys"][1]["policy"] = {"tier": "vm"}
    path.write_text(json.dumps(document))
    done = any_remit("serve", "--listen", "127.0.0.1:0", "--python", PYTHON, "--keys", path)
    assert done.returncode == 125 and "key never" in done.stderr and "not built yet" in done.stderr, done
    path.unlink()


def test_crashing_code_leaves_warm_starts_to_others(remit):
    """A crash replaces the zygote, which all clients share."""
    with serve(remit) as s:
        until(lambda: s.run("1")["start"] == "warm")
        stop = threading.Event()

        def crash() -> None:
            while not stop.is_set():
                s.run("import os; os.abort()", policy={"env": {"OTHER": "1"}})

        thread = threading.Thread(target=crash)
        thread.start()
        s.run("import time; time.sleep(1)")
        starts = [s.run("1")["start"] for _ in range(30)]
        stop.set()
        thread.join()
    assert starts.count("warm") > 15, starts


def test_session_abandoned_while_opening_counts_until_it_ends(remit):
    """Installing packages may take minutes, and nothing ends the installation earlier."""
    path = remit.folder / "keys.json"
    path.unlink(missing_ok=True)
    key = add_key(remit, path, "alice")
    change_key(path, "alice", concurrency=2)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # an index that never answers
        index = f"http://127.0.0.1:{silent.getsockname()[1]}/simple/"
        with serve(remit, "--keys", path, "--index-url", index, "--package-time", "20s", "--memory-fallback", "per_process") as s:
            s.token = key
            silent.settimeout(60)
            peers = []
            for name in ("one", "two"):
                connection = s.connect()
                body = json.dumps({"policy": {"packages": [name]}})
                connection.request("POST", "/v1/sessions", body, {"Authorization": f"Bearer {key}", "Content-Type": "application/json"})
                peers.append(silent.accept()[0])  # the installation has begun; before, the session would only be cancelled
                connection.close()
            time.sleep(1)  # the sessions must remain
            assert s.metric("remit_rooms") == 2
            assert "at once" in s.json("POST", "/v1/runs", {"code": "1"}, status=429)["error"]["message"]
            assert s.json("GET", "/v1/sessions") == []
            s.wait_for_no_hosted_sessions()
            assert s.run("1")["status"] == "ok"
            for peer in peers:
                peer.close()
    path.unlink()
