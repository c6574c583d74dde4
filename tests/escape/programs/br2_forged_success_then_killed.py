# id: BR2
# field: timeout
# kept-by: timer
# judge: status
# status: killed
# signal: SIGKILL
# control: no what the kernel says about a signal cannot be left out
# expect: a death by signal is not hidden by a claim

import signal

os.write(3, frame("ENDED", records(kind="ok")))
contained("success was claimed")
os.kill(os.getpid(), signal.SIGKILL)
