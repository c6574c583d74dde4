# id: FS-R9
# field: filesystem_read_roots
# kept-by: seccomp
# leaves-out: seccomp
# expect: EPERM: what the jail's mounts hide cannot be uncovered

MNT_DETACH = 2

for path in (b"/workspace", b"/tmp", b"/dev", b"/usr", b"/"):
    if syscall("umount2", path, MNT_DETACH)[0] == 0:
        went_through("umount of " + path.decode())
# Undefined flags give EINVAL before the kernel checks privileges.
reach("umount2, wrong flags", "umount2", b"/", 0x7FFFFFFF)
if syscall("pivot_root", b".", b".")[0] == 0:
    went_through("pivot_root")
report_outcome()
