# id: FS-R15
# field: filesystem_read_roots
# kept-by: mount_namespace
# control-needs: labelled
# witness: canary
# expect: neither the extended attributes of host files nor their names can be read; Landlock does not check these calls

path = ARG["labelled"]


def read():
    leak("getxattr", os.getxattr(path, "user.remit"))


def read_of_link():
    leak("lgetxattr", os.getxattr(path, "user.remit", follow_symlinks=False))


for label, attack in (("getxattr", read), ("lgetxattr", read_of_link)):
    try:
        attack()
    except OSError as e:
        refused(label, errname(e.errno))
attempt("listxattr", os.listxattr, path)
attempt("llistxattr", lambda: os.listxattr(path, follow_symlinks=False))
report_outcome()
