"""Frames and records on the channel to the keeper (see src/wire).

A frame is a u32 length, a u8 type, three zero bytes and a payload. The payload
of most frames is records: key NUL value NUL, again and again.
"""

from _thread import allocate_lock
from posix import read

import _remit

CHANNEL = 3

# The types of src/wire/frame.h that the runner meets.
JOB = 2
CODE = 3
TASK = 12
GO = 13
CHECKED = 15
ENDED = 16
WARM = 17
FILE = 22
FILE_DATA = 23
DISPLAY = 26
DISPLAY_DATA = 27
CLOSE = 31
TOOLS = 32
CALL = 33
CALL_DATA = 34
REPLY = 35
REPLY_DATA = 36
ASK = 37
FORK = 42
FORKED = 43
FILE_TASK = 45
FILE_BYTES = 46
FILE_ANSWER = 47


_buffer = b""
# Held by the thread that reads while the program runs.
read_lock = allocate_lock()


def _read_bytes(n):
    """The next n bytes. What came with them stays for the next time."""
    global _buffer
    while len(_buffer) < n:
        part = read(CHANNEL, 16384)
        if not part:
            raise EOFError("the keeper is gone")
        _buffer += part
    taken = _buffer[:n]
    _buffer = _buffer[n:]
    return taken


def peek():
    """The type of the next frame, which stays."""
    if len(_buffer) < 8:
        give_back(_read_bytes(8))
    return _buffer[4]


def has_frame():
    """Whether a whole one was read already."""
    return len(_buffer) >= 8 and len(_buffer) >= 8 + int.from_bytes(_buffer[:4], "little")


def give_back(data):
    """It was read too far: it comes first."""
    global _buffer
    _buffer = data + _buffer


def left_over():
    """What was read too far, for another reader."""
    global _buffer
    taken, _buffer = _buffer, b""
    return taken


def receive():
    """One frame: its type and its payload."""
    header = _read_bytes(8)
    return header[4], _read_bytes(int.from_bytes(header[:4], "little"))


def encode(kind, pairs):
    payload = b"".join(
        key.encode() + b"\0" + value.encode("utf-8", "replace").replace(b"\0", b"\\0") + b"\0"
        for key, value in pairs
    )
    return frame(kind, payload)


def frame(kind, payload):
    """The bytes of a frame."""
    return len(payload).to_bytes(4, "little") + bytes((kind, 0, 0, 0)) + payload


def put(data):
    """Whole frames, whatever interrupts."""
    _remit.put(CHANNEL, data)


def send(kind, pairs=()):
    """One frame of records."""
    put(encode(kind, pairs))


def receive_records(wanted):
    """The records of a frame that must be the next."""
    kind, payload = receive()
    if kind != wanted:
        raise RuntimeError(f"the keeper sent frame {kind} and not {wanted}")
    return parse(payload)


def parse(payload):
    """Records as a list of (key, value) texts."""
    parts = payload.decode("utf-8", "surrogateescape").split("\0")
    return list(zip(parts[0::2], parts[1::2]))
