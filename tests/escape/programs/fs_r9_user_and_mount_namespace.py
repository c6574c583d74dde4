# id: FS-R9
# field: filesystem_read_roots
# kept-by: seccomp
# leaves-out: seccomp landlock
# expect: EPERM for unshare and for every mount

NEWNS, NEWUSER = 0x00020000, 0x10000000
MS_BIND, MS_REC = 4096, 16384

# ENOSPC (the jail's limit on user namespaces) means that the filter let the
# call pass: then only one mechanism stops the attack instead of two.
reach("unshare(user|mount)", "unshare", NEWUSER | NEWNS)
reach("mount, bad address", "mount", BAD, BAD, BAD, MS_BIND, BAD)
os.mkdir("here")
if syscall("mount", ARG["secret_dir"].encode(), b"here", None, MS_BIND | MS_REC, None)[0] == 0:
    went_through("bind mount of a host folder")
report_outcome()
