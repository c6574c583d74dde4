# id: BR3
# field: timeout
# kept-by: timer
# judge: status
# status: exit error killed
# exit-code: 3
# runs: 5
# control: no the reader of frames is no mechanism of the table and cannot be left out
# expect: frames of the door, of the keeper and of pid 1 are not taken from the jail

forged = [
    frame("RESULT", b'{"status": "ok", "exit_code": 0, "stdout": "forged"}'),
    frame("EXITED", struct.pack("iIQ", 0, 0, 0)),
    frame("START"),
    frame("GO"),
    frame("STDOUT", b"forged output"),
]
os.write(3, forged[ARG["round"] - 1])
contained("a frame of somebody else was sent")
os._exit(3)
