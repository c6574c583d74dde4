# id: RS6
# field: disk_bytes
# kept-by: tmpfs_size
# policy: {"disk_bytes": "8M"}
# expect: ENOSPC when all writable directories together reach the limit

LIMIT = 8 << 20
chunk = b"x" * 65536
total = 0
for folder in (os.getcwd(), "/tmp", "/dev/shm"):
    try:
        fd = os.open(folder + "/fill", os.O_WRONLY | os.O_CREAT)
        for _ in range(3 * LIMIT // len(chunk)):
            total += os.write(fd, chunk)
    except OSError as e:
        refused(folder, "%s at %d KiB in all" % (errname(e.errno), total >> 10))
if total > LIMIT + LIMIT // 4:
    went_through("all together", "%d MiB with a limit of 8 MiB" % (total >> 20))
report_outcome()
