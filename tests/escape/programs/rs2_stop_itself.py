# id: RS2
# field: timeout
# kept-by: timer
# policy: {"timeout": "500ms"}
# judge: status
# status: timeout
# control: no a stopped program cannot report that it outlived the deadline
# expect: a stopped process is killed at the deadline

import signal

os.kill(os.getpid(), signal.SIGSTOP)
escaped("was continued")
