"""`remit serve` as E2B's clients use it: the requests on the wire. (For the clients themselves see
test_e2b_clients.py.)"""

from __future__ import annotations

import base64
import contextlib
import gzip
import hashlib
import http.client
import json
import socket
import struct
import threading
import time

import leftovers
import pytest
from conftest import make_remit, users
from served import Served, serve
from waiting import until

COMMANDS = ("--subprocess", "--memory-fallback", "per_process", "--cpu", "unlimited")
NETWORKED = ("--memory-fallback", "per_process")
# Another name of this server, besides its address
DOMAIN = "boxes.test"


@pytest.fixture(scope="module", params=users())
def served(request, stage):
    remit = make_remit(request.param, stage)
    with serve(remit, "--allow-host", f".{DOMAIN}") as one:
        one.remit = remit
        yield one
    assert not leftovers.remaining(lambda: leftovers.processes(remit.command)), "processes are left"


@pytest.fixture(scope="module")
def one(stage):
    """One server for tests that do not depend on the user. Its sandboxes may start programs."""
    with serve(make_remit(users()[-1], stage), *COMMANDS, "--timeout", "2m") as s:
        yield s


METRICS = {"timestamp", "timestampUnix", "cpuCount", "cpuUsedPct", "memUsed", "memTotal", "memCache", "diskUsed", "diskTotal"}


class Box:
    """A sandbox as its client sees it."""

    def __init__(self, served: Served, **wishes):
        self.served = served
        self.about = served.json("POST", "/sandboxes", wishes, status=201)
        self.id = self.about["sandboxID"]

    def request(self, method: str, path: str, body=None, headers=None, port: int = 49983):
        named = {"E2b-Sandbox-Id": self.id, "E2b-Sandbox-Port": str(port), "X-Access-Token": self.about["envdAccessToken"]}
        return self.served.request(method, path, body, {**named, **(headers or {})}, token="")

    def metrics(self, query: str = "") -> list[dict]:
        return self.served.json("GET", f"/sandboxes/{self.id}/metrics{query}")

    def json(self, method: str, path: str, body=None, status=200, **more):
        got, _, text = self.request(method, path, body, **more)
        assert got == status, (got, text)
        return json.loads(text or b"null")

    def execute(self, code: str, **more) -> list[dict]:
        status, headers, text = self.request("POST", "/execute", {"code": code, **more}, port=49999)
        assert status == 200, text
        assert text.isascii() and b"\n\n" not in text
        return [line for line in map(json.loads, text.decode().splitlines()) if line not in ALIVE]

    @contextlib.contextmanager
    def executing(self, code: str):
        """Run code that first prints "on". Leaving the block closes the connection, which interrupts the code."""
        connection = self.served.connect()
        named = {"E2b-Sandbox-Id": self.id, "X-Access-Token": self.about["envdAccessToken"], "Content-Type": "application/json"}
        connection.request("POST", "/execute", json.dumps({"code": code}), named)
        answer = connection.getresponse()
        while b"on\\n" not in (line := answer.readline()):
            assert line, "the stream ended early"
        try:
            yield answer
        finally:
            answer.close()
            connection.close()

    def command(self, cmd: str, headers=None, **more) -> list[dict]:
        """All messages of the command's stream, including the last."""
        body = json.dumps({"process": {"cmd": "/bin/sh", "args": ["-c", cmd], **more}, "stdin": False}).encode()
        sent = b"\0" + struct.pack(">I", len(body)) + body
        status, _, text = self.request("POST", "/process.Process/Start", sent, {"Content-Type": "application/connect+json", **(headers or {})})
        assert status == 200, text
        return envelopes(text)

    def kill(self) -> None:
        assert self.served.request("DELETE", f"/sandboxes/{self.id}")[0] == 204


# Messages that only keep an idle stream open
ALIVE = ({"type": "keepalive"}, {"event": {"keepalive": {}}}, {"keepalive": {}})


def envelopes(text: bytes) -> list[dict]:
    found = []
    while text:
        flags, size = struct.unpack(">BI", text[:5])
        message = json.loads(text[5 : 5 + size])
        if message not in ALIVE:
            found.append({"last": flags == 2, **message})
        text = text[5 + size :]
    return found


@contextlib.contextmanager
def boxed(served, **wishes):
    box = Box(served, **wishes)
    try:
        yield box
    finally:
        served.request("DELETE", f"/sandboxes/{box.id}")


def of(lines: list[dict], kind: str) -> list[dict]:
    return [line for line in lines if line["type"] == kind]


# ---- the control plane ----


def test_sandbox_is_created_and_deleted(served):
    for prefix in ("", "/v2"):
        made = served.json("POST", f"{prefix}/sandboxes", {"timeout": 600, "metadata": {"who": "me & you"}}, status=201)
        box = made["sandboxID"]
        assert made["envdAccessToken"] and made["templateID"] == "code-interpreter-v1" and made["clientID"]
        info = served.json("GET", f"{prefix}/sandboxes/{box}")
        assert info["state"] == "running" and info["memoryMB"] == 512 and info["diskSizeMB"] and info["cpuCount"]
        assert info["metadata"] == {"who": "me & you"} and not info["allowInternetAccess"]
        assert served.json("POST", f"{prefix}/sandboxes/{box}/connect", {"timeout": 1000})["sandboxID"] == box
        extended = served.json("GET", f"/sandboxes/{box}")["endAt"]
        assert extended > info["endAt"]
        # Connecting never shortens a life; a second client would end the first one's sandbox.
        served.json("POST", f"{prefix}/sandboxes/{box}/connect", {"timeout": 5})
        assert served.json("GET", f"/sandboxes/{box}")["endAt"] == extended
        assert served.request("POST", f"{prefix}/sandboxes/{box}/timeout", {"timeout": 300})[0] == 204
        assert served.json("GET", f"/sandboxes/{box}")["endAt"] < info["endAt"]
        assert served.json("GET", f"{prefix}/sandboxes/{box}/metrics") == []
        assert served.request("DELETE", f"{prefix}/sandboxes/{box}")[0] == 204
        for method, path in (("DELETE", ""), ("GET", ""), ("POST", "/connect")):
            assert served.json(method, f"/sandboxes/{box}{path}", None if method == "GET" else {}, status=404)["code"] == 404


