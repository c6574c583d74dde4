# id: K5
# field: subprocess_execution
# kept-by: seccomp
# expect: ENOSYS for the operations with a history of bugs

OPERATIONS = {
    "LOCK_PI": 6, "UNLOCK_PI": 7, "TRYLOCK_PI": 8, "WAIT_REQUEUE_PI": 11,
    "CMP_REQUEUE_PI": 12, "LOCK_PI2": 13, "REQUEUE": 3, "CMP_REQUEUE": 4, "WAKE_OP": 5, "FD": 2,
}
for name, operation in OPERATIONS.items():
    for flags in (0, 128, 1 << 32):
        # An odd address gives EINVAL, unless the filter answers first.
        reach(name, "futex", BAD, flags | operation, 0, None, BAD, 0, answers=(errno.ENOSYS,))
# Without a filter FUTEX_FD gives ENOSYS too: the kernel removed it.
got[:] = [line for line in got if not line.startswith("FD")]
report_outcome()
