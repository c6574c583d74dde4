# id: K4
# field: subprocess_execution
# kept-by: seccomp
# expect: ENOSYS for pkey_alloc, pkey_free and pkey_mprotect

reach("pkey_alloc", "pkey_alloc", 99, 99)
reach("pkey_free", "pkey_free", 99)
reach("pkey_mprotect", "pkey_mprotect", 1, 4096, 0, 99)
report_outcome()
