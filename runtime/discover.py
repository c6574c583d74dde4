"""Prints the paths of the host that an interpreter needs, as JSON on stdout.

Run once on the host by this interpreter; the answer is cached.
    python -I discover.py RUNTIME_DIR CACHE_DIR

CACHE_DIR is empty if there is no cache.
"""

import json
import os
import sys
import sysconfig

# Files of a Python runtime outside its own directories, if they exist.
DATA = (
    "/etc/ld.so.cache",
    "/etc/alternatives",
    "/etc/matplotlibrc",
    "/etc/mime.types",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/usr/lib/ssl",
    "/usr/lib/locale/C.utf8",
    "/usr/share/ca-certificates",
    "/usr/share/fonts",
    "/usr/share/matplotlib",
    "/usr/share/zoneinfo",
)
# Programs and what they need, only if the policy grants subprocesses. The table
# names folders because /usr/lib and /usr/share often contain more than programs
# need.
PROGRAMS = (
    "/usr/bin",
    "/bin/sh",
    "/usr/local/bin",
    # Programs that other programs start: git, compilers.
    "/usr/lib/bfd-plugins",
    "/usr/lib/compat-ld",
    "/usr/lib/gcc",
    "/usr/lib/git-core",
    "/usr/lib/gold-ld",
    "/usr/libexec",
    "/usr/local/libexec",
    # Data: templates of git, headers, magic numbers, modules of Perl and Node.
    "/usr/include",
    "/usr/lib/file",
    "/usr/lib/node_modules",
    "/usr/lib/pkgconfig",
    "/usr/lib/terminfo",
    "/usr/local/include",
    "/usr/share/git-core",
    "/usr/share/misc",
    "/usr/share/nodejs",
    "/usr/share/perl",
    "/usr/share/perl5",
    "/usr/share/pkgconfig",
    "/usr/share/terminfo",
)
# Folders of helpers whose names contain a version.
PROGRAM_PATTERNS = ("/usr/lib/llvm-*",)
# The folders in which programs look for others. Remit's contains only links.
PATH = ("/usr/local/bin", "/usr/bin", "/bin")
OWN_PROGRAMS = "/.remit/bin"


# Paths for resolving host names, mounted only with the host's network.
NETWORK = ("/etc/resolv.conf",)


class Exposure:
    """The paths to mount and the symbolic links to create so that paths resolve."""

    def __init__(self):
        self.mounts = set()
        self.links = {}

    def covered(self, path):
        while path != "/":
            if path in self.mounts:
                return True
            path = os.path.dirname(path)
        return False

    def add(self, path):
        """Make `path` resolve in the jail as it does on the host."""
        todo = [p for p in path.split("/") if p]
        at = "/"
        for _ in range(256):
            if not todo:
                break
            here = os.path.join(at, todo.pop(0))
            if os.path.islink(here):
                target = os.readlink(here)
                if not self.covered(here):
                    self.links[here] = target
                full = os.path.normpath(os.path.join(at, target))
                todo = [p for p in full.split("/") if p] + todo
                at = "/"
            elif os.path.exists(here):
                at = here
            else:
                return
        if not self.covered(at):
            self.mounts.add(at)

    def minimal(self):
        kept = []
        for path in sorted(self.mounts):
            if not any(path.startswith(k + "/") for k in kept):
                kept.append(path)
        return kept


def library_folders():
    """Return the directories of the libraries that this interpreter has loaded."""
    folders = set()
    with open("/proc/self/maps") as maps:
        for line in maps:
            path = line.split(None, 5)[5:6]
            if path and ".so" in path[0] and path[0].startswith("/"):
                folders.add(os.path.dirname(path[0].strip()))
    return folders


def loader_of(executable):
    """Return the ELF interpreter (PT_INTERP) of a program, or None."""
    with open(executable, "rb") as f:
        head = f.read(4096)
    for prefix in (b"/lib", b"/nix", b"/usr"):
        at = head.find(prefix)
        if at > 0:
            return head[at : head.index(b"\0", at)].decode()
    return None


