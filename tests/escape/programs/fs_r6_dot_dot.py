# id: FS-R6
# field: filesystem_read_roots
# kept-by: mount_namespace landlock
# witness: canary
# expect: any number of ".." ends at the jail's root

secret = ARG["secret_path"].lstrip("/")
here = os.open(".", os.O_RDONLY | os.O_DIRECTORY)


def climb():
    return read_file("../" * 64 + secret)


def climb_from_descriptor():
    fd = os.open("../" * 64 + secret, os.O_RDONLY, dir_fd=here)
    return os.read(fd, 4096)


def absolute_from_descriptor():
    fd = os.open("/" + secret, os.O_RDONLY, dir_fd=here)
    return os.read(fd, 4096)


def change_directory():
    for _ in range(64):
        os.chdir("..")
    return read_file(secret)


for attack in (climb, climb_from_descriptor, absolute_from_descriptor, change_directory):
    try:
        leak(attack.__name__, attack())
    except OSError as e:
        refused(attack.__name__, errname(e.errno))
report_outcome()
