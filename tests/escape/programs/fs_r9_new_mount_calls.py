# id: FS-R9
# field: filesystem_read_roots
# kept-by: seccomp
# leaves-out: seccomp
# expect: ENOSYS for each call of the new mount interface

reach("open_tree", "open_tree", -100, BAD, 0)
reach("fsopen", "fsopen", BAD, 0xFFFF)
reach("fsconfig", "fsconfig", -1, 99, 0, 0, 0)
reach("fsmount", "fsmount", -1, 0xFFFF, 0)
reach("fspick", "fspick", -100, BAD, 0)
reach("move_mount", "move_mount", -1, BAD, -1, BAD, 0xFFFFF)
reach("mount_setattr", "mount_setattr", -100, BAD, 0, BAD, 1)
reach("open_tree_attr", "open_tree_attr", -100, BAD, 0, BAD, 1)
report_outcome()