@pytest.mark.parametrize(
    "method, path, status, words",
    [
        ("GET", "/templates/aliases/elsewhere", 404, "no template elsewhere"),
        ("GET", "/templates", 404, "templates"),
        ("POST", "/v3/templates", 404, "templates"),
        ("PATCH", "/v2/templates/x/builds/y", 404, "templates"),
        ("DELETE", "/templates/elsewhere", 404, "no snapshot"),
        ("POST", "/volumes", 404, "--mount"),
        ("DELETE", "/secrets/x", 404, "network.rules"),
        ("GET", "/sandboxes/x/logs", 404, "part of E2B"),
        ("PUT", "/v2/sandboxes", 404, "part of E2B"),
        ("POST", "/sandboxes/x/timeout", 415, "application/json"),
    ],
)
def test_control_plane_errors_have_e2b_form(one, method, path, status, words):
    """The clients read "code" and "message", and break where these are missing."""
    body = b"[]" if method == "POST" else None
    for token, got, text in (("", status, words), ("wrong", 401, "key")):
        answered, _, reply = one.request(method, path, body, {"Content-Type": "text/plain"}, token=token or one.token)
        doc = json.loads(reply)
        assert (answered, doc["code"]) == (got, got) and text in doc["message"] and len(doc) == 2, reply


def test_known_templates_exist(one):
    for name in ("base", "code-interpreter-v1"):
        assert one.json("GET", f"/templates/aliases/{name}") == {"templateID": name, "public": False}


def test_sandbox_errors_have_e2b_form(one):
    with boxed(one) as box:
        for method, path in (("POST", "/filesystem.Filesystem/Copy"), ("POST", "/process.Process/Freeze"), ("PATCH", "/contexts/main"), ("GET", "/envs"), ("GET", "/process.Process/List")):
            assert box.json(method, path, status=404)["code"] == 404, path
            assert box.json(method, path, status=401, headers={"X-Access-Token": "wrong"})["code"] == 401, path
        for body in (b"[1]", b"{"):
            assert box.json("POST", "/execute", body, status=400, headers={"Content-Type": "application/json"})["code"] == 400


def test_sandboxes_are_listed_in_pages_and_by_metadata(served):
    with boxed(served, metadata={"n": "1"}) as a, boxed(served, metadata={"n": "2", "x": "="}) as b:
        assert {s["sandboxID"] for s in served.json("GET", "/v2/sandboxes")} == {a.id, b.id}
        assert [s["sandboxID"] for s in served.json("GET", "/v2/sandboxes?metadata=n%3D2%26x%3D%253D")] == [b.id]
        assert served.json("GET", "/v2/sandboxes?state=paused") == []
        _, headers, first = served.request("GET", "/v2/sandboxes?limit=1")
        second = served.json("GET", f"/v2/sandboxes?limit=1&nextToken={headers['x-next-token']}")
        assert {json.loads(first)[0]["sandboxID"], second[0]["sandboxID"]} == {a.id, b.id}


def test_sandbox_ends_at_its_timeout(served):
    for wishes in ({"timeout": 5}, {}):
        box = Box(served, **wishes)
        if not wishes:
            assert of(box.execute("1"), "result")
            assert served.request("POST", f"/sandboxes/{box.id}/timeout", {"timeout": 1})[0] == 204
        until(lambda: box.request("GET", "/health")[0] == 502, "the sandbox does not end")
        assert box.request("POST", "/execute", {"code": "1"})[0] == 502
        assert served.json("GET", "/v2/sandboxes") == []


def test_sandbox_is_forked(served):
    with boxed(served, metadata={"a": "b"}) as box:
        box.execute("x = [1]")
        copies = served.json("POST", f"/sandboxes/{box.id}/fork", {"count": 2, "timeout": 60}, status=201)
        assert len(copies) == 2, copies
        for copy in copies:
            other = Box.__new__(Box)
            other.served, other.about, other.id = served, copy["sandbox"], copy["sandbox"]["sandboxID"]
            assert of(other.execute("x.append(2); x"), "result")[0]["json"] == [1, 2]
            assert served.json("GET", f"/sandboxes/{other.id}")["metadata"] == {"a": "b"}
            other.kill()
        assert of(box.execute("x"), "result")[0]["json"] == [1]


@pytest.mark.parametrize(
    "wish, words",
    [
        ({"autoPause": True}, "--state"),
        ({"autoPause": "yes"}, "boolean"),
        ({"autoResume": {"enabled": True}}, "connect"),
        ({"volumeMounts": [{"name": "a", "path": "/b"}]}, "volumes"),
        ({"mcp": {"a": {}}}, "gateway"),
        ({"network": {"egressProxy": {"address": "x:1"}}}, "proxy"),
        ({"network": {"rules": {"a.com": [{"transform": {"headers": {"X": "y"}}}]}}}, "allowOut"),
        ({"network": {"allowOut": ["10.0.0.0/8"]}}, "ranges"),
        ({"network": {"allowOut": [5]}}, "allowOut[0]"),
        ({"timeout": "soon"}, "timeout"),
        ({"metadata": {"a": 1}}, "metadata.a"),
        ({"envVars": {"A=B": "1"}}, "envVars"),
        ({"metadata": {"a": "x" * 65536}}, "64 KiB"),
        ({"envVars": {str(n): "x" * 32768 for n in range(3)}}, "64 KiB"),
    ],
)
def test_unenforceable_wish_is_refused(one, wish, words):
    status, _, text = one.request("POST", "/sandboxes", wish)
    assert status == 400 and words in json.loads(text)["message"], text
    assert one.json("GET", "/sandboxes") == []


def test_unknown_template_is_not_found(one):
    found = one.json("POST", "/sandboxes", {"templateID": "mine"}, status=404)
    assert found["code"] == 404 and "only template" in found["message"]


@pytest.mark.parametrize(
    "wish",
    [
        {"templateID": "base", "timeout": 150, "secure": True, "allow_internet_access": True, "autoPause": False, "autoPauseMemory": True, "autoResume": {"enabled": False}},
        {"network": {"allowPublicTraffic": False}, "allow_internet_access": False},
        {"network": {"denyOut": ["0.0.0.0/0"]}, "unknown": 1, "metadata": None},
    ],
)
def test_fields_of_older_clients_are_accepted(one, wish):
    with boxed(one, **wish) as box:
        assert of(box.execute("1 + 1"), "result")[0]["text"] == "2"


def row(box: Box, field: str) -> dict:
    """The enforcement row of a field, from the sandbox's first execution."""
    (found,) = [r for r in of(box.execute("1"), "remit")[0]["enforcement"] if r["field"] == field]
    return found


