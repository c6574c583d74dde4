# id: PR11
# field: subprocess_execution
# kept-by: seccomp
# expect: EPERM for every id, even the current one

own = os.getuid()
for label, call in {
    "setuid(0)": ("setuid", 0), "setgid(0)": ("setgid", 0),
    "setresuid(0,0,0)": ("setresuid", 0, 0, 0), "setreuid(0,0)": ("setreuid", 0, 0),
}.items():
    ret, err = syscall(*call)
    if ret == 0 and own != 0:
        went_through(label)
    else:
        refused(label, errname(err))
reach("setuid(own)", "setuid", own)
reach("setgid(own)", "setgid", os.getgid())
reach("setresuid(-1,-1,-1)", "setresuid", -1, -1, -1)
reach("setresgid(-1,-1,-1)", "setresgid", -1, -1, -1)
reach("setreuid(-1,-1)", "setreuid", -1, -1)
reach("setfsuid", "setfsuid", -1)
reach("setgroups", "setgroups", 1 << 20, BAD)
if os.geteuid() == 0:
    went_through("euid", "is 0")
report_outcome()
