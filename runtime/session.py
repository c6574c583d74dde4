"""The cells of a session, one after the other, in one interpreter.

Between cells nothing of the code runs but its threads. An interrupt is for the
cell that runs; one that comes just before its first line is kept for it, and
one that comes after its last is dropped.
"""

import _signal
import linecache
import posix
import sys

import records

_pending = False


def _note(_signal_number, _frame):
    """Outside of a cell."""
    global _pending
    _pending = True


def _interruptible():
    _signal.signal(_signal.SIGINT, _signal.default_int_handler)
    global _pending
    if _pending:
        _pending = False
        raise KeyboardInterrupt


def _quiet():
    _signal.signal(_signal.SIGINT, _note)


class Cell:
    """One job of many."""

    def __init__(self, folder, inputs):
        self.problem = None  # with one of its files
        self.closes = False
        kind, payload = records.receive()
        if kind == records.FILE:
            records.give_back(records.frame(kind, payload))
            self.problem = inputs().receive(folder)
            kind, payload = records.receive()
        if kind == records.CLOSE:
            self.closes = True
            return
        if kind != records.JOB:
            raise RuntimeError(f"the keeper sent frame {kind} and not a job")
        pairs = records.parse(payload)
        said = dict(pairs)
        self.name = said["name"]
        self.argv = [value for key, value in pairs if key == "argv"]
        self.interactive = "interactive" in said
        self.stirred = "stirred" in said
        self.code = receive_code(int(said["code_bytes"]))


def receive_code(missing):
    code = b""
    while len(code) < missing:
        kind, piece = records.receive()
        if kind != records.CODE:
            raise RuntimeError("the keeper did not send all of the code")
        code += piece
    return code


def compiled(runner, cell):
    """The code, what was wrong with it, or None: it is not complete yet."""
    if not cell.interactive or cell.problem is not None:
        return runner.compiled(cell)
    import codeop

    try:
        return codeop.compile_command(cell.code.decode(), cell.name, "single")
    except BaseException as exc:
        return exc


def execute(runner, cell, program, module, reserve):
    """Run it. What to claim and the exit code, whenever interrupts come."""
    outcome = None
    while True:
        try:
            if outcome is None:
                _interruptible()
                outcome = runner.execute(program, module, cell.name, reserve)
            _quiet()
            return outcome
        except KeyboardInterrupt as exc:  # before its first line, or after its last
            if outcome is None:
                outcome = runner.describe_error(exc, cell.name)


def remember_lines(cell):
    """For tracebacks, also of later cells that call what was defined here."""
    lines = cell.code.decode("utf-8", "replace").splitlines(True)
    linecache.cache[cell.name] = len(cell.code), None, lines, cell.name


def new_stdin():
    """What the last cell has read ahead is not this one's."""
    sys.stdin = open(0, encoding="utf-8", errors="strict", closefd=False)


def perform(runner, task, cell, module, reserve):
    """One cell from its arrival to its end."""
    global _pending
    if cell.stirred:
        _pending = False
    sys.argv[:] = [cell.name, *cell.argv]
    new_stdin()
    remember_lines(cell)
    module.__file__ = cell.name
    program = compiled(runner, cell)
    if program is None:
        return (("kind", "ok"), ("incomplete", "yes")), 0
    if task.is_checked() and not runner.is_let_through(task, cell, program):
        return None
    return execute(runner, cell, program, module, reserve)


def serve(runner, task, module, reserve):
    """Until the keeper says that it was the last one."""
    own = posix.getpid()
    folder = posix.getcwd()
    sys.modules["__main__"] = module
    before = runner.old_collections()
    _quiet()
    records.send(records.WARM)
    while True:
        cell = Cell(folder, lambda: runner.own_module("inputs"))
        if cell.closes:
            runner.wind_down(module, before)
            return runner.OK, 0
        outcome = perform(runner, task, cell, module, reserve)
        if posix.getpid() != own:  # a fork of the code: its end is its own affair
            runner.flush()
            posix._exit(outcome[1] & 0xFF)
        runner.flush()
        if outcome:
            records.put(runner.ended(*outcome))
