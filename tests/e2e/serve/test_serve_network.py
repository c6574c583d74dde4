"""Which hosts a client of `remit serve` may name. Keys are as --add-key makes them, unless a test changes them."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket

import network_here
import pytest
from network_here import TRY, connections, requests
from network_world import HERE, METADATA, PRIVATE, PUBLIC
from served import serve
from test_serve_hostile import add_key, change_key

# Loopback, private networks, link-local addresses, metadata services, and names that may resolve to them
NOT_PUBLIC = (
    "127.0.0.1:80", "127.9.9.9:80:plain", "[::1]:80", f"{METADATA}:80", "100.100.100.200:80", "168.63.129.16:80", "10.0.0.1:22", "172.16.0.1:22:tcp",
    "192.168.1.1:80:bytes=1M", "100.64.0.1:80", "[fd00::1]:80", "[fd00:ec2::254]:80", "[64:ff9b::7f00:1]:80", "192.0.2.1:80", "localhost:80:private",
    "inner.example.com:80:plain,private", "*.example.com:443:private", {"host": "127.0.0.1", "port": 80}, {"host": "inner.example.com", "port": 80, "private": True},
)  # fmt: skip
FETCH = (
    TRY
    + """
import sys
def first(url):
    try: return urllib.request.urlopen(url, timeout=20).status
    except Exception as e: return type(e).__name__
report(**{url: first(url) for url in sys.argv[1:]})
"""
)


@pytest.fixture(scope="module")
def world(stage):
    with network_here.start(stage / "world-serve") as w:
        yield w


@pytest.fixture
def keys(remit):
    path = remit.folder / "network-keys.json"
    path.unlink(missing_ok=True)
    yield path
    path.unlink(missing_ok=True)


class Unix(http.client.HTTPConnection):
    """A client that need not be on the server's network."""

    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


@contextlib.contextmanager
def serve_there(world, remit, *flags):
    path = remit.folder / "network.sock"
    with serve(world.inside(remit), "--listen", f"unix:{path}", *flags) as s:
        s.connect = lambda timeout=120: Unix(path, timeout)
        yield s


def fetch(served, urls, **policy) -> dict:
    got = served.run(FETCH, argv=list(urls), policy={"timeout": "100s", "memory_fallback": "per_process", **policy})
    assert got["status"] == "ok", got
    return json.loads(got["stdout"])


def test_client_may_name_public_hosts_only(remit, keys):
    key = add_key(remit, keys, "alice")
    with serve(remit, "--keys", keys) as s:
        s.token = key
        for entry in NOT_PUBLIC:
            policy = {"network_allow": ["api.example.com:443", entry]}
            for path, body in (("/v1/explain", {}), ("/v1/runs", {"code": "1"}), ("/v1/sessions", {})):
                got = s.json("POST", path, {**body, "policy": policy}, status=403)
                assert got["error"]["where"] == "network_allow" and "public" in got["error"]["message"], (entry, got)
        for host in ("127.0.0.1", METADATA, "10.0.0.1", "::1", "fd00::1"):
            status, _, text = s.request("POST", "/sandboxes", {"templateID": "base", "network": {"allowOut": [host]}})
            assert status == 400 and b"network_allow" in text, (host, text)
        public = ["api.example.com:443", f"{PUBLIC}:80", f"{PUBLIC}:8080:plain", "[2606:4700::34]:80", f"{PUBLIC}:81:public"]
        got = s.json("POST", "/v1/explain", {"policy": {"network_allow": public, "memory_fallback": "per_process"}})
        (row,) = [e for e in got["enforcement"] if e["field"] == "network_allow"]
        # The proxy must check addresses again when it connects.
        marked = ["api.example.com:443", f"{PUBLIC}:80:public", f"{PUBLIC}:8080:plain,public", "[2606:4700::34]:80:public", f"{PUBLIC}:81:public"]
        assert row["value"] == marked


