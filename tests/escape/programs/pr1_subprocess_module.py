# id: PR1
# field: subprocess_execution
# kept-by: seccomp
# expect: PermissionError for each way subprocess starts a child

import subprocess

program = sys.executable or "/usr/bin/python3"
plain = [program, "-c", "pass"]
attempt("run", subprocess.run, plain)
attempt("new session", lambda: subprocess.run(plain, start_new_session=True))
attempt("closing nothing", lambda: subprocess.run(plain, close_fds=False))
attempt("preexec_fn", lambda: subprocess.run(plain, preexec_fn=int))
report_outcome()
