# id: RS6
# field: disk_bytes
# kept-by: tmpfs_size
# policy: {"disk_bytes": "8M"}
# expect: ENOSPC for blocks that are only reserved, and for pages after a hole

LIMIT = 8 << 20
fd = os.open("reserved", os.O_RDWR | os.O_CREAT)
attempt("fallocate", os.posix_fallocate, fd, 0, 4 * LIMIT)
os.close(fd)
os.unlink("reserved")
fd = os.open("hole", os.O_RDWR | os.O_CREAT)
os.ftruncate(fd, 16 * LIMIT)
written = 0
try:
    for at in range(0, 16 * LIMIT, 16 * LIMIT // 8192):
        written += os.pwrite(fd, b"x", at) * 4096
except OSError as e:
    refused("hole", "%s at %d KiB" % (errname(e.errno), written >> 10))
if written > LIMIT + LIMIT // 4:
    went_through("hole", "%d MiB" % (written >> 20))
report_outcome()
