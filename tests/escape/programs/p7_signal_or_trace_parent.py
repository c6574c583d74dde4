# id: P7
# field: subprocess_execution
# kept-by: seccomp landlock
# landlock-abi: 6
# expect: the parent process can be neither signalled nor traced

parent = os.getppid() or 1
for signal in (0, 19, 9) if os.getpid() == 2 else (0,):
    ret, err = syscall("kill", parent, signal)
    if ret == 0:
        went_through("kill(%d, %d)" % (parent, signal))
        break
    refused("kill(%d, %d)" % (parent, signal), errname(err))
ret, err = syscall("tgkill", parent, parent, 0)
if ret == 0:
    went_through("tgkill(%d)" % parent)
else:
    refused("tgkill(%d)" % parent, errname(err))
for path in ("/proc/%d/mem" % parent, "/proc/%d/fd" % parent, "/proc/%d/root" % parent):
    attempt(path, os.listdir if path.endswith("fd") else os.stat, path)
report_outcome()
