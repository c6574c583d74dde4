"""A client of the Model Context Protocol that sends exactly what a test wants."""

from __future__ import annotations

import json
import queue
import subprocess
import threading

from conftest import PYTHON
from waiting import PATIENCE

STATELESS = "2026-07-28"
VERSION, ABILITIES = "io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities"


class Peer:
    """A running `remit mcp` and its messages."""

    def __init__(self, remit, *flags, version: str | None = "2025-11-25", abilities: dict | None = None, env: dict | None = None):
        self.process = remit.popen(
            "mcp", "--python", PYTHON, *flags, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env
        )  # fmt: skip
        self.count, self.notices, self.asked = 0, [], []
        self.lines: queue.Queue = queue.Queue()
        self.version, self.abilities = version, abilities or {}
        threading.Thread(target=self.read, daemon=True).start()
        if version != STATELESS and version:
            self.hello = self.request("initialize", protocolVersion=version, capabilities=self.abilities, clientInfo={"name": "test", "version": "1"})
            self.notify("notifications/initialized")

    def read(self) -> None:
        for line in self.process.stdout:
            self.lines.put(json.loads(line))
        self.lines.put(None)

    def read_message(self) -> dict:
        """Return the next message."""
        message = self.lines.get(timeout=2 * PATIENCE)
        assert message is not None, self.process.stderr.read()
        return message

    def raw(self, text: bytes | str) -> None:
        self.process.stdin.write((text.encode() if isinstance(text, str) else text) + b"\n")
        self.process.stdin.flush()

    def notify(self, method: str, **params) -> None:
        self.raw(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}))

    def begin(self, method: str, meta: dict | None = None, **params) -> int:
        self.count += 1
        if self.version == STATELESS:
            meta = {VERSION: STATELESS, ABILITIES: self.abilities, **(meta or {})}
        if meta:
            params["_meta"] = meta
        self.raw(json.dumps({"jsonrpc": "2.0", "id": self.count, "method": method, "params": params}))
        return self.count

    def begin_program(self, code: str, **arguments) -> int:
        """Start a program that first prints "begun", and return the request's number as soon as it has."""
        number = self.begin("tools/call", {"progressToken": "begun"}, name="run_python", arguments={"code": code, **arguments})
        while "begun" not in (message := self.read_message())["params"].get("message", ""):
            assert message["method"] == "notifications/progress", message
        return number

    def end(self, number: int) -> dict:
        """Return the answer to this request. Messages that arrive before it are stored."""
        while (message := self.read_message()).get("id") != number or "method" in message:
            (self.asked if "id" in message else self.notices).append(message)
            if message.get("method") == "elicitation/create":
                self.raw(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": self.answer}))
        return message

    def request(self, method: str, meta: dict | None = None, **params) -> dict:
        return self.end(self.begin(method, meta, **params))

    def call(self, tool: str, meta: dict | None = None, **arguments) -> dict:
        message = self.request("tools/call", meta, name=tool, arguments=arguments)
        assert "result" in message, message
        return message["result"]

    def output_of(self, tool: str, **arguments) -> dict:
        """Return the output of a tool call that succeeds."""
        result = self.call(tool, **arguments)
        assert not result["isError"], result
        return result["structuredContent"]

    def run(self, code: str, **arguments) -> dict:
        """Return the result of a program that may fail."""
        return self.call("run_python", code=code, **arguments)["structuredContent"]

    def refusal_of(self, tool: str, **arguments) -> str:
        """Return why a tool refused the call."""
        result = self.call(tool, **arguments)
        assert result["isError"] and "structuredContent" not in result, result
        return result["content"][0]["text"]

    def close(self) -> int:
        self.process.stdin.close()
        return self.process.wait(2 * PATIENCE)
