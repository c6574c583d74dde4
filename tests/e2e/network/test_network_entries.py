"""The optional parts of a network_allow entry: methods, limits, IPv6, and the form of a JSON object."""

import json

import network_here
import pytest
from network_here import TRY, connections, reported, requests
from network_world import PUBLIC6
from waiting import until

API = "api.example.com"


@pytest.fixture(scope="module")
def world(stage):
    with network_here.start(stage / "world-entries") as w:
        yield w


@pytest.fixture
def here(remit, world):
    return world.inside(remit)


def reasons(result):
    return {d["what"].partition(", ")[2]: d["count"] for d in result["denials"]}


# ---- methods ----


def test_only_named_methods_pass(here, world):
    mark = world.mark()
    code = TRY + f"""
import http.client
def ask(method, body=None):
    c = http.client.HTTPConnection({API!r}, timeout=60); c.request(method, "/", body=body); return c.getresponse().read().decode()
report(get=attempt(ask, "GET"), post=attempt(ask, "POST", "abc"), chunked=attempt(ask, "POST", iter([b"ab", b"cde"])),
    delete=attempt(ask, "DELETE"), lower=attempt(ask, "get"), trace=attempt(ask, "TRACE"))
"""
    result = here.allow(code, f"{API}:80:methods=GET+POST")
    answers = reported(result)
    assert json.loads(answers["get"])["host"] == API and answers["post"] == "3" and answers["chunked"] == "5"
    assert {answers[k] for k in ("delete", "lower", "trace")} <= {"ConnectionResetError", "RemoteDisconnected"}, answers
    assert [line.split()[1] for line in requests(world.seen(mark))] == ["GET", "POST", "POST"]
    assert reasons(result) == {"with a method that its entry does not allow": 3}


SECOND = f"DELETE /second HTTP/1.1\r\nHost: {API}\r\n\r\n"
GET = f"GET / HTTP/1.1\r\nHost: {API}\r\n"
POST = f"POST / HTTP/1.1\r\nHost: {API}\r\n"
SMUGGLERS = {
    "pipelined": GET + "\r\n" + SECOND,
    "kept alive": GET + "Connection: keep-alive\r\n\r\n" + SECOND,
    "both lengths": POST + f"Content-Length: {len(SECOND) + 5}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + SECOND,
    "two lengths": POST + f"Content-Length: 0\r\nContent-Length: {len(SECOND)}\r\n\r\n" + SECOND,
    "a list of lengths": POST + f"Content-Length: 0, {len(SECOND)}\r\n\r\n" + SECOND,
    "a length with a sign": POST + f"Content-Length: +{len(SECOND)}\r\n\r\n" + SECOND,
    "behind the last chunk": POST + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + SECOND,
    "in a trailer": POST + "Transfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\n\r\n" + SECOND,
    "in an extension": POST + "Transfer-Encoding: chunked\r\n\r\n1;\n\r\nx\r\n0\r\n\r\n" + SECOND,
    "another encoding": POST + "Transfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n" + SECOND,
    "a hidden encoding": POST + "Transfer-Encoding : chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + SECOND,
    "chunks in the old version": POST.replace("1.1", "1.0") + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + SECOND,
    "another protocol": GET + "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n" + SECOND,
    "another method": GET + "X-HTTP-Method-Override: DELETE\r\n\r\n",
}


def test_second_request_is_not_smuggled(here, world):
    mark = world.mark()
    code = TRY + f"""
def send(text):
    with socket.create_connection(({API!r}, 80), 60) as s:
        s.sendall(text.encode()); return b"".join(iter(lambda: s.recv(65536), b"")).decode()
report(**{{k: attempt(send, v) for k, v in {SMUGGLERS!r}.items()}})
"""
    result = here.allow(code, f"{API}:80:methods=GET+POST")
    assert set(reported(result)) == set(SMUGGLERS)
    assert not [line for line in requests(world.seen(mark)) if "DELETE" in line or "/second" in line]
    assert sum(reasons(result).values()) == len(SMUGGLERS)


