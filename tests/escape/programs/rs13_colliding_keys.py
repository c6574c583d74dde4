# id: RS13
# field: timeout
# kept-by: timer
# policy: {"timeout": "500ms", "cpu_seconds": 60}
# judge: status
# status: timeout
# expect: a single call that takes quadratic time in C is killed at the deadline

PRIME = (1 << 61) - 1
# All hash to the same value. Each round is one call that runs no bytecode.
for _ in lasting(1.5):
    set([i * PRIME for i in range(1, 8000)])
escaped("hashed for 1.5 s with a deadline of 0.5 s")
