"""A client that sends given frames to a keeper. It runs as the keeper's user.

    raw_client.py SOCKET PROTOCOL NUMBERS SENT...

NUMBERS is a JSON object with the numbers of the frames. Each SENT is a JSON list of frames, which are lists of a name
and a text; its frames are sent together, and then everything is read until a result or the end of the connection.
Prints a JSON list: for each SENT, the names of the frames that were received.
"""

import json
import socket
import struct
import sys

path, protocol, numbers, *sent = sys.argv[1:]
numbers = json.loads(numbers)
names = {number: name for name, number in numbers.items()}
received = []
with socket.socket(socket.AF_UNIX) as conn:
    conn.settimeout(60)
    conn.connect(path)
    with conn.makefile("rb") as f:
        for frames in map(json.loads, sent):
            current = []
            try:
                conn.sendall(b"".join(struct.pack("<IBB2x", len(text.encode()), numbers[name], int(protocol)) + text.encode() for name, text in frames))
                while current[-1:] != ["RESULT"]:
                    length, kind = struct.unpack("<IB3x", f.read(8))
                    payload = f.read(length)
                    current.append(names[kind])
                    if kind == numbers["RESULT"]:
                        current[-1:] = [json.loads(payload)["status"], "RESULT"]
            except (OSError, struct.error):
                current.append("END")
            received.append(current)
print(json.dumps(received))
