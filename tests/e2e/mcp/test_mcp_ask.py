"""Questions of programs, passed to the person at an MCP client."""

from __future__ import annotations

import network_here
import pytest
from mcp_peer import STATELESS, Peer
from network_here import TRY, connections

API, EVIL = "api.example.com", "evil.example"
FETCH = TRY + f"for n in range(2): print(n, 'there' if '{{' in attempt(fetch, f'http://{EVIL}/{{n}}') else 'no')\n"
ABLE = {"elicitation": {}}


@pytest.fixture(scope="module")
def world(stage):
    with network_here.start(stage / "world-mcp") as w:
        yield w


@pytest.fixture
def ask(remit, world):
    """Runs the program with a client that can ask its user, or cannot."""

    def run(version, abilities, answer, *flags) -> tuple[dict, list[str], list[str]]:
        mark = world.mark()
        p = Peer(world.inside(remit), "--allow-host", f"{API}:80", *network_here.FALLBACK, *flags, version=version, abilities=abilities)
        p.answer, asked = answer, []
        given = {"name": "run_python", "arguments": {"code": FETCH}}
        reply = p.request("tools/call", **given)
        while reply["result"].get("resultType") == "input_required":
            state, wanted = reply["result"]["requestState"], reply["result"]["inputRequests"]["allow"]
            asked.append(wanted["params"]["message"])
            assert wanted["method"] == "elicitation/create" and wanted["params"]["requestedSchema"]["required"] == ["answer"]
            # Without an answer the question is repeated. A changed state, another program or a used state is refused.
            assert p.request("tools/call", **given, requestState=state)["result"]["requestState"] == state
            reply = {"allow": answer, "more": {}}
            assert p.request("tools/call", **given, requestState=state[:-1] + "_", inputResponses=reply)["error"]["code"] == -32602
            other = {"name": "run_python", "arguments": {"code": "1"}}
            assert p.request("tools/call", **other, requestState=state, inputResponses=reply)["error"]["code"] == -32602
            reply = p.request("tools/call", **given, requestState=state, inputResponses=reply)
            assert p.request("tools/call", **given, requestState=state, inputResponses=reply)["error"]["code"] == -32602
        asked += [a["params"]["message"] for a in p.asked]
        assert p.close() == 0
        return reply["result"]["structuredContent"], asked, connections(world.seen(mark))

    return run


@pytest.mark.parametrize("version", ["2025-11-25", STATELESS])
@pytest.mark.parametrize(
    "action, answer, reached, times",
    [("accept", "run", 2, 1), ("accept", "once", 2, 2), ("accept", "deny", 0, 1), ("decline", None, 0, 1), ("accept", "perhaps", 0, 1)],
)
def test_unknown_host_is_question_to_client(ask, version, action, answer, reached, times):
    given, asked, seen = ask(version, ABLE, {"action": action, "content": {"answer": answer}}, "--ask-hosts")
    assert given["status"] == "ok" and given["stdout"].count("there") == reached, given
    assert len(asked) >= times and all(f'"{EVIL}:80"' in a for a in asked) and bool(seen) == bool(reached)


@pytest.mark.parametrize("version, abilities, flags", [("2025-11-25", {}, ["--ask-hosts"]), (STATELESS, {}, ["--ask-hosts"]), (STATELESS, ABLE, [])])
def test_unknown_host_is_denied_if_client_cannot_ask(ask, version, abilities, flags):
    given, asked, seen = ask(version, abilities, {"action": "accept", "content": {"answer": "run"}}, *flags)
    assert given["status"] == "ok" and given["stdout"] == "0 no\n1 no\n" and asked == seen == []
