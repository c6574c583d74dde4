# id: IN1
# field: env_var_access
# kept-by: empty_environment mount_namespace landlock
# leaves-out: empty_environment mount_namespace landlock
# control: no the interpreter is always executed with an empty environment, so /proc shows none
# expect: no environment of any process can be read as a file

name = ARG["env_name"].encode()
for pid in ("self", "1", "2", str(os.getppid()), str(ARG["host_pid"])):
    path = "/proc/%s/environ" % pid
    try:
        data = read_file(path, 1 << 20)
    except OSError as e:
        refused(path, errname(e.errno))
        continue
    if name in data:
        leak(path, data[data.index(name):][:200])
    else:
        refused(path, "%d bytes, nothing planted" % len(data))
report_outcome()
