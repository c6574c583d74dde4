"""Two keys of one server, as `remit serve --add-key` makes them: what one key does must not stop the other."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import os
import pathlib
import re
import resource
import select
import signal
import socket
import threading
import time

import pytest
from conftest import ROOT
from leftovers import name_of
from served import Served, serve
from shared_keeper import family
from test_serve_hostile import HEAD, unread_bytes
from waiting import until


# A program that counts as little more than 100 MiB, including its results
SMALL = {
    "memory_bytes": "100M", "memory_fallback": "per_process", "stdout_max_bytes": "64K", "stderr_max_bytes": "64K",
    "value_bytes": "64K", "display_bytes": "64K",
}  # fmt: skip


@contextlib.contextmanager
def two_keys(remit, *flags: str, names: tuple[str, ...] = ("alice", "bob"), env: dict[str, str] | None = None):
    """The server, and the key of each name."""
    path = remit.folder / "tenants.json"
    path.unlink(missing_ok=True)
    keys = [remit("serve", "--keys", path, "--add-key", name).stdout.strip() for name in names]
    document = json.loads(path.read_text())
    document["keys"][-1]["operator"] = True  # to read the numbers of the whole server; it changes no limit
    path.write_text(json.dumps(document))
    with serve(remit, "--keys", path, *flags, env=env) as s:
        s.token = keys[-1]  # the key of the client that must not be affected
        yield s, *keys
    path.unlink(missing_ok=True)


@contextlib.contextmanager
def sleepers(s: Served, key: str, count: int):
    """Run `count` programs of a key until the end of the block."""

    def sleep() -> None:
        with contextlib.suppress(OSError):
            s.request("POST", "/v1/runs", {"code": "import time; time.sleep(3600)", "policy": {"timeout": "1h"}}, token=key)

    threads = [threading.Thread(target=sleep) for _ in range(count)]
    before = s.metric("remit_rooms")
    for t in threads:
        t.start()
    try:
        until(lambda: s.metric("remit_rooms") == before + count, "the programs did not start")
        yield
        assert s.metric("remit_rooms") >= before + count, "the programs ended too early to prove anything"
    finally:
        s.stop_listening()  # ends the programs
        s.process.terminate()
        for t in threads:
            t.join()


# ---- slots ----


def test_sleeping_programs_of_one_key_do_not_stop_another(remit):
    with two_keys(remit) as (s, alice, bob), sleepers(s, alice, 64):
        for _ in range(3):
            assert s.run("print(1)")["stdout"] == "1\n"


def test_refused_program_of_one_key_ends_no_program_of_another(any_remit):
    """Both use the server's connection to its keeper."""
    for _ in range(4):
        with two_keys(any_remit) as (s, alice, bob):
            assert s.request("POST", "/v1/runs", {"code": "1", "policy": {"network_allow": ["127.1:80"]}}, token=alice)[0] == 422
            assert s.run("print(1)")["stdout"] == "1\n"


def test_idle_sessions_of_one_key_leave_sessions_for_another(remit):
    with two_keys(remit) as (s, alice, bob):
        opened = 0
        while (status := s.request("POST", "/v1/sessions", {"policy": SMALL}, token=alice)[0]) == 201:
            opened += 1
        assert status == 429 and opened == 32
        mine = s.json("POST", "/v1/sessions", {"policy": SMALL}, status=201)["id"]
        assert s.json("POST", f"/v1/sessions/{mine}/cells", {"code": "6 * 7"})["value"]["json"] == 42


def test_single_key_may_use_all_sessions(any_remit):
    with two_keys(any_remit, "--max-sessions", "6", names=("alone",)) as (s, alone):
        statuses = [s.request("POST", "/v1/sessions", {})[0] for _ in range(7)]
        assert statuses == [201] * 6 + [429]


def test_share_of_key_is_configurable(any_remit):
    with two_keys(any_remit, "--max-sessions", "8", "--key-share", "25") as (s, alice, bob):
        statuses = [s.request("POST", "/v1/sessions", {}, token=alice)[0] for _ in range(3)]
        assert statuses == [201, 201, 429]
        got = s.json("POST", "/v1/sessions", {}, status=429, token=alice)
        assert "share of one key: 2" in got["error"]["message"]


def test_ended_session_frees_its_slot(any_remit):
    with two_keys(any_remit, "--max-sessions", "2", names=("alone",)) as (s, alone):
        for _ in range(5):
            for one in [s.json("POST", "/v1/sessions", {}, status=201)["id"] for _ in range(2)]:
                s.json("DELETE", f"/v1/sessions/{one}")
        for _ in range(5):
            # The jail of a dropped session ends after the answer.
            got = until(lambda: [text for status, _, text in [s.request("POST", "/v1/sessions", {})] if status == 201])
            s.json("DELETE", f"/v1/sessions/{json.loads(got[0])['id']}?drop=1")


