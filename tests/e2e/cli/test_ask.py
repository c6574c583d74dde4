"""remit run --ask: denied access is offered at the terminal, and only the terminal can answer."""

import fcntl
import json
import os
import pty
import select
import signal
import stat
import subprocess
import termios
import time

import pytest

from conftest import skip_or_fail
from shared_keeper import SharedKeeper
from waiting import PATIENCE, until

PROMPT = "[n] "
SOCKET = "import socket\ntry: socket.socket().close()\nexcept OSError: print('refused')\nelse: print('opened')\n"
# Lets an ordinary user have the network without a memory cgroup
NET = ("--memory-fallback", "per_process")


def take_terminal(fd: int) -> None:
    """Make this the controlling terminal, with the default action for its keys' signals, which a shell ignores in
    what it starts in the background."""
    for key in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(key, signal.SIG_DFL)
    fcntl.ioctl(fd, termios.TIOCSCTTY, 0)


class Terminal:
    """A command with its own terminal, and what the terminal shows."""

    COMMAND = ("run", "--ask")

    def __init__(self, remit, *args, env=None, **more):
        self.ours, theirs = pty.openpty()
        state = termios.tcgetattr(theirs)
        state[3] &= ~termios.ECHO
        termios.tcsetattr(theirs, termios.TCSANOW, state)
        more = {"stdin": theirs, "stdout": theirs, "stderr": theirs, **more}
        self.process = remit.popen(
            *self.COMMAND, *args, env={"REMIT_KEEPER": "", **(env or {})}, start_new_session=True,
            preexec_fn=lambda: take_terminal(theirs), pass_fds=(theirs,), **more,
        )  # fmt: skip
        os.close(theirs)
        self.shown = ""
        self.bytes = b""
        self.seen = 0

    def read(self) -> bool:
        """Read once. Return False at the end."""
        ready, _, _ = select.select([self.ours], [], [], PATIENCE)
        assert ready, self.shown
        try:
            piece = os.read(self.ours, 65536)
        except OSError:  # the other side is closed
            return False
        self.bytes += piece
        self.shown = self.bytes.decode().replace("\r\n", "\n")
        return bool(piece)

    def until(self, text: str) -> str:
        """Return what was shown since the last call, up to and including this text."""
        while text not in self.shown[self.seen :]:
            assert self.read(), self.shown
        end = self.shown.index(text, self.seen) + len(text)
        part = self.shown[self.seen : end]
        self.seen = end
        return part

    def answer(self, text: str) -> str:
        """Answer the next question, and return the question."""
        question = self.until(PROMPT)
        self.type(text + "\n")
        return question

    def type(self, text: str) -> None:
        os.write(self.ours, text.encode())

    def end(self) -> tuple[int, str]:
        """Return the exit code and the rest of the output."""
        while self.read():
            pass
        os.close(self.ours)
        return self.process.wait(timeout=PATIENCE), self.shown[self.seen :]


@pytest.fixture(params=["cold", "warm"])
def ask(request, remit):
    """Starts `run --ask`, cold or warm."""
    if request.param == "cold":
        yield lambda *args, **more: Terminal(remit, *args, **more)
        return
    keeper = SharedKeeper(remit)
    # The keeper is found by its place, not named in a variable: a private keeper then does what this one cannot do.
    place = remit.folder / "runtime"
    (place / "remit").mkdir(parents=True, exist_ok=True)
    link = place / "remit" / "keeper.sock"
    link.unlink(missing_ok=True)
    keeper.path.rename(link)
    keeper.path, keeper.env = link, {"XDG_RUNTIME_DIR": str(place)}
    yield lambda *args, **more: Terminal(Found(remit), *args, env=keeper.env, **more)
    keeper.close()


class Found:
    """Starts commands without REMIT_KEEPER."""

    def __init__(self, remit):
        self.remit = remit

    def popen(self, *args, env, **more):
        del env["REMIT_KEEPER"]
        return self.remit.popen(*args, env=env, **more)


@pytest.fixture
def make_data():
    """Makes a file on the host."""
    return lambda remit: remit.file("data/in.txt", "of the host").resolve()


