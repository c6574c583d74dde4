# id: RS14
# field: timeout
# kept-by: timer
# policy: {"timeout": "500ms", "cpu_seconds": 60}
# judge: status
# status: timeout
# within: 8
# expect: a number with millions of digits does not hold the deadline back

import time

if hasattr(sys, "set_int_max_str_digits"):
    sys.set_int_max_str_digits(0)
start = time.monotonic()
number = 7**100000
while time.monotonic() - start < 1.5:
    str(number << 1000000)
escaped("printed digits for %.1f s with a deadline of 0.5 s" % (time.monotonic() - start))
