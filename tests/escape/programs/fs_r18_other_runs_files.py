# id: FS-R18
# field: filesystem_read_roots
# kept-by: mount_namespace landlock
# witness: canary
# expect: /tmp, /dev/shm and the workspace start empty; files of other runs and users are absent

for folder in ("/tmp", "/dev/shm", os.getcwd()):
    try:
        names = os.listdir(folder)
    except OSError as e:
        refused(folder, errname(e.errno))
        continue
    print(folder, names)
for path in ARG["marks"]:
    try:
        leak(path, read_file(path))
    except OSError as e:
        refused(path, errname(e.errno))
report_outcome()
