"""Terminals of E2B's clients: pseudo-terminals that belong to one jail alone."""

from __future__ import annotations

import base64
import json

import leftovers
import pytest
from conftest import make_remit, users
from served import serve
from test_e2b import COMMANDS, Box, boxed, event, stream
from test_e2b_commands import kill, output, running, value
from waiting import until


@pytest.fixture(scope="module", params=users())
def one(request, stage):
    remit = make_remit(request.param, stage)
    with serve(remit, *COMMANDS, "--timeout", "2m") as served:
        yield served
    assert not leftovers.remaining(lambda: leftovers.processes(remit.command)), "processes are left"


class Terminal:
    """A program in a terminal, as E2B's clients start one."""

    def __init__(self, box: Box, *argv: str, cols: int = 80, rows: int = 24):
        process = {"cmd": argv[0], "args": list(argv[1:]), "envs": {"TERM": "xterm", "PS1": "$ "}}
        self.box = box
        self.answer = stream(box, "/process.Process/Start", {"process": process, "pty": {"size": {"cols": cols, "rows": rows}}})
        self.pid = event(self.answer)["event"]["start"]["pid"]
        self.seen = b""

    def type(self, text: str, status: int = 200) -> dict:
        sent = {"process": {"pid": self.pid}, "input": {"pty": base64.b64encode(text.encode()).decode()}}
        return self.box.json("POST", "/process.Process/SendInput", sent, status=status)

    def resize(self, cols: int, rows: int, status: int = 200) -> dict:
        return self.box.json("POST", "/process.Process/Update", {"process": {"pid": self.pid}, "pty": {"size": {"cols": cols, "rows": rows}}}, status=status)

    def until(self, words: bytes) -> bytes:
        """Read to these words, and return what came before them."""
        while words not in self.seen:
            message = event(self.answer)
            assert "data" in message.get("event", {}), (message, self.seen)
            self.seen += base64.b64decode(message["event"]["data"]["pty"])
        before, _, self.seen = self.seen.partition(words)
        return before

    def end(self) -> dict:
        while "end" not in (message := event(self.answer)).get("event", {}):
            assert "data" in message.get("event", {}), message
            self.seen += base64.b64decode(message["event"]["data"]["pty"])
        self.answer.close()
        return message["event"]["end"]


def test_terminal_has_a_size_a_name_and_jobs(one):
    with boxed(one) as box:
        shell = Terminal(box, "/bin/bash", "--norc", "--noediting", "-i", cols=100, rows=30)
        shell.type("stty size; tty; echo d''one\n")
        assert b"30 100\r\n/dev/pts/0\r\n" in shell.until(b"done\r\n")
        shell.resize(44, 11)
        shell.type("stty size; echo d''one\n")
        assert b"11 44\r\n" in shell.until(b"done\r\n")
        # Ctrl-C reaches the job and not the shell.
        shell.type("sh -c 'echo o''n; exec sleep 100'\n")
        shell.until(b"on\r\n")
        shell.type("\x03")
        shell.type("echo $?; echo d''one\n")
        assert b"130\r\n" in shell.until(b"done\r\n")
        assert value(box, "6 * 7") == "42"  # beside the terminal
        shell.type("exit 5\n")
        assert shell.end()["exitCode"] == 5
        assert running(box) == []


def test_terminal_is_killed_and_hung_up(one):
    with boxed(one) as box:
        shell = Terminal(box, "/bin/bash", "--norc", "--noediting", "-i")
        shell.type("sh -c 'echo p''id=$$.; exec sleep 100'\n")
        shell.until(b"pid=")
        job = int(shell.until(b".\r\n"))
        assert job != shell.pid and output(box, f"kill -0 {job} && echo runs") == "runs\n"
        kill(box, shell.pid)
        assert shell.end()["status"] == "signal: 9"
        # The job has a process group of its own: the terminal has hung up.
        assert until(lambda: output(box, f"kill -0 {job} 2> /dev/null || echo gone")) == "gone\n"
        assert box.json("POST", "/process.Process/Update", {"process": {"pid": shell.pid}, "pty": {"size": {"cols": 1, "rows": 1}}}, status=404)


