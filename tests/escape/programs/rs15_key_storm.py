# id: RS15
# field: memory_bytes
# kept-by: seccomp
# leaves-out: seccomp
# expect: EPERM: no key and no keyring can be made

KEYRING_PROCESS = -2
ret, err = syscall("add_key", b"user", b"escape", b"x", 1, KEYRING_PROCESS)
if ret >= 0:
    went_through("add_key")
else:
    refused("add_key", errname(err))
reach("add_key, bad address", "add_key", BAD, BAD, BAD, 1, KEYRING_PROCESS)
reach("request_key", "request_key", BAD, BAD, BAD, 0)
reach("keyctl", "keyctl", 999, 0, 0, 0, 0)
report_outcome()
