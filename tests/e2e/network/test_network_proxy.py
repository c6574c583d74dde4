"""network_proxy: the same hosts and the same checks for clients that use an HTTP proxy."""

import json

import network_here
import pytest
from network_here import TRY, connections, questions, reported, requests
from network_world import METADATA, PRIVATE, PUBLIC, PUBLIC6

API = "api.example.com"
ASK = TRY + """
def ask(text, then=b"", n=65536):
    with socket.create_connection(("127.0.0.1", 3128), 60) as s:
        s.sendall(text if isinstance(text, bytes) else text.encode())
        got = s.recv(n)
        if then and b" 200 " in got: s.sendall(then); got += s.recv(n)
        return got.decode("latin-1")
def connect(where, then=b""): return ask(f"CONNECT {where} HTTP/1.1\\r\\n\\r\\n", then)
""".replace("\\\\", "\\")


@pytest.fixture(scope="module")
def world(stage):
    with network_here.start(stage / "world-proxy") as w:
        yield w


@pytest.fixture
def here(remit, world):
    return world.inside(remit)


def run(here, code, *hosts, flags=()):
    return here.allow(ASK + code, *hosts, flags=("--proxy", *flags))


def test_clients_with_proxy_settings_work(here, world):
    code = f"""
import http.client, os
context = ssl.create_default_context(cadata={world.ca!r})
tunnel = http.client.HTTPSConnection("127.0.0.1", 3128, timeout=60, context=context); tunnel.set_tunnel({API!r}, 443); tunnel.request("GET", "/")
report(plain=fetch("http://{API}/x"), tls=fetch("https://{API}/x", context=context), tunnel=tunnel.getresponse().read().decode(),
    post=urllib.request.urlopen("http://{API}/", data=b"x" * 50000, timeout=60).read().decode(),
    first=connect("{API}:7001", b" "), six=connect("[{PUBLIC6}]:7000", b"echo"), direct=attempt(dial, {API!r}, 7001),
    names=sorted(k for k in os.environ if "proxy" in k.lower()))
"""
    result = run(here, code, f"{API}:80", f"{API}:443", f"{API}:7001", f"[{PUBLIC6}]:7000")
    answers = reported(result)
    for key in ("plain", "tls", "tunnel"):
        assert json.loads(answers[key])["host"] == API, answers
    assert answers["post"] == "50000"
    assert "hello" in answers["first"] and answers["six"].endswith("echo") and answers["direct"].startswith("hello")
    assert answers["names"] == ["HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"]
    assert result["denials"] == []


def test_jail_has_no_proxy_without_proxy_option(here):
    result = here.allow(ASK + f"import os\nreport(a=attempt(connect, '{API}:7001'), b=[k for k in os.environ if 'proxy' in k.lower()])", f"{API}:7001")
    assert reported(result) == {"a": "ConnectionRefusedError", "b": []}


def test_unnamed_host_is_refused_by_name(here, world):
    mark = world.mark()
    hosts = ["evil.example:443", f"{API}:25", f"{API}:22", "sub.api.example.com:443", f"{PUBLIC}:443", "127.0.0.1:3128", "127.0.0.1:5432",
             f"{METADATA}:80", f"{PRIVATE}:7000", "[::1]:80", "[::ffff:10.9.9.9]:7000", "198.18.1.0:443", "localhost:80"]  # fmt: skip
    result = run(here, f"report(**{{h: attempt(connect, h) for h in {hosts!r}}})", f"{API}:443")
    assert all(a.startswith("HTTP/1.1 403 ") for a in reported(result).values()), reported(result)
    assert world.seen(mark) == []
    assert {d["what"].removeprefix("connect to ") for d in result["denials"]} == {h.replace("::ffff:10", "::ffff:10") for h in hosts}
    flags = {d["what"].removeprefix("connect to "): d["flag"] for d in result["denials"]}
    assert flags["evil.example:443"] == "--allow-host evil.example:443" and flags["127.0.0.1:3128"] is None


FORGED = {
    "nul": b"CONNECT api.example.com:443\0.evil HTTP/1.1\r\n\r\n",
    "nul before": b"CONNECT evil\0.api.example.com:443 HTTP/1.1\r\n\r\n",
    "at": b"CONNECT api.example.com@evil.example:443 HTTP/1.1\r\n\r\n",
    "line": b"CONNECT api.example.com:443\r\nHost: evil.example HTTP/1.1\r\n\r\n",
    "host": b"CONNECT api.example.com:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n",
    "hosts": b"CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com\r\nHost: evil.example\r\n\r\n",
    "decimal": b"CONNECT 2130706433:443 HTTP/1.1\r\n\r\n",
    "octal": b"CONNECT 0177.0.0.1:443 HTTP/1.1\r\n\r\n",
    "hex": b"CONNECT 0x7f000001:443 HTTP/1.1\r\n\r\n",
    "short": b"CONNECT 127.1:443 HTTP/1.1\r\n\r\n",
    "no port": b"CONNECT api.example.com HTTP/1.1\r\n\r\n",
    "look-alike": "CONNECT \u0430pi.example.com:443 HTTP/1.1\r\n\r\n".encode(),
    "own path": b"GET /x HTTP/1.1\r\nHost: api.example.com\r\n\r\n",
    "other host": b"GET http://api.example.com/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    "user": b"GET http://api.example.com@evil.example/ HTTP/1.1\r\nHost: api.example.com\r\n\r\n",
    "socks": b"\x05\x01\x00",
    "socks4": b"\x04\x01\x01\xbb\x5d\xb8\xd8\x22u\0\n\n",
}


