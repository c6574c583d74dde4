# id: RS5
# field: memory_bytes
# kept-by: cgroup_memory rlimit_as
# policy: {"memory_bytes": "160M", "disk_bytes": "8M", "files": 256, "open_files": 32}
# status: memory_limit ok
# expect: private anonymous memory is counted when it is touched, or refused at once

SIZE = 480 << 20
try:
    area = mmap.mmap(-1, SIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)
except OSError as e:
    refused("mmap", errname(e.errno))
else:
    for at in range(0, SIZE, 4096):
        area[at] = 1
    went_through("mmap", "touched 480 MiB with a limit of 160 MiB")
report_outcome()
