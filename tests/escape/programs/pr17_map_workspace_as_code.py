# id: PR17
# field: workspace_execution
# kept-by: noexec_mount
# policy: {"subprocess_execution": true, "memory_fallback": "per_process", "cpu_fallback": "per_process"}
# expect: no file that code wrote is mapped as code: not by mmap, mprotect or dlopen, and not by the loader for a program of the host

import shutil
import subprocess

# They are found by name, since the directories above them cannot be listed.
LOADERS = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1", "/lib/ld-musl-x86_64.so.1"]
loader = next(path for path in LOADERS if os.path.exists(path))
program = os.path.realpath(sys.executable or "/usr/bin/python3")
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]


def make_library(path):
    """Copies a small library of the host, or the interpreter itself, which the loader maps as well."""
    import _ctypes

    shutil.copyfile(getattr(_ctypes, "__file__", None) or program, path)


def map_file(path, how):
    with open(path, "rb") as f:
        ctypes.set_errno(0)
        where = LIBC.mmap(None, mmap.PAGESIZE, how, mmap.MAP_PRIVATE, f.fileno(), 0)
        if where in (None, ctypes.c_void_p(-1).value):
            raise OSError(ctypes.get_errno(), "mmap")
        return where


def map_then_protect(path):
    where = ctypes.c_void_p(map_file(path, mmap.PROT_READ))
    ret, err = syscall("mprotect", where.value, mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_EXEC)
    if ret < 0:
        raise OSError(err, "mprotect")


for folder in (os.getcwd(), "/tmp", "/dev/shm"):
    path, library = folder + "/mapped", folder + "/mapped.so"
    shutil.copyfile(program, path)
    make_library(library)
    os.chmod(path, 0o755)
    attempt(folder + " mmap", map_file, path, mmap.PROT_READ | mmap.PROT_EXEC)
    attempt(folder + " mprotect", map_then_protect, path)
    # A child loads it, since loading the interpreter into itself would end the program.
    for label, words, more in (
        ("loader", [loader, path, "-I", "-S", "-c", "print('ran')"], {}),
        ("dlopen", [program, "-I", "-S", "-c", "import ctypes; ctypes.CDLL(%r); print('ran')" % library], {}),
    ):
        run = subprocess.run(words, capture_output=True, text=True, env={**os.environ, **more})
        if run.stdout == "ran\n":
            went_through(folder, label)
        else:
            refused(folder + " " + label, run.stderr[-60:].strip())
report_outcome()
