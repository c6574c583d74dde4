# id: K1
# field: subprocess_execution
# kept-by: seccomp
# judge: status
# status: killed
# signal: SIGSYS
# expect: loading another kernel ends the process at once

ret, err = syscall("kexec_load", 0, 99, BAD, 0)
escaped("kexec_load was answered: %s" % errname(err))
