# id: RS16
# field: open_files
# kept-by: seccomp
# leaves-out: seccomp
# expect: EPERM for any change of any limit

import resource

for name in sorted(dir(resource)):
    if not name.startswith("RLIMIT_"):
        continue
    which = getattr(resource, name)
    soft, hard = resource.getrlimit(which)
    for label, limit in (("raise", (hard, hard)), ("infinite", (-1, -1))):
        try:
            resource.setrlimit(which, limit)
        except (OSError, ValueError) as e:
            refused(name, str(e))
        else:
            went_through("%s of %s" % (label, name))
same = ctypes.create_string_buffer(struct.pack("QQ", *map(lambda v: v & (1 << 64) - 1, resource.getrlimit(resource.RLIMIT_NOFILE))), 16)
reach("prlimit64", "prlimit64", 0, resource.RLIMIT_NOFILE, same, None)
reach("prlimit64 of pid 1", "prlimit64", 1, resource.RLIMIT_NOFILE, BAD, None)
if "setrlimit" in NR:
    reach("setrlimit", "setrlimit", resource.RLIMIT_NOFILE, same)
report_outcome()
