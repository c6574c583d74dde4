# id: RS14
# field: timeout
# kept-by: timer
# policy: {"timeout": "500ms", "cpu_seconds": 60}
# judge: status
# status: timeout
# expect: a number with a hundred thousand digits does not delay the deadline

if hasattr(sys, "set_int_max_str_digits"):
    sys.set_int_max_str_digits(0)
number = 7**100000
for _ in lasting(1.5):
    str(number << 300000)
escaped("printed digits for 1.5 s with a deadline of 0.5 s")
