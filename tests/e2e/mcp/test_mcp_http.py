"""POST /mcp: what the protocol requires of HTTP, and how violations are answered."""

from __future__ import annotations

import contextlib
import hashlib
import json
import socket
import time

import pytest
from mcp_peer import ABILITIES, STATELESS, VERSION
from served import serve
from waiting import until

SLEEP = "import time\ntime.sleep(60)"


@pytest.fixture(scope="module")
def server(stage):
    from conftest import make_remit, users

    with serve(make_remit(users()[-1], stage)) as s:
        yield s


def ask(server, method, params=None, number=1, headers=None, meta=True, **more):
    """Send a request that names its revision. Return (status, headers, message)."""
    params = {**(params or {})}
    if meta is True:
        params["_meta"] = {VERSION: STATELESS, ABILITIES: {}}
    sent = {"Mcp-Protocol-Version": STATELESS, "Mcp-Method": method, "Content-Type": "application/json"}
    if "name" in params or "uri" in params:
        sent["Mcp-Name"] = params.get("name") or params["uri"]
    body = {"jsonrpc": "2.0", "method": method, "params": params, **({"id": number} if number else {})}
    status, got, text = server.request("POST", "/mcp", json.dumps(body), {**sent, **(headers or {})}, **more)
    if got["Content-Type"] == "text/event-stream":
        text = text.decode().split("data: ")[-1]
    return status, got, json.loads(text) if text else None


def run(server, code, **more) -> dict:
    token = more.pop("token", None)
    status, _, reply = ask(server, "tools/call", {"name": "run_python", "arguments": {"code": code, **more}}, token=token)
    assert status == 200, reply
    return reply["result"]


class Session:
    """A client that started with `initialize`."""

    def __init__(self, server, token=None):
        self.server, self.token, self.id = server, token, None
        status, headers, reply = self.post("initialize", protocolVersion="2025-06-18", capabilities={})
        assert status == 200 and reply["result"]["protocolVersion"] == "2025-06-18"
        self.id = headers["Mcp-Session-Id"]

    def headers(self) -> dict:
        return {"Content-Type": "application/json", **({"Mcp-Session-Id": self.id} if self.id else {})}

    def post(self, method, number=1, **params):
        body = {"jsonrpc": "2.0", "method": method, "params": params, **({"id": number} if number else {})}
        status, headers, text = self.server.request("POST", "/mcp", json.dumps(body), self.headers(), token=self.token)
        return status, headers, json.loads(text.decode().split("data: ")[-1]) if text else None


def leave_in_the_middle(server, code: str, **arguments) -> None:
    """Send a request, read the beginning of the answer, and disconnect."""
    params = {"name": "run_python", "arguments": {"code": code, **arguments}, "_meta": {VERSION: STATELESS, ABILITIES: {}, "progressToken": 1}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as s:
        s.sendall(
            f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.token}\r\nContent-Type: application/json\r\n"
            f"Mcp-Protocol-Version: {STATELESS}\r\nMcp-Method: tools/call\r\nMcp-Name: run_python\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
        )
        seen = b""
        while b"begun" not in seen:
            assert (piece := s.recv(65536)), seen
            seen += piece


def test_request_needs_key_and_local_origin(server):
    discover = ("server/discover", None)
    assert ask(server, *discover)[0] == 200
    assert ask(server, *discover, token="wrong")[0] == 401
    assert ask(server, *discover, headers={"Origin": "http://evil.example"})[0] == 403
    assert ask(server, *discover, headers={"Host": "evil.example"})[0] == 421
    assert ask(server, *discover, headers={"Content-Type": "text/plain"})[0] == 415
    status, headers, _ = server.request("GET", "/mcp")
    assert status == 405 and headers["Allow"] == "POST, DELETE"


def test_headers_must_agree_with_message(server):
    params = {"name": "get_policy", "arguments": {}}
    for headers, code in [
        ({"Mcp-Protocol-Version": "2025-11-25"}, -32020), ({"Mcp-Method": "tools/list"}, -32020), ({"Mcp-Name": "run_python"}, -32020),
        ({"Mcp-Name": "=?base64?cnVu?="}, -32020), ({"Mcp-Name": "=?base64?!?="}, -32020), ({"Mcp-Name": ""}, -32020),
    ]:  # fmt: skip
        status, _, reply = ask(server, "tools/call", params, 7, headers)
        assert (status, reply["error"]["code"], reply["id"]) == (400, code, 7), (headers, reply)
    assert ask(server, "tools/call", params, headers={"Mcp-Name": "=?base64?Z2V0X3BvbGljeQ==?="})[0] == 200


