"""The shell of a session's cells: it carries out notebook lines, and get_ipython() returns it.

notebook.py turns each line into a call of a method here. A word that is known is a row of LINES
or CELLS; INSTEAD has what to write for others that models know.
"""

import os
import re
import sys

import cell

display = cell.own_module("display")
ipython = cell.own_module("ipython")

REFUSED = (
    "{} starts a program, and the policy does not allow programs: write it in Python, "
    "or allow them with subprocess_execution (--subprocess)"
)
# A name, perhaps extras, and versions.
REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*(?P<versions>(?:[<>=!~]={0,2}\s*[\w.*+-]+\s*,?\s*)*)$")
VERSION = re.compile(r"(?P<operator>[<>=!~]={0,2})\s*(?P<version>[\w.*+-]+)")
PIP = re.compile(r"(?:(?:python3?|uv)\s+)?(?:-m\s+)?pip3?\s+(?P<word>install|list|freeze|show)\b(?P<rest>.*)$", re.S)
# How the output of pip is hidden; a version may follow a sign without a space.
REDIRECTION = re.compile(r"\s(?:\d?>|&>|\|(?!\|)).*$", re.S)
HARMLESS = frozenset((
    "-q", "-qq", "-qqq", "--quiet", "-U", "--upgrade", "--user", "-y", "--no-cache-dir", "--disable-pip-version-check",
    "--no-input", "--break-system-packages", "--root-user-action=ignore", "--progress-bar=off", "--system",
))  # fmt: skip
QUIET = frozenset(("-q", "-qq", "-qqq", "--quiet"))
CAPTURES = ("--no-stdout", "--no-stderr", "--no-display")
BACKENDS = ("", "inline", "agg", "notebook", "widget", "ipympl", "auto", "--list", "-l")
TIMEIT_RUNS = 7
TIMEIT_SECONDS = 0.2  # of one run at least


def usage(message):
    """Raised where the arguments of a line are wrong."""
    return SyntaxError(message)


# ---- variables in lines ----


def lookup(name, frame):
    return eval(name, frame.f_globals, frame.f_locals)


def expanded(text, frame):
    """With the values of {expression} and $name, where the program has them; otherwise as it is."""

    def value(found):
        if found["double"]:
            return found["double"][0]
        try:
            return str(lookup(found["expression"] or found["name"], frame))
        except KeyboardInterrupt:
            raise
        except BaseException:  # of awk, or a variable of the shell
            return found[0]

    return VARIABLE.sub(value, text)


VARIABLE = re.compile(r"(?P<double>\$\$|\{\{|\}\})|(?<!\$)\{(?P<expression>[^{}\n]+)\}|\$(?P<name>[^\W\d]\w*)")


# ---- programs ----


def is_captured():
    try:
        return sys.stdout.fileno() != 1
    except Exception:  # replaced by an object without one
        return True


def start(argv, what, **more):
    import subprocess

    cell.own_module("runner").flush()
    try:
        return subprocess.Popen(argv, start_new_session=True, **more)
    except PermissionError as exc:
        # Without context: the program that was refused is not a missing path.
        refused = PermissionError(REFUSED.format(what)) if exc.errno == 1 else exc
    raise refused from None


def finish(process, data=None):
    """The output, if it goes through this process, and the exit code."""
    try:
        out, _ = process.communicate(data)
    except BaseException:
        os.killpg(process.pid, 9)
        process.wait()
        raise
    return out, process.returncode


def run(argv, what, data=None, keep=False):
    """Run a program: its output goes where print() writes, or is returned."""
    from subprocess import DEVNULL, PIPE, STDOUT

    through = keep or is_captured()
    options = {"stdout": PIPE, "stderr": STDOUT} if through else {}
    process = start(argv, what, stdin=DEVNULL if data is None else PIPE, **options)
    out, code = finish(process, data)
    text = (out or b"").decode("utf-8", "replace")
    if through and not keep:
        sys.stdout.write(text)
    return text, code


class Lines(list):
    """The lines that a command printed, which are also available as one text."""

    @property
    def l(self):  # noqa: E743 (IPython's name)
        return list(self)

    @property
    def n(self):
        return "\n".join(self)

    @property
    def s(self):
        return " ".join(self)


