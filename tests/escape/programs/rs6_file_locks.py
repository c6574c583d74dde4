# id: RS6
# field: memory_bytes
# kept-by: seccomp
# policy: {"memory_bytes": "200M", "disk_bytes": "8M", "files": 256, "open_files": 64, "timeout": 180, "cpu_seconds": 60}
# status: ok
# users: user
# expect: byte-range locks use kernel memory that no rlimit and no cgroup counts. They are refused without a cgroup; with one they are allowed, for sqlite (see SECURITY.md)

import fcntl

# A lock is a kernel object of 192 bytes. The kernel compares each new one with all
# others of its file, so many short lists are faster than one long list.
FILES, LOCKS, BYTES = 50, 2000, 192
taken = 0
files = []
try:
    for i in range(FILES):
        files.append(os.open("locked%d" % i, os.O_RDWR | os.O_CREAT))
        for at in range(LOCKS * 2, 0, -2):
            fcntl.lockf(files[-1], fcntl.LOCK_EX | fcntl.LOCK_NB, 1, at)
            taken += 1
except (OSError, MemoryError) as e:
    refused("locks", "%s after %d" % (e, taken))
else:
    went_through("locks", "%d MiB that nothing counts" % (taken * BYTES >> 20))
for fd in files:
    os.close(fd)
report_outcome()
