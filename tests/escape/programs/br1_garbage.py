# id: BR1
# field: timeout
# kept-by: timer
# judge: status
# status: ok killed error exit
# runs: 3
# control: no the parser of frames is not a mechanism of the policy table and cannot be left out
# expect: random bytes on the channel may end the run, but never the keeper

import time

os.write(3, [b"\xff" * 64, os.urandom(4096), b"GET / HTTP/1.1\r\n\r\n"][ARG["round"] - 1])
time.sleep(1)
contained("the keeper let the program live")