@pytest.fixture
def data(remit, make_data):
    return make_data(remit)


def read_program(path) -> tuple[str, str]:
    return ("-c", f"print('read', open({str(path)!r}).read())")


# ---- once, always, no ----


def test_once_answer_reruns_with_flag(ask, data):
    t = ask(*read_program(data))
    question = t.answer("o")
    assert f'remit: the program reports that it was refused: path "{data}" (ENOENT)\n' in question
    assert f'       Allow --read "{data}" (' in question and "always needs --policy FILE" in question
    code, rest = t.end()
    assert (code, rest.strip()) == (0, "read of the host")


@pytest.mark.parametrize("word", ["", "n", "no", "zebra\nzebra\nzebra", "a\na\na"])
def test_other_answer_than_yes_is_no(remit, data, word):
    t = Terminal(remit, *read_program(data))
    for line in word.split("\n"):
        t.answer(line)
    code, rest = t.end()
    assert code == 1 and rest.strip() == "" and t.shown.count("Traceback") == 1


def test_end_of_terminal_is_no(remit, data):
    t = Terminal(remit, *read_program(data))
    t.until(PROMPT)
    t.type("\x04")
    assert t.end() == (1, "")


@pytest.mark.parametrize("key, code", [("\x03", 1), ("\x1c", -3)])
def test_signal_is_no(remit, data, key, code):
    t = Terminal(remit, *read_program(data))
    t.until(PROMPT)
    t.type(key)
    assert t.end()[0] == code and t.shown.count("Traceback") == 1


def test_once_answer_keeps_policy_file_and_always_writes_it(ask, remit, data):
    text = '{\n    "timeout":  20.0,\n\t"filesystem_read_roots": [],\n    "env": {"A": "\\u0041"}\n}\n'
    policy = remit.file("asked.json", text)
    policy.chmod(0o640)
    before = os.stat(policy)
    t = ask("--policy", policy, *read_program(data))
    t.answer("o")
    assert t.end()[0] == 0 and policy.read_text() == text
    t = ask("--policy", policy, *read_program(data))
    assert f'always (writes "{policy}")' in t.answer("a")
    assert t.end()[0] == 0
    assert policy.read_text() == text.replace("[]", f'["{data}"]')
    after = os.stat(policy)
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert stat.S_IMODE(after.st_mode) == 0o640
    t = ask("--policy", policy, *read_program(data))
    assert t.end() == (0, "read of the host\n")
    assert [p.name for p in remit.folder.iterdir() if p.name.startswith(".remit")] == []


def test_network_and_file_are_two_questions(ask, remit, data):
    policy = remit.file("two.json", '{"memory_fallback": "per_process"}')
    t = ask("--policy", policy, "-c", SOCKET * 3 + read_program(data)[1])
    first = t.answer("a")
    assert "the program was refused: socket(AF_INET, SOCK_STREAM) ×3\n" in first and "Allow --net (" in first
    second = t.answer("o")
    assert f'Allow --read "{data}"' in second and "the program reports" in second
    code, rest = t.end()
    assert (code, rest.split()) == (0, ["opened"] * 3 + ["read", "of", "the", "host"])
    assert json.loads(policy.read_text()) == {"memory_fallback": "per_process", "network_access": True}


def test_refused_question_is_not_repeated(remit, data):
    t = Terminal(remit, *NET, "-c", SOCKET + read_program(data)[1])
    assert "--net" in t.answer("n")
    assert "--read" in t.answer("o")
    code, rest = t.end()
    assert code == 0 and "refused" in rest and "read of the host" in rest and PROMPT not in rest


def test_questions_are_limited_in_number(remit):
    """Each run wants another file, and the user always agrees."""
    for i in range(20):
        remit.file(f"many/{i}", "x")
    folder = (remit.folder / "many").resolve()
    t = Terminal(remit, "-c", f"for i in range(20): open({str(folder)!r} + '/%d' % i)")
    for i in range(16):
        assert f"/many/{i}\"" in t.answer("o")
    code, rest = t.end()
    assert code == 1 and PROMPT not in rest and f'path "{folder}/16"' in rest


