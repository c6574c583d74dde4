# id: K1
# field: subprocess_execution
# kept-by: seccomp
# judge: status
# status: killed
# signal: SIGSYS
# expect: loading a kernel module, which only an exploit tries, ends the process at once

ret, err = syscall("finit_module", -1, BAD, 0)
escaped("finit_module was answered: %s" % errname(err))
