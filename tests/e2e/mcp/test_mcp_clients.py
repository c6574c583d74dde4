"""`remit mcp` and `remit serve` used by clients of other authors, as npm distributes them, and by the protocol's
conformance tests."""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
import pathlib
import re
import subprocess
import sys

import network_here
import pytest
from conftest import PYTHON, ROOT, skip_or_fail

sys.path.insert(0, str(ROOT / "tests" / "npm"))
import packages  # noqa: E402

# The older client with the handshake. The newer client with its default, choosing the revision itself, and with
# 2026-07-28 only.
CLIENTS = {
    "sdk": {"client": "sdk"},
    "client": {"client": "client"},
    "auto": {"client": "client", "mode": "auto"},
    "pinned": {"client": "client", "mode": {"pin": "2026-07-28"}},
}
RUN = {"name": "run_python"}


@pytest.fixture(scope="module")
def npm():
    try:
        return packages.folder("mcp")
    except packages.Unavailable as e:
        skip_or_fail(str(e))


def node(remit, npm, *argv) -> subprocess.CompletedProcess:
    """Run a Node.js program as the user, or on the machine of network_here.py."""
    prefix = [] if remit.argv()[0] == remit.command else remit.argv()[:-1]
    return subprocess.run(
        [*prefix, packages.node(npm), *map(str, argv)], env=remit.env(), cwd=remit.folder,
        capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL, **remit.identity(),
    )  # fmt: skip


def run_steps(remit, npm, client: str, steps: list, **more) -> list[dict]:
    script = remit.file("clients.mjs", (ROOT / "tests" / "e2e" / "mcp" / "mcp_clients.mjs").read_bytes())
    done = node(remit, npm, script, json.dumps({"packages": str(npm), **CLIENTS[client], "steps": steps, **more}))
    replies = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0 and len(replies) == len(steps), (done.stdout[-2000:], done.stderr[-2000:])
    return replies


@contextlib.contextmanager
def served(remit, *flags):
    """The address of a `remit serve`, and its key."""
    with remit.popen("serve", "--listen", "127.0.0.1:0", "--python", PYTHON, *flags, stdout=subprocess.PIPE, text=True) as p:
        found = re.match(r"remit: serving at (http://127\.0\.0\.1:\d+/)(?:\?token=(\w+))?\n", p.stdout.readline())
        yield found[1] + "mcp", found[2]
        p.terminate()


def call(code: str, options=None, **arguments) -> list:
    return ["call", {**RUN, "arguments": {"code": code, **arguments}}, options or {}]


# The steps of every client. "$session" and "$uri" stand for values from earlier steps.
STEPS = [
    ["server"],
    ["tools"],
    call("print('out')\n40 + 2"),
    call("import time\nn = 1\nfor i in range(2):\n    print('line', i, flush=True)\n    time.sleep(0.2)", {"progress": True}, session="new"),
    call("import time\ntime.sleep(60)", {"abort": 200}, session="$session"),
    call("n", session="$session"),
    call("1 / 0"),
    call("open('a.txt', 'w').write('left')"),
    ["read", {"uri": "$uri"}],
    ["call", {"name": "write_file", "arguments": {"session": "$session", "path": "b.txt", "text": "x"}}],
    ["call", {"name": "list_files", "arguments": {"session": "$session"}}],
    ["call", {"name": "get_policy", "arguments": {}}],
    ["resources"],
    ["read", {"uri": "remit://sessions/nobody/x"}],
    ["call", {"name": "nothing", "arguments": {}}],
]


def check_replies(replies: list[dict], stateless: bool) -> None:
    server, tools, plain, progress, aborted, kept, failed, made, left, wrote, listed, policy, resources, missing, unknown = replies
    assert server["ok"]["info"]["name"] == "remit" and "run_python" in server["ok"]["instructions"]
    assert len(tools["ok"]["tools"]) == 7 and all(t["outputSchema"]["type"] == "object" for t in tools["ok"]["tools"])
    # The clients have validated these against the output schemas.
    assert plain["ok"]["structuredContent"]["value"] == "42" and plain["ok"]["structuredContent"]["stdout"] == "out\n"
    assert progress["progress"] and "line" in progress["progress"][0]
    assert "aborted" in aborted["error"]["message"] and kept["ok"]["structuredContent"]["value"] == "1"
    assert aborted["ms"] + kept["ms"] < 30_000, "the session's timeout ended the cell, not the client"
    assert failed["ok"]["isError"] and failed["ok"]["structuredContent"]["error"]["name"] == "ZeroDivisionError"
    assert [b["type"] for b in made["ok"]["content"]] == ["text", "resource_link"] and left["ok"]["contents"][0]["text"] == "left"
    assert wrote["ok"]["structuredContent"]["size"] == 1 and listed["ok"]["structuredContent"]["files"][0]["path"] == "/workspace/b.txt"
    assert policy["ok"]["structuredContent"]["tier"] == "local" and resources["ok"]["resources"]
    assert missing["error"]["code"] in (-32002, -32602) and unknown["error"]["code"] == -32602
    assert ("ttlMs" in tools["ok"]) == stateless


