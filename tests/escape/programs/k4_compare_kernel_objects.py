# id: K4
# field: subprocess_execution
# kept-by: seccomp
# expect: ENOSYS for kcmp

me = os.getpid()
for kind in range(8):
    reach("kind %d" % kind, "kcmp", me, me, kind, 0, 0)
reach("kind 99", "kcmp", me, me, 99, 0, 0)
report_outcome()
