"""Describes an uncaught exception for people and for the keeper."""

import sys

import cell
import records

# Limits in bytes. The complete text is on stderr; a claim must fit into one frame.
TEXT_MAX = 32 * 1024
LINE_MAX = 400
FRAMES = 50
# Errors by which a jail refuses a path (EPERM, ENOENT, EACCES, EROFS), and how many chained
# exceptions are examined.
REFUSALS = (1, 2, 13, 30)
CAUSES = 8

# The real name of a class, which it cannot override.
name_of = type.__dict__["__name__"].__get__


def clip(text, most=TEXT_MAX):
    """Cut a text to a number of bytes, between characters."""
    raw = str.encode(text, "utf-8", "replace")
    if len(raw) <= most:
        return text
    return raw[:most].decode("utf-8", "ignore") + "\n... [truncated]"


def program_frames(tb):
    """Return the part of a traceback that begins in the program."""
    while tb is not None and tb.tb_frame.f_code.co_filename not in cell.sources:
        tb = tb.tb_next
    return tb


def cut_runner_frames(tb):
    """Remove the runner's frames that follow the first of the program. A tool, a display or a
    notebook line put them there, and they do not help the reader."""
    here = cut_runner_frames.__code__.co_filename.rpartition("/")[0] + "/"
    last = tb
    while last is not None:
        following = last.tb_next
        while following is not None and following.tb_frame.f_code.co_filename.startswith(here):
            following = following.tb_next
        last.tb_next = following
        last = following


def lines_of(name):
    """As Python counts them: a form feed, for example, does not end a line."""
    return cell.sources[name].decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n").split("\n")


def line_text(name, number):
    lines = lines_of(name)
    return lines[number - 1].strip() if number and 0 < number <= len(lines) else ""


def frames_of(tb):
    """Return (line, name, text) of the program's last frames."""
    found = []
    while tb is not None:
        code = tb.tb_frame.f_code
        if code.co_filename in cell.sources:
            found.append((tb.tb_lineno, code.co_name, code.co_filename))
            del found[:-FRAMES]
        tb = tb.tb_next
    return [(line, name, line_text(file, line)) for line, name, file in found]


_remembered = {}  # the code of a cell and its lines, by name


def remember_lines():
    """Make the lines of cells available to tracebacks: they are in no file."""
    import linecache

    for name, code in cell.sources.items():
        known, lines = _remembered.get(name, (None, None))
        if known is not code:
            # Without an end, the marks below the last line would be one column too far to the right.
            lines = [line + "\n" for line in lines_of(name)]
            _remembered[name] = code, lines
        linecache.cache[name] = len(code), None, lines, name


def describe(exc, tb, name):
    """Return the text and value of any exception, even if memory is exhausted."""
    try:
        import traceback

        remember_lines()
        if isinstance(exc, SyntaxError) and exc.text is None and exc.filename == name:
            exc.text = line_text(name, exc.lineno) or None
        return "".join(traceback.format_exception(type(exc), exc, tb)), str(exc)
    except BaseException as e:  # a hostile __str__ must not prevent the claim
        return f"{name_of(type(exc))} <unprintable: {name_of(type(e))}>\n", ""


def is_not_executable_here(path):
    """Whether the mode of a file allows everything to its owner, but its file system does not allow execution.

    Then nothing but an attempt to execute the file can have ended with EACCES: it could be read, changed and removed.
    """
    import os
    import stat

    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & stat.S_IRWXU != stat.S_IRWXU:
            return False
        # access(2) considers the mount as well as the mode.
        return os.access(os.path.dirname(path), os.W_OK | os.X_OK) and not os.access(path, os.X_OK)
    except (OSError, ValueError):
        return False


