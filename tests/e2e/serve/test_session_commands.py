"""Commands of the native API: programs and terminals beside the cells of a session."""

from __future__ import annotations

import base64
import contextlib
import json

import leftovers
import pytest
from conftest import make_remit, users
from served import serve
from test_e2b import COMMANDS
from test_tenants import two_keys


@pytest.fixture(scope="module", params=users())
def served(request, stage):
    remit = make_remit(request.param, stage)
    with serve(remit, *COMMANDS, "--timeout", "2m", "--stdout-max", "100k", "--output-ceiling", "4") as one:
        yield one
    assert not leftovers.remaining(lambda: leftovers.processes(remit.command)), "processes are left"


@contextlib.contextmanager
def session(served, **more):
    """The path of a session that may have commands."""
    path = f"/v1/sessions/{served.json('POST', '/v1/sessions', {'commands': True, **more}, status=201)['id']}"
    try:
        yield path
    finally:
        served.request("DELETE", f"{path}?drop=1")


class Command:
    """A command and its events."""

    def __init__(self, served, path: str, *argv: str, joins: str = "", headers: dict | None = None, **more):
        self.served = served
        self.connection = served.connect()
        sent = {"Authorization": f"Bearer {served.token}", "Content-Type": "application/json", **(headers or {})}
        if joins:
            self.connection.request("GET", f"{path}/commands/{joins}/events", headers=sent)
        else:
            self.connection.request("POST", f"{path}/commands", json.dumps({"argv": argv, **more}), sent)
        self.answer = self.connection.getresponse()
        assert self.answer.status == 200, self.answer.read()
        start = self.event()
        assert start["type"] == "start", start
        self.id, self.pid = start["id"], start["pid"]
        self.path = f"{path}/commands/{self.id}"
        self.seen = {"stdout": b"", "stderr": b"", "terminal": b""}

    def __enter__(self) -> Command:
        return self

    def __exit__(self, *_) -> None:
        self.answer.close()
        self.connection.close()

    def event(self) -> dict:
        while True:
            event = json.loads(self.answer.readline())
            if event["type"] != "keepalive":
                return event

    def read(self) -> dict | None:
        """Add output to what was seen. Return the last event instead."""
        event = self.event()
        if event["type"] != "output":
            assert self.answer.read() == b""
            return event
        self.seen[event["stream"]] += base64.b64decode(event["base64"])
        return None

    def until(self, words: bytes, stream: str = "terminal") -> bytes:
        """Read to these words, and return what came before them."""
        while words not in self.seen[stream]:
            end = self.read()
            assert end is None, (end, self.seen)
        before, _, self.seen[stream] = self.seen[stream].partition(words)
        return before

    def end(self) -> dict:
        while not (end := self.read()):
            pass
        return end

    def type(self, text: str, status: int = 200) -> dict:
        return self.served.json("POST", f"{self.path}/input", {"text": text}, status=status)


SIZE = {"columns": 80, "rows": 24}
SHELL = ("/bin/bash", "--norc", "--noediting", "-i")


def test_command_runs_beside_cells(served):
    with session(served) as path:
        code = "from pathlib import Path\nn = Path('a.txt').write_text('of the cell')"
        assert served.json("POST", f"{path}/cells", {"code": code})["status"] == "ok"
        with Command(served, path, "sh", "-c", "cat a.txt; echo $WORD >&2; pwd; exit 3", env={"WORD": "w"}, cwd="/") as missing:
            end = missing.end()
        assert (end["status"], end["exit_code"]) == ("exit", 3) and missing.seen["stdout"] == b"/\n"
        with Command(served, path, "sh", "-c", "cat a.txt; echo $WORD >&2", env={"WORD": "w"}) as command:
            assert command.end() == {"type": "end", "status": "ok", "exit_code": 0, "signal": None, "error": None}
        assert command.seen == {"stdout": b"of the cell", "stderr": b"w\n", "terminal": b""}


def test_input_and_its_end_reach_command(served):
    with session(served) as path, Command(served, path, "cat", stdin=True) as cat:
        served.json("POST", f"{cat.path}/input", {"base64": base64.b64encode(b"\0\xff").decode()})
        cat.until(b"\0\xff", "stdout")
        served.json("POST", f"{cat.path}/input", {"text": "é", "end": True})
        assert cat.end()["status"] == "ok" and cat.seen["stdout"] == "é".encode()
    with session(served) as path, Command(served, path, "sleep", "100") as deaf:
        assert "reads no input" in served.json("POST", f"{deaf.path}/input", {"text": "x"}, status=409)["error"]["message"]


