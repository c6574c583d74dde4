# id: P1
# field: filesystem_read_roots
# kept-by: mount_namespace landlock
# runs: 2
# witness: drop
# expect: nothing that one run writes exists in the next

home = os.path.expanduser("~")
places = [os.getcwd(), "/tmp", "/dev/shm", home, ARG["drop_dir"], os.path.dirname(os.__file__)]
for folder in places:
    path = os.path.join(folder, ".planted-by-round-1")
    if ARG["round"] == 1:
        try:
            with open(path, "x") as f:
                f.write("planted")
        except OSError as e:
            refused(folder, errname(e.errno))
        else:
            refused(folder, "written")
    elif os.path.exists(path):
        went_through(folder, "still there")
    else:
        refused(folder, "gone")
report_outcome()
