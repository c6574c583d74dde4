# id: FS-R17
# field: filesystem_read_roots
# kept-by: seccomp
# leaves-out: seccomp
# expect: ENOSYS for listmount and statmount

# struct mnt_id_req: size, spare, mnt_id (LSMT_ROOT), param, ns id
request = ctypes.create_string_buffer(struct.pack("IIQQQ", 32, 0, (1 << 64) - 1, 0, 0), 32)
ids = (ctypes.c_uint64 * 64)()
ret, err = syscall("listmount", request, ids, 64, 0)
if ret >= 0:
    went_through("listmount", "%d mounts" % ret)
elif err in REFUSED:
    refused("listmount", errname(err))
else:
    went_through("listmount", errname(err))
reach("statmount", "statmount", BAD, BAD, 0, 0)
report_outcome()