def test_terminal_is_typed_into_resized_and_killed(served):
    with session(served) as path, Command(served, path, *SHELL, terminal={"columns": 100, "rows": 30}, env={"TERM": "xterm"}) as shell:
        shell.type("stty size; echo $TERM; tty; echo d''one\n")
        assert b"30 100\r\nxterm\r\n/dev/pts/0\r\n" in shell.until(b"done\r\n")
        served.json("POST", f"{shell.path}/resize", {"columns": 44, "rows": 11})
        shell.type("stty size; echo d''one\n")
        assert b"11 44\r\n" in shell.until(b"done\r\n")
        assert "\\u0004" in served.json("POST", f"{shell.path}/input", {"text": "", "end": True}, status=409)["error"]["message"]
        (row,) = served.json("GET", f"{path}/commands")
        assert row == {"id": shell.id, "pid": shell.pid, "argv": list(SHELL), "terminal": True}
        with Command(served, path, "sleep", *["1"] * 3000) as long:
            shown = next(row for row in served.json("GET", f"{path}/commands") if row["id"] == long.id)["argv"]
            assert shown[:3] == ["sleep", "1", "1"] and 1000 < len(shown) <= 4096 // 2
            served.json("DELETE", long.path)
            assert long.end()["signal"] == 9
        served.json("DELETE", shell.path)
        end = shell.end()
        assert (end["status"], end["signal"]) == ("killed", 9)
        assert served.json("GET", f"{path}/commands") == []
        served.json("DELETE", shell.path, status=404)
        served.json("POST", f"{shell.path}/input", {"text": "x"}, status=404)


def test_command_outlives_its_client_and_is_joined(served):
    with session(served) as path:
        with Command(served, path, "cat", stdin=True) as first:
            served.json("POST", f"{first.path}/input", {"text": "before"})
            first.until(b"before", "stdout")
        joined = [Command(served, path, joins=first.id) for _ in range(2)]
        try:
            assert [(one.id, one.pid) for one in joined] == [(first.id, first.pid)] * 2
            served.json("POST", f"{first.path}/input", {"text": "after", "end": True})
            for one in joined:
                assert one.end()["status"] == "ok" and one.seen["stdout"] == b"after"
        finally:
            for one in joined:
                one.__exit__()
        assert served.request("GET", f"{first.path}/events")[0] == 404


def test_events_go_to_a_few_clients_only(served):
    with session(served) as path, contextlib.ExitStack() as stack:
        first = stack.enter_context(Command(served, path, "sleep", "100"))
        for _ in range(7):
            stack.enter_context(Command(served, path, joins=first.id))
        assert "limit 8" in served.json("GET", f"{first.path}/events", status=429)["error"]["message"]


def test_events_can_be_server_sent(served):
    with session(served) as path:
        for more in ({"stream": "sse"}, {}):
            got = served.request("POST", f"{path}/commands", {"argv": ["echo", "x"], **more}, {} if more else {"Accept": "text/event-stream"})
            assert got[0] == 200 and got[1]["Content-Type"] == "text/event-stream"
            events = [line.split("\n") for line in got[2].decode().split("\n\n")[:-1]]
            assert [name for name, _ in events] == ["event: start", "event: output", "event: end"]
            assert json.loads(events[1][1].removeprefix("data: "))["base64"] == "eAo="


def test_end_of_session_ends_its_commands(served):
    with session(served) as path, Command(served, path, *SHELL, terminal=SIZE) as shell, Command(served, path, "sleep", "100") as other:
        served.json("DELETE", f"{path}?drop=1")
        for one in (shell, other):
            end = one.end()
            assert end["status"] == "interrupted" and end["error"]["code"] == "gone" and "the session was ended" in end["error"]["message"]
    with session(served) as path, Command(served, path, *SHELL, terminal=SIZE) as shell:
        served.json("POST", f"{path}/reset", {})
        assert shell.end()["error"]["code"] == "gone"
        with Command(served, path, "echo", "again") as after:
            assert after.end()["status"] == "ok"


def test_limits_end_commands_and_are_named(served):
    with session(served, policy={"timeout": "1s"}) as path, Command(served, path, "sleep", "100") as slow:
        end = slow.end()
        assert (end["status"], end["error"]["where"]) == ("timeout", "timeout")
    with session(served) as path:
        with Command(served, path, "sleep", "100", timeout=0.5) as slow:
            assert slow.end()["status"] == "timeout"
        with Command(served, path, "yes", terminal=SIZE) as loud:
            end = loud.end()
        assert (end["status"], end["error"]["where"]) == ("output_limit", "output_ceiling")
        assert len(loud.seen["terminal"]) <= 4 * 100 * 1024
        got = served.events(f"{path}/commands", {"argv": ["no-such-program"]})
        assert got[-1]["type"] == "end" and got[-1]["status"] == "error" and "no-such-program" in got[-1]["error"]["message"]


