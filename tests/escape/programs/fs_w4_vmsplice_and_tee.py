# id: FS-W4
# field: mounts
# kept-by: seccomp
# leaves-out: seccomp
# expect: ENOSYS for both

out, into = os.pipe()
page = ctypes.create_string_buffer(4096)
vector = ctypes.create_string_buffer(struct.pack("QQ", ctypes.addressof(page), 4096), 16)
SPLICE_F_GIFT = 8
reach("vmsplice", "vmsplice", into, vector, 1, SPLICE_F_GIFT)
other_out, other_into = os.pipe()
reach("tee", "tee", out, other_into, 1, 2)
report_outcome()
