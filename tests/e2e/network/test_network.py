"""network_allow: named hosts and nothing else, in a test world with real servers and a real resolver."""

import contextlib
import json
import os
import signal
import subprocess

import network_here
import pytest
from conftest import enforced
from leftovers import memory_has, name_of, processes, remaining
from network_here import TRY, connections, questions, reported
from network_world import EVIL, HERE, METADATA, PRIVATE, PUBLIC
from shared_keeper import children

API = "api.example.com"


@pytest.fixture(scope="module")
def world(stage, request):
    with network_here.start(stage / f"world-{request.module.__name__}") as w:
        yield w


@pytest.fixture
def here(remit, world):
    return world.inside(remit)


# ---- named hosts work with clients that need no configuration ----


def test_named_host_is_reached_by_ordinary_clients(here, world, covers):
    code = TRY + f"""
import asyncio, http.client
async def by_asyncio():
    r, w = await asyncio.open_connection({API!r}, 80)
    w.write(b"GET / HTTP/1.1\\r\\nHost: {API}\\r\\nConnection: close\\r\\n\\r\\n")
    return (await r.read()).decode().splitlines()[-1]
c = http.client.HTTPConnection({API!r}, timeout=60); c.request("GET", "/")
context = ssl.create_default_context(cadata={world.ca!r})
report(urllib=fetch("http://{API}/"), upper=fetch("http://API.Example.COM/"), asyncio=asyncio.run(by_asyncio()),
    client=c.getresponse().read().decode(), tls=fetch("https://{API}/", context=context),
    below=fetch("https://files.a.example.org/x", context=ssl._create_unverified_context()))
"""
    result = here.allow(code, f"{API}:80", f"{API}:443", "*.example.org:443")
    for answer in reported(result).values():
        assert json.loads(answer)["at"].endswith(PUBLIC)
    assert enforced(result, "network_allow") == ["network_namespace", "proxy"]
    assert enforced(result, "network_access") == ["network_namespace"]
    assert result["denials"] == [] and result["start"] == here.start
    covers(here, "network_allow", "network_namespace", "proxy")


def test_raw_streams_and_servers_that_send_first_work(here):
    code = TRY + f"""
s = socket.create_connection(({API!r}, 7000), 60)
import threading
data = bytes(range(256)) * 8192
threading.Thread(target=lambda: (s.sendall(data), s.shutdown(socket.SHUT_WR))).start()
got = b"".join(iter(lambda: s.recv(65536), b""))
report(same=got == data, first=dial({API!r}, 7001))
"""
    result = here.allow(code, f"{API}:7000", f"{API}:7001")
    assert reported(result) == {"same": True, "first": "hello, I speak first\n"}
    network = result["usage"]["network"]
    assert network["connections"] == 2 and network["refusals"] == 0
    assert {h["port"]: h["sent_bytes"] for h in network["hosts"]} == {7000: 2 << 20, 7001: 0}
    assert network["received_bytes"] == (2 << 20) + len("hello, I speak first\n")


def test_named_address_is_reached(here):
    code = TRY + f"""
report(private=attempt(dial, {PRIVATE!r}, 7000, b"x"), loop=attempt(dial, "127.0.0.1", 5432, b"y"), meta=attempt(dial, {METADATA!r}, 7000, b"z"),
    other_port=attempt(dial, {PRIVATE!r}, 80), other=attempt(dial, "10.9.9.8", 7000, b"x"))
"""
    result = here.allow(code, f"{PRIVATE}:7000", "127.0.0.1:5432", f"{METADATA}:7000")
    assert reported(result) == {"private": "x", "loop": "y", "meta": "z", "other_port": "ConnectionRefusedError", "other": "OSError"}


