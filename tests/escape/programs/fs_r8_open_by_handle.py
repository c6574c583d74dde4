# id: FS-R8
# field: filesystem_read_roots
# kept-by: seccomp
# leaves-out: seccomp
# expect: ENOSYS for both calls of the Shocker attack

handle = ctypes.create_string_buffer(struct.pack("Ii", 8, 1) + bytes(8), 136)
mount_id = ctypes.c_int(0)
root = os.open(".", os.O_RDONLY | os.O_DIRECTORY)

reach("name_to_handle_at", "name_to_handle_at", -100, b".", handle, mount_id, 0)
# Without CAP_DAC_READ_SEARCH the kernel returns EPERM, as a filter would. A bad
# address shows first whether the call passed the filter at all.
reach("open_by_handle_at, bad address", "open_by_handle_at", root, BAD, os.O_RDONLY)
for inode in (1, 2, 3, 128):
    guess = ctypes.create_string_buffer(struct.pack("IiII", 8, 1, inode, 0), 136)
    ret, err = syscall("open_by_handle_at", root, guess, os.O_RDONLY)
    if ret >= 0:
        went_through("open_by_handle_at of inode %d" % inode)
    else:
        refused("inode %d" % inode, errname(err))
report_outcome()
