"""A warm interpreter: imports the preloaded modules, then forks into jails.

It reads only its arguments and the keeper's commands, which `_remit` receives. `_remit.serve()`
returns only in children, which are already locked down.

    zygote.py FILTER EXECUTABLE PREFIX EXEC_PREFIX PATH... -- VARIABLE... -- MODULE...
"""

import sys

_here = __file__.rpartition("/")[0]
sys.path.insert(0, _here)
import _remit  # noqa: E402

sys.pycache_prefix = "/.remit/compiled"
import cell  # noqa: E402
import reseed  # noqa: E402
import runner  # noqa: E402

sys.pycache_prefix = None
sys.dont_write_bytecode = True
del sys.path[0]

# Modules that most programs import; all children share their memory. Not threading: its work after
# a fork would cost every child more than its import costs those that need it.
COMMON = (
    "os", "io", "re", "json", "math", "random", "time", "datetime", "collections", "itertools", "functools",
    "operator", "string", "copy", "dataclasses", "typing", "enum", "contextlib", "textwrap", "traceback", "types",
    "heapq", "bisect", "statistics", "decimal", "fractions", "pathlib", "tempfile", "hashlib", "base64",
    "csv", "struct", "linecache", "warnings", "abc", "inspect", "uuid",
)  # fmt: skip

# Parts of the runner for errors and values.
PARTS = ("errors", "display", "figures", "charts", "tables")

WARM_UPS = 20
# The size of a huge page, as a power of two.
HUGE_PAGE = 21


class Unfit(Exception):
    """This interpreter cannot serve as a zygote."""


def preload(module):
    if "__main__" in module.split("."):
        raise Unfit(f"{module} is a program, but preload accepts only modules")
    try:
        __import__(module)
    except BaseException as e:
        raise Unfit(f"importing {module} failed: {type(e).__name__}: {e}") from e
    if not _remit.single_threaded():
        raise Unfit(f"importing {module} started threads, and a process with threads cannot be forked")


def can_be_written(module):
    """Whether a module can be named in an import statement, unlike some file names."""
    import keyword

    return all(part.isidentifier() and not keyword.iskeyword(part) for part in module.split("."))


def set_up(arguments):
    sys.executable, sys.prefix, sys.exec_prefix, *rest = arguments
    cut = rest.index("--")
    sys.path[:] = rest[:cut]
    rest = rest[cut + 1 :]
    cut = rest.index("--")
    for module in COMMON:
        preload(module)
    runner.set_builtins()
    cell.hide()
    for part in PARTS:
        cell.own_module(part)
    _remit.scoped(lambda: [preload(module) for module in rest[cut + 1 :]])
    runner.likely_imports += filter(can_be_written, rest[cut + 1 :])
    cell.Watcher.adopt_present()
    forget_folders()
    warm_up_often(rest[:cut])


def forget_folders():
    """Unregister the removal of temporary directories: those of preloaded modules do not exist in any jail."""
    if "shutil" in sys.modules:
        import atexit

        atexit.unregister(sys.modules["shutil"].rmtree)


def warm_up_often(variables):
    """Do repeatedly what every child will do: CPython specialises bytecode during its first runs,
    and all children share what was specialised here."""
    sent = runner.records.encode(
        runner.records.TASK, (("tier", "local"), *(("env", variable) for variable in variables))
    )
    for _ in range(WARM_UPS):
        _remit.after_fork()
        reseed.reseed()
        task = runner.Task()
        task.fill(runner.records.parse(sent[8:]))
        runner.set_environment(task.many["env"])
        runner.warm_up()


def settle():
    """Collect garbage, exempt all remaining objects from later collections, and use huge pages."""
    import gc

    gc.collect()
    places = {id(o) >> HUGE_PAGE for o in gc.get_objects()}
    gc.freeze()
    collapse(places)
    _remit.collapse_text()


def collapse(places):
    """Make huge pages at these places and next to them, as far as possible: objects also use memory
    after the page that they begin in."""
    seen = set(places)
    todo = list(places)
    while todo:
        place = todo.pop()
        if _remit.collapse(place):
            near = {place - 1, place + 1} - seen
            seen |= near
            todo += near


def main():
    # Remove the arguments: a preloaded module might parse them.
    (filtered, *arguments), sys.argv[1:] = sys.argv[1:], []
    if filtered == "filtered":
        _remit.filter()
    try:
        set_up(arguments)
        settle()
    except Unfit as e:
        _remit.unfit(str(e))
        return 1
    _remit.serve()
    reseed.reseed()
    return runner.main()


sys.exit(main())