def run_script(program, rest, body):
    import subprocess

    if rest not in ("", "--no-raise-error"):
        raise usage(f"%%{program} takes no arguments but --no-raise-error")
    _, code = run([program], f"%%{program}", body.encode("utf-8", "surrogateescape"))
    if code and not rest:
        raise subprocess.CalledProcessError(code, f"%%{program}")


# ---- packages ----


def release(version):
    return tuple(int(number) for number in re.findall(r"\d+", version.partition("+")[0]))


def as_long(one, other):
    """Both with as many numbers: 2.0 is 2."""
    length = max(len(one), len(other))
    return one + (0,) * (length - len(one)), other + (0,) * (length - len(other))


def begins_with(have, wanted, numbers):
    return have[:numbers] == wanted[:numbers]


def fits(have, operator, wanted):
    numbers = release(wanted)
    one, other = as_long(release(have), numbers)
    equal = begins_with(one, other, len(numbers)) if wanted.endswith(".*") else one == other
    return {
        "==": equal, "===": have == wanted, "!=": not equal, ">=": one >= other, "<=": one <= other, ">": one > other, "<": one < other,
        "~=": one >= other and begins_with(one, other, len(numbers) - 1),
    }.get(operator, False)  # fmt: skip


def installed_version(name):
    import importlib.metadata

    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def words_of(rest):
    import shlex

    try:
        words = shlex.split(REDIRECTION.sub("", " " + rest, 1))
    except ValueError as exc:
        raise usage(f"pip: {exc}") from None
    if any(word in ("&&", "||", "&") or word.endswith(";") for word in words):
        raise usage("write %pip on a line by itself")
    return words


def check_requirement(word):
    if word.startswith("-"):
        raise usage(f"%pip install does not take {word}: it takes names and versions")
    found = REQUIREMENT.match(word)
    if found is None:
        raise usage(f"%pip install does not take {word}: it takes names and versions, not addresses or files")
    return found


def install(missing, quiet):
    if "installs" in cell.limits:
        done = cell.own_module("tools").install_packages(*missing, quiet=quiet)
        if not quiet:
            print("Successfully installed", *(one.replace("==", "-") for one in done))
        return
    import contextlib
    import shlex

    with contextlib.suppress(Exception):  # the keeper refuses it, which makes it a denial of the result
        cell.own_module("tools").request_packages(missing)
    flags = " ".join(f"--package {shlex.quote(word)}" for word in missing)
    raise RuntimeError(f"packages cannot be installed from inside: add them to the policy's packages ({flags})")


def pip_install(rest):
    """Succeed if the packages are already there: most code only makes sure of them."""
    missing = []
    words = words_of(rest)
    wanted = [word for word in words if word not in HARMLESS]
    if not wanted:
        raise usage("%pip install needs the name of a package")
    for word, found in [(word, check_requirement(word)) for word in wanted]:
        have = installed_version(found["name"])
        if have is None or not all(fits(have, *pair) for pair in VERSION.findall(found["versions"])):
            missing.append(word)
        else:
            print(f"Requirement already satisfied: {word} ({have})")
    if missing:
        install(missing, quiet=not QUIET.isdisjoint(words))


def pip_list(_rest):
    import importlib.metadata

    names = sorted({(str(one.metadata["Name"]), one.version) for one in importlib.metadata.distributions()}, key=lambda one: one[0].lower())
    for name, version in names:
        print(f"{name}=={version}")


def pip_show(rest):
    import importlib.metadata

    for name in words_of(rest):
        try:
            about = importlib.metadata.metadata(name)
        except importlib.metadata.PackageNotFoundError:
            print(f"{name} is not installed")
            continue
        print("\n".join(f"{key}: {about[key]}" for key in ("Name", "Version", "Summary") if key in about))


PIP_WORDS = {"install": pip_install, "list": pip_list, "freeze": pip_list, "show": pip_show}


def pip_line(rest):
    word, _, rest = rest.partition(" ")
    if word not in PIP_WORDS:
        raise usage(f"%pip {word} is not known here: known are %pip {', %pip '.join(PIP_WORDS)}")
    return PIP_WORDS[word](rest)