def test_program_may_close_its_terminal_before_it_ends(one):
    with boxed(one) as box:
        shell = Terminal(box, "/bin/sh", "-c", "exec <&- >&- 2>&-; sleep 0.5; exit 7")
        assert shell.end()["exitCode"] == 7


def test_requests_for_terminals_are_checked(one):
    with boxed(one) as box:
        for size in ({}, {"cols": 0, "rows": 5}, {"cols": 5}, {"cols": 70000, "rows": 5}, {"cols": "5", "rows": 5}):
            answer = stream(box, "/process.Process/Start", {"process": {"cmd": "true", "args": []}, "pty": {"size": size}})
            assert event(answer)["error"]["code"] == "invalid_argument"
            answer.close()
        shell = Terminal(box, "/bin/cat")
        assert shell.resize(0, 5, 400)["code"] == "invalid_argument"
        sent = {"process": {"pid": shell.pid}, "input": {"stdin": base64.b64encode(b"x").decode()}}
        assert box.json("POST", "/process.Process/SendInput", sent, status=400)["code"] == "invalid_argument"
        shell.type("echoed\n")
        shell.until(b"echoed\r\nechoed")
        shell.type("\x04")
        end = shell.end()
        assert end["exitCode"] == 0, end
        plain = stream(box, "/process.Process/Start", {"process": {"cmd": "sleep", "args": ["100"]}})
        pid = event(plain)["event"]["start"]["pid"]
        assert box.json("POST", "/process.Process/Update", {"process": {"pid": pid}, "pty": {"size": {"cols": 9, "rows": 9}}}, status=400)["code"] == "failed_precondition"
        plain.close()


def test_sandbox_without_programs_has_no_terminal(stage):
    with serve(make_remit(users()[0], stage)) as served, boxed(served) as box:
        answer = stream(box, "/process.Process/Start", {"process": {"cmd": "true", "args": []}, "pty": {"size": {"cols": 5, "rows": 5}}})
        assert event(answer)["error"]["code"] == "permission_denied"
        answer.close()
        assert value(box, "import os\ntry: os.openpty()\nexcept OSError as e: print(e.errno)") == "2\n"
        assert value(box, "os.path.exists('/dev/pts')") == "False"


# ---- hostile programs ----

REQUESTS = """
import errno, fcntl, os, struct
master, slave = os.openpty()
refused = []
for name, request, argument in (
    ("TIOCSTI", 0x5412, b"x"),        # types for another process
    ("TIOCLINUX", 0x541C, b"\\x02"),   # selects and pastes at the console
    ("TIOCCONS", 0x541D, 0),          # takes the console's output
    ("TIOCSETD", 0x5423, struct.pack("i", 21)),  # loads a line discipline
    ("TIOCVHANGUP", 0x5437, 0),
    ("TIOCSTI", 0x5412 | 1 << 31, b"x"),
):
    for fd in (master, slave, 0, 1, 2):
        try: fcntl.ioctl(fd, request, argument)
        except OSError as e: refused.append(e.errno)
        except OverflowError: refused.append(errno.ENOTTY)
        else: print("ALLOWED", name, fd)
print(set(refused) <= {errno.ENOTTY, errno.EPERM}, len(refused))
"""


def test_terminal_types_for_nobody(one):
    """The requests that made terminals dangerous are refused by the filter: in a cell, a command and a terminal."""
    with boxed(one) as box:
        assert value(box, REQUESTS) == "True 30\n"
        box.execute(f"open('requests.py', 'w').write({REQUESTS!r})")
        assert output(box, "python3 requests.py") == "True 30\n"
        terminal = Terminal(box, "/bin/sh", "-c", "python3 requests.py; echo over")
        assert b"True 30" in terminal.until(b"over")
        terminal.answer.close()


