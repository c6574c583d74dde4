"""A client, a keeper and a runtime folder of different releases: one sentence tells the user what to do."""

from __future__ import annotations

import fcntl
import json
import pathlib
import shutil
import socket
import struct
import subprocess
import textwrap
import termios

import pytest
from conftest import PYTHON, Remit
from fake_keeper import PROTOCOL, FakeKeeper, frame_numbers
from session_client import SessionClient
from shared_keeper import SharedKeeper
from waiting import until

# What releases without a protocol number answer to a frame that has one
REFUSED = {"status": "internal", "remit_exit_code": 125, "error": {"name": "protocol", "value": "frame of unknown type 2"}}


def unread_bytes(sender: socket.socket) -> int:
    """The number of bytes that the peer has not read yet (unix(7), SIOCOUTQ)."""
    return struct.unpack("i", fcntl.ioctl(sender, termios.TIOCOUTQ, bytes(4)))[0]


class OtherKeeper(FakeKeeper):
    """A keeper that does not know this release's frames, and answers in pieces."""

    version = "0.0.9"

    def serve_connection(self, conn):
        with conn, conn.makefile("rb") as f:
            f.read(8)
            text = json.dumps({**REFUSED, "remit_version": self.version}).encode()
            whole = struct.pack("<IB3x", len(text), self.frames["RESULT"]) + text
            for piece in (whole[:3], whole[3:40], whole[40:]):
                conn.sendall(piece)
                until(lambda: not unread_bytes(conn))  # each piece arrives alone


@pytest.fixture
def other(remit):
    keeper = OtherKeeper(remit, None)
    yield keeper
    keeper.listener.close()


def check_sentence(text: str, keeper) -> None:
    assert f"the keeper at {keeper.path} is Remit 0.0.9 (protocol 0), this is Remit " in text, text
    assert f"(protocol {PROTOCOL})" in text and "Restart the keeper" in text, text


@pytest.mark.parametrize("command", [("run", "-c", "1"), ("run", "--json", "-c", "1"), ("check", "-c", "1"), ("repl",), ("status",), ("instructions",), ("batch", "-")], ids="-".join)
def test_keeper_of_other_release_is_named_with_remedy(remit, other, command):
    given = {"batch": '{"code": "1"}\n'}.get(command[0], "1\n")
    done = remit(*command, env=other.env(), input=given, timeout=60)
    assert done.returncode not in (0, 1), done
    check_sentence(done.stderr, other)


def test_library_session_names_keeper_of_other_release(remit, other):
    client = SessionClient(remit, other.env())
    try:
        failed = client.request("open", policy={"python": PYTHON})["failed"]
        assert failed["code"] == 2, failed
        check_sentence(failed["message"] + failed["remedy"], other)
    finally:
        client.leave()


PRIVATE = """\
#!/usr/bin/python3
import json, socket, struct
control = socket.socket(fileno=3)
while True:
    byte, fds, *_ = socket.recv_fds(control, 1, 8)
    if not byte:
        break
    for fd in fds:
        with socket.socket(fileno=fd) as conn:
            conn.recv(8)
            text = json.dumps({"status": "internal", "remit_version": "0.0.9"}).encode()
            conn.sendall(struct.pack("<IB3x", len(text), RESULT) + text)
"""


def test_private_keeper_of_other_release_is_named_by_its_command(remit):
    folder = remit.folder / "other-release"
    folder.mkdir(exist_ok=True)
    other = Remit(remit.label, remit.folder)
    other.command = str(folder / "remit")
    (folder / "remit").write_text(PRIVATE.replace("RESULT", str(frame_numbers()["RESULT"])))
    (folder / "remit").chmod(0o755)
    client = SessionClient(other, {"REMIT_KEEPER": ""})
    try:
        failed = client.request("open", policy={"python": PYTHON})["failed"]
        assert f"the keeper {other.command} is Remit 0.0.9 (protocol 0)" in failed["message"], failed
        assert "command_path" in failed["remedy"]
    finally:
        client.leave()


