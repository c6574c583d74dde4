# id: BR3
# field: timeout
# kept-by: timer
# judge: status
# status: exit error killed
# exit-code: 3
# runs: 8
# control: no the parser of records is not a mechanism of the policy table and cannot be left out
# expect: IDs, numbers, depths and bytes that no honest runner sends do not disturb the keeper

claims = [
    records(kind="error", name="E", line="-1"),
    records(kind="error", name="E", line="99999999999999999999999999"),
    b"kind\0error\0" + b"kind\0ok\0" * 10000,
    b"kind\0error\0value\0\xff\xfe\xed\xa0\x80\0traceback\0\x1b[2J\0",
    b"kind\0error",  # no end
    b"kind\0error\0value\0" + b"A" * 200000 + b"\0",
    b"\0" * 200000,
    b"kind\0",  # a key without its value
]
os.write(3, frame("ENDED", claims[ARG["round"] - 1]))
contained("a strange claim was sent")
os._exit(3)
