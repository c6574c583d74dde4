# id: FS-W10
# field: mounts
# kept-by: seccomp
# leaves-out: seccomp
# expect: EPERM: no file capabilities, no ACLs, and no memory hidden in attributes

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
reach("setxattr, bad address", "setxattr", BAD, BAD, BAD, 1, 0)
reach("lsetxattr, bad address", "lsetxattr", BAD, BAD, BAD, 1, 0)
reach("fsetxattr", "fsetxattr", -1, b"user.x", b"x", 1, 0)
reach("removexattr", "removexattr", BAD, BAD)
reach("setxattrat", "setxattrat", -100, BAD, 0, BAD, BAD, 1)
report_outcome()
