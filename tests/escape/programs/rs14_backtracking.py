# id: RS14
# field: timeout
# kept-by: timer
# policy: {"timeout": "500ms", "cpu_seconds": 60}
# judge: status
# status: timeout
# within: 8
# expect: a regular expression that never ends does not hold the deadline back

import re
import time

start = time.monotonic()
while time.monotonic() - start < 1.5:
    re.match("(a+)+$", "a" * 23 + "b")
escaped("matched for %.1f s with a deadline of 0.5 s" % (time.monotonic() - start))