def is_runtime(path, roots):
    return any(path == r or path.startswith(r + "/") for r in roots)


def expose_runtime(exposure, path_entries):
    base = sys.base_prefix
    real = os.path.realpath(sys.executable)
    for name in ("stdlib", "platstdlib"):
        exposure.add(sysconfig.get_path(name))
    # A separate prefix (pyenv, conda, /opt) has its libraries below lib. Below /usr, which is the
    # whole system, only the paths that Python uses are added.
    if base not in ("/usr", "/"):
        exposure.add(os.path.join(base, "lib"))
    roots = {"/usr/lib", "/usr/local/lib", os.path.join(base, "lib"), os.path.join(sys.prefix, "lib")}
    roots |= {os.path.join(p, "lib64") for p in ("/usr", base, sys.prefix)}
    for entry in path_entries:
        if is_runtime(entry, roots) and os.path.exists(entry):
            exposure.add(entry)
    for folder in library_folders():
        exposure.add(folder)
    for path in (real, sys.executable, loader_of(real)):
        if path:
            exposure.add(path)
    for path in DATA:
        if os.path.exists(path):
            exposure.add(path)


def expose_system_links(exposure):
    """Show the links at / where libraries are. Linker scripts name files below /lib, even where nothing else does, as on
    Debian 13."""
    for path in ("/lib", "/lib64"):
        if os.path.islink(path):
            exposure.links[path] = os.readlink(path)


def own_programs(exposure):
    """The folder with this interpreter's programs (pip, pytest), exposed with the file that marks a venv.
    An interpreter that is linked elsewhere has none: its folder may be the caller's home."""
    folder = os.path.dirname(sys.executable)
    if folder in PATH or folder != os.path.join(sys.prefix, "bin"):
        return []
    exposure.add(folder)
    exposure.add(venv_file())
    return [folder]


def expose_programs(exposure):
    """Expose programs. Returns a PATH on which python and python3 are this interpreter."""
    import glob
    import shutil

    for path in (*PROGRAMS, *sorted(p for pattern in PROGRAM_PATTERNS for p in glob.glob(pattern))):
        exposure.add(path)
    exposure.add(sysconfig.get_path("include"))
    folders = [*own_programs(exposure), *PATH]
    foreign = []
    for name in ("python", "python3"):
        found = shutil.which(name, path=os.pathsep.join(folders))
        if not found or not os.path.samefile(found, sys.executable):
            foreign.append(name)
    for name in foreign:
        exposure.links[os.path.join(OWN_PROGRAMS, name)] = sys.executable
    return os.pathsep.join([OWN_PROGRAMS] * bool(foreign) + folders)


def import_lines(path_entries):
    """Return the lines of .pth files that make editable installs importable."""
    lines = []
    for entry in path_entries:
        if not entry.endswith(("site-packages", "dist-packages")) or not os.path.isdir(entry):
            continue
        for name in sorted(os.listdir(entry)):
            if not name.endswith(".pth") or not name.startswith("__editable__"):
                continue
            with open(os.path.join(entry, name), encoding="utf-8", errors="replace") as f:
                lines += [line.rstrip("\n") for line in f if line.startswith(("import ", "import\t"))]
    return lines


def compile_runner(runtime, cache):
    """Compile the runner to where boot.py looks for its byte code in the jail."""
    import importlib.util
    import py_compile

    folder = os.path.join(cache, "compiled")
    # A jail without namespaces sees the runner at its path on the host.
    for inside in ("/.remit/lib", runtime):
        os.makedirs(folder + inside, exist_ok=True)
        for name in filter(lambda name: name.endswith(".py"), os.listdir(runtime)):
            tag = os.path.basename(importlib.util.cache_from_source(name))
            py_compile.compile(
                os.path.join(runtime, name),
                cfile=os.path.join(folder + inside, tag),
                dfile=os.path.join(inside, name),
                doraise=True,
            )
    return folder


