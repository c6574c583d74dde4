# id: PR8
# field: subprocess_execution
# kept-by: seccomp
# expect: EPERM for kill(-1) and for other process groups

# A real signal is sent only inside the jail, where this program is pid 2.
SIGNAL = 9 if os.getpid() == 2 else 0
for target in (-1, -2 if os.getpgrp() != 2 else -3, -1000):
    reach("kill(%d)" % target, "kill", target, SIGNAL)
report_outcome()