# ---- lines ----


def unquoted(text):
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


_last_folder = None


def change_folder(rest):
    global _last_folder
    to = unquoted(rest.strip()) or "~"
    if to == "-":
        if _last_folder is None:
            raise usage("%cd - needs an earlier %cd")
        to = _last_folder
    before = os.getcwd()
    os.chdir(os.path.expanduser(to))
    _last_folder = before
    print(os.getcwd())


def environment(rest):
    if not rest:
        return dict(os.environ)
    name, sign, value = rest.partition("=") if "=" in rest.split()[0] else rest.partition(" ")
    name, value = name.strip(), unquoted(value.strip())
    if not sign:
        if name not in os.environ:
            raise KeyError(name)
        return os.environ[name]
    os.environ[name] = value
    print(f"env: {name}={value}")
    return None


def choose_backend(rest):
    if rest.lower() not in BACKENDS:
        raise usage(f"%matplotlib {rest} opens windows, and a jail has none: write %matplotlib inline")


def load_extension(rest):
    if rest not in ("autoreload", "dotenv"):
        raise usage(f"%load_ext {rest}: extensions of IPython are not known here; import the module and call it")


def accept(_rest):
    """Settings of a notebook's page."""


LINES = {
    "autoreload": accept,
    "cd": change_folder,
    "config": accept,
    "env": environment,
    "load_ext": load_extension,
    "matplotlib": choose_backend,
    "pip": pip_line,
    "pwd": lambda _rest: os.getcwd(),
    "set_env": environment,
}


# ---- whole cells ----


