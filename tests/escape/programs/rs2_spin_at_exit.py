# id: RS2
# field: timeout
# kept-by: timer
# policy: {"timeout": "500ms"}
# judge: status
# status: timeout
# expect: work in exit handlers counts toward the deadline as well

import atexit


def linger():
    for _ in lasting(2):
        pass
    escaped("an exit handler ran for 2 s with a deadline of 0.5 s")


atexit.register(linger)
