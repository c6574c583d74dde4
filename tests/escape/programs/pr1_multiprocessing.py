# id: PR1
# field: subprocess_execution
# kept-by: seccomp
# expect: no child by fork, spawn or forkserver

import multiprocessing

for method in ("fork", "spawn", "forkserver"):
    context = multiprocessing.get_context(method)
    try:
        child = context.Process(target=int)
        child.start()
        child.join(10)
    except (OSError, EOFError) as e:
        refused(method, type(e).__name__)
    else:
        if child.exitcode is None:
            child.kill()
        went_through(method)
    if got:
        break
report_outcome()
