# id: BR2
# field: timeout
# kept-by: timer
# judge: status
# status: killed
# signal: SIGKILL
# control: no the kernel's report of a signal cannot be left out
# expect: a claim of success does not hide death by a signal

import signal

os.write(3, frame("ENDED", records(kind="ok")))
contained("success was claimed")
os.kill(os.getpid(), signal.SIGKILL)