def test_ambiguous_proxy_requests_are_refused(here, world):
    mark = world.mark()
    code = f"""
def try_it(text):
    with socket.create_connection(("127.0.0.1", 3128), 60) as s:
        s.sendall(text); s.shutdown(socket.SHUT_WR)
        return s.recv(100).decode("latin-1")
report(**{{k: attempt(try_it, v) for k, v in {FORGED!r}.items()}})
"""
    answers = reported(run(here, code, f"{API}:443", f"{API}:80"))
    assert not [k for k, a in answers.items() if not a.startswith("HTTP/1.1 400 ") and a not in ("ConnectionResetError", "")], answers
    assert world.seen(mark) == []


def test_bytes_in_tunnel_are_inspected(here, world):
    mark = world.mark()
    code = f"""
def hello(name):
    s = socket.create_connection(("127.0.0.1", 3128), 60); s.sendall(b"CONNECT {API}:443 HTTP/1.1\\r\\n\\r\\n"); s.recv(1000)
    with ssl._create_unverified_context().wrap_socket(s, server_hostname=name) as t: return t.version()
report(right=attempt(hello, {API!r}), other=attempt(hello, "evil.example"), none=attempt(hello, None),
    plain=attempt(connect, "{API}:80", b"GET / HTTP/1.1\\r\\nHost: evil.example\\r\\n\\r\\n"), private=attempt(connect, "inner.example.com:7000", b"x"),
    http_to_tls=attempt(ask, "GET http://{API}:443/ HTTP/1.1\\r\\nHost: {API}\\r\\n\\r\\n"))
"""
    result = run(here, code, f"{API}:443", f"{API}:80", "inner.example.com:7000")
    answers = reported(result)
    assert answers["right"] == "TLSv1.3" and not [a for k, a in answers.items() if k in ("other", "none") and a.startswith("TLS")]
    assert answers["plain"] == answers["private"] == "ConnectionResetError" and answers["http_to_tls"].startswith("HTTP/1.1 403 "), answers
    assert len(connections(world.seen(mark))) == 1
    assert {d["what"] for d in result["denials"]} == {
        f"connect to {API}:443, with data that does not name this host", f"connect to {API}:80, with data that does not name this host",
        "connect to inner.example.com:7000, a private address",
    }  # fmt: skip


def test_proxied_connection_carries_one_request(here, world):
    mark = world.mark()
    first = f"GET http://{API}/ HTTP/1.1\r\nHost: {API}\r\nProxy-Authorization: x\r\n\r\n"
    code = f"report(a=attempt(ask, {first + first.replace('GET', 'DELETE')!r}), b=attempt(ask, {first.replace('GET', 'DELETE')!r}), c=attempt(ask, {first!r}))"
    result = run(here, code, f"{API}:80:methods=GET")
    answers = reported(result)
    assert answers["a"].startswith("HTTP/1.1 403 ") and answers["b"].startswith("HTTP/1.1 403 ") and answers["c"].startswith("HTTP/1.1 200")
    assert [line.split()[1:3] for line in requests(world.seen(mark))] == [["GET", "/"]]


def test_names_in_proxy_requests_carry_no_data_out(here, world):
    mark = world.mark()
    code = f"""
for i in range(600): attempt(connect, f"n{{i}}.data.evil.example:443"), attempt(connect, f"n{{i}}.data.example.org:443")
report(a=connect("{API}:7001", b" "))
"""
    result = run(here, code, f"{API}:7001", "*.example.org:443", flags=("--cpu", "60"))
    assert "hello" in reported(result)["a"]
    assert [q for q in questions(world.seen(mark)) if API not in q] == []


def test_silent_proxy_clients_are_cut_and_many_do_no_harm(here, world):
    code = f"""
quiet = [socket.create_connection(("127.0.0.1", 3128), 60) for _ in range(150)]
quiet[0].sendall(b"CONNECT ")
for i in range(2000):
    with socket.create_connection(("127.0.0.1", 3128), 60) as s: pass
report(a=connect("{API}:7001", b" "), cut=[attempt(s.recv, 1) for s in quiet[:1]])
"""
    result = run(here, code, f"{API}:7001", flags=("--cpu", "60"))
    assert "hello" in reported(result)["a"] and reported(result)["cut"] == ["ConnectionResetError"]


def test_proxy_with_public_hosts_allows_any_port(here, world):
    mark = world.mark()
    where = [f"{API}:7000", f"{PUBLIC}:7000", "inner.example.com:7000", f"{PRIVATE}:7000", f"{METADATA}:80", "127.0.0.1:5432", "[::1]:80", "localhost:5432"]
    result = run(here, f"report(**{{w: attempt(connect, w, b'echo') for w in {where!r}}})", flags=("--net",))
    assert {w for w, a in reported(result).items() if a.endswith("echo")} == set(where[:2]), reported(result)
    assert connections(world.seen(mark)) == [f"connection {PUBLIC} 7000"] * 2


@pytest.mark.parametrize("hosts, words", [([], "allows no host"), (["127.0.0.1:3128"], "address of the proxy")])
def test_proxy_without_reachable_host_is_refused(any_remit, hosts, words):
    named = [word for host in hosts for word in ("--allow-host", host)]
    result = any_remit.json("print('ran')", "--proxy", *named, "--memory-fallback", "per_process")
    assert result["status"] == "refused" and result["error"]["where"] == "network_proxy" and words in result["error"]["value"], result["error"]


def test_entry_at_proxy_s_port_works(here):
    result = run(here, f"report(a=attempt(connect, '{API}:7001', b' '), b=attempt(dial, '{API}', 3128))", f"{API}:7001", f"{API}:3128")
    answers = reported(result)
    assert "hello" in answers["a"] and answers["b"] in ("ConnectionResetError", "EOFError")  # nothing listens at that port of the host
