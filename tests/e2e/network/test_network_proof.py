"""Attempts of code to get around a list of hosts, and attacks on the proxy."""

import json
import os
import signal
import time

import network_here
import pytest
from network_here import TRY, connections, reported
from network_world import PUBLIC
from test_network import WAIT, begin, proxy_of, status_of

API = "api.example.com"


@pytest.fixture(scope="module")
def world(stage):
    with network_here.start(stage / "world-proof") as w:
        yield w


@pytest.fixture
def here(remit, world):
    return world.inside(remit)


def test_trailing_dot_and_upper_case_are_same_name(here):
    code = TRY + f"""
context = ssl._create_unverified_context()
report(dot=attempt(fetch, "http://{API}./"), both=attempt(fetch, "http://API.EXAMPLE.com./"), tls=attempt(fetch, "https://API.example.COM/", context=context),
    two=attempt(fetch, "http://{API}../"), front=attempt(fetch, "http://.{API}/"))
"""
    answers = reported(here.allow(code, f"{API}:80", f"{API}:443"))
    assert all(PUBLIC in answers[k] for k in ("dot", "both", "tls")), answers
    assert "{" not in answers["two"] + answers["front"]


def test_quic_does_not_leave_even_to_named_host(here, world):
    mark = world.mark()
    code = TRY + f"""
def hello(host):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(30)
    s.connect((host, 443)); s.send(b"\\xc0\\0\\0\\0\\1" + bytes(1195)); return s.recv(10)
report(inside=attempt(hello, socket.gethostbyname({API!r})), outside=attempt(hello, {PUBLIC!r}))
"""
    answers = reported(here.allow(code, f"{API}:443"))
    assert answers == {"inside": "ConnectionRefusedError", "outside": "OSError"} and world.seen(mark) == []


@pytest.mark.parametrize("first", [b"GET / HTTP/1.1\r\n", b"\x16\x03\x01\x02\x00\x01"])
def test_dripping_head_is_cut(here, world, first):
    mark = world.mark()
    port = 80 if first.startswith(b"GET") else 443
    code = TRY + f"""
import time
s = socket.create_connection(({API!r}, {port}), 60); s.sendall({first!r}); began = time.monotonic()
try:
    while time.monotonic() - began < 60: s.sendall(b"a"); time.sleep(0.2)
except OSError as e: end = type(e).__name__
else: end = "never"
report(end=end)
"""
    assert reported(here.allow(code, f"{API}:{port}"))["end"] in ("ConnectionResetError", "BrokenPipeError")
    assert connections(world.seen(mark)) == []


def test_many_half_open_connections_are_survived(here, world):
    """As many connections as the jail has descriptors, again and again. Those beyond the proxy's slots wait in the
    kernel."""
    code = TRY + f"""
inside = socket.gethostbyname({API!r})
for round in range(50):
    all = []
    for i in range(200):
        s = socket.socket(); s.setblocking(False); s.connect_ex((inside, 7000)); all.append(s)
    for s in all: s.close()
report(a=dial({API!r}, 7000, b"still here"))
"""
    result = here.allow(code, f"{API}:7000", flags=("--cpu", "60"))
    assert reported(result)["a"] == "still here"


def resident(pid):
    return int(status_of(pid)["VmRSS"].split()[0]) * 1024


def test_endless_download_needs_no_memory_in_proxy(here, world):
    code = WAIT.replace('if not s.read(65536): print("ended"); break', "s.read(1 << 20)")
    with begin(here, code) as p:
        pid = proxy_of(p)
        before = resident(pid)
        time.sleep(3)  # the time of the download
        after = resident(pid)
        p.send_signal(signal.SIGINT)
        p.communicate(timeout=60)
    assert after < 32 << 20 and after - before < 4 << 20, (before, after)


def test_proxy_killed_during_upload_is_error(here, world):
    """A cut connection must be an error for the code, and never a normal end."""
    code = TRY + f"""
s = socket.create_connection(({API!r}, 80), 60)
s.sendall(b"GET /slow HTTP/1.1\\r\\nHost: {API}\\r\\n\\r\\n"); print("begun", flush=True)
try:
    while True: s.sendall(bytes(65536))
except Exception as e: print("cut", type(e).__name__)
"""
    with begin(here, code) as p:
        pid = proxy_of(p)
        time.sleep(0.3)  # the time of the upload
        os.kill(pid, signal.SIGKILL)
        out, err = p.communicate(timeout=60)
    assert p.returncode == 125 and "the network proxy died" in err and "ended" not in out


def test_tunnel_request_is_refused_by_every_entry_kind(here, world):
    """No entry is a proxy: a request for another host is not passed on."""
    mark = world.mark()
    asks = ["CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n", "GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n", "\x05\x01\x00", "\x04\x01\x01\xbb"]
    code = TRY + f"report(a=[attempt(dial, {API!r}, port, a.encode('latin-1') + b'\\r\\n\\r\\n') for a in json.loads({json.dumps(json.dumps(asks))}) for port in (80, 443)])"
    answers = reported(here.allow(code, f"{API}:80", f"{API}:443"))["a"]
    assert not [a for a in answers if a.startswith("HTTP")], answers
    assert connections(world.seen(mark)) == []
