# id: PR15
# field: subprocess_execution
# kept-by: seccomp landlock
# expect: the decision does not depend on a path that changes while it is checked

import threading
import time

# After many refusals the program waits for each answer.
end = time.monotonic() + 2
program = (sys.executable or "/usr/bin/python3").encode()
SAY = b"print('ESCAPED the path was swapped while it was looked at')"
path = ctypes.create_string_buffer(b"/nothing/here", 256)
argv = (ctypes.c_char_p * 6)(program, b"-I", b"-S", b"-c", SAY, None)
envp = (ctypes.c_char_p * 1)(None)
stop = False


def swap():
    while not stop:
        path.value = program
        path.value = b"/nothing/here"


thread = threading.Thread(target=swap)
thread.start()
sys.stdout.flush()
answers = {}
for _ in range(2000):
    if time.monotonic() > end:
        break
    ret, err = syscall("execve", path, argv, envp)
    answers[errname(err)] = answers.get(errname(err), 0) + 1
stop = True
thread.join()
refused("execve", str(answers))
# In the control the race may never be won: then try the call without a race.
reach("execve of the program", "execve", program, argv, envp, answers=(errno.EPERM, errno.EACCES))
report_outcome()