def test_names_in_hosts_file_are_found(here, world):
    mark = world.mark()
    code = TRY + "report(a=fetch('http://listed.example.com/'), b=attempt(fetch, 'http://inner-listed.example.com/'))"
    answers = reported(here.allow(code, "listed.example.com:80", "inner-listed.example.com:80"))
    assert json.loads(answers["a"])["host"] == "listed.example.com" and answers["b"] in ("ConnectionResetError", "URLError")
    assert questions(world.seen(mark)) == []


def test_name_with_only_ipv6_address_is_reached(here):
    code = TRY + "report(a=fetch('http://six.example.com/'))"
    assert json.loads(reported(here.allow(code, "six.example.com:80"))["a"])["at"] == "2606:4700::34"


def test_next_address_is_tried_if_first_does_not_answer(here):
    code = TRY + "report(a=fetch('http://many.example.com/'), b=attempt(fetch, 'http://dead.example.com/'))"
    answers = reported(here.allow(code, "many.example.com:80", "dead.example.com:80"))
    assert json.loads(answers["a"])["at"].endswith(PUBLIC) and "{" not in answers["b"]


# ---- other hosts are not reached ----


def test_other_names_are_unknown(here, world):
    mark = world.mark()
    names = ["evil.example", "sub.api.example.com", "api.example.com.evil.example", "xapi.example.com", "example.org", "localhost.evil.example",
             "xn--pi-7ka.example.com", "аpi.example.com", "a" * 63 + ".evil.example"]  # fmt: skip
    code = TRY + f"""
from socket import getaddrinfo
report(**{{n: attempt(getaddrinfo, n, 80) for n in {names!r}}})
"""
    result = here.allow(code, f"{API}:80", "*.example.org:80")
    assert all(isinstance(outcome, str) for outcome in reported(result).values()), result["stdout"]
    assert world.seen(mark) == []
    assert len(result["denials"]) > 5
    (row,) = [d for d in result["denials"] if d["what"] == "look up evil.example"]
    assert (row["source"], row["field"], row["flag"]) == ("proxy", "network_allow", "--allow-host evil.example:PORT")


@pytest.mark.parametrize("literal", [
    EVIL, "1572395074", "0x5db8d842", "0135.0270.0330.0102", "93.12113986", "::ffff:" + EVIL, "127.0.0.1", "127.1", "0", "::1", "2130706433", METADATA, PRIVATE,
])  # fmt: skip
def test_unnamed_addresses_are_not_reached_in_any_notation(here, world, literal):
    mark = world.mark()
    result = here.allow(TRY + f"report(a=attempt(dial, {literal!r}, 80, b'GET / HTTP/1.0\\r\\n\\r\\n'))", f"{API}:80")
    assert reported(result)["a"] in ("OSError", "ConnectionRefusedError", "gaierror", "ConnectionResetError", "EOFError", "TimeoutError")
    assert connections(world.seen(mark)) == []


def test_other_port_of_named_host_is_closed(here, world):
    mark = world.mark()
    code = TRY + f"""
inside = socket.gethostbyname({API!r})
report(open=[p for p in range(1, 3000) if socket.socket().connect_ex((inside, p)) == 0], elsewhere=attempt(dial, "198.18.77.7", 80, b"GET"))
"""
    result = here.allow(code, f"{API}:80", "other.example.com:25")
    answers = reported(result)
    # The other entry's port is open inside the jail, but not for this host.
    assert answers["open"] == [25, 80] and answers["elsewhere"] in ("ConnectionResetError", "EOFError")
    assert connections(world.seen(mark)) == []
    assert f"connect to {API}:25" in [d["what"] for d in result["denials"]]


@pytest.mark.parametrize("host", ["inner", "loop", "zero", "meta", "mixed", "alias", "mapped", "here"])
def test_name_with_non_public_address_is_refused(here, world, host):
    mark = world.mark()
    name = f"{host}.example.com"
    result = here.allow(TRY + f"report(a=attempt(dial, {name!r}, 7000, b'x'))", f"{name}:7000")
    assert reported(result)["a"] in ("ConnectionResetError", "EOFError")
    assert connections(world.seen(mark)) == []
    (row,) = result["denials"]
    assert row["what"].startswith(f"connect to {name}:7000, a")
    lifts = host in ("inner", "mixed", "alias", "here")
    assert row["flag"] == (f"--allow-host {name}:7000:private" if lifts else None)


