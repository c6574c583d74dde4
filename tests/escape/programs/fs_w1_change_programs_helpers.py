# id: FS-W1
# field: filesystem_write_roots
# kept-by: mount_namespace landlock
# policy: {"subprocess_execution": true, "memory_fallback": "per_process", "cpu_fallback": "per_process"}
# control: no the jail's user may not write there even without these mechanisms
# expect: EROFS or EACCES: the folders of programs and their helpers are read-only

own = os.path.dirname(sys.executable)
for folder in ("/usr/bin", "/usr/libexec", "/usr/lib/gcc", "/usr/lib/git-core", "/usr/include", "/usr/share/misc", "/.remit/bin", own):
    for name in ("planted", "python3", "git"):
        path = folder + "/" + name
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o755))
        except OSError as e:
            refused(path, errname(e.errno))
        else:
            went_through(path)
report_outcome()
