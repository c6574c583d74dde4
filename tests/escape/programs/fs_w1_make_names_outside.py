# id: FS-W1
# field: mounts
# kept-by: mount_namespace landlock
# witness: drop
# expect: no folder, link or renamed file appears outside the workspace

drop = ARG["drop_dir"] + "/"
open("mine", "w").close()
attempt("mkdir", os.mkdir, drop + "folder")
attempt("symlink", os.symlink, "/etc", drop + "symlink")
attempt("link", os.link, "mine", drop + "link")
attempt("rename", os.rename, "mine", drop + "renamed")
attempt("tmpfile", os.open, drop, os.O_TMPFILE | os.O_RDWR, 0o600)
report_outcome()
