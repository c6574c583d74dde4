# id: RS6
# field: memory_bytes
# kept-by: seccomp
# leaves-out: seccomp
# expect: EPERM: no page can be pinned

MAP_LOCKED = 0x2000
area = mmap.mmap(-1, 65536, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
where = ctypes.addressof(ctypes.c_char.from_buffer(area))
reach("mlock", "mlock", where, 4096)
reach("mlock2", "mlock2", where, 4096, 1)
reach("mlockall", "mlockall", 99)
reach("MAP_LOCKED", "mmap", 0, 4096, 3, 0x22 | MAP_LOCKED, -1, 0)
report_outcome()
