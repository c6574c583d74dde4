# id: BR1
# field: timeout
# kept-by: timer
# judge: status
# status: ok killed error exit
# control: no the reader of frames is no mechanism of the table and cannot be left out
# expect: a length of 4 GiB is refused by its header, not waited for

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
    went_through("channel", "the keeper took %d MiB of one frame" % (sent >> 20))
refused("channel", "%d KiB taken" % (sent >> 10))
report_outcome()
