# id: IN8
# field: env_var_access
# kept-by: seccomp
# leaves-out: seccomp
# expect: EPERM: the caller's session keyring cannot even be queried

GET_ID, READ, SEARCH, DESCRIBE = 0, 11, 10, 6
KEYRINGS = {"thread": -1, "process": -2, "session": -3, "user": -4, "user session": -5}
description = ARG["key_desc"].encode()
for label, keyring in KEYRINGS.items():
    ret, err = syscall("keyctl", SEARCH, keyring, b"user", description, 0)
    if ret > 0:
        data = ctypes.create_string_buffer(256)
        n, _ = syscall("keyctl", READ, ret, data, 256, 0)
        leak(label + " keyring", data.raw[: max(n, 0)])
    elif err in REFUSED:
        refused(label, errname(err))
    else:
        # ENOKEY: the call reached the jail's keyring, and only its emptiness
        # stopped the attack.
        went_through(label, errname(err))
ret, err = syscall("request_key", b"user", description, None, 0)
if ret > 0:
    went_through("request_key")
report_outcome()
