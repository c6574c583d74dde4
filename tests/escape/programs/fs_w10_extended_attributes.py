# id: FS-W10
# field: mounts
# kept-by: seccomp
# leaves-out: seccomp
# expect: EOPNOTSUPP, and ENOSYS for the newest call: no file capabilities, no ACLs, and no memory hidden in attributes

open("tool", "w").close()
CAPS = struct.pack("<IIIII", 0x02000001, 0x3FFFFF, 0, 0, 0)
for name, value in (
    ("security.capability", CAPS),
    ("system.posix_acl_access", struct.pack("<I", 2)),
    ("trusted.x", b"x"),
    ("user.x", b"x" * 1024),
):
    if syscall("setxattr", b"tool", name.encode(), value, len(value), 0)[0] == 0:
        went_through(name)
# The kernel answers these with EFAULT and EBADF.
MISSING = (errno.EOPNOTSUPP,)
reach("setxattr, bad address", "setxattr", BAD, BAD, BAD, 1, 0, answers=MISSING)
reach("lsetxattr, bad address", "lsetxattr", BAD, BAD, BAD, 1, 0, answers=MISSING)
reach("fsetxattr", "fsetxattr", -1, b"user.x", b"x", 1, 0, answers=MISSING)
reach("removexattr", "removexattr", BAD, BAD, answers=MISSING)
reach("fremovexattr", "fremovexattr", -1, b"user.x", answers=MISSING)
reach("setxattrat", "setxattrat", -100, BAD, 0, BAD, BAD, 1)
report_outcome()
