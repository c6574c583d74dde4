# id: RS6
# field: memory_bytes
# kept-by: cgroup_memory rlimit_as
# policy: {"memory_bytes": "160M", "disk_bytes": "8M", "files": 256, "open_files": 32}
# status: memory_limit ok
# expect: one page in every 2 MiB costs a page table each: the tables are counted, or the mapping is too large

COUNT = 60000
SIZE = COUNT << 21
address, err = syscall("mmap", 0, SIZE, 3, 0x4022, -1, 0)
if address == -1:
    refused("mmap", errname(err))
else:
    one = ctypes.c_ubyte
    MADV_NOHUGEPAGE = 15
    syscall("madvise", address, SIZE, MADV_NOHUGEPAGE)
    for i in range(COUNT):
        one.from_address(address + (i << 21)).value = 1
    went_through("page tables", "%d MiB with what they map" % (COUNT * 8 >> 10))
report_outcome()