def test_hosts_named_by_client_are_allowed(served):
    with serve(served.remit, *NETWORKED) as near, boxed(near, network={"allowOut": ["one.test", "*.two.test"], "denyOut": ["0.0.0.0/0"]}) as box:
        assert near.json("GET", f"/sandboxes/{box.id}")["allowInternetAccess"]
        assert row(box, "network_allow")["value"] == ["one.test:443", "one.test:80", "*.two.test:443", "*.two.test:80"]


def test_client_can_narrow_network_and_not_widen_it(served):
    path = served.remit.file("narrow-keys", "")
    path.unlink()
    key = served.remit("serve", "--keys", path, "--add-key", "narrow").stdout.strip()
    doc = json.loads(path.read_text())
    doc["keys"][0]["policy"] = {}
    path.write_text(json.dumps(doc))
    with serve(served.remit, "--keys", path) as narrow:
        status, _, text = narrow.request("POST", "/sandboxes", {"network": {"allowOut": ["one.test"]}}, token=key)
        assert status == 400 and "network_allow" in json.loads(text)["message"], text
    with serve(served.remit, "--net", *NETWORKED) as wide:
        with boxed(wide, allow_internet_access=False) as box:
            assert not wide.json("GET", f"/sandboxes/{box.id}")["allowInternetAccess"]
            assert of(box.execute("import socket\nsocket.socket()"), "error")[0]["name"] == "PermissionError"
        with boxed(wide, allow_internet_access=True) as box:
            assert not of(box.execute("import socket\nsocket.socket()"), "error")
        status, _, text = wide.request("POST", "/sandboxes", {"network": {"denyOut": ["8.8.8.8"]}})
        assert status == 400 and "denyOut" in json.loads(text)["message"], text


# ---- code ----


def test_execution_streams_its_lines(served):
    with boxed(served, envVars={"A": "sandbox"}) as box:
        lines = box.execute("import sys, os\nprint('x')\nprint('ü\U0001f600', end='')\nsys.stderr.write('e\\n')\nos.environ['A']")
        assert lines[0] == {"type": "number_of_executions", "execution_count": 1}
        assert lines[-1] == {"type": "end_of_execution"}
        assert "".join(line["text"] for line in of(lines, "stdout")) == "x\nü\U0001f600"
        assert [line["text"] for line in of(lines, "stderr")] == ["e\n"] and of(lines, "stdout")[0]["timestamp"]
        assert of(lines, "result") == [{"type": "result", "text": "sandbox", "is_main_result": True}]
        (report,) = of(lines, "remit")
        assert report["status"] == "ok" and report["denials"] == [] and any(r["field"] == "timeout" for r in report["enforcement"])
        lines = box.execute("import socket\nsocket.socket()", env_vars={"A": "run"})
        assert lines[0]["execution_count"] == 2
        (error,) = of(lines, "error")
        assert error["name"] == "PermissionError" and "socket.socket()" in error["traceback"] and not of(lines, "stderr")
        (report,) = of(lines, "remit")
        assert report["denials"][0]["syscall"] == "socket" and "enforcement" not in report
        assert of(box.execute("print(os.environ['A'])"), "stdout")[0]["text"] == "sandbox\n"
        assert of(box.execute("    x = 1\n    x"), "result")[0]["text"] == "1"
        assert of(box.execute("raise SystemExit(3)"), "error")[0]["name"] == "SystemExit"
        assert of(box.execute("a b"), "error")[0]["name"] == "SyntaxError"


def test_notebook_lines_run(one):
    with boxed(one) as box:
        assert "".join(line["text"] for line in of(box.execute("    !pwd\n    %cd /tmp\n"), "stdout")) == "/home/user\n/tmp\n"
        assert of(box.execute("%%bash\necho $((6 * 7))"), "stdout")[0]["text"] == "42\n"
        shown = of(box.execute("from IPython.display import display, HTML\ndisplay(HTML('<b>'))"), "result")
        assert [line.get("html") for line in shown] == ["<b>"]


def test_scripts_of_bash_run(one):
    with boxed(one) as box:
        assert of(box.execute("echo $((6 * 7))", language="bash"), "stdout")[0]["text"] == "42\n"
        made = box.json("POST", "/contexts", {"language": "bash"})
        assert made["language"] == "bash" and made in box.json("GET", "/contexts")
        assert of(box.execute("echo $0", context_id=made["id"]), "stdout")[0]["text"] == "bash\n"


def test_scripts_of_bash_need_subprocess_permission(served):
    with boxed(served) as box:
        for path, body in (("/execute", {"code": "true"}), ("/contexts", {})):
            status, _, text = box.request("POST", path, {**body, "language": "bash"})
            assert status == 400 and b"--subprocess" in text


def test_metrics_are_sampled_for_each_sandbox_alone(served):
    with boxed(served) as idle, boxed(served) as busy:
        busy.execute("held = b'x' * 40_000_000")
        until(lambda: busy.metrics() and idle.metrics(), "there are no samples", 30)
        small, large = idle.metrics()[-1], busy.metrics()[-1]
        assert large["memUsed"] - small["memUsed"] > 20_000_000, (small, large)
        for m in small, large:
            assert set(m) == METRICS and m["memTotal"] == 512 << 20 and 0 <= m["diskUsed"] < m["diskTotal"] == 256 << 20
            assert 0 <= m["cpuUsedPct"] <= 100 and abs(m["timestampUnix"] - time.time()) < 60
        assert busy.metrics(f"?start={large['timestampUnix']}")[-1] == large and busy.metrics("?end=1") == []
        assert served.request("GET", f"/sandboxes/{busy.id}/metrics?start=x")[0] == 400


def test_notebook_line_that_starts_a_program_is_refused(served):
    with boxed(served) as box:
        (error,) = of(box.execute("!pwd"), "error")
        assert error["name"] == "PermissionError" and "--subprocess" in error["value"]


def test_deep_result_is_accepted_up_to_readable_depth(one):
    with boxed(one) as box:
        code = "class Deep:\n    def _repr_json_(self):\n        return b'[' * 2040 + b']' * 2040\nDeep()"
        status, _, text = box.request("POST", "/execute", {"code": code}, port=49999)
        assert status == 200 and b"[" * 2040 in text and b"end_of_execution" in text, text[:500]


