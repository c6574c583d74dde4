"""A new list of hosts for an open session: what the proxy allows from then on."""

from __future__ import annotations

import json
import os
import signal

import network_here
import pytest
from conftest import PYTHON
from leftovers import name_of, processes
from network_here import TRY, Here
from session_client import SessionClient
from shared_keeper import SharedKeeper

API, EVIL = ["api.example.com:80", "api.example.com:443"], ["evil.example:80", "evil.example:443"]
ECHO = ["api.example.com:7000"]
POLICY = {"python": PYTHON, "timeout": 100, "memory_fallback": "per_process"}
FETCH = "print([attempt(fetch, u) == 'URLError' for u in ('http://api.example.com/a', 'http://evil.example/b')])"


@pytest.fixture(scope="module")
def world(stage):
    with network_here.start(stage / "world-changes") as w:
        yield w


@pytest.fixture
def client(remit, world):
    """Sessions below a keeper of the test's machine."""
    keeper = SharedKeeper(Here(remit, world.process.pid, ()))
    one = SessionClient(remit, keeper.env)
    yield one
    one.leave()
    keeper.close()


def refused(client) -> list[bool]:
    """Whether each of the two hosts is refused."""
    return json.loads(client.out(FETCH).lower())


def change(client, **policy) -> None:
    reply = client.request("network", policy=policy)
    assert reply == {}, reply


def rows(client) -> dict:
    return {r["field"]: r for r in client.run("1")["enforcement"]}


def test_new_list_is_in_force_when_the_call_returns(client, remit, covers):
    client.open(policy={**POLICY, "network_allow": API})
    client.out(TRY)
    assert refused(client) == [False, True]
    # Often, since a list that takes effect too late would do so rarely.
    for allowed, seen in [(EVIL, [True, False]), (API, [False, True]), ([], [True, True]), (API + EVIL, [False, False])] * 5:
        change(client, network_allow=allowed)
        assert refused(client) == seen, allowed
    found = rows(client)
    assert found["network_allow"]["value"] == API + EVIL and found["network_allow"]["mechanisms"] == ["network_namespace", "proxy"]
    assert found["network_access"]["value"] is False and found["network_access"]["strength"] == "enforced"
    for field in ("network_allow", "network_access"):
        covers(remit, field, *found[field]["mechanisms"])


def test_refused_host_of_new_list_is_a_denial(client):
    client.open(policy={**POLICY, "network_allow": API})
    client.out(TRY)
    change(client, network_allow=EVIL)
    result = client.run("attempt(fetch, 'http://api.example.com/')")
    flags = [d["flag"] for d in result["denials"] if d["source"] == "proxy"]
    assert flags and all(flag.startswith("--allow-host api.example.com:") for flag in flags), result["denials"]


CONNECT = "s = socket.create_connection(('api.example.com', 7000), 60); s.sendall(b'once'); print(s.recv(100))"
GO_ON = "s.settimeout(60)\ntry: s.sendall(b'again'); print(s.recv(100) or 'end')\nexcept OSError as e: print(type(e).__name__)"


@pytest.mark.parametrize("now, seen", [([*API, *ECHO], None), (API, "ConnectionResetError"), ([], "ConnectionResetError"), (["api.example.com:7000:private"], "ConnectionResetError")])
def test_open_connection_ends_unless_new_list_has_its_entry(client, now, seen):
    client.open(policy={**POLICY, "network_allow": ECHO + API})
    client.out(TRY)
    first = client.out(CONNECT)
    assert "once" in first or first.startswith("b'")
    change(client, network_allow=now)
    last = client.out(GO_ON).strip()
    assert (last == seen) if seen else last.startswith("b'"), last


