# id: BR1
# field: timeout
# kept-by: timer
# judge: status
# status: ok killed error exit
# runs: 3
# control: no the parser of frames is not a mechanism of the policy table and cannot be left out
# expect: frames without a payload, of known and of unknown types, do not disturb the keeper

import time

kinds = [("ENDED",), (0, 200, 255), ("REPORT", "CHECKED")][ARG["round"] - 1]
for kind in kinds:
    try:
        os.write(3, frame(kind))
    except OSError as e:
        refused(str(kind), errname(e.errno))
time.sleep(0.5)
contained("frames of types %s were sent" % (kinds,))