@pytest.mark.parametrize(
    "body, words",
    [
        ({}, "argv: is missing"),
        ({"argv": []}, "argv: must have"),
        ({"argv": "sh"}, "argv: must be a list"),
        ({"argv": ["a\0b"]}, "argv"),
        ({"argv": [1]}, "argv: must be a string"),
        ({"argv": ["a"], "envv": {}}, '"envv": is not known here'),
        ({"argv": ["a"], "env": {"A": 1}}, "env: must be a string"),
        ({"argv": ["a"], "env": {"A=B": "1"}}, "env: a name"),
        ({"argv": ["a"], "env": {"": "1"}}, "env: a name"),
        ({"argv": ["a"], "env": []}, "env: must be an object"),
        ({"argv": ["a"], "cwd": 1}, "cwd"),
        ({"argv": ["a"], "stdin": "yes"}, "stdin: must be true or false"),
        ({"argv": ["a"], "timeout": 0}, "timeout: must be a number of seconds"),
        ({"argv": ["a"], "timeout": "1s"}, "timeout: must be a number of seconds"),
        ({"argv": ["a"], "stream": "xml"}, "stream: must be"),
        ({"argv": ["a"], "terminal": True}, "terminal: must be an object"),
        ({"argv": ["a"], "terminal": {"columns": 80}}, "terminal.rows: must be a whole number from 1 to 65535"),
        ({"argv": ["a"], "terminal": {"columns": 0, "rows": 1}}, "terminal.columns: must be"),
        ({"argv": ["a"], "terminal": {"columns": 1, "rows": 65536}}, "terminal.rows: must be"),
        ({"argv": ["a"], "terminal": {"columns": 1, "rows": 1, "cols": 1}}, "cols"),
    ],
)
def test_request_is_checked(served, body, words):
    with session(served) as path:
        assert words in served.json("POST", f"{path}/commands", body, status=400)["error"]["message"]


def test_input_and_size_are_checked(served):
    with session(served) as path, Command(served, path, "cat", terminal=SIZE) as cat:
        for body in ({}, {"text": "a", "base64": "YQ=="}, {"text": 1}, {"base64": "!"}, {"text": "a", "end": 1}, {"text": "a", "more": 1}):
            served.json("POST", f"{cat.path}/input", body, status=400)
        for body in ({}, {"columns": 5}, {"columns": "5", "rows": 5}, {"columns": 5, "rows": 5, "x": 1}):
            served.json("POST", f"{cat.path}/resize", body, status=400)
        assert served.request("POST", f"{cat.path}/input", {"text": "x" * (1 << 20)})[0] == 413
        with Command(served, path, "sleep", "100") as plain:
            assert "no terminal" in served.json("POST", f"{plain.path}/resize", SIZE, status=409)["error"]["message"]


def test_session_without_commands_names_the_field(served, stage):
    path = f"/v1/sessions/{served.json('POST', '/v1/sessions', {}, status=201)['id']}"
    for method, rest in (("POST", "commands"), ("GET", "commands"), ("GET", "commands/1/events"), ("DELETE", "commands/1")):
        error = served.json(method, f"{path}/{rest}", {"argv": ["true"]} if method == "POST" else None, status=409)["error"]
        assert error["where"] == "subprocess_execution" and "subprocess_execution" in error["remedy"]
    served.json("DELETE", f"{path}?drop=1")
    with serve(make_remit(users()[-1], stage)) as other:
        error = other.json("POST", "/v1/sessions", {"commands": True}, status=403)["error"]
        assert (error["code"], error["where"]) == ("refused", "subprocess_execution") and "does not allow" in error["message"]
        assert "commands: must be true or false" in other.json("POST", "/v1/sessions", {"commands": 1}, status=400)["error"]["message"]


def test_commands_belong_to_the_key_of_their_session(stage):
    with two_keys(make_remit(users()[-1], stage), *COMMANDS) as (one, alice, _):
        with session(one) as path, Command(one, path, "cat", terminal=SIZE) as cat:
            requests = (
                ("POST", f"{path}/commands", {"argv": ["true"]}), ("GET", f"{path}/commands", None), ("GET", f"{cat.path}/events", None),
                ("POST", f"{cat.path}/input", {"text": "x"}), ("POST", f"{cat.path}/resize", SIZE), ("DELETE", cat.path, None),
            )  # fmt: skip
            for request in requests:
                one.json(*request, status=404, token=alice)
                one.json(*request, status=401, token="none")
            cat.type("mine\n")
            assert cat.until(b"mine\r\nmine\r\n") == b""


def test_command_of_a_client_that_has_left_ends_with_its_session(served):
    with session(served) as path:
        with Command(served, path, "python3", "-c", "import time; print(1, flush=True); time.sleep(1000)", "of-a-client-that-has-left", terminal=SIZE) as command:
            assert command.read() is None
        assert served.json("POST", f"{path}/cells", {"code": "6 * 7"})["value"]["json"] == 42
        assert [row["id"] for row in served.json("GET", f"{path}/commands")] == [command.id]
        served.json("DELETE", f"{path}?drop=1")
    assert not leftovers.remaining(lambda: leftovers.processes_with_argument("of-a-client-that-has-left"))