def test_thread_that_keeps_connecting_is_cut_off(client):
    """A program beside the change, which connects as fast as it can, reaches nothing new once the call has returned."""
    client.open(policy={**POLICY, "network_allow": API})
    client.out(TRY + "import threading, time\nreached, turn = [], 0\n" + (
        "def hammer(host):\n"
        "    while True:\n"
        "        begun = turn\n"
        "        try:\n"
        "            with socket.create_connection((host, 80), 5) as s:\n"
        "                s.sendall(b'GET / HTTP/1.1\\r\\nHost: ' + host.encode() + b'\\r\\n\\r\\n'); reached.append(begun if s.recv(1) else None)\n"
        "        except OSError: pass\n"
        "        time.sleep(0.001)\n"
        "for _ in range(4): threading.Thread(target=hammer, args=('api.example.com',), daemon=True).start()\n"
    ))  # fmt: skip
    for _ in range(10):
        change(client, network_allow=API)
        client.out("turn += 1\nwhile turn not in reached: time.sleep(0.01)")
        change(client, network_allow=EVIL)
        # A connection from before may still deliver what had arrived.
        assert client.out("turn += 1; time.sleep(0.1); print(turn in reached)") == "False\n"


WAITING = """
import threading
seen = {}
def look(): seen["name"] = attempt(socket.gethostbyname, "evil.example") == address
def dial_evil():
    with socket.create_connection((address, 80), 60) as s:
        s.sendall(b"GET / HTTP/1.1\\r\\nHost: evil.example\\r\\n\\r\\n")
        seen["connection"] = bool(attempt(s.recv, 1) == b"H")
waiting = [threading.Thread(target=f) for f in (look, dial_evil)]
for t in waiting: t.start()
time.sleep(0.3)
"""


def test_question_and_connection_that_wait_are_judged_by_new_list(client, remit):
    """The proxy reads the list first, also if something else arrived before it."""
    client.open(policy={**POLICY, "network_allow": API + EVIL})
    client.out(TRY + "import time\naddress = socket.gethostbyname('evil.example')")
    change(client, network_allow=API)
    proxies = [pid for pid in processes(remit.command) if name_of(pid) == "remit-proxy"]
    assert proxies
    for pid in proxies:
        os.kill(pid, signal.SIGSTOP)
    try:
        client.out(WAITING)
        change(client, network_allow=EVIL)
    finally:
        for pid in proxies:
            os.kill(pid, signal.SIGCONT)
    assert client.out("for t in waiting: t.join()\nprint(seen['name'], seen['connection'])") == "True True\n"


def test_proxy_that_reads_nothing_cannot_stop_its_keeper(client, remit):
    """The keeper never waits for a proxy: when the line is full, the change is refused, and other sessions go on."""
    client.open(policy={**POLICY, "network_allow": API})
    client.out(TRY)
    proxies = [pid for pid in processes(remit.command) if name_of(pid) == "remit-proxy"]
    for pid in proxies:
        os.kill(pid, signal.SIGSTOP)
    try:
        replies = [client.request("network", policy={"network_allow": EVIL if i % 2 else API}) for i in range(100)]
        failed = [reply["failed"] for reply in replies if reply]
        assert failed and all("new list of hosts" in f["message"] for f in failed), failed
        client.open(policy={"python": PYTHON, "memory_fallback": "per_process"}, session="other")
        assert client.out("print(6 * 7)", session="other") == "42\n"
    finally:
        for pid in proxies:
            os.kill(pid, signal.SIGCONT)
    change(client, network_allow=EVIL)
    assert refused(client) == [True, False]


def test_session_with_all_public_hosts_is_narrowed_and_widened_again(client):
    client.open(policy={**POLICY, "network_access": True})
    client.out(TRY)
    assert refused(client) == [False, False]
    change(client, network_access=False, network_allow=API)
    assert refused(client) == [False, True]
    found = rows(client)
    assert found["network_access"]["value"] is False and found["network_access"]["mechanisms"] == ["network_namespace", "proxy"]
    change(client, network_allow=[])
    assert refused(client) == [True, True]
    change(client, network_access=True)
    assert refused(client) == [False, False] and rows(client)["network_access"]["value"] is True


def test_fresh_jail_gets_the_list_in_force(client):
    client.open(policy={**POLICY, "network_allow": API})
    change(client, network_allow=EVIL)
    assert client.request("reset") == {}
    client.out(TRY)
    assert refused(client) == [True, False]


