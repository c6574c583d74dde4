# id: RS15
# field: open_files
# kept-by: seccomp
# leaves-out: seccomp
# expect: EPERM and ENOSYS: no file can be watched

for call in ("inotify_init1", "fanotify_init"):
    reach(call, call, 0x7FFFFFFF, 0)
ret, err = syscall("inotify_init1", 0)
if ret >= 0:
    went_through("inotify_init1")
reach("inotify_add_watch", "inotify_add_watch", -1, BAD, 1)
for label, command in (("F_NOTIFY", 1026), ("F_SETLEASE", 1024)):
    reach(label, "fcntl", os.open(".", os.O_RDONLY), command, 0x7FFF)
report_outcome()
