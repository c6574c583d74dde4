# id: RS8
# field: files
# kept-by: tmpfs_inodes
# policy: {"files": 100, "open_files": 1000, "memory_bytes": "512M"}
# expect: ENOSPC: files that were unlinked while open count until they are closed

held = []
try:
    while len(held) < 600:
        held.append(os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600))
except OSError as e:
    refused("files", "%s after %d" % (errname(e.errno), len(held)))
if len(held) > 200:
    went_through("files", "%d with a limit of 100" % len(held))
for fd in held:
    os.close(fd)
report_outcome()
