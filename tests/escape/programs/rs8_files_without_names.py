# id: RS8
# field: files
# kept-by: tmpfs_inodes
# policy: {"files": 100, "open_files": 1000, "memory_bytes": "512M"}
# expect: ENOSPC: files that were unlinked while open count until they are closed

opened = []
try:
    while len(opened) < 600:
        opened.append(os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600))
except OSError as e:
    refused("files", "%s after %d" % (errname(e.errno), len(opened)))
if len(opened) > 200:
    went_through("files", "%d with a limit of 100" % len(opened))
for fd in opened:
    os.close(fd)
report_outcome()
