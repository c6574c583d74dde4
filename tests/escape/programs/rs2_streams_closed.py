# id: RS2
# field: timeout
# kept-by: timer
# policy: {"timeout": "500ms"}
# judge: status
# status: timeout
# within: 6
# expect: end of file on stdout is not the end of the run, and the deadline still holds

import time

os.close(0)
os.close(1)
time.sleep(2)
os.write(2, b"ESCAPED lived for 2 s behind a closed stdout\n")
