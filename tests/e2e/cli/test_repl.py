"""`remit repl`: a session at a terminal, and from a pipe."""

from __future__ import annotations

import os
import re
import signal
import termios
import time

import leftovers
import pytest
from conftest import PYTHON
from shared_keeper import SharedKeeper
from test_ask import Terminal
from waiting import until

LEFT, UP = "\x1b[D", "\x1b[A"
EDITING = re.compile(r"\r|\x1b\[K|\x1b\[\d+C")


class Repl(Terminal):
    COMMAND = ("repl", "--python", PYTHON)

    def until(self, text: str) -> str:
        """The prompt is redrawn at each key. The one that waits for input follows a newline."""
        return super().until("\n\r" + text if text in (">>> ", "... ") else text)

    def line(self, text: str, prompt: str = ">>> ") -> None:
        """Type a line at the next prompt."""
        self.until(prompt)
        self.type(text + "\r")

    def await_mode(self, wanted: int) -> None:
        """Wait until the terminal's ICANON bit is as wanted: set for lines, clear for keys."""
        until(lambda: termios.tcgetattr(self.ours)[3] & termios.ICANON == wanted)

    def out(self, text: str) -> str:
        """Type one cell at a prompt, and return what it shows."""
        self.line(text)
        self.until("\n")  # the end of the typed line
        shown = super().until("\r>>> ").removesuffix("\r>>> ")
        self.seen -= len("\n\r>>> ")
        return EDITING.sub("", shown)


@pytest.fixture(params=["cold", "warm"])
def repl(request, remit):
    shared = SharedKeeper(remit) if request.param == "warm" else None
    started = []

    def start(*args, **more):
        env = shared.env if shared else None
        started.append(Repl(remit, *args, env=env, **more))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()
    if shared:
        shared.close()
    assert not leftovers.remaining(lambda: leftovers.processes(remit.command))


def test_repl_runs_typed_lines(repl):
    one = repl()
    assert one.out("x = 41") == ""
    assert one.out("x + 1") == "42\n"
    assert one.out("'text'") == "'text'\n"
    assert one.out("_ * 2") == "'texttext'\n"
    assert "ZeroDivisionError: division by zero\n" in one.out("1/0")
    assert "SyntaxError" in one.out("x x")
    assert one.out("import asyncio; await asyncio.sleep(0, 'awaited')") == "'awaited'\n"
    assert one.out("x") == "41\n"
    one.until(">>> ")
    one.type("\x04")
    assert one.end() == (0, one.shown[one.seen :])


def test_repl_block_continues_until_empty_line(repl):
    one = repl()
    one.line("def f(n):")
    one.line("    return n * 2", "... ")
    one.line("", "... ")
    assert one.out("f(21)") == "42\n"
    one.line("'''a")
    one.line("b'''", "... ")
    one.until("\n")
    assert one.until("'a\\nb'\n")


def test_repl_ctrl_c_interrupts_cell_and_keeps_state(repl):
    one = repl("--timeout", "300s")
    assert one.out("kept = 5") == ""
    one.line("import time; print('begun'); time.sleep(300)")
    one.until("begun\n")
    one.type("\x03")
    one.until("KeyboardInterrupt")
    assert one.out("kept") == "5\n"


def test_repl_repeated_ctrl_c_reaches_cell_that_catches_it(repl):
    one = repl("--timeout", "300s")
    one.line("n = 0; import time")
    one.line("while n < 3:")
    one.line("    try: print(f'waits {n}\\n', end=''); time.sleep(300)", "... ")
    one.line("    except KeyboardInterrupt: n += 1", "... ")
    one.line("", "... ")
    for n in range(3):
        one.until(f"waits {n}")
        one.type("\x03")
    assert one.out("n") == "3\n"


def test_repl_ctrl_c_at_prompt_drops_line(repl):
    one = repl()
    one.until(">>> ")
    one.type("1 + 'half\x03")
    one.until("KeyboardInterrupt")
    one.line("if True:")
    one.until("... ")
    one.type("\x03")
    one.until("KeyboardInterrupt")
    assert one.out("6 * 7") == "42\n"


def test_repl_lines_are_edited_and_recalled(repl):
    one = repl()
    assert one.out("12" + LEFT + "0") == "102\n"
    assert one.out(UP + "\x7f3") == "103\n"
    assert one.out("'ä数'" + LEFT + "\x7f" + "🙂") == "'ä🙂'\n"


def test_repl_pasted_lines_run_one_after_the_other(repl):
    one = repl()
    one.until(">>> ")
    one.type("import time; time.sleep(0.3); a = 1\rb = 2\rif a:\r    c = a + b\r\rprint('sum', c)\r")
    one.until("sum 3\n")


