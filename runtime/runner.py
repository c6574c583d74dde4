"""Runs one program as __main__ and tells the keeper how it ended.

What is told is a claim: the keeper marks it as reported and takes exit code,
signal and usage from the kernel.
"""

import sys

import records

# A claim is for people and models; the whole text is on stderr anyway.
TEXT_MAX = 32 * 1024
# Address space to report an error with when the program has used up its own.
RESERVE = 6 * 1024 * 1024


class Task:
    """What the keeper wants run."""

    def __init__(self):
        self.one = {}
        self.many = {"argv": [], "env": [], "path": [], "pth": [], "allow": [], "block": []}
        self.code = b""

    def receive(self):
        kind, payload = records.receive()
        if kind != records.TASK:
            raise RuntimeError("the keeper did not send a task")
        for key, value in records.parse(payload):
            if key in self.many:
                self.many[key].append(value)
            else:
                self.one[key] = value
        parts = []
        missing = int(self.one["code_bytes"])
        while missing:
            kind, part = records.receive()
            if kind != records.CODE:
                raise RuntimeError("the keeper did not send the code")
            parts.append(part)
            missing -= len(part)
        self.code = b"".join(parts)


class Source:
    """A loader that gives tracebacks and inspect the program's lines."""

    def __init__(self, code):
        self.code = code

    def get_source(self, _name):
        return self.code.decode("utf-8", "replace")


def set_environment(task):
    import posix

    # The interpreter itself may have set LC_CTYPE.
    for name in list(posix.environ):
        posix.unsetenv(name)
    posix.environ.clear()
    for pair in task.many["env"]:
        name, _, value = pair.partition("=")
        raw = name.encode("utf-8", "surrogateescape"), value.encode("utf-8", "surrogateescape")
        posix.environ[raw[0]] = raw[1]
        posix.putenv(*raw)
    if "os" in sys.modules:
        import os

        os.environ.clear()
        os.environ.update(pair.partition("=")[::2] for pair in task.many["env"])


def set_interpreter(task):
    """What `site` would have done outside: it took half of the start."""
    import builtins

    import _sitebuiltins

    sys.path[:] = task.many["path"]
    sys.prefix = task.one["prefix"]
    sys.exec_prefix = task.one["exec_prefix"]
    sys.executable = task.one["executable"]
    builtins.exit = _sitebuiltins.Quitter("exit", "Ctrl-D (i.e. EOF)")
    builtins.quit = _sitebuiltins.Quitter("quit", "Ctrl-D (i.e. EOF)")
    builtins.help = _sitebuiltins._Helper()


def clip(text):
    return text if len(text) <= TEXT_MAX else text[:TEXT_MAX] + "\n... [truncated]"


def own_frames(tb, name):
    """The part of a traceback that begins in the program."""
    while tb is not None and tb.tb_frame.f_code.co_filename != name:
        tb = tb.tb_next
    return tb


def line_of(exc, tb, name):
    """The program's innermost line that was running."""
    line = ""
    while tb is not None:
        if tb.tb_frame.f_code.co_filename == name:
            line = str(tb.tb_lineno)
        tb = tb.tb_next
    if not line and isinstance(exc, SyntaxError) and exc.filename == name:
        line = str(exc.lineno or "")
    return line


def describe(exc, tb):
    """An exception's text and value, whatever it is and however little memory is left."""
    try:
        import traceback

        return "".join(traceback.format_exception(type(exc), exc, tb)), str(exc)
    except BaseException as e:  # a hostile __str__ must not stop the claim
        return f"{type(exc).__name__} <unprintable: {type(e).__name__}>\n", ""


def report_error(exc, name):
    """Print an exception as Python would, and claim it. The exit code."""
    tb = own_frames(exc.__traceback__, name)
    exc.__traceback__ = tb
    text, value = describe(exc, tb)
    try:
        # Python's own hook looks for the source in a file.
        if sys.excepthook is sys.__excepthook__:
            sys.stderr.write(text)
        else:
            sys.excepthook(type(exc), exc, tb)
    except BaseException as e:
        sys.stderr.write(f"{text}Error in sys.excepthook: {type(e).__name__}\n")
    records.send(
        records.ENDED,
        (
            ("kind", "error"),
            ("name", clip(type(exc).__name__)),
            ("value", clip(value)),
            ("traceback", clip(text)),
            ("line", line_of(exc, tb, name)),
        ),
    )
    return 1


def report_exit(exc):
    code = exc.code
    if code is None:
        code = 0
    elif not isinstance(code, int):
        print(code, file=sys.stderr)
        code = 1
    records.send(records.ENDED, (("kind", "exit"),))
    return code


def own_module(name):
    """A part of the runner that not every run needs."""
    sys.path.insert(0, __file__.rpartition("/")[0])
    try:
        return __import__(name)
    finally:
        del sys.path[0]


def check(task, name):
    """Compile; turn the code away if the validator says so. None: rejected."""
    try:
        program = compile(task.code, name, "exec", dont_inherit=True)
    except BaseException as exc:
        program = exc
    if task.one["tier"] == "static" or task.many["allow"] or task.many["block"]:
        validator = own_module("validator")
        problem = validator.check(task, program, name)
        if problem:
            records.send(records.CHECKED, problem)
            return None
    records.send(records.CHECKED)
    return program


def main_module(name, code):
    module = type(sys)("__main__")
    module.__file__ = name
    module.__loader__ = Source(code)
    module.__builtins__ = __builtins__
    sys.modules["__main__"] = module
    return module


def run_import_lines(task):
    """Editable installs: foreign code, so not before the start."""
    for line in task.many["pth"]:
        try:
            exec(line, {})
        except Exception as e:  # as site does: say it and go on
            print(f"{line.strip()!r} of a .pth file failed: {e!r}", file=sys.stderr)


def run(program, module, name):
    reserve = [bytes(RESERVE)]  # reserved, not touched: bytearray would fill it
    try:
        if isinstance(program, BaseException):
            raise program
        exec(program, module.__dict__)
    except SystemExit as exc:
        return report_exit(exc)
    except BaseException as exc:
        reserve.clear()
        return report_error(exc, name)
    records.send(records.ENDED, (("kind", "ok"),))
    return 0


def main(jailed):
    task = Task()
    task.receive()
    name = task.one["name"]
    if jailed:
        set_environment(task)
        set_interpreter(task)
    sys.argv[:] = [name, *task.many["argv"]]
    program = check(task, name)
    if program is None or records.receive()[0] != records.GO:
        return 1
    run_import_lines(task)
    return run(program, main_module(name, task.code), name)
