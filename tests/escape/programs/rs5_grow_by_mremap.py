# id: RS5
# field: memory_bytes
# kept-by: cgroup_memory rlimit_as
# policy: {"memory_bytes": "160M", "disk_bytes": "8M", "files": 256, "open_files": 32}
# status: memory_limit ok
# expect: a small mapping that grows later is counted as well

MAYMOVE = 1
address, err = syscall("mmap", 0, 4096, 3, 0x22, -1, 0)
size = 4096
while address != -1 and size < 480 << 20:
    address, err = syscall("mremap", address, size, size + (16 << 20), MAYMOVE)
    if address != -1:
        ctypes.memset(address + size, 1, 16 << 20)
        size += 16 << 20
if address == -1:
    refused("mremap", "%s at %d MiB" % (errname(err), size >> 20))
else:
    went_through("mremap", "%d MiB" % (size >> 20))
report_outcome()
