# id: FS-W2
# field: mounts
# kept-by: mount_namespace landlock
# witness: victim
# expect: a descriptor opened for reading cannot be opened again for writing

for path in (ARG["victim_file"], os.__file__):
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError as e:
        refused(path, errname(e.errno))
        continue
    for link in ("/proc/self/fd/%d", "/dev/fd/%d", "/proc/thread-self/fd/%d"):
        try:
            again = os.open(link % fd, os.O_RDWR)
            os.write(again, b"changed")
        except OSError as e:
            refused(link % fd, errname(e.errno))
        else:
            went_through(path)
report_outcome()
