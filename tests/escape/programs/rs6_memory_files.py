# id: RS6
# field: memory_bytes
# kept-by: cgroup_memory seccomp
# policy: {"memory_bytes": "160M", "disk_bytes": "8M", "files": 256, "open_files": 64, "file_bytes": "64M"}
# status: memory_limit ok
# expect: memory files are counted by the cgroup, or refused without one

total = 0
chunk = bytes(1 << 20)
while total < 480:
    fd, err = syscall("memfd_create", b"x", 0)
    if fd < 0:
        refused("memfd_create", errname(err))
        break
    try:
        for _ in range(32):
            os.write(fd, chunk)
            total += 1
    except OSError as e:
        refused("write", errname(e.errno))
        break
else:
    went_through("memory files", "%d MiB" % total)
report_outcome()
