"""Looks at the syntax tree before anything runs.

A friendly first answer, never the wall: `__import__`, exec and C extensions
get around it, and then meet the jail.
"""

import ast
import importlib.machinery
import sys


def imports(tree):
    """(top-level module, line) for each import statement, in order."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name.partition(".")[0], node.lineno
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0], node.lineno


def is_there(module):
    if module in sys.builtin_module_names or module in sys.modules:
        return True
    if importlib.machinery.FrozenImporter.find_spec(module):
        return True
    return importlib.machinery.PathFinder.find_spec(module) is not None


def rejection(name, value, line):
    return (("name", name), ("value", value), ("line", str(line or "")))


def check(task, job, program):
    """None, or the records of a rejection."""
    if isinstance(program, BaseException):
        if task.one["tier"] != "static":
            return None  # an ordinary error of the program
        line = getattr(program, "lineno", None)
        return rejection(type(program).__name__, str(program), line)
    allowed, blocked = task.many["allow"], task.many["block"]
    for module, line in imports(ast.parse(job.code, job.name)):
        if module in blocked:
            return rejection("ImportError", f"import of {module!r} is blocked by blocked_imports", line)
        if allowed and module not in allowed:
            return rejection("ImportError", f"import of {module!r} is not in allowed_imports", line)
        if task.one["tier"] == "static" and not is_there(module):
            return rejection("ModuleNotFoundError", f"No module named {module!r}", line)
    return None
