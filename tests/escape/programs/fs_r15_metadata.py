# id: FS-R15
# field: filesystem_read_roots
# kept-by: mount_namespace
# expect: ENOENT: not even the existence, size or times of host files can be queried

import stat

path = ARG["secret_path"]
# Landlock does not check these calls, so it cannot stop them alone.
attempt("stat", os.stat, path)
attempt("lstat", os.lstat, path)
attempt("access", lambda: os.access(path, os.R_OK) or os.stat(path))
attempt("statvfs", os.statvfs, path)
attempt("readlink", os.readlink, ARG["granted"] + "/link")
attempt("chdir", os.chdir, ARG["secret_dir"])
attempt("open for its path", os.open, path, os.O_PATH)
attempt("listxattr", os.listxattr, path)
victim = ARG["victim_file"]
attempt("chmod", os.chmod, victim, stat.S_IRUSR)
attempt("utime", os.utime, victim, (1, 1))
report_outcome()
