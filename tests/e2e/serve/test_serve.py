"""`remit serve`: runs, sessions and streams over HTTP."""

from __future__ import annotations

import base64
import json
import shutil
import socket
import subprocess
import threading

import pytest
from conftest import make_remit, skip_or_fail, users
from served import serve
from waiting import until

DEAF = "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('on', flush=True)\nwhile True: time.sleep(0.1)"


@pytest.fixture
def served(remit):
    with serve(remit) as s:
        yield s


@pytest.fixture(scope="module")
def any_served(stage):
    """A server for tests that do not depend on the user."""
    with serve(make_remit(users()[-1], stage)) as s:
        yield s


def test_run_has_same_result_as_command(served, remit):
    got = served.run("print(6 * 7)\n1 + 1")
    assert got["status"] == "ok" and got["stdout"] == "42\n" and got["value"]["json"] == 2
    assert len(got.pop("id")) == 20
    assert got.keys() == remit.json("1", "--python", "/usr/bin/python3").keys()


def test_run_has_inputs(served):
    code = "import sys\nprint(sys.argv[1:], input(), open('a.txt').read(), open('b/c.bin', 'rb').read())"
    files = [{"path": "a.txt", "text": "é"}, {"path": "b/c.bin", "base64": base64.b64encode(b"\0\xff").decode()}]
    got = served.run(code, argv=["x", "y"], stdin="line\n", files=files, name="who.py")
    assert got["stdout"] == "['x', 'y'] line é b'\\x00\\xff'\n"
    got = served.run("1 / 0", name="who.py")
    assert got["status"] == "error" and "who.py" in got["error"]["traceback"]


def test_long_request_works_like_short_one(any_served):
    text = "é" * 1_000_000
    got = any_served.run("print(len(input()))", stdin=text)
    assert got["stdout"] == "1000000\n"
    assert any_served.events("/v1/runs", {"code": "print(len(input()))", "stdin": text})[-1]["result"]["stdout"] == "1000000\n"
    error = any_served.json("POST", "/v1/runs", {"code": "1", "stdni": text}, status=400)["error"]
    assert "stdin" in error["message"]
    assert any_served.request("POST", "/v1/runs", b"[" * 90_000, headers={"Content-Type": "application/json"})[0] == 400


@pytest.mark.parametrize(
    "body, where",
    [
        ({}, "code: is missing"),
        ({"code": 1}, "code: must be a string"),
        ({"code": "1", "polic": {}}, 'did you mean "policy"'),
        ({"code": "1", "policy": {"memory": 1}}, "memory"),
        ({"code": "1", "files": [{"path": "a"}]}, "files[0]: must have path"),
        ({"code": "1", "files": [{"path": "a", "base64": "?"}]}, "files[0].base64"),
        ({"code": "1", "tools": [{"name": "f", "approval": "maybe"}]}, "tools[0].approval"),
        ({"code": "1", "stream": "xml"}, "stream: must be"),
        ([], "not a JSON object"),
    ],
)
def test_malformed_request_error_names_place(any_served, body, where):
    error = any_served.json("POST", "/v1/runs", body, status=400)["error"]
    assert error["code"] == "input" and where in error["message"], error


def test_unenforceable_policy_is_refused_with_remedy(any_served):
    got = any_served.json("POST", "/v1/runs", {"code": "1", "policy": {"network_access": True, "network_proxy": True, "processes": 1}}, status=422)
    assert got["error"]["code"] == "refused" and got["error"]["where"] and got["result"]["status"] == "refused"


def test_request_gets_no_host_access_beyond_server_s(any_served):
    for policy in (
        {"filesystem_read_roots": ["/etc"]},
        {"mounts": [{"host": "/etc", "jail": "/mnt"}]},
        {"network_access": "host"},
        {"tier": "unsafe"},
        {"env_var_access": True},
        {"python": "/bin/sh"},
    ):
        got = any_served.json("POST", "/v1/runs", {"code": "1", "policy": policy}, status=403)
        assert got["error"]["where"] == next(iter(policy)), got


