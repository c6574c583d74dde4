# id: PKG2
# field: packages
# kept-by: mount_namespace landlock
# witness: drop
# tolerates: tcp
# policy: {"packages": ["hostile_build"], "package_links": ["@packages@"], "package_offline": true, "package_build": true, "timeout": 60}
# expect: a package that attacks while it is built, before the run, writes nothing to the host

import hostile_build

for what, err in hostile_build.FOUND:
    if what != "drop a file" or err is not None:
        refused(what, errname(err) if err else "seen by the harness")
    else:
        went_through(what)
report_outcome()
