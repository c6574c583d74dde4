# id: FS-W1
# field: mounts
# kept-by: mount_namespace landlock
# witness: drop
# expect: no file can be made anywhere except in the workspace and /tmp

for folder in (
    ARG["drop_dir"], "/", "/usr", "/usr/lib", "/usr/local", "/etc", "/dev",
    "/home", "/root", "/var", "/opt", "/lib", "/bin", "/run", "/sys", "/proc",
    os.path.dirname(os.__file__), sys.prefix,
):
    path = os.path.join(folder, "planted")
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o666)
    except OSError as e:
        refused(folder, errname(e.errno))
    else:
        os.write(fd, b"planted")
        os.close(fd)
        went_through(folder)
report_outcome()
