"""network_access: "loopback": a network of the jail's own, with nothing in it but the jail."""

from __future__ import annotations

import json
import socket

import pytest
from conftest import enforced
from meeting import TRY, assert_strangers, meet, printed
from shared_keeper import SharedKeeper


@pytest.fixture
def flags(remit) -> list[str]:
    """Without a memory cgroup an ordinary user must accept the fallback explicitly."""
    return ["--net=loopback"] + ([] if remit.by_root else ["--memory-fallback", "per_process"])


@pytest.fixture
def keeper(remit):
    made = SharedKeeper(remit)
    yield made
    made.close()


SERVE = """
import http.server, socket, threading, urllib.request
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()
open("page", "w").write("served")
for host in ("127.0.0.1", "localhost"):
    assert urllib.request.urlopen(f"http://{host}:{server.server_port}/page").read() == b"served"
for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    a, b = socket.socket(family, socket.SOCK_DGRAM), socket.socket(family, socket.SOCK_DGRAM)
    a.bind((host, 0)); b.sendto(b"datagram", a.getsockname()[:2])
    assert a.recv(100) == b"datagram"
    with socket.create_server((host, 0), family=family) as s:
        c = socket.create_connection(s.getsockname()[:2]); c.send(b"stream")
        assert s.accept()[0].recv(100) == b"stream"
print("met")
"""


def test_code_serves_and_asks_itself(remit, flags, covers):
    result = remit.json(SERVE, *flags)
    assert printed(result) == "met\n"
    (row,) = [r for r in result["enforcement"] if r["field"] == "network_access"]
    assert row["value"] == "loopback" and row["strength"] == "enforced", row
    assert row["mechanisms"] == ["network_namespace"] and row["note"] == "the code reaches only the jail itself, at 127.0.0.1 and ::1", row
    covers(remit, "network_access", *enforced(result, "network_access"))


def test_cells_of_a_warm_session_serve_and_ask(remit, flags, keeper):
    result = keeper.warm(SERVE, *flags)
    assert printed(result) == "met\n" and enforced(result, "network_access") == ["network_namespace"]


def test_a_program_serves_another_program(remit, flags):
    more = ["--subprocess"] + ([] if remit.by_root else ["--cpu-fallback", "per_process"])
    code = (
        "import subprocess, sys, time, urllib.request\n"
        "server = subprocess.Popen([sys.executable, '-u', '-m', 'http.server', '8000'], stdout=subprocess.PIPE)\n"
        "server.stdout.readline(); open('page', 'w').write('served')\n"
        "print(urllib.request.urlopen('http://localhost:8000/page').read())"
    )
    assert printed(remit.json(code, *flags, *more)) == "b'served'\n"


SHARE = """
import socket
servers = [socket.create_server(("127.0.0.1", 8000), reuse_port=True) for _ in range(2)]
servers[0].setsockopt(socket.SOL_SOCKET, socket.SO_OOBINLINE, 1)
with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as a, socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as b:
    for option in (socket.IPV6_RECVPKTINFO, socket.IPV6_RECVHOPLIMIT, socket.IPV6_RECVTCLASS):
        a.setsockopt(socket.IPPROTO_IPV6, option, 1)
    a.bind(("::1", 0)); b.sendto(b"datagram", a.getsockname())
    print(sorted(kind for _, kind, _ in a.recvmsg(100, 1000)[1]))
"""


def test_programs_share_a_port_and_read_what_came_with_a_datagram(remit, flags, keeper):
    """Only with programs, whose networks are all private: a port of the host could belong to the user's other processes."""
    more = ["--subprocess"] + ([] if remit.by_root else ["--cpu-fallback", "per_process"])
    kinds = f"{sorted([socket.IPV6_PKTINFO, socket.IPV6_HOPLIMIT, socket.IPV6_TCLASS])}\n"
    assert printed(remit.json(SHARE, *flags, *more)) == kinds
    if not remit.by_root:  # for root, programs do not start warm
        assert printed(keeper.warm(SHARE, *flags, *more)) == kinds
    assert remit.json(SHARE, *flags)["error"]["name"] == "PermissionError"


OUT = (
    TRY
    + """
import sys
def dial(kind, host, port):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, kind) as s:
        s.settimeout(5)
        s.connect((host, port)); s.send(b"hello")
        s.recv(1)
for host in sys.argv[2:]:
    print(attempt(dial, socket.SOCK_STREAM, host, int(sys.argv[1])), attempt(dial, socket.SOCK_DGRAM, host, int(sys.argv[1])))
"""
)


def test_nothing_outside_of_the_jail_is_reached(remit, flags):
    with socket.create_server(("0.0.0.0", 0)) as tcp, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        port = tcp.getsockname()[1]
        udp.bind(("0.0.0.0", port))
        tcp.setblocking(False)
        udp.setblocking(False)
        hosts = ("127.0.0.1", "127.0.0.2", "::1", "10.0.0.1", "169.254.169.254", "8.8.8.8", "2001:4860:4860::8888")
        done = remit("run", "--json", *flags, remit.file("out.py", OUT), port, *hosts)
        lines = printed(json.loads(done.stdout)).splitlines()
        assert lines[:3] == ["ECONNREFUSED ECONNREFUSED"] * 3, lines
        assert lines[3:] == ["ENETUNREACH ENETUNREACH"] * 4, lines
        for s in (tcp.accept, lambda: udp.recv(1)):
            with pytest.raises(BlockingIOError):
                s()


def test_names_do_not_resolve(remit, flags):
    code = "import socket\ntry: print(socket.getaddrinfo('example.com', 80))\nexcept socket.gaierror: print('unknown')"
    assert printed(remit.json(code, *flags)) == "unknown\n"


def test_two_runs_do_not_meet_over_loopback(remit, flags):
    assert_strangers(meet(remit, *flags, families=["inet"]))


def test_two_warm_runs_do_not_meet_over_loopback(remit, flags, keeper):
    keeper.await_child(*flags)
    assert_strangers(meet(remit, *flags, env=keeper.env, families=["inet"]))


def test_tiers_without_a_network_namespace_refuse_it(any_remit):
    done = any_remit("run", "--preset", "landlock", "--net=loopback", "-c", "print('ran')")
    assert done.returncode and "network_access" in done.stderr and "no network namespace" in done.stderr, done
    assert "ran" not in done.stdout


def test_explain_states_what_loopback_means(any_remit):
    done = any_remit("explain", "--net=loopback", "--memory-fallback", "per_process")
    (line,) = [one for one in done.stdout.splitlines() if "network_access" in one]
    assert "loopback" in line and "network_namespace" in line, done.stdout


def test_no_other_word_is_accepted(any_remit):
    done = any_remit("run", "--net=lo", "-c", "pass")
    assert done.returncode == 2 and "true, false, loopback or host" in done.stderr, done
