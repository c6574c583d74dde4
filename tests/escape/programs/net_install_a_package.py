# id: PKG1
# field: package_installation
# kept-by: mount_namespace network_namespace seccomp
# leaves-out: mount_namespace network_namespace seccomp landlock
# tolerates: tcp
# witness: drop tcp
# expect: nothing is installed without the network or without a writable directory on sys.path

import importlib
import socket


def fetch():
    with socket.socket() as s:
        s.settimeout(2)
        s.connect(("127.0.0.1", ARG["tcp_port"]))
    return "INSTALLED = True\n"


def install(text):
    with open(ARG["drop_dir"] + "/fetched_package.py", "w") as f:
        f.write(text)


try:
    install(fetch())
    sys.path.insert(0, ARG["drop_dir"])
    sys.dont_write_bytecode = True
    importlib.invalidate_caches()
    if importlib.import_module("fetched_package").INSTALLED:
        went_through("installed and imported")
except OSError as e:
    refused("install", errname(e.errno))
report_outcome()