def test_grant_that_does_not_help_is_offered_once(remit):
    """The host itself forbids the access, or the program only claims it."""
    folder = (remit.folder / "claim").resolve()
    folder.mkdir(exist_ok=True)
    t = Terminal(remit, "-c", f"raise OSError(13, 'claimed', {str(folder)!r})")
    t.answer("o")
    code, rest = t.end()
    assert code == 1 and PROMPT not in rest and t.shown.count("Traceback") == 2


# ---- without a terminal ----


def test_ask_without_terminal_is_refused(remit, data):
    done = remit("run", "--ask", *read_program(data), start_new_session=True)
    assert done.returncode == 2 and done.stdout == "" and "--ask needs a terminal" in done.stderr


@pytest.mark.parametrize("flag", ["--json", "--raw"])
def test_ask_with_json_or_raw_is_refused(any_remit, flag):
    """`--json` is for programs, and with `--raw` a program could draw over a question."""
    done = any_remit("run", "--ask", flag, "-c", "print(1)", start_new_session=True)
    assert done.returncode == 2 and done.stdout == "" and flag in done.stderr


def test_run_without_denial_asks_nothing(remit):
    assert Terminal(remit, "-c", "print(1)").end() == (0, "1\n")
    t = Terminal(remit, "-c", "import ctypes; ctypes.CDLL(None).mount(b'a', b'b', b'c', 0, 0)")
    code, rest = t.end()
    assert code == 0 and PROMPT not in rest and "no policy field allows it" in rest


# ---- only what helps ----


def test_missing_file_is_not_offered(remit):
    t = Terminal(remit, "-c", "open('/srv/no/such/file')")
    code, rest = t.end()
    assert code == 1 and PROMPT not in rest
    assert '--read "/srv/no/such/file" would not help: it does not exist on the host' in rest


def test_link_is_not_offered(remit, data):
    link = data.parent / "link"
    if not link.is_symlink():
        link.symlink_to("/etc/passwd")
    t = Terminal(remit, *read_program(link))
    code, rest = t.end()
    assert code == 1 and PROMPT not in rest and 'is a link to "/etc/passwd"' in rest


def test_path_refused_by_plan_is_not_offered(remit, data):
    """One read root lies inside another."""
    t = Terminal(remit, "--read", data, "-c", f"raise OSError(2, 'x', {str(data.parent)!r})")
    code, rest = t.end()
    assert code == 1 and PROMPT not in rest and "would not help: filesystem_read_roots: " in rest and "is inside" in rest


def test_jail_s_own_paths_are_not_offered(remit):
    t = Terminal(remit, "-c", "raise OSError(2, 'x', '/proc/1/mem')")
    code, rest = t.end()
    assert code == 1 and PROMPT not in rest


# ---- the policy file ----


@pytest.mark.parametrize("shape, word", [("link", "is a symbolic link"), ("hard", "with a single name")])
def test_policy_file_with_other_names_is_not_written(remit, data, shape, word):
    policy = remit.file("real.json", "{}")
    other = remit.folder / "other.json"
    other.unlink(missing_ok=True)
    other.symlink_to(policy) if shape == "link" else other.hardlink_to(policy)
    t = Terminal(remit, "--policy", other, *read_program(data))
    t.answer("a")
    code, rest = t.end()
    assert code == 0 and "remit: allowed only once: " in rest and word in rest and "read of the host" in rest
    assert policy.read_text() == "{}" and other.is_symlink() == (shape == "link")
    other.unlink()


@pytest.mark.parametrize("obstacle, word", [("folder", "create a new file next to"), ("group", "cannot keep its owner, group and mode")])
def test_policy_file_that_cannot_be_written_is_left_unchanged(any_remit, make_data, obstacle, word):
    data = make_data(any_remit)
    policy = any_remit.file("closed/policy.json", "{}")
    any_remit.own(policy.parent)
    if obstacle == "folder":
        policy.parent.chmod(0o555)
    elif os.geteuid() != 0:
        skip_or_fail("only root can give a file to another group")
    else:
        os.chown(policy, -1, 0)
    t = Terminal(any_remit, "--policy", policy, *read_program(data))
    t.answer("a")
    code, rest = t.end()
    policy.parent.chmod(0o755)
    assert code == 0 and "allowed only once: " in rest and word in rest and policy.read_text() == "{}"
    assert [p.name for p in policy.parent.iterdir()] == ["policy.json"]


