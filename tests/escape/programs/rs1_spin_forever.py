# id: RS1
# field: timeout
# kept-by: timer
# policy: {"timeout": "500ms"}
# judge: status
# status: timeout
# within: 6
# expect: killed at the deadline, status timeout

import time

end = time.monotonic() + 2
while time.monotonic() < end:
    pass
escaped("spun for 2 s with a deadline of 0.5 s")
