# id: PR6
# field: package_installation
# kept-by: mount_namespace landlock
# leaves-out: mount_namespace landlock
# witness: drop
# expect: a program's own code cannot be mapped: every writable directory is noexec

import _ctypes
import shutil

library = getattr(_ctypes, "__file__", None)
if library is None:
    import glob

    library = glob.glob("/usr/lib/*-linux-gnu/libm.so.6")[0]
for folder in (os.getcwd(), "/tmp", "/dev/shm", ARG["drop_dir"]):
    path = folder + "/mine.so"
    try:
        shutil.copyfile(library, path)
        ctypes.CDLL(path)
    except OSError as e:
        refused(folder, str(e)[-60:])
    else:
        went_through(folder, "mapped")
report_outcome()