def test_policy_file_changed_meanwhile_keeps_its_change(remit, data):
    """The file is read when the answer arrives, not when the run begins."""
    policy = remit.file("changing.json", "{}")
    t = Terminal(remit, "--policy", policy, *read_program(data))
    t.until(PROMPT)
    policy.write_text('{"timeout": 9}')
    t.type("a\n")
    assert t.end()[0] == 0
    assert json.loads(policy.read_text()) == {"timeout": 9, "filesystem_read_roots": [str(data)]}


def test_policy_file_is_whole_after_kill(remit, data):
    """It has the old content or the new content, whenever the process is killed."""
    old = '{"timeout": 9}'
    new = '{"timeout": 9, "filesystem_read_roots": ["%s"]}' % data
    for n in range(31):
        policy = remit.file("killed.json", old)
        t = Terminal(remit, "--policy", policy, *read_program(data))
        t.until(PROMPT)
        t.type("a\n")
        if n < 30:
            time.sleep(n * 0.0002)  # another moment in each round
        else:
            until(lambda: policy.read_text() != old)
        t.process.kill()
        t.end()
        assert policy.read_text() in (old, new)
    assert policy.read_text() == new
    for left in remit.folder.glob(".remit-policy-*"):
        left.unlink()


def test_two_policy_files_offer_no_always(remit, data):
    one, two = remit.file("one.json", "{}"), remit.file("two.json", "{}")
    t = Terminal(remit, "--policy", one, "--policy", two, *read_program(data))
    assert "always needs one --policy FILE" in t.answer("a")
    t.answer("n")
    assert t.end()[0] == 1 and one.read_text() == two.read_text() == "{}"


# ---- input ----

ECHO = "import sys\nprint('got', sys.stdin.read())\n"


def test_piped_input_is_replayed(ask, data):
    t = ask("-c", ECHO + read_program(data)[1], stdin=subprocess.PIPE)
    t.process.stdin.write(b"once upon a time")
    t.process.stdin.close()
    t.answer("o")
    code, rest = t.end()
    assert code == 0 and rest.strip() == "got once upon a time\nread of the host"


def test_file_input_is_replayed_from_its_offset(remit, data):
    with open(remit.file("input.txt", "skipped kept"), "rb") as f:
        os.lseek(f.fileno(), 8, os.SEEK_SET)
        t = Terminal(remit, "-c", ECHO + read_program(data)[1], stdin=f)
        t.answer("o")
        code, rest = t.end()
    assert code == 0 and rest.strip() == "got kept\nread of the host"


def test_piped_input_above_limit_is_error(remit):
    t = Terminal(remit, "--stdin-max", "10", "-c", ECHO, stdin=subprocess.PIPE)
    t.process.stdin.write(b"x" * 11)
    t.process.stdin.close()
    code, rest = t.end()
    assert code == 2 and "--stdin-max" in rest and "got" not in rest


def test_program_from_pipe_is_run_again(remit, data):
    t = Terminal(remit, "-", stdin=subprocess.PIPE)
    t.process.stdin.write(read_program(data)[1].encode())
    t.process.stdin.close()
    t.answer("o")
    assert t.end() == (0, "read of the host\n")


def test_keys_typed_before_question_are_not_an_answer(remit, data):
    """Keys that were typed before the question are discarded."""
    go = remit.file("typed/go").resolve()
    go.unlink()
    wait = f"import os, time\nprint('ready', flush=True)\nwhile not os.path.exists({str(go)!r}): time.sleep(0.01)\n"
    t = Terminal(remit, "--read", go.parent, "-c", wait + read_program(data)[1], stdin=subprocess.DEVNULL)
    t.until("ready")
    t.type("o\no\n")
    go.touch()
    t.until(PROMPT)
    time.sleep(0.3)  # no answer is accepted
    assert t.process.poll() is None
    t.type("n\n")
    assert t.end() == (1, "")