def test_repl_input_is_typed_when_code_reads_it(repl):
    one = repl()
    one.line("name = input('who? ')")
    one.until("who? ")
    one.type("remit\n")
    one.until("\r>>> ")
    one.type("name\r")
    one.until("'remit'")
    one.line("import sys; sys.stdin.read()")
    one.until("\n")
    one.await_mode(termios.ICANON)
    one.type("a line\n\x04")
    one.until("'a line\\n'")


def test_repl_exit_ends_with_its_code(repl):
    one = repl()
    one.line("exit(3)")
    assert one.end()[0] == 3


def test_repl_reset_gives_fresh_jail(repl):
    one = repl()
    assert one.out("x = 1") == ""
    assert one.out("%reset") == ""
    assert "NameError" in one.out("x")
    assert "%reset" in one.out("%help")
    assert "%nonsense is not known here" in one.out("%nonsense")


def test_repl_continues_in_fresh_jail_after_jail_ended(repl):
    one = repl("--timeout", "3s")
    assert one.out("x = 1") == ""
    shown = one.out("import time; time.sleep(60)")
    assert "KeyboardInterrupt" in shown and "remit: timeout" in shown and "fresh jail" not in shown
    assert one.out("x") == "1\n"
    shown = one.out("import os; os.kill(os.getpid(), 9)")
    assert "killed" in shown and "fresh jail" in shown
    assert "NameError" in one.out("x")


def test_repl_control_codes_do_not_reach_terminal(repl):
    one = repl()
    assert "\x1b]0;" not in one.out("print('\\x1b]0;title\\x07')")


def test_repl_restores_terminal_when_killed(repl):
    one = repl()
    one.until(">>> ")
    one.await_mode(0)
    one.process.send_signal(signal.SIGTERM)
    assert one.process.wait(60) == -signal.SIGTERM
    assert termios.tcgetattr(one.ours)[3] & termios.ICANON


def test_repl_exports_artifacts_at_end(repl, remit):
    folder = remit.folder / f"repl-{os.getpid()}-{time.monotonic_ns()}"
    one = repl("--export", "*.txt", "--artifacts", folder)
    one.out("f = open('a.txt', 'w'); n = f.write('never closed')")
    one.until(">>> ")
    one.type("\x04")
    assert one.end()[0] == 0
    assert (folder / "a.txt").read_text() == "never closed"


# ---- without a terminal ----


def test_repl_reads_lines_from_pipe(remit):
    code = "x = 41\nx + 1\ndef f():\n    return x\n\nf()\nfor i in range(2):\n    print(i)"
    done = remit("repl", "--python", PYTHON, input=code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "42\n41\n0\n1\n", "")


def test_repl_error_in_pipe_sets_exit_code(remit):
    done = remit("repl", "--python", PYTHON, input="1/0\nprint('goes on')\n")
    assert done.returncode == 1 and done.stdout == "goes on\n" and "ZeroDivisionError" in done.stderr
    assert remit("repl", "--python", PYTHON, input="import sys\nsys.exit(7)\nprint('never')\n").returncode == 7
    assert remit("repl", "--python", PYTHON, input="input()\n").returncode == 1  # the pipe has only the code, so input() finds its end
    assert remit("repl", "--python", PYTHON, input="").returncode == 0


def test_repl_reads_very_long_lines_without_newline(remit):
    done = remit("repl", "--python", PYTHON, input="len('" + "x" * 50_000 + "')")
    assert done.stdout == "50000\n", done.stderr[-500:]
    done = remit("repl", "--python", PYTHON, input="x" * 200_000 + "\nprint('goes on')\n")
    assert "goes on\n" in done.stdout and done.returncode == 1


def test_repl_misuse_is_error(any_remit):
    assert any_remit("repl", "--nonsense").returncode == 2
    done = any_remit("repl", "--artifacts", "/tmp/x")
    assert done.returncode == 2 and "--export" in done.stderr
    done = any_remit("repl", "--tier", "static")
    assert done.returncode == 125 and "runs no code" in done.stderr


def test_notebook_lines_can_be_typed(repl):
    one = repl()
    assert one.out("x = 5") == ""
    assert "Type: int" in one.out("x?")
    assert "subprocess_execution (--subprocess)" in one.out("!ls")
    one.line("if x:")
    one.line("    !ls", "... ")
    one.line("", "... ")
    one.until("subprocess_execution (--subprocess)")
    assert one.out("%pwd") == "'/workspace'\n"
    assert "Wall time" in one.out("%time y = x + 1")
    assert one.out("y") == "6\n"
    one.line("%%writefile a.txt")
    one.line("text", "... ")
    one.line("", "... ")
    one.until("Writing a.txt")
    assert one.out("open('a.txt').read()") == "'text\\n'\n"
    assert "SyntaxError" in one.out("x x")
