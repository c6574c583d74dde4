"""`remit mcp`: tools for models, through the protocol's messages."""

from __future__ import annotations

import base64
import json
import os
import time

import leftovers
import pytest
from conftest import PYTHON
from mcp_peer import ABILITIES, STATELESS, VERSION, Peer

SLEEP = "import time\nprint('begun', flush=True)\ntime.sleep(60)"
# The default policy's timeout, after which SLEEP ends at the latest
TIMEOUT = 30
TOOLS = ["run_python", "reset_session", "close_session", "read_file", "write_file", "list_files", "get_policy"]
PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)


@pytest.fixture
def peer(remit):
    started = []

    def start(*flags, **more) -> Peer:
        started.append(Peer(remit, *flags, **more))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            assert one.close() == 0, one.process.stderr.read()


# ---- the protocol ----


@pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07", "2099-01-01"])
def test_each_revision_gets_what_it_knows(any_remit, version):
    p = Peer(any_remit, version=version)
    hello = p.hello["result"]
    assert hello["protocolVersion"] == (version if version < "2099" else "2025-11-25")
    assert hello["serverInfo"]["name"] == "remit" and hello["capabilities"] == {"tools": {}, "resources": {}}
    tools = p.request("tools/list")["result"]["tools"]
    assert [t["name"] for t in tools] == TOOLS
    result = p.call("run_python", code="40 + 2")
    for t in tools:
        assert ("outputSchema" in t) == ("title" in t) == ("structuredContent" in result) == (version >= "2025-06-18")
        assert ("annotations" in t) == (version >= "2025-03-26")
    assert json.loads(result["content"][0]["text"])["value"] == "42"
    assert p.request("ping")["result"] == {} and p.close() == 0


def test_stateless_request_needs_no_handshake(peer):
    p = peer(version=STATELESS)
    found = p.request("server/discover")["result"]
    assert found["supportedVersions"] == [STATELESS] and found["capabilities"] == {"tools": {}, "resources": {}}
    assert found["resultType"] == "complete" and found["ttlMs"] >= 0 and found["cacheScope"] == "private"
    assert found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "remit"
    listed = p.request("tools/list")["result"]
    assert [t["name"] for t in listed["tools"]] == TOOLS and listed["resultType"] == "complete" and "ttlMs" in listed
    result = p.call("run_python", code="40 + 2")
    assert result["resultType"] == "complete" and result["structuredContent"]["value"] == "42"
    assert p.request("ping")["error"]["code"] == -32601
    wrong = p.request("tools/list", {VERSION: "1900-01-01"})["error"]
    assert wrong["code"] == -32022 and wrong["data"] == {"supported": [STATELESS], "requested": "1900-01-01"}
    assert p.request("tools/list", {VERSION: "2025-11-25"})["error"]["code"] == -32022
    assert p.request("tools/list", {ABILITIES: None})["error"]["code"] == -32602
    p.version = None
    reply = p.request("tools/list")["error"]
    assert reply["code"] == -32602 and "initialize" in reply["message"]
    # Both kinds of requests on one connection
    assert p.request("initialize", protocolVersion="2025-06-18", capabilities={})["result"]["protocolVersion"] == "2025-06-18"
    assert "resultType" not in p.request("tools/list")["result"]
    assert p.request("initialize", protocolVersion="2025-06-18", capabilities={})["error"]["code"] == -32600