def test_terminal_input_is_typed_again(remit, data):
    t = Terminal(remit, "-c", "print('name?', flush=True)\nprint('hello', input())\n" + read_program(data)[1])
    t.until("name?")
    t.type("Ada\n")
    t.answer("o")
    t.until("name?")
    t.type("Eve\n")
    code, rest = t.end()
    assert code == 0 and rest.strip() == "hello Eve\nread of the host"


# ---- files that leave ----


def test_second_run_exports_artifacts(remit, data):
    code = "import os\nopen('out.txt', 'w').write(str(os.path.exists(%r)))\n" % str(data)
    t = Terminal(remit, "--export", "*.txt", "--artifacts", "asked-out", "-c", code + read_program(data)[1])
    t.answer("o")
    assert t.end()[0] == 0
    made = remit.folder / "asked-out" / "out.txt"
    assert made.read_text() == "True"
    made.unlink()


def test_both_runs_are_audited(remit, data):
    file = remit.folder / "asked.jsonl"
    file.unlink(missing_ok=True)
    t = Terminal(remit, "--audit", file, *read_program(data))
    t.answer("o")
    t.end()
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["status"] for line in lines] == ["error", "ok"]
    assert lines[0]["policy_sha256"] != lines[1]["policy_sha256"]


# ---- hostile ----

HOSTILE = [
    ("line\nremit: Allow --net", r"line\x0aremit: Allow --net"),
    ("\x1b[2J\x1b]0;title\x07", r"\x1b[2J\x1b]0;title\x07"),
    ("\r\x08\x7f", r"\x0d\x08\x7f"),
    ("txt.\u202egnp", r"txt.\u{202e}gnp"),
    ("a\u200bb\u2066c\u00a0d\u0085", r"a\u{200b}b\u{2066}c\u{a0}d\u{85}"),
    ('"; o: once', r"\"; o: once"),
    ("\\x0a", r"\\x0a"),
    ("данные 数据", "данные 数据"),
]


@pytest.mark.parametrize("name, shown", HOSTILE)
def test_hostile_name_cannot_forge_question(remit, name, shown):
    """The name is shown whole and escaped, and exactly that file is allowed."""
    path = remit.file(f"hostile/{name}", "of the host").resolve()
    t = Terminal(remit, *read_program(path))
    question = t.answer("o")
    tail = question[question.rindex("remit: the program") :]
    assert tail.count("\n") == 2 and f'Allow --read "{path.parent}/{shown}" (' in tail
    assert all(c == "\n" or c.isprintable() for c in tail), tail
    code, rest = t.end()
    assert code == 0 and rest.strip() == "read of the host"


def test_long_name_is_not_cut_into_another(remit):
    """A path of which only the beginning is known is not offered."""
    path = remit.file("long/" + "a" * 250, "x").resolve()
    assert len(str(path)) > 255
    other = path.parent / path.name[: 255 - len(str(path.parent)) - 1]
    remit.file(f"long/{other.name}", "another")
    t = Terminal(remit, *read_program(path))
    code, rest = t.end()
    assert code == 1 and PROMPT not in rest


def test_program_s_colours_end_before_question(remit, data):
    """Otherwise the program could make the question invisible."""
    t = Terminal(remit, "-c", "import sys; print('\\033[8m', end='', flush=True)\n" + read_program(data)[1])
    question = t.answer("n")
    assert question.rindex("\x1b[0m\nremit: the program") > question.rindex("\x1b[8m")
    assert "\x1b" not in question[question.rindex("\x1b[0m") + 1 :]
    t.end()


def test_question_about_many_kinds_has_bounded_length(remit):
    code = "import os\nfor i in range(60):\n    try: os.execv('/' + chr(0x202e) + 'x' * 200 + str(i), ['x'])\n    except OSError: pass\n"
    t = Terminal(remit, "--cpu-fallback", "per_process", *NET, "-c", code)
    question = t.answer("n")
    tail = question[question.rindex("remit: the program") :]
    assert "Allow --subprocess" in tail and "more\n" in tail and len(tail) < 1500
    code, rest = t.end()
    assert code == 0 and PROMPT not in rest
