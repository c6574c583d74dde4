# id: FS-W10
# field: mounts
# kept-by: mount_namespace
# control: no the flags belong to the jail's tmpfs, which a test build mounts as well
# expect: every writable mount is nosuid, nodev and noexec, and no setuid bit can be set

import stat

for folder in (os.getcwd(), "/tmp", "/dev/shm"):
    path = folder + "/tool"
    try:
        open(path, "w").close()
    except OSError as e:
        refused(folder, errname(e.errno))
        continue
    attempt(folder + " chmod", os.chmod, path, 0o6755)
    flags = os.statvfs(path).f_flag
    for name in ("NOSUID", "NODEV", "NOEXEC"):
        if flags & getattr(os, "ST_" + name):
            refused(folder, name.lower())
        else:
            went_through(folder, "not " + name.lower())
report_outcome()
