"""A warm interpreter: imports what was asked for, then forks into jails.

It reads nothing but its arguments and the keeper's commands, which `_remit`
takes. What comes back from `_remit.serve()` is a child, locked down already.

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

# What most programs import. Each is in memory once, for all children. Not
# threading: what it does after a fork costs every child more than its import
# costs those that need it.
COMMON = (
    "os", "io", "re", "json", "math", "random", "time", "datetime", "collections", "itertools", "functools",
    "operator", "string", "copy", "dataclasses", "typing", "enum", "contextlib", "textwrap", "traceback", "types",
    "heapq", "bisect", "statistics", "decimal", "fractions", "pathlib", "tempfile", "hashlib", "base64",
    "csv", "struct", "linecache", "warnings", "abc", "inspect", "uuid",
)  # fmt: skip

# Of the runner: what errors and values need.
PARTS = ("errors", "display", "figures", "charts", "tables")

WARM_UPS = 20
# The size of a huge page, as a power of two.
HUGE_PAGE = 21


class Unfit(Exception):
    """This interpreter cannot serve as a zygote."""


def preload(module):
    if "__main__" in module.split("."):
        raise Unfit(f"{module} is a program, and preload takes modules")
    try:
        __import__(module)
    except BaseException as e:
        raise Unfit(f"importing {module} failed: {type(e).__name__}: {e}") from e
    if not _remit.single_threaded():
        raise Unfit(f"importing {module} left threads behind, and a process with threads cannot be copied")


def can_be_written(module):
    """In an import statement, unlike some names of files."""
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
    """Temporary folders of modules that were imported here are in no jail."""
    if "shutil" in sys.modules:
        import atexit

        atexit.unregister(sys.modules["shutil"].rmtree)


def warm_up_often(variables):
    """Do what every child will do, often: CPython rewrites code that it runs
    for the first times, and what is rewritten here is shared by all."""
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
    """Nothing is left to collect, and what is there is not looked at again."""
    import gc

    gc.collect()
    places = {id(o) >> HUGE_PAGE for o in gc.get_objects()}
    gc.freeze()
    collapse(places)
    _remit.collapse_text()


def collapse(places):
    """Make huge pages here and next to here, as far as it goes: not all that
    objects use is where objects begin."""
    seen = set(places)
    todo = list(places)
    while todo:
        place = todo.pop()
        if _remit.collapse(place):
            near = {place - 1, place + 1} - seen
            seen |= near
            todo += near


def main():
    # No module may take the names of others for its arguments.
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
