# id: S2
# field: timeout
# kept-by: timer
# judge: status
# status: killed
# signal: SIGKILL
# control: no the program ends only itself
# expect: the status names the signal, and nothing is left

import signal

os.kill(os.getpid(), signal.SIGKILL)
escaped("survived SIGKILL")
