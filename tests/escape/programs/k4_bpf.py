# id: K4
# field: subprocess_execution
# kept-by: seccomp
# expect: ENOSYS for every command

for command in (0, 5, 7, 18, 99):
    reach("command %d" % command, "bpf", command, BAD, 8)
report_outcome()
