# id: RS5
# field: memory_bytes
# kept-by: cgroup_memory rlimit_as
# policy: {"memory_bytes": "160M", "disk_bytes": "8M", "files": 256, "open_files": 32}
# status: memory_limit ok
# expect: one call that requests everything at once gets nothing, or is the program's last

MAP_POPULATE, MAP_PRIVATE, MAP_ANONYMOUS = 0x8000, 2, 0x20
SIZE = 480 << 20
address, err = syscall("mmap", 0, SIZE, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0)
if address == -1:
    refused("mmap", errname(err))
else:
    resident = (ctypes.c_ubyte * (SIZE // 4096))()
    syscall("mincore", address, SIZE, resident)
    pages = sum(b & 1 for b in resident)
    if pages * 4096 > 320 << 20:
        went_through("mmap", "%d MiB are resident" % (pages >> 8))
    else:
        # The cgroup stops populating; touching the rest must end the run.
        ctypes.memset(address, 1, SIZE)
        went_through("memset", "480 MiB with a limit of 160 MiB")
report_outcome()
