# id: PR1
# field: subprocess_execution
# kept-by: seccomp landlock mount_namespace
# leaves-out: seccomp landlock mount_namespace
# expect: os.system and popen run no shell; the jail has none either

code = os.system("exit 7")
if code == 7 << 8:
    went_through("os.system")
else:
    refused("os.system", "wait status %d" % code)
try:
    with os.popen("echo shell") as out:
        if out.read() == "shell\n":
            went_through("os.popen")
        else:
            refused("os.popen", "no output")
except OSError as e:
    refused("os.popen", errname(e.errno))
LIBC.system.restype = ctypes.c_int
if LIBC.system(b"exit 7") == 7 << 8:
    went_through("system")
else:
    refused("system", "did not run")
report_outcome()
