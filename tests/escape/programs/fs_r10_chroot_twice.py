# id: FS-R10
# field: filesystem_read_roots
# kept-by: seccomp
# leaves-out: seccomp
# expect: EPERM, so the working directory never lies outside the root

os.mkdir("hole")
reach("chroot, bad address", "chroot", BAD)
if syscall("chroot", b"hole")[0] == 0:
    went_through("chroot")
    for _ in range(64):
        os.chdir("..")
    if syscall("chroot", b".")[0] == 0:
        leak("secret", read_file(ARG["secret_path"]))
else:
    refused("chroot(hole)", errname(ctypes.get_errno()))
report_outcome()
