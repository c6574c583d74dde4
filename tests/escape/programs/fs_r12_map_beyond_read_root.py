# id: FS-R12
# field: filesystem_read_roots
# kept-by: mount_namespace landlock
# policy: {"filesystem_read_roots": ["@granted@"]}
# witness: canary
# expect: mmap, pread and sendfile get no byte of a file outside the read root

assert read_file(ARG["granted"] + "/open.txt") == b"granted\n"


def by_mmap():
    with open(ARG["secret_path"], "rb") as f:
        return mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)[:]


def by_pread():
    return os.pread(os.open(ARG["secret_path"], os.O_RDONLY), 4096, 0)


def by_sendfile():
    out = os.open("copy", os.O_RDWR | os.O_CREAT)
    os.sendfile(out, os.open(ARG["secret_path"], os.O_RDONLY), 0, 4096)
    return os.pread(out, 4096, 0)


for attack in (by_mmap, by_pread, by_sendfile):
    try:
        leak(attack.__name__, attack())
    except OSError as e:
        refused(attack.__name__, errname(e.errno))
report_outcome()
