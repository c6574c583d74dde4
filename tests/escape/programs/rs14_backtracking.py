# id: RS14
# field: timeout
# kept-by: timer
# policy: {"timeout": "500ms", "cpu_seconds": 60}
# judge: status
# status: timeout
# expect: a regular expression that never ends does not delay the deadline

import re

for _ in lasting(1.5):
    re.match("(a+)+$", "a" * 23 + "b")
escaped("matched for 1.5 s with a deadline of 0.5 s")
