# id: RS18
# field: subprocess_execution
# kept-by: seccomp
# leaves-out: seccomp
# expect: a hundred thousand refusals cost the host no log line and no memory

for _ in range(100000):
    ret, err = syscall("inotify_init1", 0)
    if err not in REFUSED:
        went_through("inotify_init1(0)", errname(err) if err else "ok")
        break
refused("inotify_init1(0)", "100000 times")
report_outcome()