def write_file(rest, body):
    append = re.match(r"(?:-a|--append)\s+", rest)
    name = os.path.expanduser(unquoted(rest[append.end() :] if append else rest))
    if not name:
        raise usage("%%writefile needs the name of a file")
    word = "Appending to" if append else "Overwriting" if os.path.exists(name) else "Writing"
    with open(name, "a" if append else "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(body if body.endswith("\n") or not body else body + "\n")
    print(f"{word} {name}")


def shown_as(mime):
    return lambda _rest, body: cell.display({mime: body}, raw=True)


CELLS = {
    "bash": lambda rest, body: run_script("bash", rest, body),
    "html": shown_as("text/html"),
    "HTML": shown_as("text/html"),
    "javascript": shown_as("application/javascript"),
    "js": shown_as("application/javascript"),
    "latex": shown_as("text/latex"),
    "markdown": shown_as("text/markdown"),
    "sh": lambda rest, body: run_script("sh", rest, body),
    "svg": shown_as("image/svg+xml"),
    "SVG": shown_as("image/svg+xml"),
    "writefile": write_file,
}
PROGRAM = "write !{} in a line by itself"
INSTEAD = {
    **{name: PROGRAM.format(name) for name in ("ls", "cat", "cp", "mv", "rm", "mkdir", "rmdir", "head", "tail", "less", "more", "man")},
    "conda": "write %pip install NAME, or name the package in the policy",
    "mamba": "write %pip install NAME, or name the package in the policy",
    "uv": "write %pip install NAME, or name the package in the policy",
    "script": "write %%bash, or subprocess.run() in Python",
    "system": "write !COMMAND",
    "sx": "write !!COMMAND",
    "run": "write exec(open('FILE').read())",
    "load": "write print(open('FILE').read())",
    "prun": "write import cProfile; cProfile.run('...')",
    "debug": "write print() where you want to know a value",
    "pdb": "write print() where you want to know a value",
    "who": "write dir()",
    "whos": "write globals()",
    "reset": "start a new session, or write del NAME",
    "file": "write %%writefile NAME",
    "python": "write the Python without this line",
    "python3": "write the Python without this line",
    "sql": "import sqlite3 and call it",
}


# ---- capture ----


class Captured:
    """The output and the displays of a cell."""

    def __init__(self):
        self.stdout = self.stderr = ""
        self.outputs = []

    def __str__(self):
        return self.stdout

    def show(self):
        sys.stdout.write(self.stdout)
        sys.stderr.write(self.stderr)
        for output in self.outputs:
            cell.display(output, raw=True)

    __call__ = show


def as_data(bundle):
    is_text = {mime: mime == display.PLAIN or display.is_text(mime) for mime in bundle.parts}
    return {mime: raw.decode("utf-8", "replace") if is_text[mime] else raw for mime, raw in bundle.parts.items()}


class Capture:
    """Keeps output and displays of a cell, and gives them a name."""

    def __init__(self, namespace, names, words):
        self.namespace, self.names = namespace, names
        self.keeps = [word not in words for word in CAPTURES]

    def __enter__(self):
        import io

        self.found = Captured()
        self.before = sys.stdout, sys.stderr, display.captured
        keeps_stdout, keeps_stderr, keeps_displays = self.keeps
        if keeps_stdout:
            sys.stdout = io.StringIO()
        if keeps_stderr:
            sys.stderr = io.StringIO()
        if keeps_displays:
            display.captured = []

    def __exit__(self, *_):
        try:
            cell.show_rest(None)
        finally:
            streams, bundles = (sys.stdout, sys.stderr), display.captured
            sys.stdout, sys.stderr, display.captured = self.before
            texts = [stream.getvalue() if keeps and hasattr(stream, "getvalue") else "" for keeps, stream in zip(self.keeps, streams)]
            self.found.stdout, self.found.stderr = texts
            self.found.outputs = [as_data(bundle) for bundle in bundles or ()] if self.keeps[2] else []
            for name in self.names:
                self.namespace[name] = self.found


# ---- times ----


def duration(seconds, digits=3):
    if seconds >= 60:
        minutes, rest = divmod(seconds, 60)
        return f"{minutes:.0f}min {rest:.0f}s"
    for unit, factor in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 0.9995:  # what would be printed as 1
            return f"{seconds * factor:.{digits}g} {unit}"
    return f"{seconds * 1e9:.{digits}g} ns"


def clocks():
    from time import perf_counter, process_time

    try:
        from resource import RUSAGE_SELF, getrusage
    except ImportError:  # in the tier wasm, where all time is the user's
        return process_time(), 0.0, perf_counter()
    used = getrusage(RUSAGE_SELF)
    return used.ru_utime, used.ru_stime, perf_counter()


def print_times(before):
    user, system, wall = (now - then for now, then in zip(clocks(), before))
    print(f"CPU times: user {duration(user)}, sys: {duration(system)}, total: {duration(user + system)}")
    print(f"Wall time: {duration(wall)}")


class Timing:
    def __enter__(self):
        self.before = clocks()

    def __exit__(self, kind, *_):
        if kind is None:
            print_times(self.before)


def chosen_loops(function, timer):
    """1, 10, 100, ... until a run takes long enough."""
    loops = 1
    while loops < 10**9 and function(range(loops), timer) < TIMEIT_SECONDS:
        loops *= 10
    return loops


def time_loops(function, loops, runs, digits, is_quiet):
    import statistics
    from time import perf_counter

    loops = loops or chosen_loops(function, perf_counter)
    times = [function(range(loops), perf_counter) / loops for _ in range(runs or TIMEIT_RUNS)]
    if is_quiet:
        return
    mean, spread = duration(statistics.fmean(times), digits), duration(statistics.pstdev(times), digits)
    plural = "s" if len(times) != 1 else "", "s" if loops != 1 else ""
    print(f"{mean} ± {spread} per loop (mean ± std. dev. of {len(times)} run{plural[0]}, {loops:,} loop{plural[1]} each)")


# ---- help ----


def about_word(name):
    """Help about a word of notebook lines."""
    mark = "%%" if name.startswith("%%") else "%"
    known = {"time", "timeit", *LINES} if mark == "%" else {"capture", "time", "timeit", *CELLS}
    word = name.lstrip("%")
    return f"{mark}{word} is {'known' if word in known else INSTEAD.get(word, 'not known')}; known are {mark}{f', {mark}'.join(sorted(known))}"


def about(name, obj, depth):
    import inspect

    lines = []
    if callable(obj):
        try:
            lines.append(f"Signature: {name}{inspect.signature(obj)}")
        except (TypeError, ValueError):
            pass
    else:
        lines.append(f"String form: {display.text_of(obj)[:1000]}")
    lines.append(f"Type: {display.name_of(type(obj))}")
    source = None
    if depth > 1:
        cell.own_module("errors").remember_lines()
        try:
            source = inspect.getsource(obj)
        except (OSError, TypeError):
            pass
    lines.append(f"Source:\n{source}" if source else f"Docstring:\n{inspect.getdoc(obj) or 'none'}")
    return "\n".join(lines)


# ---- get_ipython() ----


class Formatter:
    """Functions for classes, for one MIME type. Those for text/plain are kept and not called."""

    def __init__(self, mime):
        self.type_printers = display.formatters.setdefault(mime, {})

    def for_type(self, cls, function=None):
        before = self.type_printers.get(cls)
        if function is not None:
            self.type_printers[cls] = function
        return before

    def pop(self, cls, default=None):
        return self.type_printers.pop(cls, default)


class Formatters(dict):
    def __missing__(self, mime):
        self[mime] = Formatter(mime)
        return self[mime]


class DisplayFormatter:
    formatters = Formatters()


class Events:
    """Libraries register what is to follow each cell; nothing does here."""

    def register(self, event, function):
        pass

    unregister = register


def run_text(text):
    """Run text as a cell, for functions that take code. Its value."""
    name = "<text>"
    job = type("Job", (), {"name": name, "code": text.encode("utf-8", "surrogateescape"), "problem": None})
    program = cell.own_module("session").with_notebook_lines(job, cell.compiled(job))
    if isinstance(program, BaseException):
        raise program
    return cell.evaluate(program, sys.modules["__main__"].__dict__)


class InteractiveShell:
    """As much of IPython's shell as code calls."""

    config = {}
    colors = "NoColor"
    events = Events()
    display_formatter = DisplayFormatter()

    # Notebook lines call these.

    def system(self, command):
        frame = sys._getframe(1)
        command = expanded(command, frame)
        pip = PIP.match(command.strip())
        if pip:
            PIP_WORDS[pip["word"]](pip["rest"].strip())
            return
        _, code = run(["/bin/sh", "-c", command], "!" + (command.split() or [""])[0])
        frame.f_globals["_exit_code"] = code

    def getoutput(self, command, split=True):
        command = expanded(command, sys._getframe(1))
        text, _ = run(["/bin/sh", "-c", command], "!" + (command.split() or [""])[0], keep=True)
        return Lines(text.splitlines()) if split else text

    def line(self, name, rest):
        return LINES[name](expanded(rest, sys._getframe(1)))

    def cell(self, name, rest, body):
        return CELLS[name](expanded(rest, sys._getframe(1)), body)

    def describe(self, name, depth):
        if name.startswith("%"):
            print(about_word(name))
            return
        try:
            found = lookup(name, sys._getframe(1))
        except Exception:
            print(f"Object `{name}` not found.")
            return
        print(about(name, found, depth))

    def clocks(self):
        return clocks()

    def timed(self, before, value):
        print_times(before)
        return value

    def timing(self):
        return Timing()

    def timeit(self, function, loops, runs, digits, is_quiet):
        time_loops(function, loops, runs, digits or 3, is_quiet)

    # Programs call these.

    def run_line_magic(self, name, line="", _stack_depth=1):
        return run_text(f"%{name} {line}".rstrip())

    def run_cell_magic(self, name, line, cell):
        return run_text(f"%%{name} {line}".rstrip() + f"\n{cell}")

    def magic(self, text):
        return run_text("%" + text.lstrip("%"))

    def run_cell(self, text, *_arguments, **_options):
        return run_text(text)

    def ev(self, text):
        return eval(text, self.user_ns)

    def ex(self, text):
        exec(text, self.user_ns)

    @property
    def user_ns(self):
        return sys.modules["__main__"].__dict__

    def enable_gui(self, *_arguments):
        """No window system is here."""

    def enable_matplotlib(self, *_arguments):
        """Figures are displayed without it."""


InteractiveShell.__module__ = "IPython.core.interactiveshell"
shell = InteractiveShell()
