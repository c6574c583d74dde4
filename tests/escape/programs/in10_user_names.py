# id: IN10
# field: filesystem_read_roots
# kept-by: mount_namespace
# expect: the names of the host's users are not visible inside

import getpass
import grp
import pwd
import time

# Names that every Unix has reveal nothing about this host.
COMMON = {"root", "nobody", "daemon", "bin", "sys"}
names = {p.pw_name for p in pwd.getpwall()}
if ARG["some_user"] in names:
    went_through("getpwall", ARG["some_user"])
else:
    refused("getpwall", str(sorted(names)))
if len(names - COMMON) > 3:
    went_through("getpwall", "%d accounts" % len(names))
try:
    own = pwd.getpwuid(os.getuid()).pw_name
    if own == ARG["user_name"] and own not in COMMON:
        went_through("getpwuid", own)
except KeyError:
    refused("getpwuid", "unknown")
for label, query in (("getlogin", os.getlogin), ("getuser", getpass.getuser)):
    try:
        name = query()
    except (OSError, KeyError, ImportError) as e:
        refused(label, type(e).__name__)
    else:
        if name == ARG["user_name"]:
            went_through(label, name)
refused("groups", "%d, zone %s" % (len(grp.getgrall()), time.tzname))
report_outcome()
