"""Runs one cell: compiles a program, runs it in a module, and returns its value.

A run has one cell and a session many: `run` can be called repeatedly with the same module. Code
that only some cells need is in other files (`own_module`).
"""

import _thread
import builtins
import sys

import _ast
import records

# Flags of compile(), as numbers: the modules that define them are not loaded otherwise.
ONLY_AST = 0x400
TOP_LEVEL_AWAIT = 0x2000
FUTURES = 0x1FE0000
COROUTINE = 0x80
# A line that begins with one of these bytes does not begin a statement.
INSIDE = b" \t\r\n\f#)]}"

OK = (("kind", "ok"),)

process = 0  # the process that owns the channel
limits = {}  # the records of the task, by name
sources = {}  # the program of each cell, by its name
has_shell = False  # whether these are cells of a session, with notebook lines

_here, _, _ = __file__.rpartition("/")
_loader = type(__loader__)
_parts = {}
_loading = _thread.RLock()  # reentrant: a part may load another
_byte_code = sys.pycache_prefix  # the directory with the byte code of the parts
_event_loop = None


class Source:
    """A loader that gives tracebacks and inspect the program's lines."""

    def __init__(self, code):
        self.code = code

    def get_source(self, _name):
        return self.code.decode("utf-8", "replace")


# ---- parts of the runner ----

# Modules that parts import from each other. They are hidden from the program, which may have its
# own modules of these names.
OWN = ("_remit", "records", "cell", "reseed", "runner")


def hide():
    for name in OWN:
        module = sys.modules.pop(name, None)
        if module is not None:
            _parts[name] = module


def own_module(name):
    """Load a part of the runner that not every cell needs, without using anything that the program
    could have changed."""
    part = _parts.get(name)
    if part is None:
        with _loading:
            if name not in _parts:
                part = type(sys)(name)
                _load(part, _loader(name, f"{_here}/{name}.py"))
                _parts[name] = part
            part = _parts[name]
    return part


def has_loaded(name):
    return name in _parts


def _load(part, loader):
    modules = sys.modules
    before = {name: modules.get(name) for name in OWN}
    prefix, sys.pycache_prefix = sys.pycache_prefix, _byte_code
    try:
        code = loader.get_code(part.__name__)
        modules.update((name, _parts[name]) for name in OWN if name in _parts)
        exec(code, part.__dict__)
    finally:
        sys.pycache_prefix = prefix
        for name, module in before.items():
            if module is None:
                modules.pop(name, None)
            else:
                modules[name] = module


class Watcher:
    """A finder that notices imports of modules with displayable objects, or that start other interpreters,
    and has a part of the runner adapt these modules. It finds no modules itself, except IPython where that is not installed."""

    adopters = {
        "matplotlib.pyplot": "figures",
        "PIL.Image": "figures",
        "PIL.ImageShow": "figures",
        "plotly.io._renderers": "figures",
        "IPython.core.display": "ipython",
        "IPython.core.display_functions": "ipython",
        "IPython.core.getipython": "ipython",
        "multiprocessing.spawn": "spawned",
        "subprocess": "spawned",
    }

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        is_ipython = name.partition(".")[0] == "IPython"
        if name not in cls.adopters and not is_ipython:
            return None
        for finder in sys.meta_path:
            spec = None if finder is cls else finder.find_spec(name, path, target)
            if spec is not None and spec.loader is not None:
                if name in cls.adopters:
                    spec.loader.exec_module = cls.adopting(name, spec.loader.exec_module)
                return spec
        return own_module("ipython").find_spec(name) if is_ipython else None

    @classmethod
    def adopting(cls, name, execute):
        def exec_module(module):
            execute(module)
            own_module(cls.adopters[name]).adopt(name)

        return exec_module

    @classmethod
    def begin(cls):
        sys.meta_path.insert(0, cls)

    @classmethod
    def adopt_present(cls):
        for name, part in cls.adopters.items():
            if name in sys.modules:
                own_module(part).adopt(name)


# ---- from text to code ----


def last_statement_start(code):
    """Return the start of the last line that may begin a statement."""
    end = len(code)
    while end > 0:
        start = code.rfind(b"\n", 0, end - 1) + 1
        if code[start] not in INSIDE:
            return start
        end = start
    return 0


def parts_of(tree, name, flags):
    """Compile a syntax tree; the last expression becomes a separate code object."""
    last = []
    if tree.body and type(tree.body[-1]) is _ast.Expr:
        last = [compile(_ast.Expression(tree.body.pop().value), name, "eval", flags, True)]
    if tree.body or not last:
        last.insert(0, compile(tree, name, "exec", flags, True))
    return last


def compile_call(code, name, flags):
    """Compile a single call such as `print(1)`, without making a syntax tree: most programs end in
    one. Return None if the code is something else."""
    word, bracket, _ = code.lstrip().partition(b"(")
    if not bracket or not word.isalnum():
        return None
    try:
        return [compile(code, name, "eval", flags, True)]
    except SyntaxError:
        return None


def compile_in_two(code, name):
    """Compile the text before the last statement without a syntax tree, since making a tree of the
    whole program would double the time. Both parts must compile separately. Return None if they do
    not."""
    at = last_statement_start(code)
    if at == 0 or b"coding" in code[:200]:
        return None
    try:
        head = compile(code[:at], name, "exec", TOP_LEVEL_AWAIT, True)
        flags = TOP_LEVEL_AWAIT | head.co_flags & FUTURES
        tail = b"\n" * code.count(b"\n", 0, at) + code[at:]
        last = compile_call(tail, name, flags)
        if last is None:
            last = parts_of(compile(tail, name, "exec", flags | ONLY_AST, True), name, flags)
        return [head, *last]
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


