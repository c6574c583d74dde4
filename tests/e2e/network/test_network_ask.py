"""network_ask: a connection to an unlisted host waits while the user is asked."""

import json
import subprocess
import time

import network_here
import pytest
from leftovers import name_of, parent_of, remaining
from network_here import TRY, connections, questions, reported
from network_world import EVIL, PRIVATE
from shared_keeper import family
from test_ask import PROMPT, Terminal
from test_library import prefix  # noqa: F401
from test_tools import caller  # noqa: F401

API = "api.example.com"
# A program whose run time counts, so it imports little
QUICK = """
import socket
with socket.create_connection(("evil.example", 80), 60) as s:
    s.sendall(b"GET / HTTP/1.1\\r\\nHost: evil.example\\r\\n\\r\\n"); print("reached" if s.recv(100) else "cut")
"""
FETCH = TRY + "import sys\nfor url in sys.argv[1:]: print(url, 'reached' if '{' in attempt(fetch, url) else 'not reached', flush=True)\n"


@pytest.fixture(scope="module")
def world(stage):
    with network_here.start(stage / "world-ask") as w:
        yield w


@pytest.fixture
def here(remit, world):
    return world.inside(remit)


TERMINALS: list[Terminal] = []


@pytest.fixture(autouse=True)
def kill_waiting_terminals():
    """Kill terminals of failed tests, since their waiting processes would make other tests fail."""
    yield
    while TERMINALS:
        process = TERMINALS.pop().process
        process.kill()
        process.wait()


def terminal(here, code, *args, flags=()):
    named = ("--python", network_here.PYTHON, "--allow-host", f"{API}:80", *network_here.PATIENT, *network_here.FALLBACK, *flags)
    TERMINALS.append(Terminal(here, *named, "-c", code, *args))
    return TERMINALS[-1]


def wait_for_its_end(t):
    """Wait until the code has ended, while the command still asks. Children that wait for another run have another
    parent."""
    assert remaining(lambda: [pid for pid in family(t.process.pid) if name_of(parent_of(pid)) == "remit-init"]) == []


class Library:
    """The program tools.c, which answers through on_question."""

    def __init__(self, here, path):
        self.here, self.path = here, path

    def __call__(self, code, answer="DENY", **policy):
        policy = {"python": network_here.PYTHON, "network_allow": [f"{API}:80"], "network_ask": True, "memory_fallback": "per_process", "timeout": 100, **policy}
        argv = [*self.here.argv()[:-1], str(self.path), TRY + code, json.dumps(policy), answer]
        done = subprocess.run(argv, env=self.here.env({"REMIT_KEEPER": ""}), capture_output=True, text=True, timeout=150)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout), [line.split()[1:3] for line in done.stderr.splitlines() if line.startswith("asked")]


@pytest.fixture
def library(here, caller):  # noqa: F811
    return Library(here, caller)


# ---- at a terminal ----


def test_unknown_host_is_asked_about_and_known_one_is_not(here, world):
    mark = world.mark()
    t = terminal(here, FETCH, f"http://{API}/", "http://evil.example/1", "http://evil.example/2", "http://evil.example/3")
    question = t.until(PROMPT)
    assert f"http://{API}/ reached" in question and 'wants to reach "evil.example:80"' in question
    assert not [line for line in connections(world.seen(mark)) if EVIL in line]
    t.type("o\n")
    assert "/1 reached" in t.answer("r")  # the first answer was for one connection
    code, shown = t.end()
    assert code == 0 and "/2 reached" in shown and "/3 reached" in shown
    assert len([line for line in connections(world.seen(mark)) if EVIL in line]) == 3


def test_refusal_lasts_for_run_and_after_it(here, world):
    mark = world.mark()
    t = terminal(here, FETCH, "http://evil.example/1", "http://evil.example/2", "http://evil.example:8080/3")
    assert "evil.example:80" in t.answer("n")
    assert "evil.example:8080" in t.answer("")
    code, shown = t.end()
    assert code == 0 and shown.count("not reached") >= 1 and "and run again" not in shown, shown
    assert "connect to evil.example:80" in shown and "connect to evil.example:8080" in shown
    assert world.seen(mark) == []


def test_always_answer_is_written_to_policy_and_applies_at_once(here, world):
    policy = here.file("ask.json", '{\n  "network_allow": []\n}\n')
    t = terminal(here, FETCH, "http://evil.example/1", "http://evil.example/2", flags=("--policy", str(policy)))
    assert "ask.json" in t.answer("a")
    code, shown = t.end()
    assert code == 0 and "/1 reached" in shown and "/2 reached" in shown
    assert json.loads(policy.read_text())["network_allow"] == ["evil.example:80"]


def test_wall_clock_pauses_while_user_thinks(here, world):
    t = terminal(here, QUICK, flags=("--timeout", "6"))
    t.until("[n] ")
    time.sleep(7)  # longer than the timeout
    t.type("o\n")
    code, shown = t.end()
    assert code == 0 and "reached" in shown


def test_pause_for_user_ends_at_tool_wait(here, world):
    t = terminal(here, QUICK, flags=("--timeout", "5", "--tool-wait", "1"))
    t.until("[n] ")
    wait_for_its_end(t)
    t.type("o\n")
    code, shown = t.end()
    assert code != 0 and "reached" not in shown and "timeout" in shown