def test_private_entry_opens_site_but_not_this_machine(here, world):
    mark = world.mark()
    code = TRY + "report(**{n: attempt(dial, n + '.example.com', 7000, b'x') for n in ('inner', 'mixed', 'loop', 'meta')})"
    answers = reported(here.allow(code, *(f"{n}.example.com:7000:private" for n in ("inner", "mixed", "loop", "meta"))))
    assert answers["inner"] == answers["mixed"] == "x"
    assert {answers["loop"], answers["meta"]} <= {"ConnectionResetError", "EOFError"}
    assert not [line for line in connections(world.seen(mark)) if "127.0.0.1" in line or METADATA in line]


def test_second_dns_answer_does_not_redirect_run(here, world):
    mark = world.mark()
    code = TRY + "report(a=[attempt(dial, 'rebind.example.com', 7000, b'x') for _ in range(3)])"
    reported(here.allow(code, "rebind.example.com:7000"))
    seen = world.seen(mark)
    assert len(questions(seen)) == 1
    assert all(PRIVATE not in line for line in connections(seen))
    # Another run resolves the name again, and gets the private address.
    mark = world.mark()
    assert reported(here.allow(code, "rebind.example.com:7000"))["a"][0] in ("ConnectionResetError", "EOFError")
    assert connections(world.seen(mark)) == []


def test_redirect_leads_only_to_named_hosts(here, world):
    mark = world.mark()
    result = here.allow(TRY + f"report(a=attempt(fetch, 'http://{API}/redirect'))", f"{API}:80")
    assert reported(result)["a"] == "URLError"
    assert all(EVIL not in line for line in connections(world.seen(mark)))
    assert "look up evil.example" in [d["what"] for d in result["denials"]]


# ---- all public hosts ----


def test_public_hosts_are_reached_by_name_and_by_address(here, world, covers):
    code = TRY + f"""
context = ssl._create_unverified_context()
report(plain=fetch("http://{API}/"), tls=fetch("https://evil.example/", context=context), literal=fetch("http://{EVIL}:8080/"),
    decimal=fetch("http://1572395074/"), six=fetch("http://six.example.com/"), listed=fetch("http://listed.example.com/"))
"""
    result = here.allow(code, flags=("--net",))
    at = {name: json.loads(answer)["at"].removeprefix("::ffff:") for name, answer in reported(result).items()}
    assert at == {"plain": PUBLIC, "tls": EVIL, "literal": EVIL, "decimal": EVIL, "six": "2606:4700::34", "listed": PUBLIC}
    assert enforced(result, "network_access") == ["network_namespace", "proxy"] and result["start"] == here.start
    assert {h["host"] for h in result["usage"]["network"]["hosts"]} == {API, "evil.example", EVIL, "six.example.com", "listed.example.com"}
    covers(here, "network_access", "network_namespace", "proxy")


def test_non_public_hosts_are_never_reached(here, world):
    mark = world.mark()
    names = ["inner", "loop", "zero", "meta", "mixed", "alias", "mapped", "here"]
    literals = [PRIVATE, METADATA, HERE, "127.0.0.1", "127.1", "0", "2130706433", "198.18.9.9", "100.64.0.1", "224.0.0.1", "::1", "::ffff:" + PRIVATE]
    code = TRY + f"report(**{{h: attempt(dial, h, 80, b'GET / HTTP/1.0\\r\\n\\r\\n') for h in {[f'{n}.example.com' for n in names] + literals!r}}})"
    result = here.allow(code, flags=("--net",))
    assert set(reported(result).values()) <= {"ConnectionResetError", "EOFError", "OSError", "ConnectionRefusedError", "gaierror"}, result["stdout"]
    assert connections(world.seen(mark)) == []
    flags = {d["what"]: d["flag"] for d in result["denials"]}
    assert flags["connect to inner.example.com:80, a private address"] == "--allow-host inner.example.com:80:private"
    assert flags[f"connect to {PRIVATE}:80, a private address"] == f"--allow-host {PRIVATE}:80"
    assert flags[f"connect to {METADATA}:80, an address of this machine or a reserved one"] is None