def test_malformed_message_is_answered_by_error_code(peer):
    p = peer()
    for text, code, number in [
        ("{", -32700, None), (b'{"\xff\xfe": 1}', -32700, None), (b"\xff", -32700, None), ('{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', -32700, None),
        ("[" * 100_000, -32700, None), ('[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600, None), ('"ping"', -32600, None),
        ('{"id":3,"method":"ping"}', -32600, 3), ('{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, None),
        ('{"jsonrpc":"2.0","id":5,"method":"ping","params":[]}', -32602, 5), ('{"jsonrpc":"2.0","id":"six","method":"nothing"}', -32601, "six"),
        ('{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"nothing"}}', -32602, 7),
        ('{"jsonrpc":"2.0","id":"cut","method":"tools/call","params":{"name":"%s"}}' % ("a" + "ü" * 99), -32602, "cut"),
        ('{"jsonrpc":"2.0","id":8,"method":"tools/list","params":{"cursor":"x"}}', -32602, 8),
        ('{"jsonrpc":"2.0","id":9,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}', -32002, 9),
    ]:  # fmt: skip
        p.raw(text)
        reply = p.read_message()
        assert (reply["error"]["code"], reply.get("id")) == (code, number), (text[:80], reply)
    # Notifications and unsolicited answers get no answer.
    p.notify("notifications/cancelled", requestId=77)
    p.notify("notifications/nothing")
    p.raw('{"jsonrpc":"2.0","id":"nobody asked","result":{}}')
    p.raw("")
    assert p.request("ping")["result"] == {}


def test_endless_line_is_not_buffered(any_remit):
    p = Peer(any_remit)
    for _ in range(97):
        p.process.stdin.write(b"x" * (1 << 20))
    p.raw("")
    assert p.read_message()["error"] == {"code": -32600, "message": "a message must not have more than 100663296 bytes"}
    assert p.request("ping")["result"] == {} and p.close() == 0


# ---- run_python ----


def test_answer_agrees_with_result(peer, remit):
    p = peer()
    code = "import sys\nprint('out')\nprint('err', file=sys.stderr)\ndisplay('shown')\n[1, 2]"
    result = p.call("run_python", code=code)
    given = result["structuredContent"]
    assert json.loads(result["content"][0]["text"]) == given and not result["isError"]
    real = remit.json(code, "--python", PYTHON)
    for key in ("status", "exit_code", "stdout", "stderr", "stdout_truncated", "stderr_truncated", "error", "denials"):
        assert given[key] == real[key], key
    assert given["value"] == real["value"]["text"] and [d["text"] for d in given["displays"]] == ["'shown'"]
    assert given["session"] is given["session_state"] is None and given["artifacts"] == given["denials"] == []


def test_failure_is_result_with_error(peer):
    p = peer()
    failed = p.call("run_python", code="x = 1\nx / 0")
    assert failed["isError"] and failed["structuredContent"]["error"] == {"name": "ZeroDivisionError", "value": "division by zero", "line": 2, "remedy": None}
    assert "ZeroDivisionError" in failed["structuredContent"]["stderr"]
    denied = p.call("run_python", code="import socket\nsocket.socket()")
    assert denied["isError"] and denied["structuredContent"]["denials"][0]["field"] == "network_access"
    assert not p.call("run_python", code="import sys\nsys.exit(0)")["isError"]
    assert p.call("run_python", code="import sys\nsys.exit(3)")["structuredContent"]["exit_code"] == 3
    # A number too large for a JSON parser's integers
    assert p.run("2 ** 5000")["value"] == str(2**5000)


def test_arguments_are_checked_by_published_schema(peer):
    p = peer("--timeout", "2s")
    (schema,) = [t["inputSchema"] for t in p.request("tools/list")["result"]["tools"] if t["name"] == "run_python"]
    assert schema["properties"]["timeout"]["maximum"] == 2 and schema["required"] == ["code"]
    assert p.refusal_of("run_python") == 'arguments: "code" is missing'
    assert "arguments.code" in p.refusal_of("run_python", code=1)
    assert "at most 2.0" in p.refusal_of("run_python", code="1", timeout=3)
    assert "arguments.timeout" in p.refusal_of("run_python", code="1", timeout=0)
    assert "network" in p.refusal_of("run_python", code="1", network_access=True)
    assert "either text or base64" in p.refusal_of("run_python", code="1", files=[{"path": "a"}])
    assert "not valid base64" in p.refusal_of("run_python", code="1", files=[{"path": "a", "base64": "?"}])
    assert "arguments.files[0]" in p.refusal_of("run_python", code="1", files=[{"path": "a", "text": "b", "host_path": "/etc/passwd"}])


def test_program_may_get_shorter_timeout(peer):
    p = peer()
    began = time.monotonic()
    assert p.run("while True: pass", timeout=0.3)["status"] == "timeout"
    first = p.run("n = 1", session="new")["session"]
    late = p.run("import time\ntime.sleep(20)", session=first, timeout=0.3)
    assert late["status"] == "timeout" and late["session_state"] == "open" and time.monotonic() - began < TIMEOUT
    assert p.run("n", session=first)["value"] == "1"


def test_program_brings_files(peer):
    files = [{"path": "in/a.txt", "text": "grüße"}, {"path": "b", "base64": base64.b64encode(b"\0\1\2").decode()}]
    assert peer().run("[open('in/a.txt').read(), open('b', 'rb').read()]", files=files)["value"] == r"['grüße', b'\x00\x01\x02']"


def test_images_are_separate_content(peer):
    code = f"class P:\n    def _repr_png_(self): return {PNG!r}\ndisplay(P())\nP()"
    blocks = peer().call("run_python", code=code)["content"]
    assert [b["type"] for b in blocks] == ["text", "image", "image"]
    assert base64.b64decode(blocks[1]["data"]) == PNG and blocks[1]["mimeType"] == "image/png"


# ---- sessions ----


def test_session_keeps_state_and_is_private(peer):
    p = peer()
    one, two = (p.run("n = %d" % i, session="new")["session"] for i in (1, 2))
    assert one != two
    assert p.run("n", session=one)["value"] == "1" and p.run("n", session=two)["value"] == "2"
    assert p.run("n")["error"]["name"] == "NameError"
    assert p.output_of("reset_session", session=one) == {"session": one, "session_state": "open"}
    assert p.run("n", session=one)["error"]["name"] == "NameError"
    assert p.output_of("close_session", session=two)["status"] == "ok"
    for tool, more in [("run_python", {"code": "1"}), ("reset_session", {}), ("list_files", {})]:
        assert "does not exist or has ended" in p.refusal_of(tool, session=two, **more)
    assert "does not exist or has ended" in p.refusal_of("run_python", code="1", session="guessed")
    assert "does not exist or has ended" in p.refusal_of("run_python", code="1", session="a" + "ü" * 99)
    # Another server does not know the session.
    assert "does not exist or has ended" in peer().refusal_of("run_python", code="1", session=one)


def test_ended_session_is_reported_until_reset(peer):
    p = peer()
    s = p.run("n = 1", session="new")["session"]
    died = p.run("import os\nos._exit(3)", session=s)
    assert died["session_state"] == "ended" and died["session"] == s
    again = p.run("n", session=s)
    assert again["status"] == "refused" and again["error"]["remedy"].startswith("Reset the session"), again
    p.output_of("reset_session", session=s)
    assert p.run("40 + 2", session=s)["value"] == "42"


def test_concurrent_requests_are_limited(peer):
    p = peer()
    code = "import time\nbegan = time.time()\ntime.sleep(5)\n[began, time.time(), %d]"
    numbers = [p.begin("tools/call", name="run_python", arguments={"code": code % i}) for i in range(66)]
    answers = {}
    while len(answers) < 66:
        reply = p.read_message()
        answers[reply["id"]] = reply
    refused = [n for n in numbers if "error" in answers[n]]
    assert len(refused) == 2 and all("busy" in answers[n]["error"]["message"] for n in refused)
    values = [json.loads(answers[n]["result"]["structuredContent"]["value"]) for n in numbers if n not in refused]
    assert len({i for _, _, i in values}) == 64
    assert max(sum(began <= at < ended for began, ended, _ in values) for at, _, _ in values) > 4


# ---- progress and cancelling ----


def test_progress_is_sent_on_request(peer):
    p = peer()
    code = "import time\nfor i in range(3):\n    print('line', i, flush=True)\n    time.sleep(1)"
    p.call("run_python", {"progressToken": "mine"}, code=code)
    sent = [n["params"] for n in p.notices]
    assert 2 <= len(sent) <= 8 and {t["progressToken"] for t in sent} == {"mine"}
    assert [t["progress"] for t in sent] == sorted({t["progress"] for t in sent}) and "line" in sent[0]["message"]
    p.notices.clear()
    p.call("run_python", code="print('line')")
    assert p.notices == []
    # Of many lines of output, at most ten per second are sent.
    began = time.monotonic()
    p.call("run_python", {"progressToken": 7}, code="for i in range(20000): print(i, flush=True)")
    assert 1 <= len(p.notices) <= 2 + 10 * (time.monotonic() - began) and all(len(n["params"]["message"]) <= 4096 for n in p.notices)


@pytest.mark.parametrize("version", ["2025-11-25", STATELESS])
def test_cancelled_request_is_stopped_without_answer(peer, version):
    p = peer(version=version)
    s = p.run("n = 1", session="new")["session"]
    # In a session the program gets KeyboardInterrupt and the variables stay.
    code = "import time\ntry:\n    print('begun', flush=True)\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    n = 2"
    began = time.monotonic()
    number = p.begin_program(code, session=s)
    p.notify("notifications/cancelled", requestId=number, reason="not needed")
    assert p.run("n", session=s)["value"] == "2" and time.monotonic() - began < TIMEOUT
    # A request that waits for its turn does not start.
    first = p.begin_program("import time\nprint('begun', flush=True)\ntime.sleep(3)", session=s)
    second = p.begin("tools/call", name="run_python", arguments={"code": "n = 3", "session": s})
    p.notify("notifications/cancelled", requestId=second)
    p.end(first)
    assert p.run("n", session=s)["value"] == "2"
    # A single run is ended, and so is a session whose handle no client knows yet.
    began = time.monotonic()
    for more in ({}, {"session": "new"}):
        p.notify("notifications/cancelled", requestId=p.begin_program(SLEEP, **more))
    assert p.request("tools/list")["result"]
    assert all("id" not in n for n in p.notices) and p.asked == []
    assert p.close() == 0 and time.monotonic() - began < TIMEOUT


# ---- files and resources ----


def test_session_files_are_written_and_read(peer):
    p = peer()
    made = p.output_of("write_file", session="new", path="a/b.txt", text="grüße\n")
    s = made.pop("session")
    assert made == {"path": "/workspace/a/b.txt", "size": 8}
    assert p.run("open('a/b.txt').read()", session=s)["value"] == r"'grüße\n'"
    assert p.output_of("write_file", session=s, path="a/b.txt", text="more", append=True)["size"] == 12
    read = p.output_of("read_file", session=s, path="/workspace/a/b.txt")
    assert read == {"path": "/workspace/a/b.txt", "size": 12, "content_type": "text/plain", "text": "grüße\nmore", "base64": None, "length": 12, "more": False}
    # A piece that would end inside a character is shortened.
    piece = p.output_of("read_file", session=s, path="a/b.txt", length=3)
    assert piece["text"] == "gr" and piece["length"] == 2 and piece["more"]
    assert p.output_of("read_file", session=s, path="a/b.txt", offset=8)["text"] == "more"
    p.output_of("write_file", session=s, path="raw", base64=base64.b64encode(b"\0\xff").decode())
    assert base64.b64decode(p.output_of("read_file", session=s, path="raw")["base64"]) == b"\0\xff"
    p.output_of("write_file", session=s, path="p.png", base64=base64.b64encode(PNG).decode())
    image = p.call("read_file", session=s, path="p.png")
    assert image["structuredContent"]["base64"] is None and base64.b64decode(image["content"][1]["data"]) == PNG
    listed = p.output_of("list_files", session=s, depth=2)
    assert [(f["path"], f["type"]) for f in listed["files"]] == [
        ("/workspace/a", "folder"), ("/workspace/a/b.txt", "file"), ("/workspace/p.png", "file"), ("/workspace/raw", "file")
    ]  # fmt: skip
    assert p.output_of("list_files", session=s, path="a")["files"][0]["size"] == 12
    for uri, kind, value in [("a/b.txt", "text", "grüße\nmore"), ("raw", "blob", base64.b64encode(b"\0\xff").decode())]:
        (content,) = p.request("resources/read", uri=f"remit://sessions/{s}/{uri}")["result"]["contents"]
        assert content[kind] == value, content


def test_files_are_where_policy_wants_workspace(peer):
    p = peer("--workspace", "/home/user", "--workspace-alias", "/workspace")
    made = p.output_of("write_file", session="new", path="/workspace/a", text="x")
    s = made.pop("session")
    assert made == {"path": "/home/user/a", "size": 1}
    for path in ("a", "/home/user/a", "/workspace/a"):
        assert p.output_of("read_file", session=s, path=path)["path"] == "/home/user/a"
    assert p.run("import os; [os.getcwd(), open('/home/user/a').read()]", session=s)["value"] == "['/home/user', 'x']"
    assert [f["path"] for f in p.output_of("list_files", session=s)["files"]] == ["/home/user/a"]
    assert "current folder, `/home/user`" in json.dumps(p.request("tools/list")) + json.dumps(p.hello)


def test_jail_decides_which_files_are_accessible(peer, remit):
    p = peer()
    s = p.run("import os\nos.symlink('/proc/self/environ', 'link')", session="new")["session"]
    secret = remit.file("secret.txt", "of the host")
    for path in ("/etc/shadow", str(secret), f"../..{secret}", "missing"):
        assert "No such file" in p.refusal_of("read_file", session=s, path=path), path
    assert "of the host" not in json.dumps(p.call("read_file", session=s, path="link"))
    assert "Read-only" in p.refusal_of("write_file", session=s, path="/usr/x", text="x")
    assert p.request("resources/read", uri=f"remit://sessions/{s}/..%2F..{secret}")["error"]["code"] == -32002
    assert p.request("resources/read", uri=f"remit://sessions/{s}/%00")["error"]["code"] == -32002
    assert p.request("resources/read", uri="remit://sessions/other/a")["error"]["code"] == -32002


def test_artifacts_are_links_that_can_be_read(peer, remit):
    folder = remit.folder / "tmp"
    folder.mkdir(exist_ok=True)
    remit.own(folder)
    p = peer("--export", "out/*", env={"TMPDIR": str(folder)})
    result = p.call("run_python", code="import os\nos.mkdir('out')\nopen('out/a b.csv', 'w').write('1,2')\nopen('not', 'w')")
    (a,) = result["structuredContent"]["artifacts"]
    assert a["path"] == "out/a b.csv" and a["size"] == 3 and a["content_type"] == "text/csv" and a["uri"].endswith("/out/a%20b.csv")
    link = result["content"][1]
    assert link == {"type": "resource_link", "uri": a["uri"], "name": "out/a b.csv", "mimeType": "text/csv", "size": 3}
    (content,) = p.request("resources/read", uri=a["uri"])["result"]["contents"]
    assert content == {"uri": a["uri"], "mimeType": "text/csv", "text": "1,2"}
    s = p.run("import os\nos.mkdir('out')\nopen('out/b', 'wb').write(b'\\0')", session="new")["session"]
    (b,) = p.output_of("close_session", session=s)["artifacts"]
    (content,) = p.request("resources/read", uri=b["uri"])["result"]["contents"]
    assert content["blob"] == "AA=="
    for wrong in (a["uri"].replace("a%20b", "c"), a["uri"] + "/../../x", "remit://artifacts/other/out/b", "remit://artifacts/"):
        assert p.request("resources/read", uri=wrong)["error"]["code"] == -32002, wrong
    assert p.close() == 0 and os.listdir(folder) == []


def test_listed_resources_can_be_read(peer):
    p = peer()
    (guide,) = p.request("resources/list")["result"]["resources"]
    (content,) = p.request("resources/read", uri=guide["uri"])["result"]["contents"]
    assert "There is no network." in content["text"] and content["mimeType"] == guide["mimeType"] == "text/markdown"
    assert len(p.request("resources/templates/list")["result"]["resourceTemplates"]) == 2


# ---- the policy ----


def test_description_and_enforcement_match_plan(peer, remit):
    flags = ("--memory", "300M", "--env", "KEY=of-the-host", "--read", str(remit.folder))
    p = peer(*flags)
    (text,) = [t["description"] for t in p.request("tools/list")["result"]["tools"] if t["name"] == "run_python"]
    guide = remit("instructions", "--python", PYTHON, *flags).stdout
    assert guide in text and "300 MiB of memory" in text
    for _ in range(2):  # the first call computes it, the second uses the cache
        given = p.output_of("get_policy")
        assert given["guide"] == guide and given["tier"] == "local"
        shown = {row["field"]: row for row in given["enforcement"]}
        real = {row["field"]: row for row in remit.json("pass", "--python", PYTHON, *flags)["enforcement"]}
        assert {f: (r["strength"], r["mechanisms"]) for f, r in shown.items()} == {f: (r["strength"], r["mechanisms"]) for f, r in real.items()}
        assert shown["memory_bytes"]["value"] == 300 << 20 and shown["network_access"]["value"] is False
        assert "of-the-host" not in json.dumps(given)


def test_unenforceable_policy_is_refused_at_start(remit):
    done = remit("mcp", "--python", PYTHON, "--memory", "1T", "--disk", "1T", "--tier", "landlock", "--subprocess")
    assert done.returncode == 125 and "refused" in done.stderr and done.stdout == ""
    assert remit("mcp", "--python", "/nowhere").returncode in (2, 125)


@pytest.mark.parametrize("how", ["end", "signal"])
def test_client_that_leaves_during_call_leaves_nothing(remit, how):
    folder = remit.folder / "left"
    folder.mkdir(exist_ok=True)
    remit.own(folder)
    p = Peer(remit, "--export", "*.txt", env={"TMPDIR": str(folder)})
    p.run("open('a.txt', 'w')")
    s = p.run("n = 1", session="new")["session"]
    began = time.monotonic()
    for more in ({}, {"session": s}):
        p.begin_program(SLEEP, **more)
    if how == "signal":
        p.process.terminate()
    else:
        p.process.stdin.close()
    assert p.process.wait(60) == 0 and time.monotonic() - began < TIMEOUT
    assert p.process.stderr.read() == b"" and os.listdir(folder) == []
    assert leftovers.remaining(lambda: leftovers.processes(remit.command)) == [] and leftovers.remaining(leftovers.groups) == []


# ---- configuration for clients ----


@pytest.mark.parametrize("client", ["claude", "cursor", "vscode"])
def test_printed_configuration_starts_server(any_remit, client):
    done = any_remit("mcp", "--install", client, "--python", PYTHON, "--timeout", "7s")
    assert done.returncode == 0 and "remit: add this to" in done.stderr
    (servers,) = json.loads(done.stdout).values()
    server = servers["remit"]
    assert server["args"] == ["mcp", "--python", PYTHON, "--timeout", "7s"] and server["command"] == any_remit.command
    ask = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}}})
    assert json.loads(any_remit(*server["args"], input=ask + "\n").stdout)["result"]["serverInfo"]["name"] == "remit"


def test_configuration_that_would_not_work_is_refused(any_remit):
    assert any_remit("mcp", "--install", "cursr").returncode == 2
    assert any_remit("mcp", "--install", "claude", "--timeout", "soon").returncode == 2
    assert "did you mean cursor?" in any_remit("mcp", "--install", "cursr").stderr