def test_malformed_host_names_are_not_shown(here, world):
    code = TRY + """
for host in ("evil.example\\x1b[2J", "a b.example", "\\u202eevil.example", "evil.example\\n[n] "):
    s = socket.socket(); s.settimeout(60)
    try: s.connect(("127.0.0.1", 3128)); s.sendall(f"CONNECT {host}:443 HTTP/1.1\\r\\n\\r\\n".encode()); print(s.recv(30).decode().split()[1])
    except OSError as e: print(type(e).__name__)
"""
    t = terminal(here, code, flags=("--proxy",))
    exit_code, shown = t.end()
    assert exit_code == 0 and "wants to reach" not in shown and shown.count("400") == 4, shown


# ---- a program answers ----


def test_unknown_host_without_person_is_refused_at_once(here, world):
    mark = world.mark()
    code = TRY + "report(a=attempt(dial, 'evil.example', 80, b'GET / HTTP/1.1\\r\\nHost: evil.example\\r\\n\\r\\n'))"
    result = here.allow(code, f"{API}:80", flags=("--ask-hosts",))
    assert reported(result)["a"] in ("ConnectionResetError", "BrokenPipeError", "EOFError"), result["stdout"]  # not TimeoutError
    assert result["usage"]["wall_ms"] < 30_000, result["usage"]
    (row,) = result["denials"]
    assert row["what"] == "connect to evil.example:80" and row["flag"] == "--allow-host evil.example:80"
    assert world.seen(mark) == []
    (row,) = [r for r in result["enforcement"] if r["field"] == "network_allow"]
    assert row["note"] == "and public hosts that a person allows"


@pytest.mark.parametrize("answer, times, reached", [("DENY", 1, 0), ("ONCE", 3, 3), ("RUN", 1, 3)])
def test_callback_decides_about_host(library, world, answer, times, reached):
    result, asked = library("report(a=[attempt(fetch, 'http://evil.example/') for _ in range(3)])", answer)
    assert asked == [["host", "evil.example:80"]] * times
    assert len([a for a in reported(result)["a"] if "{" in a]) == reached, result
    assert result["usage"]["network"]["refusals"] == 3 - reached


def test_allowed_host_opens_no_private_address_and_no_other_name(library, world):
    mark = world.mark()
    code = """
def other(): return dial("evil.example", 80, b"GET / HTTP/1.1\\r\\nHost: api.example.com\\r\\n\\r\\n")
report(inner=attempt(dial, "inner.example.com", 8080, b"x"), meta=attempt(dial, "meta.example.com", 80, b"x"), other=attempt(other),
    loop=attempt(dial, "127.0.0.1", 443, b"x"), number=attempt(dial, "10.9.9.9", 80, b"x"))
"""
    result, asked = library(code, "RUN")
    assert not [a for a in reported(result).values() if "HTTP" in a], result["stdout"]
    assert sorted(subject for _, subject in asked) == ["evil.example:80", "inner.example.com:8080", "meta.example.com:80"]
    assert connections(world.seen(mark)) == []
    assert "connect to inner.example.com:8080, a private address" in [d["what"] for d in result["denials"]]


@pytest.mark.parametrize("answer, status", [("DENY", "403"), ("ONCE", "200")])
def test_proxy_request_waits_for_answer_too(library, world, answer, status):
    code = """
with socket.create_connection(("127.0.0.1", 3128), 60) as s:
    s.sendall(b"CONNECT evil.example:7001 HTTP/1.1\\r\\n\\r\\n"); got = s.recv(100)
    if b" 200 " in got: got += s.recv(100)
report(a=got.decode())
"""
    result, asked = library(code, answer, network_proxy=True)
    assert asked == [["host", "evil.example:7001"]]
    assert f" {status} " in reported(result)["a"] and ("hello" in reported(result)["a"]) == (status == "200")


def test_connections_to_one_host_are_one_question(library, world):
    code = """
import threading
got = []
def one(): got.append(attempt(fetch, "http://evil.example/"))
all = [threading.Thread(target=one) for _ in range(8)]
for t in all: t.start()
for t in all: t.join()
report(a=len([g for g in got if "{" in g]))
"""
    result, asked = library(code, "RUN")
    assert reported(result)["a"] == 8 and asked == [["host", "evil.example:80"]]


def test_questions_about_hosts_are_limited_in_number(library, world):
    mark = world.mark()
    code = "for i in range(60): attempt(fetch, f'http://n{i}.evil.example/')\nreport(a=fetch('http://api.example.com/'))"
    result, asked = library(code, "DENY")
    assert len(asked) == 32 and API in reported(result)["a"]
    assert result["usage"]["network"]["refusals"] == 60
    assert [q for q in questions(world.seen(mark)) if API not in q] == []
    assert PRIVATE not in " ".join(world.seen(mark))


def test_run_that_ends_during_question_leaves_nothing(here, world):
    t = terminal(here, TRY + "import threading\nthreading.Thread(target=fetch, args=('http://evil.example/',), daemon=True).start()\nimport time; time.sleep(5); print('over')")
    t.until("[n] ")
    wait_for_its_end(t)
    t.type("o\n")
    code, shown = t.end()
    assert code == 0 and "over" in shown
