# id: PR8
# field: subprocess_execution
# kept-by: seccomp landlock
# landlock-abi: 6
# expect: no signal reaches pid 1 of the jail, by any call

def try_signal(label, *call):
    ret, err = syscall(*call)
    if ret == 0:
        went_through(label)
    else:
        refused(label, errname(err))


try_signal("kill(1, 0)", "kill", 1, 0)
if os.getpid() == 2 and not got:
    for signal in (9, 15, 19):
        try_signal("kill(1, %d)" % signal, "kill", 1, signal)
try_signal("tkill(1, 0)", "tkill", 1, 0)
try_signal("tgkill(1, 1, 0)", "tgkill", 1, 1, 0)
report_outcome()
