# id: PR17
# field: mounts
# kept-by: mount_namespace
# policy: {"subprocess_execution": true, "workspace_execution": true, "memory_fallback": "per_process", "cpu_fallback": "per_process"}
# control: no vm.memfd_noexec and the flags of /dev/shm belong to the jail, which a test build makes as well
# expect: memory files and shared memory cannot be executed even if the workspace can

import shutil

AT_EMPTY_PATH, MFD_EXEC = 0x1000, 0x10
argv = (ctypes.c_char_p * 6)(b"x", b"-I", b"-S", b"-c", b"pass", None)
envp = (ctypes.c_char_p * 1)(None)
program = os.path.realpath(sys.executable or "/usr/bin/python3")


def execute(*call):
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        err = syscall(*call)[1]
        os._exit(err if 0 < err < 256 else 255)
    return os.waitpid(pid, 0)[1] >> 8


for folder in (os.getcwd(), "/tmp"):
    shutil.copyfile(program, folder + "/program")
    os.chmod(folder + "/program", 0o755)
    code = execute("execve", (folder + "/program").encode(), argv, envp)
    assert code == 0, "the policy allows to execute %s, which ended with %d" % (folder, code)
shutil.copyfile(program, "/dev/shm/program")
os.chmod("/dev/shm/program", 0o755)
code = execute("execve", b"/dev/shm/program", argv, envp)
if code == errno.EACCES:
    refused("/dev/shm", errname(code))
else:
    went_through("/dev/shm", "exit code %d" % code)
for flags in (0, MFD_EXEC):
    fd, err = syscall("memfd_create", b"x", flags)
    if fd < 0:
        refused("memfd_create(%#x)" % flags, errname(err))
        continue
    with open(program, "rb") as f:
        os.write(fd, f.read())
    code = execute("execveat", fd, b"", argv, envp, AT_EMPTY_PATH)
    if code in (errno.EACCES, errno.EPERM, errno.ENOSYS):
        refused("execveat of a memory file", errname(code))
    else:
        went_through("execveat of a memory file", "exit code %d" % code)
report_outcome()
