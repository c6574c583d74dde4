"""A `remit serve` of one user, and a client for it."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import signal
import socket
import ssl
import subprocess

from conftest import PYTHON
from waiting import PATIENCE, until


class Served:
    """A running server."""

    def __init__(self, process: subprocess.Popen, port: int, token: str):
        self.process = process
        self.port = port
        self.token = token
        self.tls: ssl.SSLContext | None = None  # certificates that the client trusts, if it uses TLS

    def connect(self, timeout: float = 120) -> http.client.HTTPConnection:
        if self.tls:
            return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=self.tls)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def request(self, method: str, path: str, body=None, headers: dict | None = None, token: str | None = None, timeout: float = 120):
        """Send a request and return (status, headers, body)."""
        sent = {"Authorization": f"Bearer {self.token if token is None else token}", **(headers or {})}
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
            sent.setdefault("Content-Type", "application/json")
        connection = self.connect(timeout)
        try:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def json(self, method: str, path: str, body=None, status: int = 200, **more):
        got, _, text = self.request(method, path, body, **more)
        assert got == status, (got, text[:2000])
        return json.loads(text)

    def run(self, code: str, **more) -> dict:
        return self.json("POST", "/v1/runs", {"code": code, **more})

    @contextlib.contextmanager
    def stream(self, path: str, body: dict):
        """Yield the events as they arrive."""
        connection = self.connect()
        sent = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        connection.request("POST", path, json.dumps({"stream": "ndjson", **body}), sent)
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        assert answer.headers["Content-Type"] == "application/x-ndjson"
        try:
            # Drop the events that only keep an idle connection open.
            yield (event for event in map(json.loads, answer) if event["type"] != "keepalive")
        finally:
            answer.close()
            connection.close()

    def events(self, path: str, body: dict) -> list[dict]:
        with self.stream(path, body) as events:
            return list(events)

    def raw(self, sent: bytes, timeout: float = 60) -> bytes:
        """Send bytes, and return all that arrives until the connection ends."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as s:
            s.sendall(sent)
            got = b""
            with contextlib.suppress(ConnectionResetError):
                while piece := s.recv(65536):
                    got += piece
            return got

    def metric(self, name: str) -> float:
        _, _, text = self.request("GET", "/metrics")
        (found,) = re.findall(rf"^{re.escape(name)} (\S+)$", text.decode(), re.M)
        return float(found)

    def wait_for_no_hosted_sessions(self, seconds: float = PATIENCE) -> None:
        until(lambda: not self.metric("remit_rooms"), "runs are left", seconds)

    def wait_for_no_clients(self) -> None:
        """Wait until the connection that requests the metric is the only one."""
        until(lambda: self.metric("remit_http_connections") == 1, "connections are left")

    def stop_listening(self) -> None:
        """Send the first SIGTERM: running requests continue."""
        self.process.send_signal(signal.SIGTERM)
        until(self.is_deaf, "it still listens")

    def is_deaf(self) -> bool:
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", self.port)) != 0


@contextlib.contextmanager
def serve(remit, *flags: str, env: dict[str, str] | None = None):
    """A server at a free port. It must exit with status 0."""
    process = remit.popen(
        "serve", "--listen", "127.0.0.1:0", "--python", PYTHON, *map(str, flags),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env,
    )  # fmt: skip
    try:
        line = process.stdout.readline()
        found = re.search(r"http(s?)://[\d.]+:(\d+)/(?:\?token=(\w+))?", line)
        assert found, (line, process.stderr.read() if process.poll() is not None else "")
        assert bool(found[1]) == ("--tls-key" in flags), line
        yield Served(process, int(found[2]), found[3] or "")
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0, process.stderr.read()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()
