# id: FS-W1
# field: mounts
# kept-by: mount_namespace landlock
# landlock-abi: 3
# witness: victim
# expect: a world-writable host file keeps its bytes and its name

victim = ARG["victim_file"]


def append():
    fd = os.open(victim, os.O_WRONLY | os.O_APPEND)
    os.write(fd, b"changed")


def overwrite():
    fd = os.open(victim, os.O_RDWR)
    os.pwrite(fd, b"changed", 0)


attempt("append", append)
attempt("overwrite", overwrite)
attempt("truncate", os.truncate, victim, 1)
attempt("rename", os.rename, victim, victim + ".moved")
attempt("unlink", os.unlink, victim)
report_outcome()