def font_cache(cache):
    """Make a directory with matplotlib's font list, so that runs need not build it."""
    import importlib.util

    if importlib.util.find_spec("matplotlib") is None:
        return None
    folder = os.path.join(cache, "fonts")
    os.makedirs(folder, exist_ok=True)
    os.environ["MPLCONFIGDIR"] = folder
    try:
        import matplotlib.font_manager  # noqa: F401
    except Exception as e:
        print(f"no font list: {e!r}", file=sys.stderr)
        return None
    return folder


def wheel_folders():
    """Return the directories that may contain a pip that came with this interpreter."""
    bundled = os.path.join(sysconfig.get_path("stdlib"), "ensurepip", "_bundled")
    return [bundled, sysconfig.get_config_var("WHEEL_PKG_DIR") or "/usr/share/python-wheels"]


def modified(path):
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def venv_file():
    return os.path.join(sys.prefix, "pyvenv.cfg")


def seen(path_entries):
    """Return the paths that the answer depends on, with their times: it is valid until one of them
    appears, changes or disappears."""
    programs = os.path.dirname(sys.executable)
    paths = (*path_entries, venv_file(), programs, *wheel_folders(), *DATA, *PROGRAMS, *NETWORK)
    return [f"{path}\t{modified(path)}" for path in paths]


def bundled_pip():
    """Return the wheel of pip that came with this interpreter, for one without an installed pip."""
    for folder in wheel_folders():
        if os.path.isdir(folder):
            wheels = sorted(n for n in os.listdir(folder) if n.startswith("pip-") and n.endswith(".whl"))
            if wheels:
                return os.path.join(folder, wheels[-1])
    return None


def find_pip():
    """Return what to add to sys.path for pip ("" if it is installed), and its default index."""
    import importlib.util

    place = "" if importlib.util.find_spec("pip") else bundled_pip()
    if place is None:
        return {}
    if place:
        sys.path.insert(0, place)
    try:
        from pip._internal.models.index import PyPI

        return {"pip": place, "package_index": PyPI.simple_url}
    except Exception as e:
        print(f"no pip: {e!r}", file=sys.stderr)
        return {"seen": ["/\t1"]}  # never valid, so that a repaired pip is found at the next start
    finally:
        if place:
            sys.path.remove(place)


def fill_cache(runtime, cache):
    """Fill the cache with the files that jails read; do nothing if it is not writable."""
    if not cache:
        return {}
    try:
        made = {"compiled": compile_runner(runtime, cache)}
        fonts = font_cache(cache)
    except OSError as e:
        print(f"no cache: {e!r}", file=sys.stderr)
        return {}
    return {**made, "font_cache": fonts} if fonts else made


def main(runtime, cache):
    os.umask(0o022)  # a jail started by root reads these files as another user
    entries = [p for p in sys.path if p.startswith("/")]
    before = seen(entries)
    exposure = Exposure()
    expose_runtime(exposure, entries)
    expose_system_links(exposure)
    mounts = exposure.minimal()
    program_path = expose_programs(exposure)
    program_mounts = [m for m in exposure.minimal() if m not in mounts]
    names = Exposure()
    for path in NETWORK:
        names.add(path)
    answer = {
        "implementation": sys.implementation.name,
        "version": list(sys.version_info[:3]),
        "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
        "executable": sys.executable,
        "real": os.path.realpath(sys.executable),
        "prefix": sys.prefix,
        "exec_prefix": sys.exec_prefix,
        "sys_path": entries,
        "mounts": mounts,
        "program_mounts": program_mounts,
        "program_path": program_path,
        "network_mounts": names.minimal(),
        "links": [f"{path}\t{target}" for path, target in {**exposure.links, **names.links}.items()],
        "import_lines": import_lines(entries),
        "compiled": "",
        "seen": before,
    }
    # Unsupported interpreters get no cache.
    if sys.implementation.name == "cpython" and sys.version_info >= (3, 9) and not answer["free_threaded"]:
        answer.update(fill_cache(runtime, cache))
        found = find_pip()
        answer["seen"] += found.pop("seen", [])
        answer.update(found)
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
