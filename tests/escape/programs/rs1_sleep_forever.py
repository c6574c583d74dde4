# id: RS1
# field: timeout
# kept-by: timer
# policy: {"timeout": "500ms"}
# judge: status
# status: timeout
# within: 6
# expect: a program that does nothing is killed at the deadline as well

import time

time.sleep(2)
escaped("slept for 2 s with a deadline of 0.5 s")
