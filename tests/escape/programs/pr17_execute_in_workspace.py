# id: PR17
# field: workspace_execution
# kept-by: noexec_mount landlock
# policy: {"subprocess_execution": true, "memory_fallback": "per_process", "cpu_fallback": "per_process"}
# expect: EACCES for every file that code wrote, as a script, as a program and by its descriptor

import shutil

AT_EMPTY_PATH = 0x1000
program = os.path.realpath(sys.executable or "/usr/bin/python3")
argv = (ctypes.c_char_p * 6)(b"x", b"-I", b"-S", b"-c", b"pass", None)
envp = (ctypes.c_char_p * 1)(None)


def execute(label, *call):
    """Makes the call in a child. If it succeeds, the new program ends with 0."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        err = syscall(*call)[1]
        os._exit(err if 0 < err < 256 else 255)
    code = os.waitpid(pid, 0)[1] >> 8
    if code == errno.EACCES:
        refused(label, "EACCES")
    else:
        went_through(label, "exit code %d" % code)


for folder in (os.getcwd(), "/tmp", "/dev/shm"):
    path, script, link = (folder + name for name in ("/program", "/script", "/link"))
    shutil.copyfile(program, path)
    with open(script, "w") as f:
        f.write("#!/bin/sh\nexit 0\n")
    for name in (path, script):
        os.chmod(name, 0o755)
    os.symlink(path, link)
    execute(path, "execve", path.encode(), argv, envp)
    execute(script, "execve", script.encode(), argv, envp)
    execute(link, "execve", link.encode(), argv, envp)
    execute(path + " below a descriptor", "execveat", os.open(folder, os.O_RDONLY), b"program", argv, envp, 0)
    # By the number of its descriptor alone, the filter refuses it as well (pr1_execveat_descriptor.py).
    ret, err = syscall("execveat", os.open(path, os.O_RDONLY), b"", argv, envp, AT_EMPTY_PATH)
    refused("execveat of a descriptor", errname(err))
# Programs of the host can be executed: what failed is not execution as such.
if os.system("exit 7") >> 8 != 7:
    raise AssertionError("no program can be executed")
report_outcome()