def test_run_streams_events_as_lines(served):
    code = "import sys\nsys.stdout.buffer.write('é'.encode()[:1])\nsys.stdout.flush()\nsys.stdout.buffer.write('é'.encode()[1:])\nsys.stdout.flush()\nprint('x', file=sys.stderr)\n[1]"
    first, *events, last = served.events("/v1/runs", {"code": code})
    assert first["type"] == "start" and last["type"] == "result"
    assert last["result"]["id"] == first["id"]
    assert "".join(e["text"] for e in events if e.get("stream") == "stdout") == "é"
    assert "".join(e["text"] for e in events if e.get("stream") == "stderr") == "x\n"
    (shown,) = [e for e in events if e["type"] == "display"]
    assert shown["is_value"] and shown["mime"]["text/plain"] == "[1]"


def test_run_streams_server_sent_events(any_served):
    _, headers, text = any_served.request("POST", "/v1/runs", {"code": "print('hi')"}, headers={"Accept": "text/event-stream"})
    assert headers["Content-Type"] == "text/event-stream"
    blocks = [dict(line.split(": ", 1) for line in block.split("\n")) for block in text.decode().strip().split("\n\n")]
    assert [b["event"] for b in blocks][:2] == ["start", "output"] and blocks[-1]["event"] == "result"
    assert all(json.loads(b["data"])["type"] == b["event"] for b in blocks)


def test_output_is_streamed_during_run(any_served):
    with any_served.stream("/v1/runs", {"code": "import time\nprint('now', flush=True)\ntime.sleep(60)"}) as events:
        assert next(events)["type"] == "start"
        assert next(events)["text"].startswith("now")
    any_served.wait_for_no_hosted_sessions()