def test_body_is_not_taken_for_request(here, world):
    """The test server's GET handler does not read bodies, so it would take a body for the next request."""
    mark = world.mark()
    fat = GET + f"Content-Length: {len(SECOND)}\r\nConnection: keep-alive\r\n\r\n" + SECOND
    code = TRY + f"""
import time
with socket.create_connection(({API!r}, 80), 60) as s:
    s.sendall({fat!r}.encode()); got = s.recv(100).decode(); time.sleep(0.5)
report(a=got)
"""
    assert reported(here.allow(code, f"{API}:80:methods=GET"))["a"].startswith("HTTP/1.1 200")
    assert [line.split()[1] for line in requests(world.seen(mark))] == ["GET"]
    # Control: if the entry names only the host, such a server does answer the second request.
    mark = world.mark()
    reported(here.allow(code, f"{API}:80"))
    until(lambda: len(requests(world.seen(mark))) >= 2)
    assert [line.split()[1] for line in requests(world.seen(mark))] == ["GET", "DELETE"]


def test_later_bytes_are_inspected_too(here, world):
    mark = world.mark()
    head = POST.encode() + b"Expect: 100-continue\r\nContent-Length: "
    code = TRY + f"""
import time
def slowly(head, rest):
    with socket.create_connection(({API!r}, 80), 60) as s:
        s.sendall(head); assert b" 100 " in s.recv(1000)  # the host has the request
        s.sendall(rest); time.sleep(0.3); s.sendall(rest)
        return b"".join(iter(lambda: s.recv(65536), b"")).decode()
report(a=attempt(slowly, {head + b"6000"!r} + b"\\r\\n\\r\\n", b"x" * 3000), b=attempt(slowly, {head + b"3001"!r} + b"\\r\\n\\r\\n", b"x" * 3000))
"""
    result = here.allow(code, f"{API}:80:methods=POST")
    answers = reported(result)
    assert answers["a"].endswith("6000") and answers["b"] in ("ConnectionResetError", "BrokenPipeError")
    assert reasons(result) == {"with a malformed request, or more than one on the connection": 1}
    assert len(requests(world.seen(mark))) == 2


# ---- limits ----


def test_entry_limits_its_connections(here, world):
    mark = world.mark()
    code = TRY + f"report(a=[attempt(dial, {API!r}, 7000, b'x') for _ in range(5)], b=attempt(dial, {API!r}, 7001))"
    result = here.allow(code, f"{API}:7000:connections=2", f"{API}:7001")
    answers = reported(result)
    assert answers["a"][:2] == ["x", "x"] and not set(answers["a"][2:]) & {"x"} and answers["b"].startswith("hello")
    assert len(connections(world.seen(mark))) == 3
    assert reasons(result) == {"more often than its entry allows": 3}


