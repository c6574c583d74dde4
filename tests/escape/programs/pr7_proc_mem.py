# id: PR7
# field: filesystem_read_roots
# kept-by: mount_namespace landlock
# expect: no process's memory can be opened as a file

for path in ("/proc/self/mem", "/proc/1/mem", "/proc/%d/mem" % ARG["host_pid"], "/proc/self/maps",
             "/proc/self/task/self/mem", "/dev/mem"):
    attempt(path, os.open, path, os.O_RDONLY)
report_outcome()