def test_contexts_have_separate_state(served):
    with boxed(served) as box:
        assert [c["id"] for c in box.json("GET", "/contexts")] == ["main"]
        made = box.json("POST", "/contexts", {"cwd": "/tmp", "language": None})
        assert box.json("GET", "/contexts")[-1] == made and made["cwd"] == "/tmp"
        box.execute("x = 1")
        lines = box.execute("import os\nprint(os.getcwd())\nx", context_id=made["id"])
        assert of(lines, "error")[0]["value"] == "name 'x' is not defined" and of(lines, "stdout")[0]["text"] == "/tmp\n"
        assert lines[0]["execution_count"] == 1
        box.execute("x = 2", context_id=made["id"])
        assert box.json("POST", f"/contexts/{made['id']}/restart") is None
        assert of(box.execute("x", context_id=made["id"]), "error")[0]["name"] == "NameError"
        assert of(box.execute("x"), "result")[0]["text"] == "1"
        assert box.json("DELETE", f"/contexts/{made['id']}") is None
        assert box.request("POST", "/execute", {"code": "1", "context_id": made["id"]})[0] == 404
        assert box.request("DELETE", f"/contexts/{made['id']}")[0] == 404
        assert "No such file" in box.json("POST", "/contexts", {"cwd": "/nowhere"}, status=400)["message"]
        for wrong in (5, ["/tmp"], "/tmp\0x", "/tmp" + "/." * 2048):
            assert "cwd" in box.json("POST", "/contexts", {"cwd": wrong}, status=400)["message"]
        assert [c["id"] for c in box.json("GET", "/contexts")] == ["main"]


def test_malformed_requests_are_refused(one):
    with boxed(one) as box:
        for body in ({"code": {"a": 1}}, {}, {"code": "1", "language": "r"}, {"code": "1", "context_id": "main", "language": "python"}, {"code": "1", "env_vars": {"A": 1}}, {"code": "a\0b"}):
            assert box.request("POST", "/execute", body)[0] == 400, body
        for _ in range(63):
            box.json("POST", "/contexts", {})
        assert box.request("POST", "/contexts", {})[0] == 429
        assert box.request("POST", "/contexts", {"language": "javascript"})[0] == 400


def test_leaving_client_interrupts_code_and_sandbox_lives_on(served):
    with boxed(served) as box:
        box.execute("x = 5")
        begin = time.monotonic()
        with box.executing("import time\nprint('on')\ntime.sleep(60)"):
            pass
        assert of(box.execute("x"), "result")[0]["text"] == "5"
        assert time.monotonic() - begin < 30, "the sandbox's timeout interrupted it, not the client"


def test_killed_sandbox_breaks_stream(served):
    box = Box(served)
    with box.executing("import time\nprint('on')\ntime.sleep(60)") as answer:
        box.kill()
        with pytest.raises(http.client.IncompleteRead):
            answer.read()
    assert box.request("GET", "/health", port=49999)[0] == 502


def test_ended_jail_is_reported_until_context_restarts(served):
    with boxed(served) as box:
        box.execute("x = 1")
        assert of(box.execute("import os\nos._exit(3)"), "error")
        (error,) = of(box.execute("x"), "error")
        assert "ended" in error["value"]
        assert "ended" in box.json("GET", "/files?path=x", status=400)["message"]
        assert box.json("POST", "/filesystem.Filesystem/Stat", {"path": "x"}, status=400)["code"] == "failed_precondition"
        assert box.json("POST", "/contexts/main/restart") is None
        assert of(box.execute("x"), "error")[0]["name"] == "NameError"


# ---- access ----


def test_sandbox_accepts_only_its_client(served):
    with boxed(served) as box:
        named = {"E2b-Sandbox-Id": box.id}
        run = {"code": "1"}
        for headers in ({}, {"X-Access-Token": "wrong"}, {"X-Access-Token": box.about["envdAccessToken"][:-1]}, {"X-API-KEY": "e2b_" + "0" * 40}):
            assert served.request("POST", "/execute", run, {**named, **headers}, token="")[0] == 401, headers
        for headers in ({"E2B-Traffic-Access-Token": box.about["trafficAccessToken"]}, {"X-API-KEY": "e2b_" + served.token}):
            assert served.request("POST", "/execute", run, {**named, **headers}, token="")[0] == 200, headers
        assert served.request("POST", "/execute", run, token="")[0] == 400
        assert served.request("GET", "/sandboxes", token="wrong")[0] == 401
        for host in (f"49999-{box.id}.{DOMAIN}", f"49983-{box.id}.{DOMAIN}:80"):
            headers = {"Host": host, "X-Access-Token": box.about["envdAccessToken"]}
            assert served.request("POST", "/execute", run, headers, token="")[0] == 200
        assert served.request("GET", "/health", headers={"Host": f"49999-{box.id}.{DOMAIN}"})[2] == b"OK"
        assert served.request("GET", "/health", headers={"Host": f"49983-{box.id}.{DOMAIN}"})[0] == 204
        assert served.request("POST", "/execute", run, {"Host": f"49999-{box.id}.elsewhere.test"})[0] == 421


def test_other_ports_of_sandbox_get_502(served):
    """The pages of this server would look like an answer of the program inside."""
    with boxed(served) as box:
        for method, path in (("GET", "/"), ("GET", "/healthz"), ("POST", "/v1/runs"), ("GET", "/files?path=x"), ("PUT", "/x/y")):
            for port in (1, 3000, 49982, 99999):
                status, _, text = served.request(method, path, headers={"Host": f"{port}-{box.id}.{DOMAIN}"})
                assert status == 502 and "no port inside" in json.loads(text)["message"], (method, path, port, text)
        status, _, text = served.request("GET", "/", headers={"Host": f"3000-{box.id[:-1]}{'ab'[box.id[-1] == 'a']}.{DOMAIN}"})
        assert status == 502 and json.loads(text)["message"] == "The sandbox was not found", text
        # Another name of this server that only looks like a sandbox
        assert served.request("GET", "/healthz", headers={"Host": f"3000-x.{DOMAIN}"})[0] == 200


def test_sandbox_of_another_key_is_not_found(served, stage):
    remit = served.remit
    path = remit.folder / "e2b-keys"
    path.unlink(missing_ok=True)
    keys = [remit("serve", "--keys", path, "--add-key", name).stdout.strip() for name in ("a", "b")]
    with serve(remit, "--keys", path) as two:
        box = two.json("POST", "/sandboxes", {}, status=201, token=keys[0])
        assert two.json("GET", "/sandboxes", token=keys[1]) == []
        for method, tail in (("GET", ""), ("DELETE", ""), ("POST", "/fork"), ("POST", "/connect"), ("GET", "/metrics")):
            assert two.request(method, f"/sandboxes/{box['sandboxID']}{tail}", token=keys[1])[0] == 404
        named = {"E2b-Sandbox-Id": box["sandboxID"]}
        assert two.request("POST", "/execute", {"code": "1"}, named, token=keys[1])[0] == 401
        assert two.request("POST", "/execute", {"code": "1"}, named, token=keys[0])[0] == 200


