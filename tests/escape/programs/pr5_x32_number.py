# id: PR5
# field: subprocess_execution
# kept-by: seccomp
# judge: status
# status: killed
# signal: SIGSYS
# machine: x86_64
# expect: an x32 number ends the process by SIGSYS

X32 = 0x40000000
# A kernel without x32 would return ENOSYS: any answer at all is the escape.
ret, err = syscall(X32 | 520, BAD, BAD, BAD)
escaped("x32 execve was answered: %s" % errname(err))
