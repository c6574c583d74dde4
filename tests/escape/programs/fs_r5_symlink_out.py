# id: FS-R5
# field: filesystem_read_roots
# kept-by: mount_namespace landlock
# witness: canary
# expect: a link made inside to a host file dangles, or its target is refused

os.symlink(ARG["secret_path"], "/workspace/out" if os.path.isdir("/workspace") else "out")
os.symlink(ARG["secret_dir"], "folder")
for path in ("out", "folder/" + os.path.basename(ARG["secret_path"])):
    try:
        leak(path, read_file(path))
    except OSError as e:
        refused(path, errname(e.errno))
report_outcome()