@contextlib.contextmanager
def limited(served, **limits):
    """A server, and a sandbox of a key made by --add-key and then given these limits."""
    remit = served.remit
    path = remit.folder / "e2b-limited-keys"
    path.unlink(missing_ok=True)
    key = remit("serve", "--keys", path, "--add-key", "few").stdout.strip()
    document = json.loads(path.read_text())
    document["keys"][0] |= limits
    path.write_text(json.dumps(document))
    with serve(remit, "--keys", path) as few:
        few.token = key
        yield few, few.json("POST", "/sandboxes", {}, status=201)["sandboxID"]
    path.unlink()


def test_forks_count_against_key_concurrency(served):
    with limited(served, concurrency=3) as (few, box):
        for count in (3, 8):
            assert "at most 3" in few.json("POST", f"/sandboxes/{box}/fork", {"count": count}, status=429)["message"]
        assert len(few.json("GET", "/sandboxes")) == 1
        assert all("sandbox" in copy for copy in few.json("POST", f"/sandboxes/{box}/fork", {"count": 2}, status=201))
        assert few.request("POST", f"/sandboxes/{box}/fork", {"count": 1})[0] == 429


def test_forks_count_against_key_memory(served):
    with limited(served, memory_bytes="1200M") as (few, box):  # a policy's default is 512M
        assert "memory" in few.json("POST", f"/sandboxes/{box}/fork", {"count": 2}, status=429)["message"]
        few.json("POST", f"/sandboxes/{box}/fork", {"count": 1}, status=201)
        assert few.request("POST", f"/sandboxes/{box}/fork", {"count": 1})[0] == 429


def test_concurrent_forks_count_against_key_concurrency(served):
    """Each request alone would be within the limit, and the copies are made one after the other."""
    with limited(served, concurrency=5) as (few, box):
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(few.request("POST", f"/sandboxes/{box}/fork", {"count": 4}))) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        made = [copy for status, _, text in answers if status == 201 for copy in json.loads(text)]
        assert len(answers) == 3 and sum("sandbox" in copy for copy in made) == 4, answers
        assert all("at most 5" in copy["error"]["message"] for copy in made if "sandbox" not in copy), made
        assert len(few.json("GET", "/sandboxes")) == 5


def test_body_of_unauthorized_request_is_not_read(one):
    with boxed(one) as box:
        for named in ("", f"E2b-Sandbox-Id: {box.id}\r\n", "E2b-Sandbox-Id: ../../x\r\n", f"E2b-Sandbox-Id: {'a' * 5000}\r\n"):
            for path in ("/execute", "/files?path=x", "/process.Process/Start", "/filesystem.Filesystem/Stat", "/contexts"):
                head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\n{named}Content-Type: application/json\r\nContent-Length: 90000000\r\n\r\n"
                status = int(one.raw(head.encode()).split()[1])
                assert status in (400, 401, 502), (path, named[:40], status)
        named = {"E2b-Sandbox-Id": box.id, "X-Access-Token": box.about["envdAccessToken"]}
        for body in (b"", b"\0\0\0\0", b"\0\xff\xff\xff\xff{}", b"\1\0\0\0\2{}", b"\0\0\0\0\2[]", b"\0\0\1\x86\xa0" + b"[" * 100_000):
            status, _, text = one.request("POST", "/process.Process/Start", body, {**named, "Content-Type": "application/connect+json"}, token="")
            assert status == 200 and envelopes(text)[-1]["error"]["code"] == "invalid_argument", text
        assert box.request("POST", "/execute", b"[" * 90_000, {"Content-Type": "application/json"})[0] == 400
        assert box.request("POST", "/execute", {"code": "1"}, {"Content-Type": "text/plain"})[0] == 415
        assert box.request("GET", "/files?path=%00")[0] == 400
        assert of(box.execute("1"), "result")


# ---- files ----


def form(*files: tuple[str, bytes]) -> tuple[bytes, dict]:
    body = b"".join(b'--XX\r\nContent-Disposition: form-data; name="file"; filename="%b"\r\n\r\n%b\r\n' % (n.encode(), d) for n, d in files)
    return body + b"--XX--\r\n", {"Content-Type": "multipart/form-data; boundary=XX"}


def test_files_are_uploaded_and_read(served):
    with boxed(served) as box:
        bytes_of_it = bytes(range(256)) * 1000
        status, _, text = box.request("POST", "/files?path=a/b.bin&username=user", *form(("ignored", bytes_of_it)))
        assert (status, json.loads(text)) == (200, [{"name": "b.bin", "type": "file", "path": "/home/user/a/b.bin"}])
        assert box.request("GET", "/files?path=/home/user/a/b.bin")[2] == bytes_of_it
        status, _, text = box.request("POST", "/files", *form(("one", b"1"), ("d/two", b"")))
        assert [f["path"] for f in json.loads(text)] == ["/home/user/one", "/home/user/d/two"]
        assert box.request("POST", "/files?path=raw", b"raw", {"Content-Type": "application/octet-stream"})[0] == 200
        assert of(box.execute("print(open('raw').read(), open('one').read())"), "stdout")[0]["text"] == "raw 1\n"
        assert box.request("GET", "/files?path=nope")[0] == 404
        assert box.request("GET", "/files?path=a")[0] == 400
        assert box.request("POST", "/files?path=/usr/x", *form(("x", b"x")))[0] == 400
        assert box.request("POST", "/files", b"--XX\r\nbroken", {"Content-Type": "multipart/form-data; boundary=XX"})[0] == 400
        assert box.request("GET", "/files")[0] == 400


def test_compressed_upload_is_decompressed(one):
    with boxed(one) as box:
        packed = {"Content-Type": "application/octet-stream", "Content-Encoding": "gzip"}
        assert box.request("POST", "/files?path=x", gzip.compress(b"unpacked"), packed)[0] == 200
        assert box.request("GET", "/files?path=x")[2] == b"unpacked"
        for body in (b"", b"plain", gzip.compress(b"x")[:-1]):
            assert box.json("POST", "/files?path=y", body, status=400, headers=packed)["code"] == 400, body
        body, headers = form(("z", b"z"))
        assert box.request("POST", "/files?path=z", gzip.compress(body), {**headers, **packed, "Content-Type": headers["Content-Type"]})[0] == 400
        assert box.request("POST", "/files?path=z", b"z", {**packed, "Content-Encoding": "br"})[0] == 415
        assert box.request("POST", "/execute", b"{}", {"Content-Type": "application/json", "Content-Encoding": "gzip"})[0] == 415
        assert box.request("POST", "/files?path=bomb", gzip.compress(bytes(300 << 20), 1), packed)[0] == 507
        assert of(box.execute("1"), "result")


