# id: FS-R1
# field: filesystem_read_roots
# kept-by: mount_namespace landlock
# expect: open, openat, openat2 and O_PATH with a reopen all refuse the same file

secret = ARG["secret_path"].encode()
how = ctypes.create_string_buffer(struct.pack("QQQ", os.O_RDONLY, 0, 0), 24)

if "open" in NR:
    attempt_open = syscall("open", secret, os.O_RDONLY)
    if attempt_open[0] >= 0:
        went_through("open")
    else:
        refused("open", errname(attempt_open[1]))
ways = {
    "openat": ("openat", -100, secret, os.O_RDONLY),
    "openat2": ("openat2", -100, secret, how, 24),
    "O_RDWR": ("openat", -100, secret, os.O_RDWR),
    "O_NOFOLLOW": ("openat", -100, secret, os.O_RDONLY | os.O_NOFOLLOW),
}
for label, call in ways.items():
    ret, err = syscall(*call)
    if ret >= 0:
        went_through(label)
    else:
        refused(label, errname(err))

# A path descriptor opens even under Landlock; what counts is reading.
try:
    handle = os.open(secret, os.O_PATH)
    folder = os.open(ARG["secret_dir"], os.O_PATH)
except OSError as e:
    refused("O_PATH", errname(e.errno))
else:
    name = os.path.basename(ARG["secret_path"])
    attempt("openat below O_PATH", lambda: os.open(name, os.O_RDONLY, dir_fd=folder))
    attempt("read of O_PATH", lambda: os.read(handle, 1))
report_outcome()
