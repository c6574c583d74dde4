# id: RS4
# field: memory_bytes
# kept-by: cgroup_memory rlimit_as
# policy: {"memory_bytes": "160M", "disk_bytes": "8M", "files": 256, "open_files": 32}
# status: memory_limit ok
# expect: MemoryError, or the kernel kills the program and the status says why

hoard = []
try:
    while len(hoard) < 480:
        hoard.append(bytearray(b"x") * (1 << 20))
except MemoryError:
    n = len(hoard)
    hoard.clear()
    refused("list", "MemoryError at %d MiB" % n)
else:
    went_through("list", "480 MiB with a limit of 160 MiB")
report_outcome()