def stat(box: Box, path: str) -> dict:
    return box.json("POST", "/filesystem.Filesystem/Stat", {"path": path})["entry"]


def test_metadata_stays_with_file(one):
    with boxed(one) as box:
        labels = {"X-Metadata-Author": "me", "x-metadata-b": "1 2"}
        status, _, text = box.request("POST", "/files", *(form(("a", b"1"), ("d/b", b"2"))[0], {**form()[1], **labels}))
        assert status == 200 and [f["metadata"] for f in json.loads(text)] == [{"author": "me", "b": "1 2"}] * 2, text
        assert stat(box, "a")["metadata"] == {"author": "me", "b": "1 2"}
        assert box.json("POST", "/filesystem.Filesystem/ListDir", {"path": "d"})["entries"][0]["metadata"]["author"] == "me"
        assert box.json("POST", "/filesystem.Filesystem/Move", {"source": "a", "destination": "e"})["entry"]["metadata"]["b"] == "1 2"
        box.execute("import os\nos.rename('e', 'f')\nopen('e', 'w').close()")
        assert stat(box, "f")["metadata"] == {"author": "me", "b": "1 2"} and "metadata" not in stat(box, "e")
        raw = {"Content-Type": "application/octet-stream"}
        assert "metadata" not in box.json("POST", "/files?path=f", b"new", headers=raw)[0]
        assert "metadata" not in stat(box, "f")
        assert box.json("POST", "/files?path=f", b"new", headers={**raw, "X-Metadata-A": ""})[0]["metadata"] == {"a": ""}
        box.execute("import os\nos.remove('f')\nopen('f', 'w').close()")
        assert "metadata" not in stat(box, "f")
        with boxed(one) as other:  # sandboxes share no metadata, not even for the same inode number
            other.request("POST", "/files?path=a", *form(("a", b"1")))
            assert "metadata" not in stat(other, "a")


def test_metadata_is_bounded(one):
    with boxed(one) as box:
        raw = {"Content-Type": "application/octet-stream"}
        for wrong in ({"X-Metadata-" + "k" * 247: "v"}, {"X-Metadata-": "v"}, {"X-Metadata-k": "a\tb"}, {f"X-Metadata-{n}": "v" * 500 for n in range(9)}):
            assert "invalid metadata" in box.json("POST", "/files?path=no", b"", status=400, headers={**raw, **wrong})["message"], wrong
        assert box.request("GET", "/files?path=no")[0] == 404
        large = {f"X-Metadata-{n}": "v" * 500 for n in range(8)}
        answers = [box.request("POST", f"/files?path=d/{n}", b"", {**raw, **large})[0] for n in range(70)]
        kept = answers.index(507)
        assert 60 < kept < 66 and set(answers[:kept]) == {200} and set(answers[kept:]) == {507}
        assert box.json("POST", "/filesystem.Filesystem/Remove", {"path": "d"}) == {}
        assert box.request("POST", "/files?path=d/1", b"", {**raw, **large})[0] == 200


def test_file_larger_than_one_answer_is_read(one):
    with boxed(one) as box:
        box.execute("f = open('big', 'wb')\nfor i in range(70): f.write(bytes([i]) * (1 << 20))\nf.close()")
        got = box.request("GET", "/files?path=big")[2]
        if len(got) != 70 << 20:  # the disk was smaller
            assert got.startswith(b'{"code"') or len(got) < 70 << 20
        else:
            assert got[-1] == 69 and got[1 << 20] == 1


def test_signed_addresses_need_no_token(served):
    with boxed(served) as box, boxed(served):
        box.request("POST", "/files?path=x", *form(("x", b"signed")))

        def signature(*parts: str) -> str:
            return "v1_" + base64.b64encode(hashlib.sha256(":".join(parts).encode()).digest()).decode().rstrip("=").replace("+", "%2B").replace("/", "%2F")

        token = box.about["envdAccessToken"]
        right = signature("x", "read", "", token)
        assert served.request("GET", f"/files?path=x&signature={right}", token="")[2] == b"signed"
        later = str(int(time.time()) + 600)
        right = signature("x", "read", "user", token, later)
        assert served.request("GET", f"/files?path=x&username=user&signature={right}&signature_expiration={later}", token="")[2] == b"signed"
        past = str(int(time.time()) - 5)
        wrong = [
            ("GET", f"/files?path=x&signature={signature('x', 'read', '', token, past)}&signature_expiration={past}"),
            ("GET", f"/files?path=y&signature={signature('x', 'read', '', token)}"),
            ("POST", f"/files?path=x&signature={signature('x', 'read', '', token)}"),
            ("GET", f"/files?path=x&signature={signature('x', 'read', '', 'wrong')}"),
            # Texts that were signed for the paths "x:read:y" and "x:write:y", the second one for reading only
            ("GET", f"/files?path=x&username=y:read:&signature={signature('x:read:y', 'read', '', token)}"),
            ("POST", f"/files?path=x&username=y:read:&signature={signature('x:write:y', 'read', '', token)}"),
            ("POST", f"/files?path=x&username=y%3Aread%3Auser&signature={signature('x:write:y', 'read', 'user', token)}"),
        ]
        box.request("POST", "/files?path=x:write:y", *form(("x", b"colons")))
        right = signature("x:write:y", "read", "user", token)
        assert served.request("GET", f"/files?path=x:write:y&username=user&signature={right}", token="")[2] == b"colons"
        for method, path in wrong:
            for headers in ({}, {"E2b-Sandbox-Id": box.id}):
                body = form(("x", b"changed")) if method == "POST" else (None, {})
                words = "signature is already expired" if "expiration" in path else "invalid signature"
                status, _, text = served.request(method, path, body[0], {**headers, **body[1]}, token="")
                assert (status, json.loads(text)) == (401, {"code": 401, "message": words}), path
        # A forged signature is never reported as expired
        forged = f"/files?path=x&signature={signature('x', 'read', '', 'wrong', past)}&signature_expiration={past}"
        assert b"invalid signature" in served.request("GET", forged, token="")[2]
        assert box.request("GET", "/files?path=x")[2] == b"signed"


