# id: PR11
# field: subprocess_execution
# kept-by: seccomp
# expect: EPERM for capset, ambient capabilities and securebits

CAP_AMBIENT, RAISE, SET_SECUREBITS, SET_KEEPCAPS, CAPBSET_READ = 47, 2, 28, 8, 23
reach("capset, bad address", "capset", BAD, BAD)
header = ctypes.create_string_buffer(struct.pack("Ii", 0x20080522, 0), 8)
wanted = ctypes.create_string_buffer(b"\xff" * 24, 24)
if syscall("capset", header, wanted)[0] == 0:
    went_through("capset")
held = ctypes.create_string_buffer(24)
ret, err = syscall("capget", header, held)
if ret == 0 and any(held.raw):
    went_through("capabilities", held.raw.hex())
else:
    refused("capget", errname(err) if ret else "none held")
reach("PR_CAP_AMBIENT", "prctl", CAP_AMBIENT, 99, 0, 0, 0)
reach("PR_SET_SECUREBITS", "prctl", SET_SECUREBITS, 0xFFFF0000, 0, 0, 0)
reach("PR_SET_KEEPCAPS", "prctl", SET_KEEPCAPS, 99, 0, 0, 0)
reach("PR_CAPBSET_READ", "prctl", CAPBSET_READ, 0, 0, 0, 0)
report_outcome()
