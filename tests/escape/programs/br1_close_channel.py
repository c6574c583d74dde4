# id: BR1
# field: timeout
# kept-by: timer
# judge: status
# status: ok error exit killed
# control: no the reader of frames is no mechanism of the table and cannot be left out
# expect: a program that closes the channel ends by itself, and nobody waits for more

import time

os.close(3)
time.sleep(0.5)
contained("the channel is closed")
