# id: RS6
# field: memory_bytes
# kept-by: cgroup_memory rlimit_as
# policy: {"memory_bytes": "160M", "disk_bytes": "8M", "files": 256, "open_files": 64}
# status: memory_limit ok
# expect: RLIMIT_AS forgets a shared mapping of /dev/zero once all of it but a page is unmapped, so the device is absent there; a cgroup counts its pages

areas = []
try:
    zero = os.open("/dev/zero", os.O_RDWR)
    while len(areas) < 30:
        area = mmap.mmap(zero, 16 << 20, mmap.MAP_SHARED)
        for at in range(0, 16 << 20, 4096):
            area[at] = 1
        areas.append(area)
except OSError as e:
    refused("/dev/zero", "%s at %d MiB" % (errname(e.errno), 16 * len(areas)))
else:
    went_through("/dev/zero", "480 MiB")
report_outcome()
