# id: FS-R13
# field: filesystem_read_roots
# kept-by: mount_namespace landlock
# policy: {"filesystem_read_roots": ["@granted@"]}
# witness: canary
# expect: a link to a host secret that lies in the read root leads nowhere

assert read_file(ARG["granted"] + "/open.txt") == b"granted\n"
for name in ("link", "linked_dir/" + os.path.basename(ARG["secret_path"]), "relative_link"):
    try:
        leak(name, read_file(ARG["granted"] + "/" + name))
    except OSError as e:
        refused(name, errname(e.errno))
report_outcome()
