# id: RS8
# field: files
# kept-by: tmpfs_inodes
# policy: {"files": 200}
# expect: ENOSPC: a symbolic link counts as a file

made = 0
try:
    while made < 3000:
        os.symlink("t" * 100, "s%d" % made)
        made += 1
except OSError as e:
    refused("links", "%s after %d" % (errname(e.errno), made))
if made > 300:
    went_through("links", "%d with a limit of 200" % made)
report_outcome()