def test_other_release_with_same_protocol_works(remit):
    keeper = FakeKeeper(remit, lambda code: "ok")
    keeper.version = "9.9.9"
    assert json.loads(remit("run", "--json", "-c", "1", env=keeper.env()).stdout)["status"] == "ok"
    keeper.listener.close()


# ---- a keeper of the same protocol that sends an incomplete result ----


@pytest.mark.parametrize("member", ["enforcement", "status", "reported", "usage", "remit_version"])
def test_incomplete_result_is_error(remit, member):
    keeper = FakeKeeper(remit, lambda code: "ok")
    if member == "enforcement":
        keeper.enforcement = ""
    keeper.omitted = (member,)
    done = remit("run", "--json", "-c", "1", env=keeper.env())
    assert (done.returncode, done.stdout) == (125, ""), done
    assert f'the result lacks "{member}"' in done.stderr, done.stderr
    keeper.listener.close()


# ---- a client of another release ----

CLIENT = textwrap.dedent("""
    import socket, struct, sys
    path, kind, protocol, payload = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4].encode()
    with socket.socket(socket.AF_UNIX) as conn, conn.makefile("rb") as f:
        conn.settimeout(60)
        conn.connect(path)
        conn.sendall(struct.pack("<IBB2x", len(payload), kind, protocol) + payload)
        length, kind, protocol, rest = struct.unpack("<IBBH", f.read(8))
        print(kind, protocol, rest, f.read(length).decode())
        assert not f.read()
""")


@pytest.fixture
def keeper(remit):
    keeper = SharedKeeper(remit)
    yield keeper
    assert keeper.json("print(1)")["stdout"] == "1\n"
    keeper.close()


def answer(keeper, name: str, protocol: int, payload: str = "") -> tuple[str, int, dict]:
    numbers = frame_numbers()
    argv = [PYTHON, "-c", CLIENT, str(keeper.path), str(numbers[name]), str(protocol), payload]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60, **keeper.remit.identity())
    kind, reply_protocol, rest, text = done.stdout.split(" ", 3)
    assert rest == "0"
    return {number: name for name, number in numbers.items()}[int(kind)], int(reply_protocol), json.loads(text)


@pytest.mark.parametrize("protocol", [0, PROTOCOL + 1])
def test_client_of_other_release_is_refused_with_remedy(keeper, protocol):
    """The refusal is a result that the first release understood, whichever frame the client sends first."""
    for name, payload in (("POLICY", "{}"), ("JOB", "name\x01"), ("OPEN", ""), ("INSTRUCTIONS", "run"), ("START", "")):
        kind, reply_protocol, result = answer(keeper, name, protocol, payload)
        assert (kind, reply_protocol, result["status"]) == ("RESULT", 0, "refused")
        assert f"this keeper is Remit {result['remit_version']} (protocol {PROTOCOL})" in result["error"]["value"], result
        assert f"(protocol {protocol})" in result["error"]["value"] and "same release" in result["error"]["remedy"]


def test_status_is_sent_to_every_release(keeper):
    for protocol in (0, PROTOCOL, PROTOCOL + 1):
        kind, reply_protocol, status = answer(keeper, "STATUS", protocol)
        assert (kind, reply_protocol) == ("STATUS", protocol) and status["remit_version"]


# ---- a runtime folder of another release ----


@pytest.mark.parametrize("flags", [(), ("--preload", "json"), ("--preset", "landlock"), ("--tier", "static")], ids=str)
def test_runtime_of_other_release_is_refused_with_remedy(remit, flags):
    folder = remit.folder / "other-runtime"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(pathlib.Path(remit.command).parent, folder, ignore=shutil.ignore_patterns("*.sock"))
    (module,) = (folder / "runtime").glob("_remit*.so")
    magic = struct.pack("<I", 0x72656D00 | PROTOCOL)
    assert magic in module.read_bytes()
    module.write_bytes(module.read_bytes().replace(magic, struct.pack("<I", 0x72656D00 | PROTOCOL + 1)))
    other = Remit(remit.label, remit.folder)
    other.command = str(folder / "remit")
    result = other.json("print(1)", *flags)
    assert result["status"] == "refused" and "the runtime folder is of another release" in result["error"]["value"], result
    assert "reinstall" in result["error"]["remedy"] and result["stdout"] == ""