def test_other_ports_and_private_hosts_need_entries(here, world):
    code = TRY + f"""
report(port=attempt(dial, {API!r}, 7000, b"x"), mail=attempt(dial, {API!r}, 25), private=attempt(dial, {PRIVATE!r}, 7001), inner=attempt(dial, "inner.example.com", 7000, b"y"))
"""
    answers = reported(here.allow(code, flags=("--net",)))
    assert set(answers.values()) == {"ConnectionRefusedError"}
    answers = reported(here.allow(code, f"{API}:7000", f"{PRIVATE}:7001", "inner.example.com:7000:private", flags=("--net",)))
    assert answers == {"port": "x", "mail": "ConnectionRefusedError", "private": "hello, I speak first\n", "inner": "y"}


def test_second_dns_answer_does_not_redirect_public_name(here, world):
    mark = world.mark()
    reported(here.allow(TRY + "report(a=[attempt(dial, 'rebind.example.com', 80, b'GET / HTTP/1.0\\r\\n\\r\\n') for _ in range(3)])", flags=("--net",)))
    assert all(PRIVATE not in line for line in connections(world.seen(mark)))


def test_jail_keeps_its_loopback_with_public_hosts(here):
    code = TRY + """
s = socket.socket(); s.bind(("127.0.0.1", 8000)); s.listen(); c = socket.create_connection(s.getsockname())
report(met=bool(c), udp=attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("93.184.216.53", 53))))
"""
    assert reported(here.allow(code, flags=("--net",)))["met"]


# ---- inspected bytes ----


def test_tls_must_name_host(here, world):
    mark = world.mark()
    code = TRY + f"""
def hello(name):
    c = ssl._create_unverified_context()
    with socket.create_connection(({API!r}, 443), 60) as s, c.wrap_socket(s, server_hostname=name) as t:
        return t.version()
report(right=attempt(hello, {API!r}), other=attempt(hello, "evil.example"), none=attempt(hello, None), plain=attempt(dial, {API!r}, 443, b"GET / HTTP/1.0\\r\\n\\r\\n"))
"""
    result = here.allow(code, f"{API}:443")
    answers = reported(result)
    assert answers.pop("right") == "TLSv1.3"
    assert not [a for a in answers.values() if a.startswith("TLS")], answers
    assert len(connections(world.seen(mark))) == 1
    (row,) = result["denials"]
    assert row["what"] == f"connect to {API}:443, with data that does not name this host" and row["count"] == 3


def test_plain_request_must_name_host(here, world):
    mark = world.mark()
    heads = {
        "right": f"GET / HTTP/1.1\r\nHost: {API}:80\r\nConnection: close\r\n\r\n", "other": "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        "none": "GET / HTTP/1.0\r\n\r\n", "two": f"GET / HTTP/1.1\r\nHost: {API}\r\nHost: evil.example\r\n\r\n",
        "absolute": f"GET http://evil.example/ HTTP/1.1\r\nHost: {API}\r\n\r\n", "connect": f"CONNECT evil.example:80 HTTP/1.1\r\nHost: {API}\r\n\r\n",
        "crlf": f"GET / HTTP/1.1\r\nHost: {API}\r\n evil.example\r\n\r\n", "nul": f"GET / HTTP/1.1\r\nHost: {API}\0.evil.example\r\n\r\n",
        "at": f"GET / HTTP/1.1\r\nHost: {API}@evil.example\r\n\r\n", "ssh": "SSH-2.0-x\r\n",
    }  # fmt: skip
    code = TRY + f"report(**{{k: attempt(dial, {API!r}, 80, v.encode()) for k, v in {heads!r}.items()}})"
    answers = reported(here.allow(code, f"{API}:80"))
    assert answers.pop("right").startswith("HTTP/1.1 200")
    assert not [a for a in answers.values() if a.startswith("HTTP")], answers
    assert len(connections(world.seen(mark))) == 1


