# id: BR1
# field: timeout
# kept-by: timer
# judge: status
# status: ok killed error exit
# control: no the reader of frames is no mechanism of the table and cannot be left out
# expect: a frame that comes byte by byte keeps nobody waiting but itself

import time

for byte in frame("ENDED", records(kind="ok")):
    try:
        os.write(3, bytes([byte]))
    except OSError as e:
        refused("channel", errname(e.errno))
        break
    time.sleep(0.02)
contained("one frame, byte by byte")