def compile_whole(code, name):
    try:
        tree = compile(code, name, "exec", TOP_LEVEL_AWAIT | ONLY_AST, True)
        return parts_of(tree, name, TOP_LEVEL_AWAIT)
    except (MemoryError, RecursionError):
        # The tree is too large: compile without the value of the last expression.
        return [compile(code, name, "exec", TOP_LEVEL_AWAIT, True)]


def compiled(job):
    """Return the compiled program, or the exception about it or its files."""
    sources[job.name] = job.code
    if job.problem is not None:
        return job.problem
    try:
        return compile_in_two(job.code, job.name) or compile_call(job.code, job.name, TOP_LEVEL_AWAIT) or compile_whole(job.code, job.name)
    except BaseException as exc:
        return exc


# ---- the run ----


def display(*objects, raw=False, display_id=None, **_options):
    """Display objects: the caller receives their representations, in order with the output. With
    raw=True each object is a dict of MIME types and data. The other options are those of IPython;
    with display_id, a handle is returned."""
    own_module("display").display(objects, raw)
    return own_module("ipython").DisplayHandle(display_id) if display_id else None


def install_packages(*names):
    """Have packages installed by name and version: install_packages("polars>=1"). Afterwards they can be imported.
    Returns what was installed."""
    if not names or not all(isinstance(name, str) for name in names):
        raise TypeError("install_packages() takes names of packages")
    return own_module("tools").install_packages(*names)


def get_ipython():
    """The shell that cells of a session have; None for other programs, as in Python outside."""
    return own_module("magics").shell if has_shell else None


def fresh_module():
    module = type(sys)("__main__")
    module.__builtins__ = builtins  # as in every __main__
    return module


def add_program_folder(name, workspace, known_as):
    """Let a program whose name is below the workspace import the modules in its directory, as a
    script can. The caller knows the workspace by these paths."""
    for top in known_as:
        if name.startswith(top + "/"):
            folder = workspace + name[len(top) : name.rindex("/")]
            if folder not in sys.path:
                sys.path.insert(0, folder)


def become_main(module, job):
    module.__file__ = job.name
    module.__loader__ = Source(job.code)
    sys.modules["__main__"] = module


def wait_for(coroutine):
    """Run a top-level await. All cells share one event loop, so a cell can wait for a task that an
    earlier one created."""
    global _event_loop
    import asyncio

    if _event_loop is None or _event_loop.is_closed():
        _event_loop = asyncio.new_event_loop()
        asyncio.set_event_loop(_event_loop)
    task = _event_loop.create_task(coroutine)
    try:
        return _event_loop.run_until_complete(task)
    finally:
        if not task.done():  # interrupted
            task.cancel()
            _event_loop.run_until_complete(asyncio.wait([task]))


def close_event_loop():
    """Close the event loop; the next cell that awaits gets a new one. Return False if tasks are
    pending."""
    global _event_loop
    loop = _event_loop
    if loop is None or loop.is_closed():
        return True
    import asyncio

    if asyncio.all_tasks(loop):
        return False
    loop.close()
    asyncio.set_event_loop(None)
    _event_loop = None
    return True


def end_tasks():
    """Do what asyncio.run() does at its end."""
    if _event_loop is None or _event_loop.is_closed():
        return
    import asyncio

    tasks = asyncio.all_tasks(_event_loop)
    for task in tasks:
        task.cancel()
    if tasks:
        _event_loop.run_until_complete(asyncio.wait(tasks))
    _event_loop.run_until_complete(_event_loop.shutdown_asyncgens())
    _event_loop.close()


def evaluate(program, namespace):
    """Return the value of the last part; a statement has none. A part that is not code is a function
    that runs other parts (notebook.py)."""
    value = None
    for code in program:
        if callable(code):
            value = code(namespace)
            continue
        value = eval(code, namespace)
        if code.co_flags & COROUTINE:
            value = wait_for(value)
    return value


def describe_exit(exc):
    code = exc.code
    if code is None:
        code = 0
    elif not isinstance(code, int):
        print(code, file=sys.stderr)
        code = 1
    return (("kind", "exit"),), code


def describe_error(exc, name):
    try:
        return own_module("errors").describe_error(exc, name)
    except BaseException:  # the program broke imports, or there is no memory
        return (("kind", "error"), ("name", type.__dict__["__name__"].__get__(type(exc)))), 1


def show_rest(value):
    """Display figures that are still open, as users expect."""
    if "matplotlib.pyplot" in sys.modules and limits["display_mode"] == "all":
        own_module("figures").show_rest(value)


def run_to_value(program, module):
    """Run the program and report its value."""
    value = None
    try:
        if isinstance(program, BaseException):
            raise program
        value = evaluate(program, module.__dict__)
        if value is not None:
            own_module("display").give_value(value)
    finally:
        show_rest(value)


def run(program, module, name, reserve):
    """Run one cell. Return the claim and the exit code."""
    if "display" in _parts:
        _parts["display"].begin()
    try:
        run_to_value(program, module)
    except SystemExit as exc:
        return describe_exit(exc)
    except BaseException as exc:
        reserve.clear()
        return describe_error(exc, name)
    return OK, 0