# ---- no other way out ----


def test_datagrams_do_not_leave(here, world):
    mark = world.mark()
    code = TRY + f"""
def shout(host, port):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(30)
    s.sendto(b"\\0\\1\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\4evil\\7example\\0\\0\\1\\0\\1", (host, port)); return repr(s.recv(99))
report(a=attempt(shout, "93.184.216.53", 53), b=attempt(shout, {PUBLIC!r}, 443), c=attempt(shout, "127.0.0.1", 53))
"""
    answers = reported(here.allow(code, f"{API}:443"))
    assert answers["a"] == answers["b"] == "OSError"
    assert "evil" in answers["c"]  # the proxy's answer: no such name
    assert world.seen(mark) == []


def test_dns_queries_carry_no_data_out(here, world):
    mark = world.mark()
    code = TRY + f"""
for i in range(10000):
    attempt(socket.gethostbyname, f"{{i}}.data.evil.example" if i % 2 else f"{{i}}.data.example.org")
report(a=attempt(fetch, "http://{API}/"))
"""
    result = here.allow(code, f"{API}:80", "*.example.org:80", flags=("--cpu", "60"))
    assert API in reported(result)["a"]
    assert [q for q in questions(world.seen(mark)) if API not in q] == []
    assert len(result["denials"]) <= 32 and result["denials_left_out"] > 4000


def test_proxy_s_ports_cannot_be_taken_over(here):
    code = TRY + """
def bind(kind, address, port):
    s = socket.socket(socket.AF_INET, kind); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind((address, port))
    if kind == socket.SOCK_STREAM: s.listen()
    return "taken"
report(all=attempt(bind, socket.SOCK_STREAM, "0.0.0.0", 7000), one=attempt(bind, socket.SOCK_STREAM, "127.0.0.1", 7000),
    inside=attempt(bind, socket.SOCK_STREAM, socket.gethostbyname("%s"), 7000), six=attempt(bind, socket.SOCK_STREAM, "127.0.0.1", 25),
    names=attempt(bind, socket.SOCK_DGRAM, "127.0.0.1", 53), own=attempt(bind, socket.SOCK_STREAM, "127.0.0.1", 8000))
""" % API
    answers = reported(here.allow(code, f"{API}:7000", f"{API}:25"))
    assert answers.pop("own") == "taken"
    assert set(answers.values()) == {"OSError", "PermissionError"}, answers


@pytest.mark.parametrize("hosts", [[], [f"{API}:80"]])
def test_risky_socket_families_and_options_are_closed(here, hosts):
    code = TRY + """
def option(level, name, value): s = socket.socket(); s.setsockopt(level, name, value); return "set"
def family(f, t=socket.SOCK_STREAM, p=0): socket.socket(f, t, p); return "made"
report(ulp=attempt(option, 6, 31, b"tls"), bpf=attempt(option, 1, 26, b"0" * 16), unix=attempt(family, socket.AF_UNIX), netlink=attempt(family, 16, 3),
    raw=attempt(family, 2, 3, 1), packet=attempt(family, 17, 3), vsock=attempt(family, 40), icmp=attempt(family, 2, 2, 1), sctp=attempt(family, 2, 1, 132))
"""
    assert not {"set", "made"} & set(reported(here.allow(code, *hosts)).values())


# ---- limits ----


