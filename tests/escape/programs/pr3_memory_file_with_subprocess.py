# id: PR3
# field: mounts
# kept-by: mount_namespace
# policy: {"subprocess_execution": true, "memory_fallback": "per_process", "cpu_fallback": "per_process"}
# control: no vm.memfd_noexec is set in the pid namespace, which cannot be left out
# expect: with subprocesses allowed a memory file is still not executable

AT_EMPTY_PATH, MFD_EXEC = 0x1000, 0x10
argv = (ctypes.c_char_p * 2)(b"x", None)
envp = (ctypes.c_char_p * 1)(None)
sys.stdout.flush()
for flags in (0, MFD_EXEC):
    fd, err = syscall("memfd_create", b"x", flags)
    if fd < 0:
        refused("memfd_create(%#x)" % flags, errname(err))
        continue
    with open(sys.executable or "/usr/bin/python3", "rb") as program:
        os.write(fd, program.read())
    if syscall("fchmod", fd, 0o755)[0] == 0:
        refused("fchmod", "allowed, and only a mode")
    pid = os.fork()
    if pid == 0:
        syscall("execveat", fd, b"", argv, envp, AT_EMPTY_PATH)
        os._exit(ctypes.get_errno() or 1)
    code = os.waitpid(pid, 0)[1] >> 8
    if code in (errno.EACCES, errno.EPERM, errno.ENOSYS):
        refused("execveat", errname(code))
    else:
        went_through("execveat", "exit code %d" % code)
report_outcome()
