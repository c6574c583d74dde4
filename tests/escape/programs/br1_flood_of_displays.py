# id: BR1
# field: display_bytes
# kept-by: frame_cap
# judge: status
# status: ok killed error exit timeout
# policy: {"timeout": 5, "display_bytes": 100000}
# control: no the keeper discards what exceeds the cap, and a program cannot observe that
# expect: gigabytes of displays cost the keeper and the caller no memory and no time

chunk = frame("DISPLAY", b"kind\0display\0mime\0text/plain\0bytes\0" + b"60000\0") + frame("DISPLAY_DATA", b"x" * 60000)
try:
    for _ in range(20000):
        data = chunk
        while data:
            data = data[os.write(3, data) :]
except OSError as e:
    refused("channel", errname(e.errno))
contained("displays were sent")
