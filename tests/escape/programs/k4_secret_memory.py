# id: K4
# field: memory_bytes
# kept-by: seccomp
# leaves-out: seccomp
# expect: ENOSYS: no memory that the keeper cannot inspect

reach("memfd_secret", "memfd_secret", 0x7FFFFFFF)
report_outcome()
