# id: BR1
# field: timeout
# kept-by: timer
# judge: status
# status: ok killed error exit
# control: no the parser of frames is not a mechanism of the policy table and cannot be left out
# expect: a frame that arrives byte by byte delays only its own run

import time

for byte in frame("ENDED", records(kind="ok")):
    try:
        os.write(3, bytes([byte]))
    except OSError as e:
        refused("channel", errname(e.errno))
        break
    time.sleep(0.02)
contained("one frame, byte by byte")