@pytest.mark.parametrize("size, fits", [(60_000, True), (200_000, False)])
def test_entry_limits_its_bytes_in_both_directions(here, size, fits):
    code = TRY + f"""
def up(n):
    with socket.create_connection(({API!r}, 7000), 60) as s:
        import threading
        t = threading.Thread(target=lambda: attempt(s.sendall, b"x" * n)); t.start()
        got = 0
        while got < n:
            more = len(s.recv(65536))
            if not more: raise EOFError
            got += more
        return got
report(down=attempt(lambda: len(fetch("http://{API}/big/{size}"))), echo=attempt(up, {size} // 2 - 1000))
"""
    result = here.allow(code, f"{API}:80:bytes=100K", f"{API}:7000:bytes=100000")
    answers = reported(result)
    if fits:
        assert answers == {"down": size, "echo": size // 2 - 1000} and result["denials"] == []
        return
    assert not [a for a in answers.values() if isinstance(a, int)], answers
    for host in result["usage"]["network"]["hosts"]:
        assert host["sent_bytes"] + host["received_bytes"] <= 102400, host
    assert reasons(result) == {"with more bytes than its entry allows": 1} or sum(reasons(result).values()) == 2


def test_byte_limit_counts_all_connections_of_run(here):
    code = TRY + f"report(a=[attempt(lambda: len(fetch('http://{API}/big/30000'))) for _ in range(5)])"
    answers = reported(here.allow(code, f"{API}:80:bytes=100K"))["a"]
    assert answers[:3] == [30000] * 3 and 30000 not in answers[3:]


# ---- addresses ----


def test_named_ipv6_address_is_reached(here, world):
    mark = world.mark()
    code = TRY + f"""
def dial6(host, port):
    return dial(host, port, b"GET / HTTP/1.1\\r\\nHost: [" + host.encode() + b"]\\r\\n\\r\\n")
report(named=attempt(dial6, {PUBLIC6!r}, 80), other_port=attempt(dial6, {PUBLIC6!r}, 7000), own=attempt(dial6, "::1", 80),
    other=attempt(dial6, "2606:4700::35", 80), host=attempt(dial, {PUBLIC6!r}, 80, b"GET / HTTP/1.1\\r\\nHost: evil.example\\r\\n\\r\\n"))
"""
    result = here.allow(code, f"[{PUBLIC6}]:80:plain")
    answers = reported(result)
    assert answers.pop("named").startswith("HTTP/1.1 200")
    assert answers["own"] == answers["host"] == "ConnectionResetError", answers
    assert answers["other_port"] == "ConnectionRefusedError" and answers["other"] == "OSError", answers
    assert connections(world.seen(mark)) == [f"connection {PUBLIC6} 80"]
    assert {d["what"] for d in result["denials"]} == {f"connect to [{PUBLIC6}]:80, with data that does not name this host", "connect to [::1]:80"}
    (row,) = result["usage"]["network"]["hosts"]
    assert row["host"] == PUBLIC6 and row["port"] == 80


def test_plain_request_to_address_must_name_address(here):
    code = TRY + """
report(right=attempt(fetch, "http://10.9.9.9/"), other=attempt(dial, "10.9.9.9", 80, b"GET / HTTP/1.1\\r\\nHost: 10.9.9.8\\r\\n\\r\\n"),
    octal=attempt(dial, "10.9.9.9", 80, b"GET / HTTP/1.1\\r\\nHost: 012.9.9.9\\r\\n\\r\\n"))
"""
    answers = reported(here.allow(code, "10.9.9.9:80:plain"))
    assert json.loads(answers["right"])["host"] == "10.9.9.9"
    assert answers["other"] == answers["octal"] == "ConnectionResetError"


# ---- the form of an object ----


def test_entry_may_be_object(here, world):
    entries = [{"host": API, "port": 80, "methods": ["GET"], "connections": 1}, {"host": PUBLIC6, "port": 7001}, f"{API}:7001"]
    policy = here.file("entries.json", json.dumps({"network_allow": entries}))
    code = TRY + f"report(a=[attempt(fetch, 'http://{API}/') for _ in range(2)], b=dial({PUBLIC6!r}, 7001), c=dial({API!r}, 7001))"
    answers = reported(here.allow(code, flags=("--policy", str(policy))))
    assert API in answers["a"][0] and API not in answers["a"][1]
    assert answers["b"] == answers["c"] == "hello, I speak first\n"


@pytest.mark.parametrize(
    "entry, words",
    [
        ({"host": "h"}, "network_allow[0].port: is missing"),
        ({"port": 80}, "network_allow[0].host: is missing"),
        ({"host": "h:443", "port": 80}, "contains one of : , + = [ ]"),
        ({"host": "h", "port": "80"}, "must be a number"),
        ({"host": "h", "port": 80, "kind": "plain,private"}, "contains one of"),
        ({"host": "h", "port": 80, "kind": "udp"}, "is not one of tls, plain, tcp"),
        ({"host": "h", "port": 80, "methods": []}, "a list of methods"),
        ({"host": "h", "port": 80, "methods": ["GET,private"]}, "contains one of"),
        ({"host": "h", "port": 80, "bytes": "1M,private"}, "contains one of"),
        ({"host": "h", "port": 80, "cap": 1}, "unknown member"),
        ({"host": "h", "port": 443, "methods": ["GET"]}, "are encrypted by TLS"),
            ({"host": "h", "port": 5432, "methods": ["GET"]}, "only for HTTP"),
        ({"host": "h", "port": 0}, "from 1 to 65535"),
        ({"host": "h", "port": 80, "bytes": -1}, "bytes"),
    ],
)
def test_malformed_entry_object_is_refused(any_remit, entry, words):
    policy = any_remit.file("entry.json", json.dumps({"network_allow": [entry]}))
    done = any_remit("run", "--policy", policy, "-c", "print('ran')")
    assert done.returncode != 0 and "ran" not in done.stdout
    assert words in done.stderr, done.stderr