@pytest.mark.parametrize("client", CLIENTS)
def test_other_authors_client_works_over_stdio(remit, npm, client):
    replies = run_steps(remit, npm, client, STEPS, command=remit.command, args=["mcp", "--python", PYTHON, "--export", "*.txt"])
    check_replies(replies, client in ("auto", "pinned"))


@pytest.mark.parametrize("client", ["sdk", "auto"])
def test_other_authors_client_works_over_http(any_remit, npm, client):
    with served(any_remit, "--export", "*.txt") as (url, key):
        replies = run_steps(any_remit, npm, client, STEPS, url=url, headers={"Authorization": f"Bearer {key}"})
    check_replies(replies, client in ("auto", "pinned"))


@pytest.fixture(scope="module")
def world(stage):
    with network_here.start(stage / "world-clients") as w:
        yield w


@pytest.mark.parametrize("by", ["stdio", "http"])
@pytest.mark.parametrize("client", ["sdk", "pinned"])
def test_person_is_asked_through_client(any_remit, npm, world, client, by):
    here = world.inside(any_remit)
    flags = ["--allow-host", "api.example.com:80", "--ask-hosts", *network_here.FALLBACK]
    code = network_here.TRY + "print('{' in attempt(fetch, 'http://evil.example/'))"
    with contextlib.ExitStack() as stack:
        how = {"command": here.command, "args": ["mcp", "--python", PYTHON, *flags]}
        if by == "http":
            how = {"url": stack.enter_context(served(here, "--open", *flags))[0]}
        for answer, reached in ({"action": "accept", "content": {"answer": "run"}}, "True\n"), ({"action": "decline"}, "False\n"):
            (reply,) = run_steps(here, npm, client, [call(code)], elicit=answer, **how)
            assert reply["ok"]["structuredContent"]["stdout"] == reached, reply
            assert '"evil.example:80"' in reply["asked"][0]


def test_inspector_s_command_line_works(any_remit, npm):
    script = npm / "node_modules" / "@modelcontextprotocol" / "inspector-cli" / "build" / "index.js"
    start = [script, any_remit.command, "mcp", "--python", PYTHON]

    def inspect(*words) -> dict:
        done = node(any_remit, npm, *start, *words)
        assert done.returncode == 0, done
        return json.loads(done.stdout)

    assert inspect("--method", "tools/list")["tools"][0]["name"] == "run_python"
    result = inspect("--method", "tools/call", "--tool-name", "run_python", "--tool-arg", "code=print(6 * 7)")
    assert result["structuredContent"]["stdout"] == "42\n"
    assert inspect("--method", "resources/list")["resources"][0]["uri"] == "remit://guide"


# For each scenario the checks that may fail: they need the conformance suite's own tools, or prompts, which Remit does
# not offer
CONFORMANCE = {
    ("2025-11-25", "server-initialize"): set(),
    ("2025-11-25", "server-session-lifecycle"): set(),
    ("2025-11-25", "dns-rebinding-protection"): set(),
    ("2026-07-28", "server-stateless"): {
        "sep-2575-server-rejects-undeclared-capability", "sep-2575-missing-capability-http-400",
        "sep-2575-http-server-no-independent-requests-on-stream", "sep-2575-server-no-log-without-loglevel",
    },
    ("2026-07-28", "tools-list"): set(),
    ("2026-07-28", "caching"): {"sep-2549-prompts-list-caching-hints"},
    ("2026-07-28", "http-header-validation"): set(),
    ("2026-07-28", "sep-2164-resource-not-found"): set(),
}  # fmt: skip


def test_conformance_tests_pass(any_remit, npm):
    script = npm / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"

    def run(row, url) -> list[tuple[str, str]]:
        version, scenario = row
        out = node(any_remit, npm, script, "server", "--url", url, "--scenario", scenario, "--spec-version", version).stdout
        return re.findall(r"\[([\w-]+) *\] (SUCCESS|FAILURE|WARNING)", re.sub(r"\x1b\[\d+m", "", out))

    with served(any_remit, "--open") as (url, _), concurrent.futures.ThreadPoolExecutor(2) as pool:
        for row, checks in zip(CONFORMANCE, pool.map(lambda row: run(row, url), CONFORMANCE)):
            assert checks and {name for name, how in checks if how != "SUCCESS"} == CONFORMANCE[row], (row, checks)


def test_every_package_is_pinned():
    wanted = json.loads((pathlib.Path(packages.HERE) / "mcp" / "package.json").read_text())["dependencies"]
    assert all(re.fullmatch(r"[\d.]+(-alpha\.\d+)?", version) for version in wanted.values())