def test_tools_are_called_over_stream(served):
    body = {
        "code": "print(add(a=1, b=2))\ntry:\n    add(a=3, b=4)\nexcept ToolError as e:\n    print(e)",
        "tools": [{"name": "add", "schema": {"properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}}],
    }
    calls = 0
    with served.stream("/v1/runs", body) as events:
        for e in events:
            if e["type"] == "call":
                calls += 1
                assert e["tool"] == "add"
                answer = {"result": sum(e["arguments"].values())} if calls == 1 else {"error": "not today"}
                served.json("POST", f"/v1/calls/{e['id']}", answer)
                # A call is answered once, and guessed ids are refused.
                served.json("POST", f"/v1/calls/{e['id']}", answer, status=404)
            last = e
    assert last["result"]["stdout"] == "3\nadd: not today\n"
    # Without a stream, no client can answer.
    got = served.run(**body)
    assert got["status"] == "error" and "cannot be answered" in got["stderr"]


def test_question_is_answered_over_stream(any_served):
    body = {"code": "print(f())", "tools": [{"name": "f", "approval": "always"}], "ask": True}
    for answer, status in (("once", "ok"), ("deny", "error")):
        with any_served.stream("/v1/runs", body) as events:
            for e in events:
                if e["type"] == "question":
                    assert e["kind"] == "tool" and e["subject"] == "f"
                    any_served.json("POST", f"/v1/questions/{e['id']}", {"answer": "perhaps"}, status=400)
                    any_served.json("POST", f"/v1/questions/{e['id']}", {"answer": answer})
                if e["type"] == "call":
                    any_served.json("POST", f"/v1/calls/{e['id']}", {"result": None})
        assert e["result"]["status"] == status, answer


def test_client_that_leaves_ends_its_run(served):
    for code in ("while True: pass", DEAF):
        with served.stream("/v1/runs", {"code": code}) as events:
            next(events)
            assert served.metric("remit_rooms") == 1
        served.wait_for_no_hosted_sessions()


def test_run_is_interrupted_by_its_id(any_served):
    with any_served.stream("/v1/runs", {"code": "import time\nprint(1, flush=True)\ntime.sleep(60)"}) as events:
        run = next(events)["id"]
        next(events)
        any_served.json("POST", f"/v1/runs/{run}/interrupt")
        assert list(events)[-1]["result"]["status"] == "interrupted"
    any_served.json("POST", f"/v1/runs/{run}/interrupt", status=404)


def test_artifacts_of_run_are_downloaded(served):
    policy = {"artifact_export_paths": ["out/*"]}
    code = "import os\nos.mkdir('out')\nopen('out/a b.txt', 'w').write('hello')\nopen('out/empty', 'w')"
    got = served.run(code, policy=policy)
    assert [a["path"] for a in got["artifacts"]] == ["out/a b.txt", "out/empty"]
    # Their place on the host is not revealed.
    assert "remit-artifact" not in json.dumps(got)
    path = f"/v1/runs/{got['id']}/artifacts"
    status, headers, text = served.request("GET", f"{path}/out/a%20b.txt")
    assert (status, text) == (200, b"hello")
    assert headers["Content-Disposition"] == "attachment" and headers["X-Content-Type-Options"] == "nosniff"
    assert served.request("GET", f"{path}/out/empty")[2] == b""
    for trick in ("../x", "..%2f..%2f..%2fetc%2fpasswd", "%2fetc%2fpasswd", "out", "", "out/./..", "out//a", "a%00b", "%"):
        status, _, text = served.request("GET", f"{path}/{trick}")
        assert status in (400, 404), (trick, text)


# ---- sessions ----


def test_session_keeps_its_variables(served):
    s = served.json("POST", "/v1/sessions", {}, status=201)
    assert s["state"] == "idle" and s["policy"]["network_access"] is False and s["expires_at"] > s["created_at"]
    cells = f"/v1/sessions/{s['id']}/cells"
    served.json("POST", cells, {"code": "x = 41"})
    assert served.json("POST", cells, {"code": "x + 1"})["value"]["json"] == 42
    assert served.events(cells, {"code": "print(x)"})[-1]["result"]["stdout"] == "41\n"
    assert [v["id"] for v in served.json("GET", "/v1/sessions")] == [s["id"]]
    served.json("POST", f"/v1/sessions/{s['id']}/reset")
    assert served.json("POST", cells, {"code": "x"})["error"]["name"] == "NameError"
    assert served.json("GET", f"/v1/sessions/{s['id']}")["cells"] == 4
    assert served.json("DELETE", f"/v1/sessions/{s['id']}")["session"]["state"] == "ended"
    assert served.json("GET", "/v1/sessions") == []
    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/cells"), ("POST", "/fork")):
        body = {"code": "1"} if path == "/cells" else None
        served.json(method, f"/v1/sessions/{s['id']}{path}", body, status=404)


def test_session_is_branched(served):
    s = served.json("POST", "/v1/sessions", {"forkable": True}, status=201)
    served.json("POST", f"/v1/sessions/{s['id']}/cells", {"code": "x = 1"})
    b = served.json("POST", f"/v1/sessions/{s['id']}/fork", {}, status=201)
    served.json("POST", f"/v1/sessions/{b['id']}/cells", {"code": "x = 2"})
    assert served.json("POST", f"/v1/sessions/{s['id']}/cells", {"code": "x"})["value"]["json"] == 1
    assert served.json("POST", f"/v1/sessions/{b['id']}/cells", {"code": "x"})["value"]["json"] == 2
    # The parent ends first.
    served.json("DELETE", f"/v1/sessions/{s['id']}?drop=1")
    served.json("DELETE", f"/v1/sessions/{b['id']}")
    served.wait_for_no_hosted_sessions()
    s = served.json("POST", "/v1/sessions", {}, status=201)
    assert served.json("POST", f"/v1/sessions/{s['id']}/fork", {}, status=422)["error"]["code"] == "refused"


def test_cell_is_interrupted_by_request_and_by_leaving_client(served):
    s = served.json("POST", "/v1/sessions", {}, status=201)
    cells = f"/v1/sessions/{s['id']}/cells"
    body = {"code": "import time\nx = 1\nprint(1, flush=True)\ntime.sleep(60)"}
    with served.stream(cells, body) as events:
        next(events), next(events)
        assert served.json("GET", f"/v1/sessions/{s['id']}")["state"] == "busy"
        served.json("POST", f"/v1/sessions/{s['id']}/interrupt")
        assert list(events)[-1]["result"]["status"] == "interrupted"
    with served.stream(cells, body) as events:
        next(events), next(events)
    assert served.json("POST", cells, {"code": "x"})["value"]["json"] == 1


def test_busy_session_is_dropped(served):
    s = served.json("POST", "/v1/sessions", {}, status=201)
    with served.stream(f"/v1/sessions/{s['id']}/cells", {"code": DEAF}) as events:
        next(events), next(events)
        served.json("DELETE", f"/v1/sessions/{s['id']}?drop=1")
        assert list(events)[-1]["error"]["code"] == "gone"
    served.wait_for_no_hosted_sessions()


def test_session_ends_at_its_timeout(any_served):
    s = any_served.json("POST", "/v1/sessions", {"timeout": 5}, status=201)
    any_served.wait_for_no_hosted_sessions()
    any_served.json("GET", f"/v1/sessions/{s['id']}", status=404)


def test_cells_are_queued_up_to_limit(any_served):
    s = any_served.json("POST", "/v1/sessions", {}, status=201)
    cells = f"/v1/sessions/{s['id']}/cells"
    statuses = []

    def run():
        statuses.append(any_served.request("POST", cells, {"code": "1"})[0])

    threads = [threading.Thread(target=run) for _ in range(24)]
    with any_served.stream(cells, {"code": "import time\nprint(1, flush=True)\ntime.sleep(60)"}) as events:
        next(events), next(events)
        for t in threads:
            t.start()
        # Sixteen wait for the cell that runs.
        until(lambda: len(statuses) == 8, "too many cells wait")
        assert set(statuses) == {429}
        any_served.json("POST", f"/v1/sessions/{s['id']}/interrupt")
        for t in threads:
            t.join()
    assert statuses.count(200) == 16 and len(statuses) == 24
    any_served.json("DELETE", f"/v1/sessions/{s['id']}?drop=1")


def test_artifacts_of_session_are_available_after_close(any_served):
    s = any_served.json("POST", "/v1/sessions", {"policy": {"artifact_export_paths": ["*.txt"]}}, status=201)
    any_served.json("POST", f"/v1/sessions/{s['id']}/cells", {"code": "open('a.txt', 'w').write('1')"})
    any_served.json("DELETE", f"/v1/sessions/{s['id']}")
    assert any_served.request("GET", f"/v1/runs/{s['id']}/artifacts/a.txt")[2] == b"1"


# ---- information ----


def test_information_routes_match_commands(served, remit):
    got = served.json("POST", "/v1/explain", {"policy": {"memory_bytes": "256M"}})
    assert got == json.loads(remit("explain", "--json", "--python", "/usr/bin/python3", "--memory", "256M").stdout)
    assert served.json("POST", "/v1/explain", {"policy": {"timeout": "no"}}, status=400)["error"]["code"] == "input"
    assert served.json("GET", "/v1/matrix") == json.loads(remit("matrix", "--json").stdout)
    assert {f["name"] for f in served.json("GET", "/v1/fields")} >= {"memory_bytes", "network_access"}
    assert "pools" in served.json("GET", "/v1/status")
    assert served.json("GET", "/healthz", token="")["status"] == "ok"


def test_openapi_document_matches_routes(any_served):
    document = any_served.json("GET", "/v1/openapi.json", token="")
    assert document["openapi"].startswith("3.1") and len(document["paths"]) >= 16
    for path, item in document["paths"].items():
        for method, operation in item.items():
            names = [p["name"] for p in operation["parameters"]]
            status, headers, _ = any_served.request("TRACE", path.format(**{n: "x" for n in names}))
            # Another method at a known path
            assert status == 405 and method.upper() in headers["Allow"], path


def test_metrics_are_valid_for_prometheus(any_served):
    any_served.run("1")
    status, headers, text = any_served.request("GET", "/metrics")
    assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
    if not shutil.which("promtool"):
        skip_or_fail("promtool is not installed")
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True)
    assert done.returncode == 0, done
    assert b'remit_programs_total{status="ok"} ' in text
    assert b'route="/v1/runs",status="2xx"' in text


def test_unix_socket_needs_no_key_and_is_private(remit):
    path = remit.folder / "serve.sock"
    with serve(remit, "--listen", f"unix:{path}") as s:
        assert path.stat().st_mode & 0o777 == 0o600
        with socket.socket(socket.AF_UNIX) as c:
            c.connect(str(path))
            body = b'{"code": "print(7)"}'
            c.sendall(
                b"POST /v1/runs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nConnection: close\r\n"
                + b"Content-Length: %d\r\n\r\n" % len(body)
                + body
            )
            got = b"".join(iter(lambda: c.recv(65536), b""))
        assert got.startswith(b"HTTP/1.1 200 ") and b'"stdout":"7\\n"' in got
        assert s.run("1")["status"] == "ok"
    assert not path.exists()


def test_stopping_server_finishes_runs_and_accepts_no_more(remit):
    """The run continues after the server has stopped listening."""
    file = remit.file("ending/word")
    code = f"import time\nprint(1, flush=True)\nwhile not open('{file}').read(): time.sleep(0.1)\nprint(2)"
    with serve(remit, "--read", file.parent, "--timeout", "300s") as s:
        with s.stream("/v1/runs", {"code": code}) as events:
            next(events), next(events)
            idle = s.connect()
            idle.connect()
            s.stop_listening()
            with pytest.raises(OSError):
                s.run("1")
            file.write_text("end")
            assert list(events)[-1]["result"]["stdout"] == "1\n2\n"
        assert s.process.wait(60) == 0
    shutil.rmtree(file.parent)


def test_log_has_requests_but_no_code(remit):
    log = remit.folder / "serve.log"
    with serve(remit, "--log", log) as s:
        s.run("secret = 'xyzzy'", name="hush.py")
        s.request("GET", "/v1/sessions/whose?path=secret")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(x["route"], x["status"], x["key"]) for x in lines] == [("/v1/runs", 200, "local"), ("/v1/sessions/{id}", 404, "local")]
    assert not any(word in log.read_text() for word in ("xyzzy", "hush", "whose", "secret", s.token))
    log.unlink()


def test_session_files_are_uploaded_and_read(served):
    s = served.json("POST", "/v1/sessions", {}, status=201)
    files, cells = f"/v1/sessions/{s['id']}/files", f"/v1/sessions/{s['id']}/cells"
    put = served.request("PUT", f"{files}?path=in/a%20b.bin", b"\0\xff" * 1000)
    assert put[0] == 200 and json.loads(put[2])["size"] == 2000
    assert served.json("POST", cells, {"code": "len(open('in/a b.bin', 'rb').read())"})["value"]["json"] == 2000
    status, headers, text = served.request("GET", f"{files}?path=in/a+b.bin")
    assert (status, text) == (200, b"\0\xff" * 1000) and headers["Content-Disposition"] == "attachment"
    assert served.request("GET", f"{files}?path=in/a+b.bin&offset=1&length=3")[2] == b"\xff\0\xff"
    names = {(e["path"], e["type"]) for e in served.json("GET", f"{files}?path=.&list=2")}
    assert names == {("/workspace/in", "folder"), ("/workspace/in/a b.bin", "file")}
    served.json("DELETE", f"{files}?path=in")
    for path, status in (("in/a+b.bin", 404), ("", 400), ("/etc/shadow", 404), ("../../etc/shadow", 404), ("a%00b", 400), ("/workspace", 409)):
        assert served.request("GET", f"{files}?path={path}")[0] == status, path
    for path in ("/usr/x", "/proc/self/mem", "/workspace"):
        assert served.request("PUT", f"{files}?path={path}", b"x")[0] in (403, 404, 409), path
    assert served.request("GET", f"{files}?path=.&list=9999")[0] == 400


def test_session_contexts_are_separate(any_served):
    s = any_served.json("POST", "/v1/sessions", {}, status=201)
    cells = f"/v1/sessions/{s['id']}/cells"
    any_served.json("POST", cells, {"code": "x = 1"})
    assert any_served.json("POST", cells, {"code": "x", "context": "other"})["error"]["name"] == "NameError"
    assert any_served.json("POST", cells, {"code": "x"})["value"]["json"] == 1
    any_served.json("DELETE", f"/v1/sessions/{s['id']}")