def test_addresses_of_client_s_hosts_are_checked_again_on_connect(remit, world, keys):
    names = ("inner.example.com", "loop.example.com", "meta.example.com", "here.example.com", "mixed.example.com", "alias.example.com", "mapped.example.com")
    key = add_key(remit, keys, "alice")
    with serve_there(world, remit, "--keys", keys) as s:
        s.token = key
        mark = world.mark()
        # This machine's address is public, but clients may not use it.
        urls = [f"http://{host}/" for host in (*names, HERE, PUBLIC, "api.example.com")]
        seen = fetch(s, urls, network_allow=[f"{host}:80" for host in (*names, HERE, PUBLIC, "api.example.com")])
    assert {url for url, status in seen.items() if status == 200} == {f"http://{PUBLIC}/", "http://api.example.com/"}, seen
    assert connections(world.seen(mark)) == [f"connection {PUBLIC} 80"] * 2


@pytest.mark.parametrize("by", ["server", "key"])
def test_hosts_of_server_or_key_are_reached_exactly_as_named(remit, world, keys, by):
    own = {"network_allow": [f"{HERE}:80", f"{PRIVATE}:80:plain,methods=GET", "inner.example.com:80:private"]}
    key = add_key(remit, keys, "alice")
    flags = ("--policy", remit.file("network-policy.json", json.dumps(own))) if by == "server" else ()
    if by == "key":
        change_key(keys, "alice", policy={**own, "memory_fallback": "per_process", "timeout": "100s"}, free=["network_allow"])
    with serve_there(world, remit, "--keys", keys, *flags) as s:
        s.token = key
        urls = [f"http://{host}/" for host in (HERE, PRIVATE, "inner.example.com")]
        assert fetch(s, urls) == dict.fromkeys(urls, 200)
        assert fetch(s, urls[:1], network_allow=own["network_allow"][:1]) == {urls[0]: 200}
        assert fetch(s, [f"http://{PUBLIC}/"], network_allow=[*own["network_allow"], f"{PUBLIC}:80"]) == {f"http://{PUBLIC}/": 200}
        for wider in (f"{PRIVATE}:80", f"{PRIVATE}:443", "inner.example.com:443:private", "*.example.com:80:private"):
            s.json("POST", "/v1/explain", {"policy": {"network_allow": [wider]}}, status=403)


def test_client_cannot_redirect_server_s_credential(remit, world, keys):
    """Not to another port of its host, not into other requests, and not past the inspection."""
    secret = remit.file("credential.txt", "Bearer of-the-server")
    inner, api = "inner.example.com", "api.example.com"
    own = {
        "network_allow": [f"{inner}:80:plain,private,methods=GET", f"{api}:443"],
        "credentials": [f"{inner}:X-Key=file:{secret}", f"{api}:X-Key=file:{secret}"],
    }
    key = add_key(remit, keys, "alice")
    with serve_there(world, remit, "--keys", keys, "--policy", remit.file("credential-policy.json", json.dumps(own))) as s:
        s.token = key
        mark = world.mark()
        assert fetch(s, [f"http://{inner}/a"]) == {f"http://{inner}/a": 200}
        assert fetch(s, [f"http://{PUBLIC}/b"], network_allow=[*own["network_allow"], f"{PUBLIC}:80"]) == {f"http://{PUBLIC}/b": 200}
        assert [line.split()[2:] for line in requests(world.seen(mark))] == [["/a", "Bearer", "of-the-server"], ["/b", "-"]]
        for entry in (f"{api}:8443:tls", f"{api}:80", f"{api}:443:tls", f"{api}:443:bytes=1M", f"{inner}:80"):
            (credential,) = [c for c in own["credentials"] if c.split(":")[0] == entry.split(":")[0]]
            got = s.json("POST", "/v1/explain", {"policy": {"network_allow": [entry], "credentials": [credential]}}, status=403)
            assert got["error"]["where"] == "network_allow" and "credential" in got["error"]["message"], (entry, got)
        # Without the credential, it is an ordinary host.
        s.json("POST", "/v1/explain", {"policy": {"network_allow": [f"{api}:8443:tls"], "credentials": [], "memory_fallback": "per_process"}})
