# id: PR1
# field: subprocess_execution
# kept-by: seccomp
# expect: posix_spawn raises, no program starts

program = sys.executable or "/usr/bin/python3"


def spawn():
    pid = os.posix_spawn(program, [program, "-c", "pass"], {})
    os.waitpid(pid, 0)


attempt("posix_spawn", spawn)
attempt("posix_spawnp", lambda: os.waitpid(os.posix_spawnp("sh", ["sh", "-c", ":"], {}), 0))
report_outcome()
