# id: FS-R12
# field: filesystem_read_roots
# kept-by: mount_namespace landlock
# policy: {"filesystem_read_roots": ["@granted@"]}
# witness: canary
# expect: the directory next to a read root stays out of sight

granted = ARG["granted"]
assert read_file(granted + "/open.txt") == b"granted\n", "the read root must work"

secret = os.path.basename(ARG["secret_dir"]) + "/" + os.path.basename(ARG["secret_path"])
folder = os.open(granted, os.O_RDONLY | os.O_DIRECTORY)


def by_path():
    return read_file(granted + "/../" + secret)


def by_descriptor():
    return os.read(os.open("../" + secret, os.O_RDONLY, dir_fd=folder), 4096)


def by_directory():
    os.fchdir(folder)
    os.chdir("..")
    return read_file(secret)


for attack in (by_path, by_descriptor, by_directory):
    try:
        leak(attack.__name__, attack())
    except OSError as e:
        refused(attack.__name__, errname(e.errno))
report_outcome()
