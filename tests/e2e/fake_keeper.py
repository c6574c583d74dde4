"""A keeper that runs nothing, and answers as a test wants it."""

from __future__ import annotations

import json
import re
import socket
import struct
import threading

from conftest import ROOT


def frame_numbers() -> dict[str, int]:
    body = re.search(r"enum frame_type \{(.*?)\};", (ROOT / "src/wire/frame.h").read_text(), re.S)[1]
    names = re.findall(r"\bFRAME_(\w+),", re.sub(r"/\*.*?\*/", "", body, flags=re.S))
    return {name: number for number, name in enumerate(names)}


class FakeKeeper:
    """Answers each run by what `answer` makes of its code: a status, or None for the end of the connection."""

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
                self.talk(self.listener.accept()[0])
        except OSError:
            pass  # the test has closed it

    def talk(self, door):
        code, kind = b"", None
        with door, door.makefile("rb") as f:
            while kind != self.frames["START"]:
                length, kind = struct.unpack("<IB3x", f.read(8))
                payload = f.read(length)
                if kind == self.frames["CODE"]:
                    code += payload
            status = self.answer(code.decode())
            if status:
                text = json.dumps({"status": status, "remit_exit_code": 0}).encode()
                door.sendall(struct.pack("<IB3x", len(text), self.frames["RESULT"]) + text)

    def env(self) -> dict[str, str]:
        return {"REMIT_KEEPER": str(self.path)}
