# id: RS8
# field: files
# kept-by: tmpfs_inodes
# policy: {"files": 200}
# expect: ENOSPC when all writable directories together reach the limit

made = 0
for folder in (os.getcwd(), "/tmp", "/dev/shm"):
    try:
        for i in range(1000):
            os.close(os.open("%s/%d" % (folder, i), os.O_WRONLY | os.O_CREAT))
            made += 1
    except OSError as e:
        refused(folder, "%s with %d in all" % (errname(e.errno), made))
if made > 300:
    went_through("files", "%d with a limit of 200" % made)
report_outcome()