NAMES = "import os; print(sorted(os.listdir('/dev/pts')))"


def test_terminals_of_two_jails_do_not_meet(one):
    """Each has an instance of devpts: the same name means another terminal, and there is no way to the other's or to the host's."""
    with boxed(one) as box, boxed(one) as other:
        assert value(box, NAMES) == value(other, NAMES) == "['ptmx']\n"
        first, second = (Terminal(b, "/bin/sh", "-c", "stty -echo; echo ready; cat > heard") for b in (box, other))
        for terminal in (first, second):
            terminal.until(b"ready\r\n")
        assert value(box, NAMES) == value(other, NAMES) == "['0', 'ptmx']\n"
        # Writing to the terminal of that name, by its number too, reaches the jail's own.
        assert output(box, "echo intruder > /dev/pts/0; python3 -c \"import os; os.mknod('/tmp/pts', 0o20666, os.makedev(136, 0))\" 2>&1 | tail -1").startswith("PermissionError")
        assert b"intruder" in first.until(b"intruder") + b"intruder"
        second.type("typed\n\x04")
        assert second.end()["exitCode"] == 0
        assert second.seen == b"" and output(other, "cat heard") == "typed\n"
        first.type("\x04")
        assert first.end()["exitCode"] == 0
        assert value(box, NAMES) == "['ptmx']\n"


def test_terminals_of_a_jail_are_limited_in_number(one):
    with boxed(one) as box:
        code = "import os\nopened = []\ntry:\n    while True: opened += os.openpty()\nexcept OSError as e: print(len(opened) // 2, e.errno)\n[os.close(fd) for fd in opened]"
        count, number = value(box, code).split()[:2]
        assert 1 <= int(count) <= 32 and number in ("28", "24", "5"), (count, number)  # ENOSPC of devpts, or the limit of descriptors
        terminal = Terminal(box, "/bin/echo", "again")
        terminal.until(b"again")
        terminal.answer.close()


def test_window_titles_and_other_sequences_stay_data(one):
    """The server forwards what a program writes as base64, and nothing on the way interprets it."""
    sequences = b"\x1b]0;title\x07\x1b[21t\x1bP$q\"p\x1b\\\x1b]52;c;aGk=\x07\x00\xff"
    with boxed(one) as box:
        terminal = Terminal(box, "python3", "-c", f"import os; os.write(1, {sequences!r}); print('over')")
        assert terminal.until(b"over") == sequences
        assert terminal.end()["exitCode"] == 0


def test_terminal_does_not_outlive_its_jail(one):
    """A process that left the session of its terminal and keeps it open ends with the jail, and the terminal with it."""
    keep = "import os, time\nif os.fork() == 0:\n    os.setsid()\n    open('kept', 'w').close()\n    time.sleep(100)\nwhile not os.path.exists('kept'): time.sleep(0.05)\nprint('left')\ntime.sleep(100)"
    with boxed(one) as box:
        terminal = Terminal(box, "python3", "-c", keep)
        terminal.until(b"left")
        box.execute("import os; os._exit(1)")
        message = event(terminal.answer)
        assert message["error"]["code"] == "unavailable", message
        terminal.answer.close()
        assert box.json("POST", "/contexts/main/restart") is None
        assert value(box, NAMES) == "['ptmx']\n"


def test_output_of_a_terminal_ends_at_the_ceiling(stage):
    with serve(make_remit(users()[-1], stage), *COMMANDS, "--stdout-max", "10k", "--output-ceiling", "3") as served, boxed(served) as box:
        terminal = Terminal(box, "/bin/sh", "-c", "yes")
        got = b""
        while "data" in (message := event(terminal.answer)).get("event", {}):
            got += base64.b64decode(message["event"]["data"]["pty"])
        assert message["error"]["code"] == "resource_exhausted" and "output_ceiling" in message["error"]["message"], message
        assert len(got) == 30 * 1024 and json.dumps(message)
        terminal.answer.close()
