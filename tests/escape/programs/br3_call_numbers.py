# id: BR3
# field: tool_calls
# kept-by: bridge
# judge: status
# status: exit error killed
# exit-code: 3
# policy: {"tool_calls": 100}
# runs: 9
# control: no the parser of call headers cannot be left out
# expect: a call with a wrong number, a malformed call or a frame of another sender ends this run's bridge, and the program does not hang

good = call_frames(1, "echo", b"{}")
forged = [
    call_frames(0, "echo", b"{}"),
    call_frames(2, "echo", b"{}"),
    call_frames(2**64, "echo", b"{}"),
    call_frames(-1, "echo", b"{}"),
    good + good,
    call_frames(1, "echo", b"", bytes=0),
    call_frames(1, "echo", b"{}", bytes=1 << 40),
    frame("CALL_DATA", b"{}"),
    frame("REPLY", records(id="1", outcome="ok", bytes="1")) + frame("REPLY_DATA", b"1"),
]
os.write(3, forged[ARG["round"] - 1])
try:
    while True:
        read_reply()
except (EOFError, OSError, KeyError, ValueError):
    contained("the bridge no longer replies")
os._exit(3)
