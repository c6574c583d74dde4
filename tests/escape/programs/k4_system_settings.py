# id: K4
# field: subprocess_execution
# kept-by: seccomp
# expect: EPERM: no setting of the machine can be changed from inside

reach("sethostname", "sethostname", BAD, 1 << 20)
reach("settimeofday", "settimeofday", BAD, BAD)
reach("clock_settime", "clock_settime", 99, BAD)
reach("clock_adjtime", "clock_adjtime", 99, BAD)
reach("adjtimex", "adjtimex", BAD)
reach("quotactl", "quotactl", 0, BAD, 0, BAD)
reach("syslog", "syslog", -1, BAD, 1)
reach("swapoff", "swapoff", BAD, 0, answers=(errno.EPERM,))
reach("reboot", "reboot", 0, 0, 0, 0, answers=(errno.EPERM,))
report_outcome()