def refused_path(exc):
    """Return records of the refused or missing path, if that ended the program."""
    try:
        for _ in range(CAUSES):
            if isinstance(exc, OSError) and records.linux_errno(exc.errno) in REFUSALS and isinstance(exc.filename, (str, bytes)):
                import os.path

                path = os.path.abspath(os.fsdecode(exc.filename))
                refused = ("denied_errno", str(records.linux_errno(exc.errno))), ("denied_path", clip(path))
                return (*refused, ("denied_execution", "1")) if is_not_executable_here(path) else refused
            exc = exc.__cause__ or exc.__context__
    except BaseException:  # an exception class of the program may raise anything
        return ()
    return ()


def can_be_imported(module):
    """Whether a top-level module can be imported, or the program has blocked it."""
    import importlib.machinery as machinery

    if module in sys.builtin_module_names or module in sys.modules:
        return True
    if machinery.FrozenImporter.find_spec(module):
        return True
    return machinery.PathFinder.find_spec(module) is not None


def is_in_program_folder(module):
    """Whether the current directory has a module of this name, which may not be on the path."""
    import os.path

    return os.path.exists(module) or os.path.exists(f"{module}.py")


def missing_record(module):
    """Return the record of a missing top-level module that only a package could provide. (If a
    dotted name is missing, its package was found.)"""
    standard = getattr(sys, "stdlib_module_names", ())  # exists from 3.10 on; the keeper knows more names
    if type(module) is not str or not module.isidentifier() or module in standard:
        return ()
    if can_be_imported(module) or is_in_program_folder(module):
        return ()
    return (("missing_module", clip(module, LINE_MAX)),)


def missing_module(exc):
    """Return the record of the missing module that ended the program. Libraries often report a
    missing optional dependency as a new ImportError."""
    try:
        for _ in range(CAUSES):
            if isinstance(exc, ModuleNotFoundError):
                return missing_record(exc.name)
            if not isinstance(exc, ImportError):
                break
            exc = exc.__cause__ or exc.__context__
    except BaseException:  # the program broke imports, or the exception is hostile
        return ()
    return ()


def place_of_syntax(exc):
    """Return records of the line with a syntax error, if it is in the program."""
    file, line, column, text = exc.filename, exc.lineno, exc.offset, exc.text
    if type(file) is not str or file not in cell.sources or type(line) is not int:
        return ()
    # For errors that are found after parsing, the compiler searches the text in a file.
    text = text.strip() if type(text) is str else line_text(file, line)
    column = str(column) if type(column) is int and column > 0 else ""
    return ("line", str(line)), ("column", column), ("text", clip(text, LINE_MAX))


def place(exc, tb):
    """Return records of the line that raised the exception, and of its callers."""
    if isinstance(exc, SyntaxError):
        found = place_of_syntax(exc)
        if found:
            return found
    frames = frames_of(tb)
    if not frames:
        return ()
    line, _, text = frames[-1]
    out = [("line", str(line)), ("text", clip(text, LINE_MAX))]
    for line, name, text in frames:
        out += ("frame_line", str(line)), ("frame_name", clip(name, LINE_MAX)), ("frame_text", clip(text, LINE_MAX))
    return out


def place_or_nothing(exc, tb):
    try:
        return place(exc, tb)
    except BaseException:  # no memory, or a hostile exception
        return ()


def describe_error(exc, name):
    """Print an exception as Python would. Return the claim and the exit code."""
    tb = program_frames(exc.__traceback__)
    cut_runner_frames(tb)
    exc.__traceback__ = tb
    text, value = describe(exc, tb, name)
    try:
        # The default hook would search the source in a file.
        if sys.excepthook is sys.__excepthook__:
            sys.stderr.write(text)
        else:
            sys.excepthook(type(exc), exc, tb)
    except BaseException as e:
        sys.stderr.write(f"{text}Error in sys.excepthook: {name_of(type(e))}\n")
    claim = (
        ("kind", "error"),
        ("name", clip(name_of(type(exc)), LINE_MAX)),
        ("value", clip(value)),
        ("traceback", clip(text)),
        *place_or_nothing(exc, tb),
        *refused_path(exc),
        *missing_module(exc),
    )
    return claim, 1
