# id: BR1
# field: timeout
# kept-by: timer
# judge: status
# status: ok error exit killed
# control: no the parser of frames is not a mechanism of the policy table and cannot be left out
# expect: a program that closes the channel ends normally, and the keeper does not wait for more frames

import time

os.close(3)
time.sleep(0.5)
contained("the channel is closed")
