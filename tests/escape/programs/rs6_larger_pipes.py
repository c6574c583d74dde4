# id: RS6
# field: memory_bytes
# kept-by: seccomp
# leaves-out: seccomp
# expect: EPERM for F_SETPIPE_SZ: a pipe stays at 64 KiB of kernel memory

F_SETPIPE_SZ = 1031
out, into = os.pipe()
reach("1 MiB", "fcntl", into, F_SETPIPE_SZ, 1 << 20)
reach("by a wide register", "fcntl", into, 1 << 32 | F_SETPIPE_SZ, 1 << 20)
report_outcome()
