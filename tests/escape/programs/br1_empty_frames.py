# id: BR1
# field: timeout
# kept-by: timer
# judge: status
# status: ok killed error exit
# runs: 3
# control: no the reader of frames is no mechanism of the table and cannot be left out
# expect: frames without a payload, of types that exist and types that do not

import time

kinds = [("ENDED",), (0, 200, 255), ("REPORT", "CHECKED")][ARG["round"] - 1]
for kind in kinds:
    try:
        os.write(3, frame(kind))
    except OSError as e:
        refused(str(kind), errname(e.errno))
time.sleep(0.5)
contained("frames of types %s were sent" % (kinds,))
