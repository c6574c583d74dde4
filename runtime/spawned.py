"""Gives interpreters that the program starts what they need of it.

A worker by `spawn` or `forkserver` is a fresh interpreter. It first runs the
file of `__main__`, to define the functions that it will call. The program
arrived as text, so this module writes it to the path in `__main__.__file__`
when the first worker starts.

Libraries start interpreters with the flags of this one. Remit started it with
-I and -S, which would keep site-packages and PYTHONPATH from the others.
"""

import atexit
import os
import sys

import cell

_made = []  # files, and then their folders


def adopt(name):
    if name == "subprocess":
        adopt_flags(sys.modules[name])
    else:
        adopt_spawn(sys.modules[name])


def adopt_flags(module):
    flags = module._args_from_interpreter_flags

    def _args_from_interpreter_flags():
        return [flag for flag in flags() if flag not in ("-I", "-S")]

    module._args_from_interpreter_flags = _args_from_interpreter_flags
    # It may have been preloaded, and then it has a reference to the original.
    util = sys.modules.get("multiprocessing.util")
    if util is not None:
        util._args_from_interpreter_flags = _args_from_interpreter_flags


def adopt_spawn(spawn):
    prepare = spawn.get_preparation_data

    def get_preparation_data(*arguments):
        data = prepare(*arguments)
        path = data.get("init_main_from_path")
        code = getattr(getattr(sys.modules["__main__"], "__loader__", None), "code", None)
        if path and isinstance(code, bytes):
            data["init_main_from_path"] = file_of(path, code)
        return data

    spawn.get_preparation_data = get_preparation_data


def file_of(path, code):
    """The path of a file with this program: `path`, unless another file is there."""
    if contents(path) == code:
        return path
    # A session would keep the files of its cells in the workspace.
    if "session" not in cell.limits and write(path, code):
        return path
    import tempfile

    folder = tempfile.mkdtemp(prefix="program-")
    path = os.path.join(folder, os.path.basename(path))
    if write(path, code):
        _made.append(folder)
    return path


def contents(path):
    try:
        with open(path, "rb") as f:
            return f.read()
    except OSError:
        return None


def write(path, code):
    """False if the path exists, or if there is no space."""
    try:
        with open(path, "xb") as f:
            if not _made:
                atexit.register(remove, os.getpid())
            _made.append(path)
            f.write(code)
    except OSError:
        return False
    return True


def remove(owner):
    """At the end of the program, so that the file is not exported."""
    if os.getpid() != owner:
        return
    for path in _made:
        try:
            os.rmdir(path) if os.path.isdir(path) else os.unlink(path)
        except OSError:
            continue
