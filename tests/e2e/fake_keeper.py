"""A keeper that runs nothing and answers as a test wants."""

from __future__ import annotations

import json
import re
import socket
import struct
import threading

from conftest import ROOT


HEADER = (ROOT / "src/wire/frame.h").read_text()
PROTOCOL = int(re.search(r"#define FRAME_PROTOCOL (\d+)", HEADER)[1])


def frame_numbers() -> dict[str, int]:
    body = re.search(r"enum frame_type \{(.*?)\};", HEADER, re.S)[1]
    names = re.findall(r"\bFRAME_(\w+),", re.sub(r"/\*.*?\*/", "", body, flags=re.S))
    return {name: number for number, name in enumerate(names)}


def facts_of_unstarted_job() -> dict:
    """The keeper's members of the result of a job that never ran."""
    text = (ROOT / "src/wire/result.c").read_text()
    usage = json.loads("".join(re.findall(r'"((?:[^"\\]|\\.)*)"', re.search(r"no_usage\[\] =(.*?);", text, re.S)[1])).replace('\\"', '"'))
    rows = re.findall(r'\{\s*"(\w+)",\s*KEEPER,[^"{}]*?(?:"((?:[^"\\]|\\.)*)"|no_usage)\s*[,}]', text)
    return {name: json.loads(default.replace('\\"', '"')) if default else usage for name, default in rows}


class FakeKeeper:
    """Answers each run with what `answer` returns for its code: a status, or None to close the connection."""

    version = "0.1.0"
    enforcement = "[]"
    # Members that its results omit
    omitted: tuple[str, ...] = ()

    def __init__(self, remit, answer):
        self.path = remit.folder / "fake.sock"
        self.path.unlink(missing_ok=True)
        self.answer, self.frames = answer, frame_numbers()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.path))
        self.path.chmod(0o777)
        self.listener.listen(64)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        try:
            while True:
                self.serve_connection(self.listener.accept()[0])
        except OSError:
            pass  # the test closed the listener

    def serve_connection(self, conn):
        code, kind = b"", None
        with conn, conn.makefile("rb") as f:
            while kind != self.frames["START"]:
                length, kind, protocol = struct.unpack("<IBB2x", f.read(8))
                assert protocol == PROTOCOL
                payload = f.read(length)
                if kind == self.frames["CODE"]:
                    code += payload
            status = self.answer(code.decode())
            if status:
                self.send_frame(conn, "ENFORCEMENT", self.enforcement.encode(), PROTOCOL)
                facts = {**facts_of_unstarted_job(), "status": status, "remit_exit_code": 0, "remit_version": self.version}
                facts = {name: value for name, value in facts.items() if name not in self.omitted}
                self.send_frame(conn, "RESULT", json.dumps(facts).encode(), PROTOCOL)

    def send_frame(self, conn, name: str, payload: bytes, protocol: int):
        if payload:
            conn.sendall(struct.pack("<IBB2x", len(payload), self.frames[name], protocol) + payload)

    def env(self) -> dict[str, str]:
        return {"REMIT_KEEPER": str(self.path)}