def test_programs_wait_for_slot_and_end_when_client_leaves(any_remit):
    with two_keys(any_remit, "--max-running", "2") as (s, alice, bob), sleepers(s, alice, 2):
        # Alice's share is one slot: one of her programs runs and one waits.
        assert s.run("print(1)")["stdout"] == "1\n"
        with s.stream("/v1/runs", {"code": "print(input())", "stdin": "x\n"}) as events:
            assert [e["type"] for e in events][-1] == "result"
        # Bob's own slot is used as well. His next program waits, and its client cancels it.
        with s.stream("/v1/runs", {"code": "import time; time.sleep(3600)", "policy": {"timeout": "1h"}}) as running:
            next(running)
            with s.stream("/v1/runs", {"code": "1"}) as waiting:
                next(waiting)
                until(lambda: s.metric("remit_rooms") == 4)
            until(lambda: s.metric("remit_rooms") == 3, "a cancelled program still waits for a slot")


def cpu_shares(s: Served) -> list[int]:
    """The CPU share of each running program, read from the cgroups of its processes. A warm child without a program
    does not count."""
    found = []
    for pid in family(s.process.pid):
        with contextlib.suppress(OSError):
            if name_of(pid) != "remit-init":
                continue
            groups = pathlib.Path(f"/proc/{pid}/cgroup").read_text()
            v1 = re.search(r":(?:\w+,)*cpu(?:,\w+)*:(.*/remit-\S+)", groups)
            v2 = re.search(r"^0::(.*/remit-\S+)", groups, re.M)
            if v1:
                found.append(int(pathlib.Path(f"/sys/fs/cgroup/cpu{v1[1]}/cpu.shares").read_text()))
            elif v2:
                weight = int(pathlib.Path(f"/sys/fs/cgroup{v2[1]}/cpu.weight").read_text())
                found.append(weight * 1024 // 100)
    return sorted(found)


def test_programs_of_one_key_share_cpu_time_of_one_program(remit):
    """Processor time is divided between keys if cgroups support it."""
    divides = {c["name"]: c["yes"] for c in json.loads(remit("doctor", "--json").stdout)["capabilities"]}["cgroup_share"]
    with two_keys(remit) as (s, alice, bob), sleepers(s, alice, 4):
        with s.stream("/v1/runs", {"code": "import time; time.sleep(3600)", "policy": {"timeout": "1h"}}) as running:
            next(running)
            if divides:
                # Alice's four programs, and with Bob's one the warm children
                until(lambda: (shares := cpu_shares(s)).count(256) == 4 and set(shares) == {256, 1024}, lambda: cpu_shares(s))
            assert s.run("6 * 7")["value"]["json"] == 42
        opened = s.json("POST", "/v1/sessions", {}, status=201)["id"]
        assert s.json("POST", f"/v1/sessions/{opened}/cells", {"code": "1 + 1"})["value"]["json"] == 2
        if divides:
            # An idle session has the lowest weight.
            until(lambda: cpu_shares(s)[0] <= 2, lambda: cpu_shares(s))


# ---- memory ----


def start(stack: contextlib.ExitStack, s: Served, key: str, body: dict, path: str = "/v1/runs") -> http.client.HTTPConnection:
    """Send a request without waiting for its answer. The client has little buffer space for what it does not read."""
    one = stack.enter_context(contextlib.closing(s.connect()))
    one.sock = socket.socket()
    one.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    one.sock.settimeout(120)
    one.sock.connect(("127.0.0.1", s.port))
    one.request("POST", path, json.dumps(body), {"Authorization": f"Bearer {key}", "Content-Type": "application/json"})
    return one


def is_answered(one: http.client.HTTPConnection) -> bool:
    return bool(select.select([one.sock], [], [], 0)[0])


def answer(one: http.client.HTTPConnection) -> tuple[int, dict]:
    got = one.getresponse()
    return got.status, json.loads(got.read())


SLEEP = {"code": "import time; time.sleep(3600)", "policy": {**SMALL, "timeout": "1h"}}


def test_programs_waiting_for_memory_do_not_delay_other_keys(any_remit):
    with two_keys(any_remit, "--max-memory", "400M") as (s, alice, bob), contextlib.ExitStack() as stack:
        runs = s.events  # the runs of bob, who has a separate share
        first = stack.enter_context(contextlib.closing(s.connect()))
        sleeper = {**SLEEP, "code": "print('up', flush=True)\n" + SLEEP["code"], "stream": "ndjson"}
        first.request("POST", "/v1/runs", json.dumps(sleeper), {"Authorization": f"Bearer {alice}", "Content-Type": "application/json"})
        events = first.getresponse()
        begun = json.loads(events.readline())["id"]
        # The first event comes before the program has its memory.
        while b"up" not in events.readline():
            pass
        waiting = start(stack, s, alice, {"code": "print(1)", "policy": SMALL})
        until(lambda: s.metric("remit_rooms") == 2)
        for _ in range(3):
            assert runs("/v1/runs", {"code": "1", "policy": SMALL})[-1]["result"]["status"] == "ok"
        assert not is_answered(waiting), answer(waiting)
        s.json("POST", f"/v1/runs/{begun}/interrupt", {}, token=alice)
        assert answer(waiting)[1]["stdout"] == "1\n"


def test_program_waiting_for_memory_ends_when_client_leaves(any_remit):
    with two_keys(any_remit, "--max-memory", "400M") as (s, alice, bob), contextlib.ExitStack() as stack:
        start(stack, s, alice, SLEEP)
        until(lambda: s.metric("remit_rooms") == 1)
        with contextlib.ExitStack() as soon:
            start(soon, s, alice, SLEEP)
            until(lambda: s.metric("remit_rooms") == 2)
        until(lambda: s.metric("remit_rooms") == 1, "a cancelled program still waits for memory")


def test_session_without_free_memory_is_busy(any_remit):
    with two_keys(any_remit, "--max-memory", "500M") as (s, alice, bob):
        ids = [s.json("POST", "/v1/sessions", {"policy": SMALL}, status=201, token=alice)["id"] for _ in range(2)]
        got = s.json("POST", "/v1/sessions", {"policy": SMALL}, status=429, token=alice)
        assert "memory" in got["error"]["message"] and "MiB" not in got["error"]["message"]  # the answer does not reveal how much others use
        assert s.request("POST", "/v1/sessions", {"policy": SMALL})[0] == 201
        s.json("POST", f"/v1/sessions/{ids[0]}/reset", {}, token=alice)  # has no effect
        assert s.request("POST", "/v1/sessions", {"policy": SMALL}, token=alice)[0] == 429
        s.json("DELETE", f"/v1/sessions/{ids[0]}", token=alice)
        assert s.request("POST", "/v1/sessions", {"policy": SMALL}, token=alice)[0] == 201
        # A session that cannot be opened does not keep its memory.
        s.json("DELETE", f"/v1/sessions/{ids[1]}", token=alice)
        wrong = {**SMALL, "packages": ["remit-no-such-package"], "package_offline": True}
        for _ in range(3):
            assert s.request("POST", "/v1/sessions", {"policy": wrong}, token=alice)[0] not in (201, 429)
        assert s.request("POST", "/v1/sessions", {"policy": SMALL}, token=alice)[0] == 201


def test_branches_count_against_key_memory(any_remit):
    with two_keys(any_remit, "--max-memory", "500M") as (s, alice, bob):
        one = s.json("POST", "/v1/sessions", {"policy": SMALL, "forkable": True}, status=201, token=alice)["id"]
        branch = s.json("POST", f"/v1/sessions/{one}/fork", {}, status=201, token=alice)["id"]
        for _ in range(2):
            s.json("POST", f"/v1/sessions/{one}/fork", {}, status=429, token=alice)
        s.json("DELETE", f"/v1/sessions/{branch}", token=alice)
        s.json("POST", f"/v1/sessions/{one}/fork", {}, status=201, token=alice)


@pytest.mark.parametrize("path", ("/v1/runs", "/v1/sessions", "/sandboxes", "/run_code", "/"))
def test_program_that_never_fits_is_refused_with_remedy(any_remit, path):
    body = {
        "/v1/runs": {"code": "1", "policy": {**SMALL, "memory_bytes": "300M"}},
        "/v1/sessions": {"policy": {**SMALL, "memory_bytes": "unlimited"}},
        "/sandboxes": {"templateID": "base"},  # by the default policy
        "/run_code": {"code": "1", "language": "python"},
        "/": {"code": "1"},
    }[path]
    with two_keys(any_remit, "--max-memory", "500M") as (s, alice, bob):
        status, _, text = s.request("POST", path, body)
        assert status in (400, 422, 500), text
        assert b"the limit of this server is 250 MiB for the programs of one key" in text
        if path.startswith("/v1"):
            error = json.loads(text)["error"]
            assert status == 422 and error["where"] == "memory_bytes" and "--max-memory" in error["remedy"]
        assert s.run("print(1)", policy=SMALL)["stdout"] == "1\n"


def test_single_key_may_use_all_slots_of_keeper(remit):
    """With any policy from the server's options, and on a small machine."""
    with serve(remit, "--memory", "unlimited") as s:
        ids = [s.json("POST", "/v1/sessions", {}, status=201)["id"] for _ in range(64)]
        assert "at most 64 sessions" in s.json("POST", "/v1/sessions", {}, status=429)["error"]["message"]
        for one in ids:
            s.json("DELETE", f"/v1/sessions/{one}?drop=1")


def test_many_policies_of_one_key_leave_another_warm(remit):
    with two_keys(remit) as (s, alice, bob):

        def start(key: str, **policy) -> str:
            return s.json("POST", "/v1/runs", {"code": "1", "policy": policy}, token=key)["start"]

        until(lambda: start(bob) == "warm")
        until(lambda: any(p["waiting"] for p in s.json("GET", "/v1/status")["pools"]))
        for seconds in range(40):
            start(alice, timeout=f"{seconds + 1}m")
        # Each of these would need a zygote.
        modules = ("abc", "ast", "bz2", "cmd", "csv", "dis", "pdb", "wave")
        for first, second in itertools.permutations(modules, 2):
            start(alice, preload=[first, second])
        status = s.json("GET", "/v1/status")
        warm = [p for p in status["pools"] if p["target"] or p["waiting"] or p["building"]]
        assert 0 < len(warm) <= 32 and 0 < len(status["zygotes"]) <= 32, status
        assert start(bob) == "warm"


# ---- bodies ----


def test_json_values_count_as_bytes_of_body(any_remit):
    """An empty object is two bytes of text and a hundred times as much in memory."""
    with two_keys(any_remit, "--max-body-bytes", "8M") as (s, alice, bob):
        for path in ("/v1/runs", "/mcp"):
            few, many = ({"code": "1", "more": [{}] * count} for count in (1000, 45000))
            assert s.request("POST", path, few)[0] == 400
            assert s.request("POST", path, many)[0] == 429
        assert s.run("1")["status"] == "ok"


def test_slow_bodies_of_one_key_do_not_refuse_another_s(remit):
    """Alice sends as many bytes as the bodies of all keys may have together, except the last ones."""
    with two_keys(remit) as (s, alice, bob), contextlib.ExitStack() as stack:
        head = HEAD.format(token=alice) + f"Content-Length: {96 << 20}\r\n\r\n"
        refused = 0
        for size in (95 << 20, 95 << 20, (66 << 20) - 64):
            slow = stack.enter_context(socket.create_connection(("127.0.0.1", s.port), timeout=120))
            try:
                slow.sendall(head.encode())
                for _ in range(size >> 16):
                    slow.sendall(b" " * 2**16)
                slow.sendall(b" " * (size % 2**16))
                until(lambda: not unread_bytes(s.port), "the body was not read")
                slow.sendall(b" ")
                slow.settimeout(0.3)
                refused += slow.recv(16).startswith(b"HTTP/1.1 429")
            except TimeoutError:
                pass  # the server waits for the rest
            except ConnectionError:
                refused += 1
        for _ in range(3):
            assert s.run("print('a program that has more than 64 bytes of JSON around it')")["status"] == "ok"
        assert refused == 2


def test_uploads_with_sandbox_token_count_against_its_key(any_remit):
    with two_keys(any_remit, "--max-body-bytes", "8M") as (s, alice, bob):
        made = s.json("POST", "/sandboxes", {"templateID": "base"}, status=201, token=alice)
        head = (
            f"POST /files?path=a HTTP/1.1\r\nHost: localhost\r\nE2b-Sandbox-Id: {made['sandboxID']}\r\nE2b-Sandbox-Port: 49983\r\n"
            f"X-Access-Token: {made['envdAccessToken']}\r\nContent-Type: multipart/form-data; boundary=x\r\n"
        )
        got = s.raw((head + f"Content-Length: {6 << 20}\r\n\r\n").encode() + b" " * (5 << 20))
        assert got.startswith(b"HTTP/1.1 429"), got[:200]
        assert s.run("1")["status"] == "ok"


# ---- connections ----


@contextlib.contextmanager
def unauthorized_connections(s: Served, count: int, sent: bytes):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            one = stack.enter_context(socket.create_connection(("127.0.0.1", s.port), timeout=60))
            with contextlib.suppress(ConnectionError):
                one.sendall(sent)
        yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("sent", (b"", b"GET /", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 40), ids=("silent", "half a head", "deaf"))
def test_connections_without_key_do_not_stop_server(remit, sent):
    with two_keys(remit) as (s, alice, bob), unauthorized_connections(s, 1100, sent):
        assert s.request("GET", "/v1/status", timeout=60)[0] == 200
        assert s.run("print(1)")["stdout"] == "1\n"


def test_connections_of_one_key_leave_some_for_another(any_remit):
    with two_keys(any_remit, "--max-connections", "8") as (s, alice, bob), contextlib.ExitStack() as stack:

        def connect(key: str) -> http.client.HTTPResponse:
            one = stack.enter_context(contextlib.closing(s.connect()))
            body = json.dumps({"code": "import time; time.sleep(3600)", "policy": {"timeout": "1h"}, "stream": "ndjson"})
            one.request("POST", "/v1/runs", body, {"Authorization": f"Bearer {key}", "Content-Type": "application/json"})
            return one.getresponse()

        assert [connect(alice).status for _ in range(6)] == [200] * 4 + [429] * 2
        assert s.run("1")["status"] == "ok"
        assert [connect(bob).status for _ in range(3)] == [200] * 3
        assert s.run("1")["status"] == "ok"


def test_idle_connections_of_key_are_closed_for_new_ones(any_remit):
    with two_keys(any_remit, "--max-connections", "8") as (s, alice, bob), contextlib.ExitStack() as stack:
        for key in (alice, bob) * 20:
            one = stack.enter_context(contextlib.closing(s.connect()))
            one.request("GET", "/v1/sessions", headers={"Authorization": f"Bearer {key}"})
            answer = one.getresponse()
            assert answer.status == 200 and answer.read() == b"[]"
        assert s.metric("remit_http_connections") <= 8


# ---- artifacts ----


def leave_files(s: Served, key: str, count: int, size: int, **policy) -> dict:
    code = f"for i in range({count}): open(f'{{i}}.bin', 'wb').truncate({size})"
    return s.json("POST", "/v1/runs", {"code": code, "policy": {"artifact_export_paths": ["*.bin"], **policy}}, token=key)


def test_artifacts_of_one_key_do_not_evict_another_s(remit):
    with two_keys(remit) as (s, alice, bob):
        mine = s.run("open('mine', 'w').write('precious')", policy={"artifact_export_paths": ["mine"]})["id"]
        ids = [leave_files(s, alice, 4, (64 << 20) - 65536)["id"] for _ in range(5)]
        assert s.request("GET", f"/v1/runs/{mine}/artifacts/mine")[2] == b"precious"
        # Alice's newest artifact is available, her oldest is not.
        there = [s.request("HEAD", f"/v1/runs/{one}/artifacts/0.bin", token=alice)[0] for one in ids]
        assert there[0] == 404 and there[-1] == 200


def test_artifact_without_space_is_skipped(any_remit):
    with two_keys(any_remit, "--max-artifact-bytes", "8M") as (s, alice, bob):
        got = leave_files(s, alice, 3, 3 << 19)
        assert len(got["artifacts"]) == 2 and got["status"] == "ok"
        (skipped,) = got["artifacts_skipped"]
        assert "space" in skipped["reason"]
        assert leave_files(s, bob, 2, 3 << 19)["artifacts_skipped"] == []


def store_of(s: Served) -> pathlib.Path:
    """The folder in which the server stores artifacts."""
    for link in pathlib.Path(f"/proc/{s.process.pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            if "remit-artifact" in os.readlink(link):
                return pathlib.Path(os.readlink(link))
    raise AssertionError("no such folder")


def test_artifacts_of_killed_server_are_removed_by_next(remit):
    with contextlib.suppress(AssertionError), two_keys(remit) as (s, alice, bob):
        leave_files(s, alice, 1, 1 << 20)
        left = store_of(s)
        s.process.kill()
        s.process.wait()
    assert any(left.iterdir())
    with two_keys(remit) as (s, alice, bob):
        assert store_of(s) != left and not left.exists()
        with two_keys(remit, names=("other",)) as (other, _):
            assert store_of(s).exists() and store_of(s) != store_of(other)


def test_dropped_sessions_leave_no_artifact_folder(any_remit):
    with two_keys(any_remit) as (s, alice, bob):
        policy = {"artifact_export_paths": ["*"]}
        for _ in range(3):
            one = s.json("POST", "/v1/sessions", {"policy": policy}, status=201)["id"]
            s.json("DELETE", f"/v1/sessions/{one}?drop=1")
        until(lambda: not any(store_of(s).iterdir()), "folders are left")


# ---- package installations ----


class DeafIndex:
    """A package index that accepts requests and answers none."""

    def __init__(self) -> None:
        self.asked: set[str] = set()
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.connections: list[socket.socket] = []
        self.thread = threading.Thread(target=self.accept_requests)
        self.thread.start()

    def accept_requests(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                one = self.socket.accept()[0]
                self.connections.append(one)
                threading.Thread(target=self.record_request, args=(one,), daemon=True).start()

    def record_request(self, one: socket.socket) -> None:
        with contextlib.suppress(OSError):
            found = re.search(rb"/simple/([a-z0-9-]+)/", one.recv(4096))
            if found:
                self.asked.add(found[1].decode())

    def close(self) -> None:
        self.socket.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        for one in (self.socket, *self.connections):
            one.close()


@pytest.mark.parametrize("path", ("/v1/runs", "/v1/sessions"))
def test_installations_of_one_key_leave_some_for_another(remit, path):
    with contextlib.closing(DeafIndex()) as index, contextlib.ExitStack() as stack:
        url = f"http://127.0.0.1:{index.socket.getsockname()[1]}/simple"
        code = {"code": "1"} if path == "/v1/runs" else {}
        policy = {"package_time": "5m"}
        with contextlib.suppress(AssertionError), two_keys(remit, "--index-url", url) as (s, alice, bob):
            for i in range(6):
                start(stack, s, alice, {**code, "policy": {**policy, "packages": [f"alices-{i}"]}}, path)
            until(lambda: len(index.asked) == 2, lambda: index.asked)
            start(stack, s, bob, {**code, "policy": {**policy, "packages": ["bobs-own"]}}, path)
            until(lambda: "bobs-own" in index.asked, lambda: index.asked)
            asked = set(index.asked)
            s.process.kill()  # otherwise it waits for sessions that are being opened
            s.process.wait()
        assert len(asked) == 3 and "bobs-own" in asked


# ---- results ----


def peak_bytes(s: Served) -> int:
    """The server's peak memory in bytes."""
    (kib,) = re.findall(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{s.process.pid}/status").read_text())
    return int(kib) * 1024


@pytest.mark.parametrize("stream", (None, "ndjson"))
def test_result_needs_little_more_memory_than_its_json(any_remit, stream):
    """A control character is six bytes of JSON."""
    size = 16 << 20
    with serve(any_remit) as s:
        s.run("1")
        before = peak_bytes(s)
        code = f"import sys; sys.stdout.write('\\x01' * {size})"
        body = {"code": code, "policy": {"stdout_max_bytes": size}, **({"stream": stream} if stream else {})}
        text = s.request("POST", "/v1/runs", body)[2]
        assert text.count(b"\\u0001") >= size
        assert peak_bytes(s) - before < 11 * size


def test_key_without_policy_has_result_limits(remit):
    with two_keys(remit, "--value-max", "32M") as (s, alice, bob):
        for field, value in (
            ("stdout_max_bytes", "17M"), ("stderr_max_bytes", "1G"), ("value_bytes", "33M"), ("display_bytes", "65M"),
            ("artifact_file_bytes", "1T"), ("artifact_bytes", "513M"), ("artifact_files", 10001), ("tool_bytes", "64M"),
        ):  # fmt: skip
            for path in ("/v1/runs", "/v1/sessions"):
                got = s.json("POST", path, {"policy": {field: value}, **({"code": "1"} if path == "/v1/runs" else {})}, status=403)
                assert got["error"]["where"] == field
        # Limits from the server's options apply to keys as well.
        policy = {"stdout_max_bytes": "16M", "value_bytes": "32M", "display_bytes": "64M", "artifact_bytes": "512M"}
        assert s.run("1", policy=policy)["status"] == "ok"


# ---- sending results ----


def long_result(size: int, text: str = "x") -> dict:
    return {"code": f"print({text!r} * {size - 1})", "policy": {**SMALL, "stdout_max_bytes": size}}


def test_slow_reader_delays_only_results_of_its_key(any_remit):
    size = 12 << 20  # more than the kernel's buffers take
    with two_keys(any_remit, "--max-result-bytes", "256M") as (s, alice, bob), contextlib.ExitStack() as stack:
        unread = [start(stack, s, alice, long_result(size)) for _ in range(5)]
        # Each result takes 96 MiB while its JSON is made and 12 afterwards. Alice's share is 128 MiB.
        until(lambda: sum(map(is_answered, unread)) == 3)
        until(lambda: s.metric("remit_rooms") == 2)
        for _ in range(2):
            assert len(s.json("POST", "/v1/runs", long_result(size))["stdout"]) == size
        assert s.metric("remit_rooms") == 2 and sum(map(is_answered, unread)) == 3
        for one in sorted(unread, key=is_answered, reverse=True):
            assert len(answer(one)[1]["stdout"]) == size
        s.wait_for_no_hosted_sessions()


def test_runs_with_waiting_results_count_against_key(any_remit):
    """Even if their clients have left, since each has a thread."""
    with two_keys(any_remit, "--max-result-bytes", "256M", "--max-rooms", "8") as (s, alice, bob), contextlib.ExitStack() as stack:
        unread = [start(stack, s, alice, long_result(12 << 20)) for _ in range(3)]
        until(lambda: all(map(is_answered, unread)))
        with contextlib.ExitStack() as soon:
            for _ in range(4):
                start(soon, s, alice, long_result(12 << 20))
            until(lambda: s.metric("remit_rooms") == 4)
            time.sleep(1)  # time to run, since leaving kills those that have not
        assert s.json("POST", "/v1/runs", SLEEP, status=429, token=alice)
        assert s.run("print(1)")["stdout"] == "1\n"
        for one in unread:
            answer(one)
        s.wait_for_no_hosted_sessions()


def test_result_that_never_fits_is_error_with_remedy(any_remit):
    policy = {**SMALL, "stdout_max_bytes": "8M"}
    with two_keys(any_remit, "--max-result-bytes", "64M") as (s, alice, bob):
        got = s.json("POST", "/v1/runs", {"code": "print('x' * (8 << 20))", "policy": policy}, status=422)["error"]
        assert "for the results of one key is 32 MiB" in got["message"] and "--max-result-bytes" in got["remedy"]
        one = s.json("POST", "/v1/sessions", {"policy": policy}, status=201)["id"]
        s.json("POST", f"/v1/sessions/{one}/cells", {"code": "x = 'x' * (8 << 20)\nprint(x)"}, status=422)
        assert s.json("POST", f"/v1/sessions/{one}/cells", {"code": "len(x)"})["value"]["json"] == 8 << 20
    with serve(any_remit, "--max-result-bytes", "8M") as s:  # a single key is not refused
        assert len(s.json("POST", "/v1/runs", {"code": "print('x' * (8 << 20))", "policy": policy})["stdout"]) == 8 << 20


def test_server_ends_while_results_wait(any_remit):
    with two_keys(any_remit, "--max-result-bytes", "256M") as (s, alice, bob), contextlib.ExitStack() as stack:
        unread = [start(stack, s, alice, long_result(12 << 20)) for _ in range(5)]
        until(lambda: sum(map(is_answered, unread)) == 3)
        s.process.send_signal(signal.SIGTERM)
        until(s.is_deaf)
        s.process.send_signal(signal.SIGTERM)  # the second signal ends the server at once
        assert s.process.wait(30) == 0


# ---- the sum of all limits ----


def sum_of_limits(text: str) -> dict[str, int]:
    """Parse the sizes that `remit serve --limits` prints, in bytes."""
    units = {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
    size = r"(\d+) (bytes|[KMGT]iB)"
    names = {
        "memory": f"Memory: at most {size}", "programs": f"programs {size}", "results": f"results {size}", "bodies": f"bodies {size}",
        "server": f"the server itself {size}", "keeper": f"its keeper {size}", "machine": f"this machine has {size}",
        "disk": f"Disk: at most {size}", "artifacts": f"artifacts {size}", "packages": f", packages {size}", "snapshots": f", snapshots {size}",
    }  # fmt: skip
    found = {name: re.search(pattern, text) for name, pattern in names.items()}
    assert all(found.values()), (found, text)
    return {name: int(f[1]) * units[f[2]] for name, f in found.items()}


def test_sum_of_limits_is_printed(any_remit):
    for flags in ((), ("--max-memory", "64M", "--max-result-bytes", "32M", "--max-body-bytes", "16M", "--max-artifact-bytes", "8M")):
        sums = sum_of_limits(any_remit("serve", "--limits", *flags).stdout)
        assert sums["memory"] == sum(sums[name] for name in ("programs", "results", "bodies", "server", "keeper"))
        assert sums["disk"] == sums["artifacts"] + sums["packages"] + sums["snapshots"]
    assert sums["programs"] == 64 << 20 and sums["results"] == 32 << 20 and sums["bodies"] == 4 * 16 << 20
    assert any_remit("serve", "--limits", "--max-connections", "1").stdout.count("the server itself") == 1


@pytest.mark.parametrize("flags", ((), ("--max-memory", "1T"), ("--max-memory", "64M")), ids=("default", "too much", "little"))
def test_server_warns_if_limits_exceed_machine(any_remit, flags):
    with two_keys(any_remit, *flags) as (s, alice, bob):
        stderr = s.process.stderr.fileno()  # printed before the address
        text = os.read(stderr, 4096).decode() if select.select([stderr], [], [], 0)[0] else ""
    keys = any_remit.folder / "tenants.json"
    for name in ("alice", "bob"):
        any_remit("serve", "--keys", keys, "--add-key", name)
    sums = sum_of_limits(any_remit("serve", "--limits", "--keys", keys, *flags).stdout)
    keys.unlink()
    assert ("add up to" in text) == (sums["memory"] > sums["machine"]), text
    assert ("add up to" in text) == ("1T" in flags) or sums["machine"] < 4 << 30


def processes_of(s: Served) -> list[int]:
    """The server, its keeper, and all processes below them."""
    parents = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    found = [s.process.pid]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found


def groups_of(pids: list[int]) -> set[pathlib.Path]:
    """The cgroups of jails that count memory. None if an ordinary user cannot create any."""
    found = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines():
                _, kinds, path = line.split(":", 2)
                for top in ("/sys/fs/cgroup", f"/sys/fs/cgroup/{kinds}", "/sys/fs/cgroup/unified"):
                    group = pathlib.Path(top + path)
                    if "remit-" in group.name and any((group / name).exists() for name in ("memory.current", "memory.usage_in_bytes")):
                        found.add(group)
    return found


def memory_of(s: Served) -> dict[str, int]:
    """The memory of the server, of all other processes outside counted jails, and of those jails."""
    got = {"server": 0, "others": 0, "jails": 0}
    pids = processes_of(s)
    groups = groups_of(pids)
    counted = {pid for g in groups for pid in (g / "cgroup.procs").read_text().split()}
    for pid in pids:
        with contextlib.suppress(OSError):
            text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
            pss = sum(int(kib) << 10 for kib in re.findall(r"^(?:Pss|SwapPss):\s+(\d+)", text, re.M))
            kind = "server" if pid == s.process.pid else "jails" if str(pid) in counted else "others"
            got[kind] += 0 if kind == "jails" else pss
    for group in groups:
        for name in ("memory.current", "memory.usage_in_bytes"):
            with contextlib.suppress(OSError):
                got["jails"] += int((group / name).read_text())
    return got


FILL = "import time\nx = b'x' * (40 << 20)\nwith open('file', 'wb') as f:\n    for _ in range(20): f.write(b'x' * (1 << 20))\n"


def test_memory_with_all_limits_reached_is_within_sum(remit):
    """Two keys and clients without a key use everything whose memory or disk space is limited, except packages."""
    flags = (
        "--max-running", "4", "--max-sessions", "4", "--max-rooms", "16", "--max-memory", "1300M", "--max-result-bytes", "160M",
        "--max-body-bytes", "8M", "--max-connections", "64", "--max-artifact-bytes", "32M",
    )  # fmt: skip
    with two_keys(remit, *flags) as (s, alice, bob), contextlib.ExitStack() as stack:
        sums = sum_of_limits(remit("serve", "--limits", *flags).stdout)
        kept, asleep = [], []
        for key in (alice, bob):
            for _ in range(3):
                leave_files(s, key, 1, 7 << 20, **SMALL)
            for _ in range(2):
                one = s.json("POST", "/v1/sessions", {"policy": SMALL}, status=201, token=key)["id"]
                assert s.json("POST", f"/v1/sessions/{one}/cells", {"code": FILL}, token=key)["status"] == "ok"
            # Each character is six bytes of JSON: 64 MiB while it is made and 48 afterwards, of a share of 80.
            unread = [start(stack, s, key, long_result(8 << 20, "\x01")) for _ in range(2)]
            until(lambda unread=unread: any(map(is_answered, unread)))
            kept += unread
        for key in (alice, bob):
            # Two of these run, the others wait.
            asleep += [start(stack, s, key, {**SLEEP, "code": FILL + "time.sleep(3600)"}) for _ in range(5)]
        until(lambda: memory_of(s)["jails" if groups_of(processes_of(s)) else "others"] > 8 * 40 << 20, lambda: f"the jails are not full: {memory_of(s)}, {s.metric('remit_rooms')}")
        for key in (alice, bob):  # a body may pause for ten seconds only
            slow = stack.enter_context(socket.create_connection(("127.0.0.1", s.port), timeout=60))
            slow.sendall((HEAD.format(token=key) + f"Content-Length: {90 << 20}\r\n\r\n").encode() + b" " * (3 << 20))
        until(lambda: not unread_bytes(s.port), "the bodies were not read")
        stack.enter_context(unauthorized_connections(s, 64, b"GET /"))
        assert 60 <= s.metric("remit_http_connections") <= 64
        # Each limit is reached.
        for key in (alice, bob):
            assert s.request("POST", "/v1/sessions", {"policy": SMALL}, token=key)[0] == 429
            assert s.request("POST", "/v1/runs", {"code": "1", "policy": {"memory_bytes": "2G"}}, token=key)[0] == 422
            assert s.request("POST", "/v1/runs", b" " * (2 << 20), {"Content-Type": "application/json"}, key)[0] == 429
        assert sum(map(is_answered, kept)) == 2 and not any(map(is_answered, asleep))
        assert s.metric("remit_rooms") >= 4 + 4 + 2
        got = memory_of(s)
        assert got["server"] < sums["results"] + sums["bodies"] + sums["server"], (got, sums)
        assert peak_bytes(s) < sums["results"] + sums["bodies"] + sums["server"]
        assert got["others"] < sums["keeper"] + (0 if got["jails"] else sums["programs"]), (got, sums)
        assert got["jails"] < sums["programs"], (got, sums)
        assert (sums["memory"] - sums["keeper"]) // 4 < sum(got.values()) < sums["memory"], (got, sums)
        on_disk = sum(f.stat().st_blocks * 512 for f in store_of(s).rglob("*") if f.is_file())
        assert 24 << 20 < on_disk <= sums["artifacts"] + (64 << 10)


def test_table_of_limits_is_in_help_and_documents(any_remit):
    table, _, _ = any_remit("serve", "--limits").stdout.partition("\n\n")
    assert table in (ROOT / "docs" / "reference" / "http.md").read_text()
    options = re.findall(r"\| `(--[a-z-]+)` \|", table)
    shown = any_remit("serve", "--help").stdout
    assert options
    for option in options:
        assert f"\n  {option} " in shown and f"{option} " in any_remit("completion").stdout


@pytest.mark.parametrize("wrong", ("0", "65", "-1", "x", ""))
def test_invalid_limit_is_refused(any_remit, wrong):
    done = any_remit("serve", "--listen", "127.0.0.1:0", f"--max-running={wrong}")
    assert done.returncode == 2 and "--max-running" in done.stderr
