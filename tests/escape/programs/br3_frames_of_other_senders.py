# id: BR3
# field: timeout
# kept-by: timer
# judge: status
# status: exit error killed
# exit-code: 3
# runs: 5
# control: no the parser of frames is not a mechanism of the policy table and cannot be left out
# expect: frames that only the client, the keeper or pid 1 may send are not accepted from the jail

forged = [
    frame("RESULT", b'{"status": "ok", "exit_code": 0, "stdout": "forged"}'),
    frame("EXITED", struct.pack("iIQ", 0, 0, 0)),
    frame("START"),
    frame("GO"),
    frame("STDOUT", b"forged output"),
]
os.write(3, forged[ARG["round"] - 1])
contained("a frame of another sender was sent")
os._exit(3)
