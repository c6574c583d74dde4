# id: FS-W7
# field: mounts
# kept-by: seccomp
# leaves-out: seccomp
# expect: EPERM and ENOSYS: read-only mounts stay so

MS_REMOUNT, MS_BIND, RDONLY = 32, 4096, 1
AT_RECURSIVE = 0x8000

for path in (b"/", b"/usr", os.path.dirname(os.__file__).encode()):
    if syscall("mount", None, path, None, MS_REMOUNT | MS_BIND, None)[0] == 0:
        went_through("remount of " + path.decode())
    clear = ctypes.create_string_buffer(struct.pack("QQQQ", 0, RDONLY, 0, 0), 32)
    if syscall("mount_setattr", -100, path, AT_RECURSIVE, clear, 32)[0] == 0:
        went_through("mount_setattr of " + path.decode())
reach("mount, bad address", "mount", None, BAD, BAD, MS_REMOUNT, None)
reach("mount_setattr, size 1", "mount_setattr", -100, b"/", 0, BAD, 1)
report_outcome()
