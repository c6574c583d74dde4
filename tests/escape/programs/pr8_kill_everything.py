# id: PR8
# field: subprocess_execution
# kept-by: seccomp
# expect: EPERM for kill(-1) and for groups of others

# Only inside the jail, where pid 2 is this program, is a real signal sent.
SIGNAL = 9 if os.getpid() == 2 else 0
for target in (-1, -2 if os.getpgrp() != 2 else -3, -1000):
    reach("kill(%d)" % target, "kill", target, SIGNAL)
report_outcome()