def test_filesystem_service_handles_its_requests(served):
    with boxed(served) as box:

        def call(name: str, status: int = 200, **message):
            return box.json("POST", f"/filesystem.Filesystem/{name}", message, status=status)

        made = call("MakeDir", path="d/e")["entry"]
        assert made["type"] == "FILE_TYPE_DIRECTORY" and made["path"] == "/home/user/d/e" and made["permissions"] == "drwxr-xr-x"
        assert call("MakeDir", 409, path="d/e")["code"] == "already_exists"
        box.request("POST", "/files?path=d/f", *form(("x", b"12345")))
        file = call("Stat", path="/home/user/d/f")["entry"]
        assert (file["size"], file["name"], file["type"]) == ("5", "f", "FILE_TYPE_FILE"), file
        assert [e["name"] for e in call("ListDir", path="/home/user", depth=2)["entries"]] == ["d", "e", "f"]
        assert [e["name"] for e in call("ListDir", path="/home/user")["entries"]] == ["d"]
        assert call("Move", source="d/f", destination="new/g")["entry"]["path"] == "/home/user/new/g"
        assert call("Remove", path="d") == {} == call("Remove", path="d")
        assert call("Stat", 404, path="d")["code"] == "not_found"
        assert call("Move", 404, source="d", destination="x")["code"] == "not_found"
        assert call("Remove", 400, path="/home/user")["code"] == "invalid_argument"
        assert call("Stat", 400, path=5)["code"] == "invalid_argument"
        assert call("MakeDir", 403, path="/usr/x")["code"] == "permission_denied"


def test_link_is_described_by_its_target(served):
    with boxed(served) as box:
        box.execute("import os\nos.mkdir('d')\nopen('d/f', 'w').close()\nos.chmod('d/f', 0o640)\nos.symlink('f', 'd/l')\nos.symlink('d', 'e')\nos.symlink('nowhere', 'n')")

        def stat(path: str) -> dict:
            return box.json("POST", "/filesystem.Filesystem/Stat", {"path": path})["entry"]

        link = stat("d/l")
        assert (link["type"], link["symlinkTarget"], link["isSymlink"]) == ("FILE_TYPE_FILE", "/home/user/d/f", True)
        assert (link["mode"], link["permissions"], link["path"]) == (0o640, "Lrwxrwxrwx", "/home/user/d/l")
        assert (stat("e")["type"], stat("e")["symlinkTarget"]) == ("FILE_TYPE_DIRECTORY", "/home/user/d")
        assert (stat("n")["type"], stat("n")["symlinkTarget"], stat("n")["mode"]) == ("FILE_TYPE_UNSPECIFIED", "nowhere", 0)
        assert "symlinkTarget" not in stat("d/f") and "isSymlink" not in stat("d/f")
        found = {e["name"]: e["type"] for e in box.json("POST", "/filesystem.Filesystem/ListDir", {"path": "."})["entries"]}
        assert found == {"d": "FILE_TYPE_DIRECTORY", "e": "FILE_TYPE_DIRECTORY", "n": "FILE_TYPE_UNSPECIFIED"}


# ---- commands ----


def test_commands_need_subprocess_permission(served):
    with boxed(served) as box:
        (last,) = box.command("echo hi")
        assert last["last"] and last["error"]["code"] == "permission_denied" and "subprocess_execution" in last["error"]["message"]
        assert box.json("POST", "/process.Process/List", {}) == {"processes": []}


def test_commands_run_with_environment_folder_and_timeout(one):
    with boxed(one, envVars={"A": "1"}) as box:
        events = box.command("echo out; echo err >&2; echo $A $B; pwd; exit 3", envs={"B": "2"}, cwd="/tmp")
        assert events[0]["event"]["start"]["pid"] > 0
        assert events[-2]["event"]["end"] == {"exitCode": 3, "exited": True, "status": "exit status 3"}
        assert events[-1] == {"last": True}
        data = [e["event"]["data"] for e in events if "data" in e.get("event", {})]
        assert b"".join(base64.b64decode(d.get("stdout", "")) for d in data) == b"out\n1 2\n/tmp\n"
        assert b"".join(base64.b64decode(d.get("stderr", "")) for d in data) == b"err\n"
        late = box.command("sleep 20", {"Connect-Timeout-Ms": "500"})[-1]
        assert late["error"]["code"] == "deadline_exceeded", late
        assert box.command("kill -9 $$")[-2]["event"]["end"]["exited"] is False
        assert box.command("true", cwd="/nowhere")[-1]["error"]["code"] == "invalid_argument"
        assert box.command("true", cwd=5)[-1]["error"]["code"] == "invalid_argument"
        assert box.json("POST", "/process.Process/SendSignal", {"process": {"pid": 999}, "signal": "SIGNAL_SIGKILL"}, status=404)["code"] == "not_found"
        # Quotes and newlines in a command are data, not code
        assert base64.b64decode(box.command("echo '\"\"\"'\"\\n{}%s\"")[1]["event"]["data"]["stdout"]).startswith(b'"""')


def test_large_stream_message_is_refused(one):
    """Thirty megabytes of nested lists took four seconds to parse, in the thread that all requests wait for."""
    with boxed(one) as box:
        body = json.dumps({"path": ".", "process": {"cmd": "true", "args": []}, "more": "x" * (1 << 20)}).encode()
        for path in ("/process.Process/Start", "/process.Process/Connect", "/filesystem.Filesystem/WatchDir"):
            sent = b"\0" + struct.pack(">I", len(body)) + body
            assert box.request("POST", path, sent, {"Content-Type": "application/connect+json"})[0] == 413


def kill_the_command(box) -> int:
    """Kill the command as soon as it is listed, and return its pid."""
    running = until(lambda: box.json("POST", "/process.Process/List", {})["processes"])
    assert running[0]["config"]["args"] == ["-c", "sleep 30"]
    box.json("POST", "/process.Process/SendSignal", {"process": {"pid": running[0]["pid"]}, "signal": "SIGNAL_SIGKILL"})
    return running[0]["pid"]


def test_command_beside_a_cell_is_killed(one):
    with boxed(one) as box:
        found = {}
        thread = threading.Thread(target=lambda: found.update(events=box.command("sleep 30")))
        with box.executing("import time\nprint('on')\ntime.sleep(60)"):
            thread.start()
            pid = kill_the_command(box)
        thread.join(60)
        begun, ended, last = found["events"]
        assert begun["event"]["start"]["pid"] == pid and last["last"] is True, found
        assert ended["event"]["end"]["status"] == "signal: 9" and ended["event"]["end"]["exited"] is False, found


def test_command_is_killed_by_its_pid(one):
    with boxed(one) as box:
        found = {}
        thread = threading.Thread(target=lambda: found.update(events=box.command("sleep 30")))
        thread.start()
        kill_the_command(box)
        thread.join(60)
        assert found["events"][-2]["event"]["end"]["exited"] is False, found
        assert of(box.execute("1"), "result")