def test_silent_connections_are_cut_and_others_wait(here, world):
    code = TRY + f"""
quiet = [socket.create_connection(({API!r}, 80), 60) for _ in range(150)]
quiet[0].sendall(b"GET / HTTP/1.1\\r\\n")
report(after=fetch("http://{API}/"), cut=[attempt(s.recv, 1) for s in quiet[:2]])
"""
    result = here.allow(code, f"{API}:80")
    assert reported(result) == {"after": reported(result)["after"], "cut": ["ConnectionResetError"] * 2}
    assert API in reported(result)["after"]


def test_last_free_slot_is_used_once(here, world):
    """Two ports become ready in the same round, and one slot is free."""
    code = TRY + f"""
import time
inside = socket.gethostbyname({API!r})
quiet = []
for i in range(180):
    s = socket.socket(); s.setblocking(False); s.connect_ex((inside, (80, 443)[i % 2])); quiet.append(s)
for round in range(5):
    time.sleep(0.2)
    for s in quiet[round * 20 : round * 20 + 20]: s.close()
for s in quiet: s.close()
report(after=fetch("http://{API}/"))
"""
    result = here.allow(code, f"{API}:80", f"{API}:443")
    assert API in reported(result)["after"], result


def test_refusals_do_not_hide_reached_hosts(here, world):
    code = TRY + f"""
for i in range(100): attempt(socket.gethostbyname, f"n{{i}}.evil.example")
report(a=fetch("http://{API}/"))
"""
    network = here.allow(code, f"{API}:80")["usage"]["network"]
    assert [h["host"] for h in network["hosts"]] == [API] and network["refusals"] == 100, network


def test_ten_thousand_connections_leave_proxy_unchanged(here, world):
    code = TRY + f"""
inside = socket.gethostbyname({API!r})
for i in range(10000):
    try: socket.create_connection((inside, 25), 60).recv(1)
    except ConnectionResetError: pass
for i in range(300): socket.create_connection((inside, 7000), 60).close()
report(a=dial({API!r}, 7000, b"still here"))
"""
    result = here.allow(code, f"{API}:7000", "other.example.com:25", flags=("--cpu", "60"))
    assert reported(result)["a"] == "still here"
    # All of them are counted, in one row.
    (row,) = result["denials"]
    assert row["what"] == f"connect to {API}:25" and row["count"] == 10000
    assert result["usage"]["network"]["refusals"] == 10000


# ---- killed processes ----


def keeper_of(run):
    (pid,) = children(run.pid)
    return pid


def proxy_of(run):
    """The run's proxy is the keeper's first. The others wait for further runs, and proxies of other keepers may end
    at any time."""
    return [pid for pid in children(keeper_of(run)) if name_of(pid) == "remit-proxy"][0]


WAIT = TRY + f"""
import sys
s = urllib.request.urlopen("http://{API}/slow", timeout=60)
s.read(100000); print("begun", flush=True)
try:
    while True:
        if not s.read(65536): print("ended"); break
except Exception as e: print("cut", type(e).__name__)
"""


def begin(here, code=WAIT, more=()):
    flags = () if here.by_root else network_here.FALLBACK
    p = here.popen("run", "--python", network_here.PYTHON, "--allow-host", f"{API}:80", *network_here.PATIENT, *flags, *more, "-c", code, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert p.stdout.readline() == "begun\n"
    return p


@pytest.mark.parametrize("then", ["import time; time.sleep(60)", "pass"])
def test_killed_proxy_ends_run(here, world, then):
    """Either the code continues, or it ends as soon as it is cut off."""
    with begin(here, WAIT + then) as p:
        os.kill(proxy_of(p), signal.SIGKILL)
        out, err = p.communicate(timeout=60)
    assert p.returncode == 125 and "the network proxy died" in err and "ended" not in out
    assert remaining(lambda: processes(here.command)) == []


def test_proxy_dies_with_its_keeper_and_with_its_run(here, world):
    with begin(here) as p:
        assert proxy_of(p)
        os.kill(keeper_of(p), signal.SIGKILL)
        p.communicate(timeout=60)
    assert remaining(lambda: processes(here.command)) == []
    reported(here.allow(TRY + f"report(a=fetch('http://{API}/'))", f"{API}:80"))
    assert remaining(lambda: processes(here.command)) == []


def test_ended_program_has_no_network(here, world):
    """A program may claim its end and continue. It must be killed, not ignored."""
    with begin(here, WAIT.replace("while True", "raise SystemExit\n    while True")) as p:
        p.communicate(timeout=60)
    assert remaining(lambda: [pid for pid in processes(here.command) if name_of(pid) == "remit-proxy"]) == []


def status_of(pid):
    with open(f"/proc/{pid}/status") as f:
        return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)


