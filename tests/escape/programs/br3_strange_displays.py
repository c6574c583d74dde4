# id: BR3
# field: timeout
# kept-by: timer
# judge: status
# status: exit error killed
# exit-code: 3
# runs: 8
# control: no the parser of display headers is not a mechanism of the policy table and cannot be left out
# expect: headers, lengths and bytes that no honest runner sends do not disturb the keeper

part = b"mime\0text/plain\0bytes\0"
shown = [
    [("DISPLAY", b"kind\0display\0" + part + b"18446744073709551615\0")],
    [("DISPLAY", b"kind\0display\0" + part + b"1099511627776\0"), ("DISPLAY_DATA", b"x" * 65536)],
    [("DISPLAY", b"kind\0display\0" + b"".join(b"mime\0a/%d\0bytes\0" % i + b"1099511627776\0" for i in range(17)))],
    [("DISPLAY", b"kind\0value\0mime\0a/b\",\"c\0bytes\0001\0"), ("DISPLAY_DATA", b"x")],
    [("DISPLAY", b"kind\0value\0left_out\0\x1b[2J\0reason\0\xff\xfe\0"), ("DISPLAY", b"kind\0value\0")],
    [("DISPLAY", b"kind\0display\0mime\0application/json\0bytes\00015\0"), ("DISPLAY_DATA", b'1,"status":"ok"')],
    [("DISPLAY_DATA", b"x" * 65536)],
    [("DISPLAY", b"\0" * 16384)],
]
for name, payload in shown[ARG["round"] - 1]:
    os.write(3, frame(name, payload))
contained("a strange display was sent")
os._exit(3)