def test_each_failure_has_its_status(server):
    assert ask(server, "nothing")[0] == 404 and ask(server, "nothing")[2]["error"]["code"] == -32601
    assert ask(server, "tools/list", meta=False)[0] == 400
    status, _, reply = ask(server, "tools/list", {"_meta": {VERSION: "2099-01-01", ABILITIES: {}}}, headers={"Mcp-Protocol-Version": "2099-01-01"}, meta=False)
    assert status == 400 and reply["error"]["code"] == -32022
    assert ask(server, "resources/read", {"uri": "remit://nothing"})[2]["error"]["code"] == -32602
    for body, code in [("{", -32700), ("[]", -32600), ('{"jsonrpc":"2.0","id":1,"method":"ping","params":1}', -32602), ("[" * 200, -32700)]:
        status, _, text = server.request("POST", "/mcp", body, {"Content-Type": "application/json"})
        assert status == 400 and json.loads(text)["error"]["code"] == code, body
    # A notification has no answer.
    assert ask(server, "notifications/cancelled", {"requestId": 1}, number=None)[::2] == (202, None)


def test_client_without_event_stream_gets_one_document(server):
    code = "import time\nprint('begun', flush=True)\ntime.sleep(0.3)"
    for accept, kind in [("application/json", "application/json"), ("application/json, text/event-stream", "text/event-stream")]:
        params = {"name": "run_python", "arguments": {"code": code}, "_meta": {VERSION: STATELESS, ABILITIES: {}, "progressToken": 1}}
        status, headers, reply = ask(server, "tools/call", params, headers={"Accept": accept}, meta=False)
        assert (status, headers["Content-Type"], reply["result"]["structuredContent"]["stdout"]) == (200, kind, "begun\n")


def test_protocol_session_is_named_by_header(server):
    s = Session(server)
    assert s.post("tools/list")[2]["result"]["tools"] and s.post("ping")[2]["result"] == {}
    assert s.post("notifications/initialized", number=None)[0] == 202
    assert s.post("nothing")[::2] == (200, {"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": 'unknown method "nothing"'}})
    other = Session(server)
    assert other.id != s.id
    unknown = Session(server)
    unknown.id = None
    assert unknown.post("tools/list")[0] == 400
    unknown.id = s.id[:-1] + "_"
    assert unknown.post("tools/list")[0] == 404
    assert server.request("DELETE", "/mcp", headers={"Mcp-Session-Id": s.id})[0] == 204
    assert s.post("tools/list")[0] == 404 and other.post("tools/list")[0] == 200
    assert server.request("DELETE", "/mcp", headers={"Mcp-Session-Id": s.id})[0] == 404


def test_disconnected_client_cancels_its_request(server):
    handle = run(server, "n = 1", session="new")["structuredContent"]["session"]
    code = "import time\ntry:\n    print('begun', flush=True)\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    n = 2"
    began = time.monotonic()
    leave_in_the_middle(server, code, session=handle)
    assert run(server, "n", session=handle)["structuredContent"]["value"] == "2"
    assert time.monotonic() - began < 30, "the timeout interrupted the program, not the client"
    # Single runs, and sessions whose handle no client knows
    for more in ({}, {"session": "new"}) * 3:
        leave_in_the_middle(server, "import time\nprint('begun', flush=True)\ntime.sleep(60)", **more)
    until(lambda: server.metric("remit_rooms") <= 1, "runs are left")
    status, _, _ = ask(server, "tools/call", {"name": "close_session", "arguments": {"session": handle}})
    assert status == 200
    server.wait_for_no_hosted_sessions()


def test_ended_session_cancels_its_requests(server):
    s = Session(server)
    body = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "run_python", "arguments": {"code": SLEEP}}}
    connection = server.connect()
    connection.request("POST", "/mcp", json.dumps(body), {**s.headers(), "Authorization": f"Bearer {server.token}"})
    with contextlib.closing(connection):
        answer = connection.getresponse()
        assert answer.headers["Content-Type"] == "text/event-stream"
        assert server.request("DELETE", "/mcp", headers={"Mcp-Session-Id": s.id})[0] == 204
        assert b"data: " not in answer.read()
    server.wait_for_no_hosted_sessions()


def test_keys_have_separate_sessions_and_limits(any_remit):
    rows = [{"name": n, "sha256": hashlib.sha256(k.encode()).hexdigest(), **more} for n, k, more in [
        ("one", "1" * 40, {"concurrency": 1}), ("two", "2" * 40, {"policy": {"timeout": 3}})]]  # fmt: skip
    path = any_remit.file("keys.json", json.dumps({"keys": rows}))
    path.chmod(0o600)
    with serve(any_remit, "--keys", path) as s:
        one, two = "1" * 40, "2" * 40
        handle = run(s, "n = 1", session="new", token=one)["structuredContent"]["session"]
        assert run(s, "n", session=handle, token=one)["structuredContent"]["value"] == "1"
        assert "does not exist or has ended" in run(s, "n", session=handle, token=two)["content"][0]["text"]
        busy = run(s, "1", token=one)
        assert busy["isError"] and "1 sessions and runs" in busy["content"][0]["text"]
        first = Session(s, one)
        assert first.post("tools/list")[0] == 200
        first.token = two
        assert first.post("tools/list")[0] == 404
        assert s.request("DELETE", "/mcp", headers={"Mcp-Session-Id": first.id}, token=two)[0] == 404
        # The policy belongs to the key.
        maxima = [ask(s, "tools/list", token=t)[2]["result"]["tools"][0]["inputSchema"]["properties"]["timeout"]["maximum"] for t in (one, two)]
        assert maxima == [30, 3]
