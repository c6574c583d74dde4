# id: K4
# field: subprocess_execution
# kept-by: seccomp
# judge: status
# status: killed
# signal: SIGSYS
# machine: x86_64
# expect: killed: no segments of one's own

ret, err = syscall("modify_ldt", 0, BAD, 0)
escaped("modify_ldt was answered: %d %s" % (ret, errname(err)))
