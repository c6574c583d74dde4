# id: RS8
# field: files
# kept-by: tmpfs_inodes
# policy: {"files": 200}
# expect: ENOSPC: a second name costs as much as a file

open("one", "w").close()
made = 0
try:
    while made < 3000:
        os.link("one", "n" * 240 + str(made))
        made += 1
except OSError as e:
    refused("names", "%s after %d" % (errname(e.errno), made))
if made > 300:
    went_through("names", "%d with a limit of 200" % made)
report_outcome()
