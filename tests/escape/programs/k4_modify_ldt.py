# id: K4
# field: subprocess_execution
# kept-by: seccomp
# judge: status
# status: killed
# signal: SIGSYS
# machine: x86_64
# expect: the process is killed: it cannot define its own segments

ret, err = syscall("modify_ldt", 0, BAD, 0)
escaped("modify_ldt was answered: %d %s" % (ret, errname(err)))
