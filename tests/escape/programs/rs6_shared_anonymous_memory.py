# id: RS6
# field: memory_bytes
# kept-by: cgroup_memory rlimit_as
# policy: {"memory_bytes": "160M", "disk_bytes": "8M", "files": 256, "open_files": 32}
# status: memory_limit ok
# expect: anonymous shared memory is within the limit or refused

areas = []
try:
    while len(areas) < 30:
        area = mmap.mmap(-1, 16 << 20, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)
        for at in range(0, 16 << 20, 4096):
            area[at] = 1
        areas.append(area)
except OSError as e:
    refused("shared memory", "%s at %d MiB" % (errname(e.errno), 16 * len(areas)))
else:
    went_through("shared memory", "480 MiB")
report_outcome()
