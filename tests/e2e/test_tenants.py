"""Two keys of one server, as `remit serve --add-key` makes them: what one does must not stop the other."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import pathlib
import re
import resource
import socket
import threading

import pytest
from conftest import ROOT
from leftovers import name_of
from served import Served, serve
from shared_keeper import family
from test_serve_hostile import HEAD, unread_bytes
from waiting import until


@contextlib.contextmanager
def two_keys(remit, *flags: str, names: tuple[str, ...] = ("alice", "bob")):
    """The server, and the key of each name."""
    path = remit.folder / "tenants.json"
    path.unlink(missing_ok=True)
    keys = [remit("serve", "--keys", path, "--add-key", name).stdout.strip() for name in names]
    document = json.loads(path.read_text())
    document["keys"][-1]["operator"] = True  # to see the numbers of the whole server; it changes no limit
    path.write_text(json.dumps(document))
    with serve(remit, "--keys", path, *flags) as s:
        s.token = keys[-1]  # of the one who must notice nothing
        yield s, *keys
    path.unlink(missing_ok=True)


@contextlib.contextmanager
def sleepers(s: Served, key: str, count: int):
    """So many programs of a key, until the end of the block."""

    def sleep() -> None:
        with contextlib.suppress(OSError):
            s.ask("POST", "/v1/runs", {"code": "import time; time.sleep(3600)", "policy": {"timeout": "1h"}}, token=key)

    threads = [threading.Thread(target=sleep) for _ in range(count)]
    before = s.metric("remit_rooms")
    for t in threads:
        t.start()
    try:
        until(lambda: s.metric("remit_rooms") == before + count, "the programs are not there")
        yield
        assert s.metric("remit_rooms") >= before + count, "they did not sleep long enough to prove anything"
    finally:
        s.stop_listening()  # so that they end
        s.process.terminate()
        for t in threads:
            t.join()


# ---- places ----


def test_sleeping_programs_of_one_key_do_not_stop_another(remit):
    with two_keys(remit) as (s, alice, bob), sleepers(s, alice, 64):
        for _ in range(3):
            assert s.run("print(1)")["stdout"] == "1\n"


def test_idle_sessions_of_one_key_leave_sessions_for_another(remit):
    with two_keys(remit) as (s, alice, bob):
        opened = 0
        while (status := s.ask("POST", "/v1/sessions", {}, token=alice)[0]) == 201:
            opened += 1
        assert status == 429 and opened == 32
        mine = s.json("POST", "/v1/sessions", {}, status=201)["id"]
        assert s.json("POST", f"/v1/sessions/{mine}/cells", {"code": "6 * 7"})["value"]["json"] == 42


def test_a_single_key_has_all_places(any_remit):
    with two_keys(any_remit, "--max-sessions", "6", names=("alone",)) as (s, alone):
        statuses = [s.ask("POST", "/v1/sessions", {})[0] for _ in range(7)]
        assert statuses == [201] * 6 + [429]


def test_the_share_of_a_key_is_an_option(any_remit):
    with two_keys(any_remit, "--max-sessions", "8", "--key-share", "25") as (s, alice, bob):
        statuses = [s.ask("POST", "/v1/sessions", {}, token=alice)[0] for _ in range(3)]
        assert statuses == [201, 201, 429]
        got = s.json("POST", "/v1/sessions", {}, status=429, token=alice)
        assert "share of one key: 2" in got["error"]["message"]


def test_a_place_is_free_when_its_session_has_ended(any_remit):
    with two_keys(any_remit, "--max-sessions", "2", names=("alone",)) as (s, alone):
        for _ in range(5):
            for one in [s.json("POST", "/v1/sessions", {}, status=201)["id"] for _ in range(2)]:
                s.json("DELETE", f"/v1/sessions/{one}")
        for _ in range(5):
            # The jail of a session that is dropped ends after the answer.
            got = until(lambda: [text for status, _, text in [s.ask("POST", "/v1/sessions", {})] if status == 201])
            s.json("DELETE", f"/v1/sessions/{json.loads(got[0])['id']}?drop=1")


def test_programs_wait_for_a_place_and_end_when_their_client_leaves(any_remit):
    with two_keys(any_remit, "--max-running", "2") as (s, alice, bob), sleepers(s, alice, 2):
        # Alice's share is one place: one program runs and one waits.
        assert s.run("print(1)")["stdout"] == "1\n"
        with s.stream("/v1/runs", {"code": "print(input())", "stdin": "x\n"}) as events:
            assert [e["type"] for e in events][-1] == "result"
        # Bob's own place is taken as well: what waits now is cancelled by its client.
        with s.stream("/v1/runs", {"code": "import time; time.sleep(3600)", "policy": {"timeout": "1h"}}) as running:
            next(running)
            with s.stream("/v1/runs", {"code": "1"}) as waiting:
                next(waiting)
                until(lambda: s.metric("remit_rooms") == 4)
            until(lambda: s.metric("remit_rooms") == 3, "what nobody waits for still waits for a place")


def cpu_shares(s: Served) -> list[int]:
    """Of each program that runs, by the groups of its processes; a child that waits for a program is not one of them."""
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


def test_programs_of_one_key_divide_what_one_program_of_another_gets(remit):
    """Processor time is divided between keys, where a group can do that."""
    divides = {c["name"]: c["yes"] for c in json.loads(remit("doctor", "--json").stdout)["capabilities"]}["cgroup_share"]
    with two_keys(remit) as (s, alice, bob), sleepers(s, alice, 4):
        with s.stream("/v1/runs", {"code": "import time; time.sleep(3600)", "policy": {"timeout": "1h"}}) as running:
            next(running)
            if divides:
                # Alice's four, and next to Bob's one those that wait for a program.
                until(lambda: cpu_shares(s).count(256) == 4, lambda: cpu_shares(s))
                assert set(cpu_shares(s)) == {256, 1024}
            assert s.run("6 * 7")["value"]["json"] == 42
        opened = s.json("POST", "/v1/sessions", {}, status=201)["id"]
        assert s.json("POST", f"/v1/sessions/{opened}/cells", {"code": "1 + 1"})["value"]["json"] == 2
        if divides:
            # A session that rests weighs least.
            until(lambda: cpu_shares(s)[0] <= 2, lambda: cpu_shares(s))


# ---- bodies ----


def test_slow_bodies_of_one_key_do_not_have_anothers_refused(remit):
    """Alice sends all that the bodies of all keys may have together, but the last bytes."""
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
                until(lambda: not unread_bytes(s.port), "the body is not read")
                slow.sendall(b" ")
                slow.settimeout(0.3)
                refused += slow.recv(16).startswith(b"HTTP/1.1 429")
            except TimeoutError:
                pass  # it is waited for
            except ConnectionError:
                refused += 1
        for _ in range(3):
            assert s.run("print('a program that has more than 64 bytes of JSON around it')")["status"] == "ok"
        assert refused == 2


def test_uploads_with_a_sandboxs_token_count_for_its_key(any_remit):
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
def strangers(s: Served, count: int, sent: bytes):
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
def test_connections_without_a_key_do_not_stop_the_server(remit, sent):
    with two_keys(remit) as (s, alice, bob), strangers(s, 1100, sent):
        assert s.ask("GET", "/v1/status", timeout=60)[0] == 200
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


def test_idle_connections_of_a_key_give_way_to_its_new_ones(any_remit):
    with two_keys(any_remit, "--max-connections", "8") as (s, alice, bob), contextlib.ExitStack() as stack:
        for key in (alice, bob) * 20:
            one = stack.enter_context(contextlib.closing(s.connect()))
            one.request("GET", "/v1/sessions", headers={"Authorization": f"Bearer {key}"})
            answer = one.getresponse()
            assert answer.status == 200 and answer.read() == b"[]"
        assert s.metric("remit_http_connections") <= 8


# ---- artifacts ----


def leave_files(s: Served, key: str, count: int, size: int) -> dict:
    code = f"for i in range({count}): open(f'{{i}}.bin', 'wb').truncate({size})"
    return s.json("POST", "/v1/runs", {"code": code, "policy": {"artifact_export_paths": ["*.bin"]}}, token=key)


def test_artifacts_of_one_key_do_not_push_out_those_of_another(remit):
    with two_keys(remit) as (s, alice, bob):
        mine = s.run("open('mine', 'w').write('precious')", policy={"artifact_export_paths": ["mine"]})["id"]
        ids = [leave_files(s, alice, 4, (64 << 20) - 65536)["id"] for _ in range(5)]
        assert s.ask("GET", f"/v1/runs/{mine}/artifacts/mine")[2] == b"precious"
        # Her own newest is there, her oldest is not.
        there = [s.ask("HEAD", f"/v1/runs/{one}/artifacts/0.bin", token=alice)[0] for one in ids]
        assert there[0] == 404 and there[-1] == 200


def test_an_artifact_without_space_is_skipped_and_the_run_goes_well(any_remit):
    with two_keys(any_remit, "--max-artifact-bytes", "8M") as (s, alice, bob):
        got = leave_files(s, alice, 3, 3 << 19)
        assert len(got["artifacts"]) == 2 and got["status"] == "ok"
        (skipped,) = got["artifacts_skipped"]
        assert "space" in skipped["reason"]
        assert leave_files(s, bob, 2, 3 << 19)["artifacts_skipped"] == []


def store_of(s: Served) -> pathlib.Path:
    """The folder that the server keeps artifacts in."""
    for link in pathlib.Path(f"/proc/{s.process.pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            if "remit-artifact" in os.readlink(link):
                return pathlib.Path(os.readlink(link))
    raise AssertionError("there is none")


def test_artifacts_of_a_killed_server_are_removed_by_the_next(remit):
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


def test_dropped_sessions_leave_no_folder_behind(any_remit):
    with two_keys(any_remit) as (s, alice, bob):
        policy = {"artifact_export_paths": ["*"]}
        for _ in range(3):
            one = s.json("POST", "/v1/sessions", {"policy": policy}, status=201)["id"]
            s.json("DELETE", f"/v1/sessions/{one}?drop=1")
        until(lambda: not any(store_of(s).iterdir()), "folders are left behind")


# ---- results ----


def peak(s: Served) -> int:
    """The most bytes of memory that the server has held."""
    (kib,) = re.findall(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{s.process.pid}/status").read_text())
    return int(kib) * 1024


@pytest.mark.parametrize("stream", (None, "ndjson"))
def test_a_result_costs_the_server_little_more_than_its_json(any_remit, stream):
    """A control character is six bytes of JSON."""
    size = 16 << 20
    with serve(any_remit) as s:
        s.run("1")
        before = peak(s)
        code = f"import sys; sys.stdout.write('\\x01' * {size})"
        body = {"code": code, "policy": {"stdout_max_bytes": size}, **({"stream": stream} if stream else {})}
        text = s.ask("POST", "/v1/runs", body)[2]
        assert text.count(b"\\u0001") >= size
        assert peak(s) - before < 11 * size


def test_a_key_without_a_policy_has_ceilings_for_results(remit):
    with two_keys(remit, "--value-max", "32M") as (s, alice, bob):
        for field, value in (
            ("stdout_max_bytes", "17M"), ("stderr_max_bytes", "1G"), ("value_bytes", "33M"), ("display_bytes", "65M"),
            ("artifact_file_bytes", "1T"), ("artifact_bytes", "513M"), ("artifact_files", 10001), ("tool_bytes", "64M"),
        ):  # fmt: skip
            for path in ("/v1/runs", "/v1/sessions"):
                got = s.json("POST", path, {"policy": {field: value}, **({"code": "1"} if path == "/v1/runs" else {})}, status=403)
                assert got["error"]["where"] == field
        # What the server's own options give is theirs as well.
        policy = {"stdout_max_bytes": "16M", "value_bytes": "32M", "display_bytes": "64M", "artifact_bytes": "512M"}
        assert s.run("1", policy=policy)["status"] == "ok"


def test_the_table_of_limits_is_in_the_help_and_in_the_documents(any_remit):
    table = any_remit("serve", "--limits").stdout
    assert table in (ROOT / "docs" / "serve.md").read_text()
    options = re.findall(r"\| `(--[a-z-]+)` \|", table)
    shown, manual = any_remit("serve", "--help").stdout, (ROOT / "man" / "remit.1.scd").read_text()
    assert options
    for option in options:
        assert f"\n  {option} " in shown and f"*{option}*" in manual and f"{option} " in any_remit("completion").stdout


@pytest.mark.parametrize("wrong", ("0", "65", "-1", "x", ""))
def test_a_limit_that_cannot_be_kept_is_refused(any_remit, wrong):
    done = any_remit("serve", "--listen", "127.0.0.1:0", f"--max-running={wrong}")
    assert done.returncode == 2 and "--max-running" in done.stderr
