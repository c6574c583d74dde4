# id: PR3
# field: subprocess_execution
# kept-by: seccomp
# expect: EPERM: a file without a path cannot be executed

AT_EMPTY_PATH = 0x1000
fd, err = syscall("memfd_create", b"x", 0)
if fd < 0:
    refused("memfd_create", errname(err))
else:
    os.write(fd, b"#!/bin/sh\necho ESCAPED a memory file was executed\n")
argv = (ctypes.c_char_p * 2)(b"x", None)
envp = (ctypes.c_char_p * 1)(None)
sys.stdout.flush()
# EACCES (vm.memfd_noexec) would be the second mechanism: this tests the first.
reach("execveat", "execveat", fd, b"", argv, envp, AT_EMPTY_PATH)
reach("execve", "execve", b"/proc/self/fd/%d" % fd, argv, envp)
report_outcome()