def stream(box, path: str, message: dict) -> http.client.HTTPResponse:
    """Open a stream of messages. close() leaves it."""
    body = json.dumps(message).encode()
    connection = box.served.connect()
    named = {"E2b-Sandbox-Id": box.id, "X-Access-Token": box.about["envdAccessToken"], "Content-Type": "application/connect+json"}
    connection.request("POST", path, b"\0" + struct.pack(">I", len(body)) + body, named)
    answer = connection.getresponse()
    assert answer.status == 200
    return answer


def event(answer) -> dict:
    message = ALIVE[0]
    while message in ALIVE:
        head = answer.read(5)
        assert len(head) == 5, "the stream ended early"
        message = json.loads(answer.read(struct.unpack(">I", head[1:])[0]))
    return message


def ending(answer) -> dict:
    """Return how the command ended. A shell that outlives its child for a moment may report that on stderr first."""
    while "end" not in (one := event(answer)["event"]):
        assert list(one["data"]) == ["stderr"], one
    return one["end"]


def started(box, cmd: str, stdin: bool = False, **more):
    """Start a command, and return its stream and its pid."""
    answer = stream(box, "/process.Process/Start", {"process": {"cmd": "/bin/sh", "args": ["-c", cmd]}, "stdin": stdin, **more})
    return answer, event(answer)["event"]["start"]["pid"]


def test_command_outlives_its_client_and_is_found_by_tag(one):
    with boxed(one) as box:
        answer, pid = started(box, "read word; echo $word; sleep 60", stdin=True, tag="mine")
        answer.close()
        assert [(p["pid"], p["tag"]) for p in box.json("POST", "/process.Process/List", {})["processes"]] == [(pid, "mine")]
        readers = [stream(box, "/process.Process/Connect", {"process": {"tag": "mine"}}) for _ in range(8)]
        for reader in readers:
            assert event(reader)["event"]["start"]["pid"] == pid
        many = stream(box, "/process.Process/Connect", {"process": {"pid": pid}})
        assert event(many)["error"]["code"] == "resource_exhausted"
        box.json("POST", "/process.Process/SendInput", {"process": {"tag": "mine"}, "input": {"stdin": base64.b64encode(b"later\n").decode()}})
        for reader in readers:
            assert base64.b64decode(event(reader)["event"]["data"]["stdout"]) == b"later\n"
        box.json("POST", "/process.Process/SendSignal", {"process": {"tag": "mine"}, "signal": "SIGNAL_SIGTERM"})
        for reader in readers:
            assert ending(reader) == {"exitCode": -1, "exited": False, "status": "signal: 9", "error": "signal: 9"} and event(reader) == {}
            reader.close()
        assert box.json("POST", "/process.Process/List", {}) == {"processes": []}
        assert of(box.execute("1"), "result")


def test_command_input_is_limited_and_only_for_commands_that_read(one):
    with boxed(one) as box:

        def send(pid: int, data: bytes, status: int = 200):
            return box.json("POST", "/process.Process/SendInput", {"process": {"pid": pid}, "input": {"stdin": base64.b64encode(data).decode()}}, status=status)

        answer, pid = started(box, "cat", stdin=True)
        send(pid, b"x" * 300_000)
        got = b""
        while len(got) < 300_000:
            got += base64.b64decode(event(answer)["event"]["data"]["stdout"])
        assert got == b"x" * 300_000
        assert box.json("POST", "/process.Process/SendInput", {"process": {"pid": pid}, "input": {"stdin": "?"}}, status=400)["code"] == "invalid_argument"
        box.json("POST", "/process.Process/CloseStdin", {"process": {"pid": pid}})
        assert event(answer)["event"]["end"]["exitCode"] == 0
        answer.close()
        answer, pid = started(box, "sleep 60")
        assert send(pid, b"x", 400)["code"] == "failed_precondition"
        box.json("POST", "/process.Process/SendSignal", {"process": {"pid": pid}, "signal": "SIGNAL_SIGKILL"})
        answer.close()
        assert send(pid + 1000, b"x", 404)["code"] == "not_found"
        # Input that a command has not read is not for the next one.
        answer, pid = started(box, "exec 0<&-; sleep 5", stdin=True)
        send(pid, b"never read\n")
        assert event(answer)["event"]["end"]["exitCode"] == 0
        answer.close()
        assert box.command("cat")[-2]["event"]["end"]["exitCode"] == 0


def test_unread_input_occupies_no_thread_and_has_a_limit(one):
    """Other keys need the server's threads too. The input waits in the jail, which has a limit of memory."""
    with boxed(one) as box:
        answer, pid = started(box, "sleep 60", stdin=True)
        sent = {"process": {"pid": pid}, "input": {"stdin": base64.b64encode(b"x" * 1_000_000).decode()}}
        for _ in range(16):
            box.json("POST", "/process.Process/SendInput", sent)
        box.json("POST", "/process.Process/SendInput", sent)  # one more than stdin_bytes
        last = event(answer)
        assert last["error"]["code"] == "resource_exhausted" and "stdin_bytes" in last["error"]["message"], last
        answer.close()
        assert box.json("POST", "/process.Process/SendInput", sent, status=404)["code"] == "not_found"


# ---- debug mode ----


def can_bind(s: socket.socket, port: int) -> bool:
    try:
        s.bind(("127.0.0.1", port))
    except OSError:
        return False
    return True


def test_debug_mode_gives_sandbox_without_creating_one(stage):
    remit = make_remit(users()[-1], stage)
    refused = remit("serve", "--e2b-debug")
    assert refused.returncode == 2 and "--open" in refused.stderr, refused.stderr
    for port in (49983, 49999):
        with socket.socket() as s:
            # These ports are in the range from which other programs get temporary ports.
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            until(lambda: can_bind(s, port), "another program uses E2B's ports")
    with serve(remit, "--open", "--e2b-debug"):
        code, files = (Served(None, port, "") for port in (49999, 49983))
        for i in (1, 2):
            _, _, text = code.request("POST", "/execute", {"code": f"x = {i}\nx"}, token="")
            assert of([json.loads(line) for line in text.splitlines()], "result")[0]["text"] == str(i)
        assert files.request("POST", "/files?path=a", *form(("a", b"a")), token="")[0] == 200
        assert files.request("GET", "/files?path=a", headers={"E2b-Sandbox-Id": "debug_sandbox_id"}, token="")[2] == b"a"
        assert files.request("GET", "/health", token="")[0] == 204 and code.request("GET", "/health", token="")[0] == 200
