# id: BR1
# field: timeout
# kept-by: timer
# judge: status
# status: ok killed error exit
# control: no the parser of frames is not a mechanism of the policy table and cannot be left out
# expect: a frame that announces 4 GiB is refused at its header; the keeper does not wait for the bytes

import time

os.write(3, frame("ENDED", b"kind", length=0xFFFFFFFF))
sent = 0
os.set_blocking(3, False)
end = time.monotonic() + 2
try:
    while time.monotonic() < end and sent < 64 << 20:
        try:
            sent += os.write(3, b" " * 65536)
        except BlockingIOError:
            time.sleep(0.01)
except OSError as e:
    refused("channel", errname(e.errno))
if sent > 16 << 20:
    went_through("channel", "the keeper accepted %d MiB of one frame" % (sent >> 20))
refused("channel", "%d KiB accepted" % (sent >> 10))
report_outcome()
