# id: PR1
# field: subprocess_execution
# kept-by: seccomp landlock
# expect: EPERM by the filter, EACCES by Landlock: the program is not replaced

SAY = "print('ESCAPED execve ran another program')"
programs = [sys.executable, "/usr/bin/python3", "/bin/sh", "/usr/bin/env", "/lib64/ld-linux-x86-64.so.2"]
sys.stdout.flush()
for program in filter(None, programs):
    if not os.path.exists(program):
        continue
    arguments = [program, "-I", "-S", "-c", SAY] if "python" in program else [program, "--help"]
    try:
        os.execve(program, arguments, {})
    except OSError as e:
        refused(program, errname(e.errno))
report_outcome()
