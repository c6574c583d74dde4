"""`_remit`, the runtime's module, with a pipe as the keeper."""

from __future__ import annotations

import subprocess

import pytest

from conftest import PYTHON, ROOT

FRAME_JOB, FRAME_CODE = 2, 3
RECEIVE = "import sys; sys.path.insert(0, sys.argv[1]); import _remit; print(_remit.job(0, b''))"


def frame(kind: int, payload: bytes, length: int | None = None) -> bytes:
    return (len(payload) if length is None else length).to_bytes(4, "little") + bytes((kind, 0, 0, 0)) + payload


def receive(sent: bytes) -> subprocess.CompletedProcess:
    return subprocess.run([PYTHON, "-I", "-S", "-c", RECEIVE, str(ROOT / "build" / "runtime")], input=sent, capture_output=True, timeout=60)


JOB = frame(FRAME_JOB, b"name\0main.py\0display_mode\0all\0code_bytes\0" + b"1\0")


def test_job_is_received_from_its_frames():
    done = receive(JOB + frame(FRAME_CODE, b"1"))
    assert done.returncode == 0 and done.stdout == b"('main.py', [], b'1', 'all')\n", done.stderr


# 2^32 - 8 and its header are 0 bytes for 32-bit arithmetic, as in WebAssembly.
@pytest.mark.parametrize("length", [1024 * 1024 + 1, 2**32 - 8, 2**32 - 1])
def test_job_longer_than_its_frame_may_be_is_refused_before_it_is_read(length):
    done = receive(frame(FRAME_JOB, b"", length))
    assert done.returncode == 1 and b"RuntimeError: the keeper sent a frame that is too long" in done.stderr, done.stderr
