# id: FS-R2
# field: filesystem_read_roots
# kept-by: mount_namespace landlock
# expect: a walk from / never finds the host's directories

import collections

HOST_ONLY = ("/home", "/root", "/var", "/boot", "/srv", "/mnt", "/proc", "/sys")
OWN = {"cpuinfo", "meminfo"}  # Remit's files in /proc
wanted = os.path.basename(ARG["secret_path"])
# Landlock does not let the program list / itself, so begin below it as well.
queue = collections.deque((path, 0) for path in ("/", "/etc", "/dev", "/usr", "/lib", "/tmp"))
seen = 0

# The directory that is known to exist on the host comes first: the walk must
# find it soon or not at all.
if os.path.isdir(ARG["secret_dir"]):
    queue.appendleft((ARG["secret_dir"], 0))
for path in HOST_ONLY:
    try:
        names = os.listdir(path)
    except OSError as e:
        refused(path, errname(e.errno))
    else:
        if set(names) - (OWN if path == "/proc" else set()):
            went_through(path, "%d names" % len(names))
while queue and seen < 100000:
    path, depth = queue.popleft()
    try:
        entries = list(os.scandir(path))
    except OSError:
        continue
    for entry in entries:
        seen += 1
        if entry.name == wanted:
            went_through(entry.path, "found")
            queue.clear()
            break
        if depth < 6 and entry.is_dir(follow_symlinks=False):
            queue.append((entry.path, depth + 1))
refused("walk", "%d names, none of the host" % seen)
report_outcome()
