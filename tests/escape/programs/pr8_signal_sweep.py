# id: PR8
# field: subprocess_execution
# kept-by: seccomp landlock
# landlock-abi: 6
# expect: of all process ids, only the program's own answers

found = []
answers = {}
candidates = list(range(1, 32769)) + [ARG["host_pid"], os.getppid()]
for pid in candidates:
    if pid in (0, os.getpid()):
        continue
    ret, err = syscall("kill", pid, 0)
    if ret == 0:
        found.append(pid)
    else:
        answers[errname(err)] = answers.get(errname(err), 0) + 1
if found:
    went_through("kill", "reached %s" % found[:10])
refused("kill", str(answers))
report_outcome()