def test_proxy_has_no_capabilities_no_files_and_filter(here, world):
    with begin(here) as p:
        pid = proxy_of(p)
        status, keeper = status_of(pid), status_of(keeper_of(p))
        kinds = {os.readlink(f"/proc/{pid}/fd/{fd}").split(":")[0] for fd in os.listdir(f"/proc/{pid}/fd")}
        p.kill()
        p.communicate(timeout=60)
    assert {status[c] for c in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert status["Seccomp"] == "2" and status["NoNewPrivs"] == "1"
    # The proxy has the filters of the keeper and of the proxy launcher, and its own.
    assert int(status["Seccomp_filters"]) == int(keeper["Seccomp_filters"]) + 2
    assert kinds <= {"socket", "anon_inode", "pipe"}
    if here.by_root:
        assert set(status["Uid"].split()) != {"0"} and status["Groups"].strip() == ""
    assert remaining(lambda: processes(here.command)) == []


def test_proxy_has_nothing_of_keeper_s_memory(here, world):
    secret = "".join(("kept", "-by-", "the-keeper"))
    with begin(here, more=("--env", f"SECRET={secret}")) as p:
        pid = proxy_of(p)
        assert memory_has(keeper_of(p), secret.encode())
        assert memory_has(pid, API.encode()) and not memory_has(pid, secret.encode())
        p.kill()
        p.communicate(timeout=60)


def test_concurrent_runs_have_separate_proxies(here, world):
    lines = "".join(json.dumps({"id": str(i), "code": TRY + f"report(a=attempt(fetch, 'http://{name}/'))"}) + "\n" for i, name in enumerate([API, "evil.example"] * 8))
    fallback = () if here.by_root else network_here.FALLBACK
    done = here("batch", "-j", "4", "--quiet", "--python", network_here.PYTHON, "--allow-host", f"{API}:80", *fallback, input=lines)
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(results) == 16, done.stderr
    for r in results:
        assert (API in r["stdout"]) == (int(r["id"]) % 2 == 0), r
        assert r["usage"]["network"]["connections"] == (int(r["id"]) + 1) % 2
    assert remaining(lambda: processes(here.command)) == []


# ---- refusals before the start ----


@pytest.mark.parametrize("entry", ["*:443", "example.com", "[fe80::1]:80", "http://example.com:80", "127.1:80", "example.com:443:quic", "example.com:443:methods=GET"])
def test_malformed_entry_is_refused_by_name(any_remit, entry):
    result = any_remit.json("print('ran')", "--allow-host", entry)
    assert result["status"] == "refused" and result["stdout"] == ""
    assert result["error"]["where"] == "network_allow" and result["error"]["remedy"]


def test_host_list_and_host_network_exclude_each_other(any_remit):
    result = any_remit.json("print('ran')", "--allow-host", "example.com:443", "--net=host", "--memory-fallback", "per_process")
    assert result["status"] == "refused" and result["error"]["where"] == "network_allow"


def test_audit_line_has_hosts_and_sums_but_no_paths(here, world):
    path = here.folder / "audit.jsonl"
    here.allow(TRY + f"fetch('http://{API}/secret-path?token=1')", f"{API}:80", flags=("--audit", str(path)))
    text = path.read_text()
    path.unlink()
    line = json.loads(text.splitlines()[-1])
    assert line["usage"]["network"]["hosts"][0]["host"] == API and "secret-path" not in text