def test_audit_names_the_policy_in_force(remit, world):
    file = remit.folder / "changes-audit.jsonl"
    file.unlink(missing_ok=True)
    keeper = SharedKeeper(Here(remit, world.process.pid, ()), "--audit", file)
    client = SessionClient(remit, keeper.env)
    client.open(policy={**POLICY, "network_allow": API})
    client.out("1")
    for allowed in (EVIL, API):
        change(client, network_allow=allowed)
        client.out("1")
    client.leave()
    keeper.close()
    first, second, third = (json.loads(line)["policy_sha256"] for line in file.read_text().splitlines()[:3])
    assert first == third != second


def test_name_of_this_machine_s_list_is_found_later(client):
    client.open(policy={**POLICY, "network_allow": API})
    client.out(TRY)
    change(client, network_allow=["listed.example.com:80"])
    assert client.out("print(attempt(fetch, 'http://listed.example.com/') not in ('URLError', 'OSError'))") == "True\n"


@pytest.mark.parametrize(
    "began, now, where, words",
    [
        ({}, {"network_allow": API}, "network_allow", "no network that a proxy controls"),
        ({"network_access": "loopback"}, {"network_allow": API}, "network_allow", "no network that a proxy controls"),
        ({"network_allow": API}, {"network_access": True}, "network_access", "can only be taken away"),
        ({"network_allow": API}, {"network_access": "host"}, "network_access", "can only be taken away"),
        ({"network_allow": API}, {"network_allow": ["api.example.com:8443"]}, "network_allow", "without a listener"),
        ({"network_allow": API}, {"network_allow": ["93.184.216.34:80"]}, "network_allow", "without a listener"),
        ({"network_allow": API}, {"network_allow": ["[2001:db8::1]:80"]}, "network_allow", "without a listener"),
        ({"network_allow": API}, {"network_allow": API, "timeout": 5}, "timeout", "only network_access and network_allow"),
        ({"network_allow": API}, {"subprocess_execution": True}, "subprocess_execution", "only network_access and network_allow"),
        ({"network_allow": API}, {"preset": "scientific"}, "", "only network_access and network_allow"),
        ({"network_allow": API}, {"network_allow": ["api.example.com:80:bytes=1M"]}, "network_allow", "limit for the whole session"),
        ({"network_allow": ["api.example.com:80:connections=1"]}, {"network_allow": API}, "network_allow", "limit for the whole session"),
        ({"network_allow": API}, {"network_allow": ["api.example.com:443:methods=GET"]}, "network_allow", "encrypted by TLS"),
        ({"network_allow": API, "network_ask": True}, {"network_allow": []}, "network_ask", "a person decides"),
        ({"network_allow": API}, {"network_allow": [f"h{i}.example.com:80" for i in range(65)]}, "", "64"),
        ({"network_allow": API}, {"network_allow": ["*.com:80"]}, "", "top-level"),
        ({"network_allow": API}, {"network_allow": [f"{'a' * 60}.example.com:80"] * 1000}, "", "65536 bytes"),
        ({"network_allow": API}, "{", "", "network"),
        ({"network_allow": API}, {"no_such_field": 1}, "", "no_such_field"),
    ],
)  # fmt: skip
def test_impossible_change_is_refused_and_changes_nothing(client, began, now, where, words):
    client.open(policy={**POLICY, **began})
    failed = client.request("network", policy=now)["failed"]
    assert words in json.dumps(failed), failed
    if where:
        assert failed["where"] == where, failed
    client.out(TRY)
    if "network_allow" in began and "network_ask" not in began:
        assert refused(client) == [False, True]
    else:
        assert client.run("print(1)")["stdout"] == "1\n"


def test_change_during_a_cell_is_busy(client):
    client.open(policy={**POLICY, "network_allow": API})
    wait = client.begin_cell("import time\nprint('begun', flush=True)\ntime.sleep(60)")
    assert "busy" in json.dumps(client.request("network", policy={"network_allow": []})["failed"])
    client.request("interrupt")
    wait()
    client.out(TRY)
    assert refused(client) == [False, True]
