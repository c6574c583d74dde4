"""Frames and records on the channel to the keeper (see src/wire).

A frame is a u32 length, a u8 type, three zero bytes and a payload. The payload of most frames is a
sequence of records: key NUL value NUL.
"""

import sys
from _thread import allocate_lock

import _remit

CHANNEL = 3

# The frame types of src/wire/frame.h that the runner uses.
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
COMMANDS = 49
COMMAND = 50
COMMAND_INPUT = 51
COMMAND_SIGNAL = 52
COMMAND_SIZE = 53
COMMAND_STARTED = 54
COMMAND_OUTPUT = 55
COMMAND_ENDED = 56


_buffer = b""
# Locked by the thread that reads while the program runs.
read_lock = allocate_lock()


def _read_bytes(n):
    """Return the next n bytes. Bytes that arrived with them stay in the buffer."""
    global _buffer
    while len(_buffer) < n:
        part = _remit.read(CHANNEL)
        if not part:
            raise EOFError("the keeper is gone")
        _buffer += part
    taken = _buffer[:n]
    _buffer = _buffer[n:]
    return taken


def peek():
    """Return the type of the next frame without consuming it."""
    if len(_buffer) < 8:
        give_back(_read_bytes(8))
    return _buffer[4]


def has_begun():
    """Whether the buffer contains a part of a frame."""
    return bool(_buffer)


def has_frame():
    """Whether the buffer contains a complete frame."""
    return len(_buffer) >= 8 and len(_buffer) >= 8 + int.from_bytes(_buffer[:4], "little")


def give_back(data):
    """Put bytes back at the front of the buffer."""
    global _buffer
    _buffer = data + _buffer


def left_over():
    """Take all bytes out of the buffer, for another reader."""
    global _buffer
    taken, _buffer = _buffer, b""
    return taken


def receive():
    """Receive one frame. Return its type and payload."""
    header = _read_bytes(8)
    return header[4], _read_bytes(int.from_bytes(header[:4], "little"))


# What the keeper knows of errors, where the interpreter has other numbers (WebAssembly).
_LINUX = {
    "EPERM": 1, "ENOENT": 2, "EIO": 5, "EBADF": 9, "ENOMEM": 12, "EACCES": 13, "EBUSY": 16, "EEXIST": 17, "EXDEV": 18,
    "ENOTDIR": 20, "EISDIR": 21, "EINVAL": 22, "ENFILE": 23, "EMFILE": 24, "EFBIG": 27, "ENOSPC": 28, "EROFS": 30,
    "EMLINK": 31, "ENAMETOOLONG": 36, "ENOSYS": 38, "ENOTEMPTY": 39, "ELOOP": 40, "ENOTSUP": 95, "EDQUOT": 122,
}  # fmt: skip


def linux_errno(number):
    """Return Linux's number of an error."""
    if sys.platform != "wasi":
        return number
    from errno import errorcode

    return _LINUX.get(errorcode.get(number), 5)


def encode(kind, pairs):
    payload = b"".join(
        key.encode() + b"\0" + value.encode("utf-8", "replace").replace(b"\0", b"\\0") + b"\0"
        for key, value in pairs
    )
    return frame(kind, payload)


def frame(kind, payload):
    """Return the bytes of a frame."""
    return len(payload).to_bytes(4, "little") + bytes((kind, 0, 0, 0)) + payload


def put(data):
    """Send whole frames; a signal cannot interrupt them."""
    _remit.put(CHANNEL, data)


def send(kind, pairs=()):
    """Send one frame of records."""
    put(encode(kind, pairs))


def receive_records(wanted):
    """Receive the records of the next frame, which must have this type."""
    kind, payload = receive()
    if kind != wanted:
        raise RuntimeError(f"the keeper sent frame {kind} and not {wanted}")
    return parse(payload)


def parse(payload):
    """Parse records to a list of (key, value) strings."""
    parts = payload.decode("utf-8", "surrogateescape").split("\0")
    return list(zip(parts[0::2], parts[1::2]))
