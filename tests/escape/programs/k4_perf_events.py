# id: K4
# field: subprocess_execution
# kept-by: seccomp
# expect: ENOSYS: no counters and no samples

reach("bad address", "perf_event_open", BAD, 0, -1, -1, 0)
report_outcome()
