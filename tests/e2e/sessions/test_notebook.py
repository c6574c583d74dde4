"""Notebook lines in cells of sessions: !command, %line, %%cell and help?, and what is not one."""

import re

import pytest
from session_client import FOREVER, SessionClient

from conftest import PYTHON, make_remit, users

POLICY = {"python": PYTHON, "memory_fallback": "per_process", "cpu_seconds": "unlimited", "display_bytes": "1M"}


def client_of(stage, policy):
    client = SessionClient(make_remit(users()[-1], stage))
    client.open(policy=policy)
    return client


@pytest.fixture(scope="module")
def closed(stage):
    """A session that may not start programs."""
    client = client_of(stage, {"python": PYTHON})
    yield client
    client.leave()


@pytest.fixture(scope="module")
def programs(stage):
    """A session that may."""
    client = client_of(stage, {**POLICY, "subprocess_execution": True})
    yield client
    client.leave()


def ok(result):
    assert result["status"] == "ok", (result["error"], result["stderr"])
    return result


def out(client, code):
    return ok(client.run(code, fresh=1))["stdout"]


def value(client, code):
    return ok(client.run(code, fresh=1))["value"]["json"]


# ---- commands ----

COMMANDS = [
    ("!echo hi", "hi\n"),
    ("x = 5\n!echo {x} {x + 1} $x $$HOME {nothing} ${HOME}", "5 6 5 /workspace {nothing} /workspace\n"),
    ("!echo one \\\n   two", "one two\n"),
    ("!echo \"it's\" '(' '\"\"\"'\nprint('after')", 'it\'s ( """\nafter\n'),
    ("if True:\n    !echo indented\n    print('x')\nelse:\n\t!echo not", "indented\nx\n"),
    ("def f(n):\n    !echo {n}\nf(3)", "3\n"),
    ("for i in range(2): \n  !echo $i", "0\n1\n"),
    ("try:\n    !echo a\nfinally:\n    !echo b", "a\nb\n"),
    ("print('first')\n!echo second\nprint('third')", "first\nsecond\nthird\n"),
    ("!cat", ""),
    ("!exit 3\nprint(_exit_code)", "3\n"),
    ("\ufeff!echo bom\r\n!echo crlf\r\n", "bom\ncrlf\n"),
    ("%%bash\ncd /tmp\npwd; echo \"it's\"\n", "/tmp\nit's\n"),
    ("\n\n%%sh\nprintf a", "a"),
    ("%%bash --no-raise-error\nexit 3", ""),
    ("%cd /tmp\n!pwd\n%cd -", "/tmp\n/tmp\n/workspace\n"),
    ("%env NOTEBOOK=a b\n!echo $NOTEBOOK\nimport os; del os.environ['NOTEBOOK']", "env: NOTEBOOK=a b\na b\n"),
    ("get_ipython().system('echo shell')", "shell\n"),
    ("%%capture c\n!echo kept", ""),
]


@pytest.mark.parametrize("code,expected", COMMANDS, ids=[repr(code)[:40] for code, _ in COMMANDS])
def test_commands_run(programs, code, expected):
    assert out(programs, code) == expected


def test_command_output_is_value(programs):
    assert value(programs, "x = !printf 'a\\nb\\n'\n[x, x.n, x.s, type(x).__name__]") == [["a", "b"], "a\nb", "a b", "Lines"]
    assert value(programs, "!!echo a; echo b >&2") == ["a", "b"]


def test_failing_script_is_error_in_its_line(programs):
    error = programs.run("\n%%bash\nexit 3")["error"]
    assert (error["name"], error["line"], error["text"]) == ("CalledProcessError", 2, "%%bash")


def test_command_ends_with_interrupt(programs):
    wait = programs.begin_cell("print('begun', flush=True)\n!sleep 1000 | sleep 1000")
    programs.request("interrupt")
    assert wait()["status"] in ("interrupted", "error")
    assert out(programs, "!echo next") == "next\n"


REFUSED = ["!ls", "  \n!ls -l | head", "x = !ls", "!!ls", "%%bash\nls", "%%sh\nls", "get_ipython().system('ls')", "if 1:\n  !ls"]


@pytest.mark.parametrize("code", REFUSED)
def test_refused_commands_name_the_flag(closed, code):
    result = closed.run(code, fresh=1)
    error = result["error"]
    assert error["name"] == "PermissionError" and "subprocess_execution (--subprocess)" in error["value"]
    assert "subprocess_execution" in {denial["field"] for denial in result["denials"]}
    assert code.splitlines()[error["line"] - 1].strip() == error["text"]
    assert ok(closed.run("1 + 1"))["value"]["json"] == 2


def test_kernel_refuses_commands_without_the_runner(closed):
    """With the runner's refusal out of the way, no program starts either."""
    code = "import subprocess\nreal = subprocess.Popen\nwords = get_ipython().system.__globals__\nwords['start'] = lambda argv, what, **more: real(argv, **more)\n!touch escaped"
    result = closed.run(code, fresh=1)
    assert result["error"]["name"] == "PermissionError" and "subprocess_execution" in {denial["field"] for denial in result["denials"]}
    assert value(closed, "import os\nos.path.exists('escaped')") is False


# ---- what is Python stays Python ----

PYTHON_CODE = [
    ("s = '!ls'\ns", "!ls"),
    ("s = '''\n!ls\n%cd /\nlen?\n%%bash\n'''\ns", "\n!ls\n%cd /\nlen?\n%%bash\n"),
    ("x = 7 \\\n% 4\nx", 3),
    ("x = (7\n% 4\n)\nx", 3),
    ("# really?\n# !ls\n5", 5),
    ("x = 5 # x = !ls\nx", 5),
    ("'%s?' % 1", "1?"),
    ("f'{5!r}'", "5"),
    ("x = 'a\\\n!ls'\nx", "a!ls"),
    ("1 != 2", True),
    ("x = 1\nx != 2", True),
]


@pytest.mark.parametrize("code,expected", PYTHON_CODE, ids=[repr(code)[:40] for code, _ in PYTHON_CODE])
@pytest.mark.parametrize("ending", ["", "\nimport sys\n%env A=1\n"], ids=["alone", "with a notebook line"])
def test_valid_python_is_unchanged(closed, code, expected, ending):
    """A string is not looked at either if the cell has a notebook line elsewhere."""
    lines = code.split("\n")
    if ending:
        code = "\n".join([*lines[:-1], f"_kept = {lines[-1]}"]) + ending + "_kept"
    assert value(closed, code) == expected


NOT_LINES = [
    "x = 1 + \\\n!ls",
    "x = (\n!ls\n)",
    "x = [1,\n%cd /\n]",
    "'''\n!ls",
    "x = 1; !ls",
    "if True: !ls",
    "lambda: !ls",
    "print(!ls)",
    "x == !ls",
    "x = y = !ls",
    "f(x) = !ls",
    "'a\n!ls'",
    "x?.y",
    "?",
    "x???",
    "  !ls",
    "for i in x:\n!ls",
    "\x00!ls",
    "!ls\nx = = 1",
    "!ls\n)",
    "%%time\nx = = 1",
]


@pytest.mark.parametrize("code", NOT_LINES, ids=repr)
def test_notebook_line_in_odd_place_is_syntax_error(programs, code):
    result = programs.run(code, fresh=1)
    assert result["status"] == "error" and result["stdout"] == "", result
    assert result["error"]["name"] in ("SyntaxError", "IndentationError", "ValueError"), result["error"]


def test_syntax_error_has_its_line(closed):
    error = closed.run("%cd /tmp\n\nx = = 1")["error"]
    assert (error["line"], error["column"], error["text"]) == (3, 5, "x = = 1")
    error = closed.run("%%time\n1\nx = = 1\n")["error"]
    assert (error["line"], error["text"]) == (3, "x = = 1")
    error = closed.run("x = 1\nx = %time = 3")["error"]
    assert (error["line"], error["text"]) == (2, "x = %time = 3")


LARGE = {
    "marks of help": "?" * 900_000,
    "a long command": "!" + "a" * 900_000,
    "many targets": "x = " * 100_000 + "!ls",
    "many names": "x, " * 100_000 + "= !ls",
    "open brackets": "(" * 900_000 + "\n!ls",
    "quotes": "'" * 900_001,
    "many strings": " " * 100_000 + "\n!ls",
    "continued lines": "\\\n" * 300_000 + "!ls",
    "a continued command": "!\\\n" * 200_000,
    "a continued word": "%nothing \\\n" + "\\\n" * 300_000,
    "many commands": "!ls\n" * 100_000,
    "a deep block": "".join(" " * depth + "if 1:\n" for depth in range(99)) + " " * 99 + "!ls",
    "a version": "%pip install x" + "!" * 5_000 + "@",
    "versions": "%pip install x" + "!=1" * 5_000 + "@",
    "variables": "!" + "{{x}$" * 100_000,
    "a huge word": "%" + "x" * 900_000,
    "a huge cell word": "%%" + "x" * 900_000,
    "a setup": "%%timeit " + "(" * 100_000 + "\n1",
    "many options": "%timeit " + "-q " * 200_000,
}


@pytest.mark.parametrize("name", LARGE)
def test_large_cells_take_linear_time(closed, name):
    """Nothing here takes a time that grows faster than the cell."""
    result = closed.run(LARGE[name], fresh=1, timeout_ms=20_000)
    assert result["status"] == "error" and result["session"]["state"] == "open", result
    assert ok(closed.run("1 + 1"))["value"]["json"] == 2


INSTEAD = [
    ("x = 1\n%ls", 2, "write !ls"),
    ("%nothing", 1, "known are %autoreload, %cd,"),
    ("%%nothing\n1", 1, "known are %%HTML,"),
    ("1\n%%bash\nls", 2, "first line of a cell"),
    ("%conda install x", 1, "%pip install NAME"),
    ("pip install numpy", 1, "write %pip install numpy"),
    ("x = 1\nif x:\n    git clone a", 3, "write !git clone a"),
    ("x = 1; !ls", 1, "in a line by itself"),
    ("%", 1, "a name must follow %"),
    ("%%", 1, "a name must follow %%"),
    ("%time", 1, "a Python statement is missing"),
    ("%timeit -o 1", 1, "takes -n, -r, -p and -q"),
    ("x = %timeit 1", 1, "timeit.timeit"),
    ("x = %time y = 1", 1, "only an expression has a value"),
    ("%%time 1\n2", 1, "the line after %%time"),
    ("%%capture a b\n2", 1, "takes one name"),
    ("%%capture --all\n2", 1, "--no-stdout"),
    ("%matplotlib qt", 1, "%matplotlib inline"),
    ("%load_ext sql", 1, "import the module"),
    ("%%writefile\nx", 1, "needs the name of a file"),
    ("%pip uninstall x", 1, "%pip install"),
]


@pytest.mark.parametrize("code,line,words", INSTEAD, ids=[repr(row[0])[:40] for row in INSTEAD])
def test_unknown_line_names_replacement(closed, code, line, words):
    error = closed.run(code, fresh=1)["error"]
    assert (error["name"], error["line"], error["text"]) == ("SyntaxError", line, code.split("\n")[line - 1].strip())
    assert words in error["value"]


@pytest.mark.parametrize("code", ["!ls", "%cd /tmp", "%%time\n1", "len?", "get_ipython()"])
def test_program_of_a_run_is_plain_python(any_remit, code):
    assert any_remit.json(code)["error"]["name"] == ("NameError" if "(" in code else "SyntaxError")


def test_validated_cells_are_plain_python(any_remit):
    """Nothing runs that it has not read."""
    client = SessionClient(any_remit)
    client.open(policy={"python": PYTHON, "blocked_imports": ["socket"]})
    for code in ("%%time\nimport socket", "%time import socket", "%cd /tmp"):
        assert client.run(code)["error"]["name"] == "SyntaxError"
    result = client.run("get_ipython().run_cell('import socket')")
    assert result["error"]["name"] == "NameError"
    assert client.run("import socket")["status"] == "rejected"
    assert ok(client.run("1"))["value"]["json"] == 1
    client.leave()


# ---- lines and cells without programs ----


def test_folder_and_environment_change(closed):
    assert out(closed, "import os\n%cd /tmp\nprint(os.getcwd())\n%cd -\n%cd '/dev/shm'\n%cd\nprint(os.getcwd())") == "/tmp\n/tmp\n/workspace\n/dev/shm\n/workspace\n/workspace\n"
    assert value(closed, "%pwd") == "/workspace"
    assert value(closed, "%env HOME") == "/workspace"
    assert value(closed, "x = %env\nx['USER']") == "remit"
    assert out(closed, "v = 'w'\n%env N1 {v}\n%set_env N2=$v\nimport os\nprint(os.environ.pop('N1'), os.environ.pop('N2'))").endswith("w w\n")
    error = closed.run("\n%cd /nowhere")["error"]
    assert (error["name"], error["line"]) == ("FileNotFoundError", 2)
    assert closed.run("%env NOTHING")["error"]["name"] == "KeyError"


def test_notebook_settings_have_no_effect(closed):
    assert out(closed, "%matplotlib inline\n%matplotlib\n%load_ext autoreload\n%autoreload 2\n%config InlineBackend.figure_format = 'retina'") == ""


TIMES = re.compile(r"CPU times: user [\d.e+]+ \S+, sys: [\d.e+]+ \S+, total: [\d.e+]+ \S+\nWall time: [\d.e+]+ \S+\n")
LOOPS = re.compile(r"[\d.e+]+ \S+ ± [\d.e+]+ \S+ per loop \(mean ± std\. dev\. of (\d+) runs?, ([\d,]+) loops? each\)\n")


def test_time_is_printed(closed):
    result = ok(closed.run("%time sum(range(10))", fresh=1))
    assert TIMES.fullmatch(result["stdout"]) and result["value"]["json"] == 45
    result = ok(closed.run("%time x = 5; y = 6\n[x, y]", fresh=1))
    assert TIMES.fullmatch(result["stdout"]) and result["value"]["json"] == [5, 6]
    result = ok(closed.run("def f(a):\n    %time b = a + 1\n    c = %time b + 1\n    return c\nf(1)", fresh=1))
    assert len(TIMES.findall(result["stdout"])) == 2 and result["value"]["json"] == 3
    result = ok(closed.run("import asyncio\n%time await asyncio.sleep(0, 7)", fresh=1))
    assert TIMES.fullmatch(result["stdout"]) and result["value"]["json"] == 7
    result = ok(closed.run("%%time\nimport asyncio\nawait asyncio.sleep(0)\nx = 1\nx + 1", fresh=1))
    assert TIMES.fullmatch(result["stdout"]) and result["value"]["json"] == 2
    assert ok(closed.run("x"))["value"]["json"] == 1


def test_timeit_is_printed(closed):
    assert LOOPS.fullmatch(out(closed, "x = 2\n%timeit -n 10 -r 3 x + 1")).groups() == ("3", "10")
    assert LOOPS.fullmatch(out(closed, "def f(n):\n    %timeit -n2 -r1 n = 1\nf(1)")).groups() == ("1", "2")
    assert LOOPS.fullmatch(out(closed, "%%timeit -n2 -r2 y = 5\ny\n\ny + 1")).groups() == ("2", "2")
    assert LOOPS.fullmatch(out(closed, "%timeit -r1 pass"))[1] == "1"
    assert out(closed, "%timeit -q -n1 -r1 1") == ""
    assert value(closed, "%timeit -q -n1 -r1 z = 1\n'_timeit' in globals() or 'z' in globals()") is False


def test_capture_keeps_output(closed):
    code = "%%capture c\nimport sys\nprint('o'); print('e', file=sys.stderr); display({'a': 1}); 5"
    result = ok(closed.run(code, fresh=1))
    assert (result["stdout"], result["stderr"], result["displays"], result["value"]) == ("", "", [], None)
    result = ok(closed.run("c.show(); [c.stdout, c.stderr, len(c.outputs), str(c)]"))
    assert (result["stdout"], result["stderr"]) == ("o\n", "e\n")
    assert result["displays"][0]["mime"] == {"text/plain": "{'a': 1}", "application/json": {"a": 1}}
    assert result["value"]["json"] == ["o\n", "e\n", 1, "o\n"]
    result = ok(closed.run("%%capture --no-stdout --no-display\nprint('o'); display(1)"))
    assert (result["stdout"], len(result["displays"])) == ("o\n", 1)
    result = closed.run("%%capture c\nprint('o')\n1/0")
    assert result["error"]["line"] == 3 and result["stdout"] == ""
    assert out(closed, "print('again')") == "again\n"


def test_writefile_writes_and_markup_displays(closed):
    code = "%%writefile note.txt\n!ls\n  it's {x}\n"
    assert out(closed, code) == "Writing note.txt\n"
    assert out(closed, code) == "Overwriting note.txt\n"
    assert out(closed, "%%writefile -a note.txt\nend") == "Appending to note.txt\n"
    assert value(closed, "open('note.txt').read()") == "!ls\n  it's {x}\nend\n"
    (shown,) = ok(closed.run("%%html\n<b>x</b>"))["displays"]
    assert shown["mime"] == {"text/html": "<b>x</b>"}


def test_help_describes_objects(closed):
    found = out(closed, "def add(a, b=1):\n    'Adds.'\n    return a + b\nadd?\n?add\nadd??\nadd.nothing?\n%time?")
    assert found.count("Signature: add(a, b=1)") == 3 and found.count("Docstring:\nAdds.") == 2
    assert "Source:\ndef add" in found and "Object `add.nothing` not found." in found and "%time is known" in found
    assert out(closed, "x = 5\nx?").startswith("String form: 5\nType: int\n")


# ---- packages ----


def test_installed_packages_satisfy_pip(closed):
    for code in ("%pip install pytest", "!pip install -q pytest>=1.0 -U", "!python3 -m pip install 'pytest>=1,<99' --quiet 2>&1 | tail -1"):
        assert out(closed, code).startswith("Requirement already satisfied: pytest")
    assert "pytest==" in out(closed, "%pip list") and "Name: pytest" in out(closed, "!pip show pytest")


def test_missing_packages_have_remedy(closed):
    error = closed.run("\n%pip install pytest umap-learn 'pytest>=99' x[a]==1.*")["error"]
    assert error["line"] == 2 and error["value"] == (
        "packages cannot be installed from inside: add them to the policy's packages (--package umap-learn --package 'pytest>=99' --package 'x[a]==1.*')"
    )


BAD_PACKAGES = ["-r list.txt", "--index-url https://a x", "git+https://a/b", "./a", "a @ https://b", "x --target=/tmp", "a && ls", "a; ls", "'a", "", "$(ls)"]


@pytest.mark.parametrize("rest", BAD_PACKAGES)
@pytest.mark.parametrize("line", ["%pip install ", "!pip install "])
def test_pip_options_and_addresses_are_refused(programs, line, rest):
    error = programs.run(line + rest)["error"]
    assert error["name"] == "SyntaxError" and "pip" in error["value"]


# ---- tracebacks ----


def test_line_numbers_are_unchanged(closed):
    code = "%cd /tmp\nx = 1\n\ndef f():\n    %time y = 1\n    return y / 0\n\n%time f()"
    error = closed.run(code, fresh=1)["error"]
    assert [(frame["line"], frame["text"]) for frame in error["frames"]] == [(8, "%time f()"), (6, "return y / 0")]
    assert "/.remit/" not in error["traceback"]
    for code in ("%timeit -n1 -r1 1/0", "%%timeit -n1 -r1\n1/0", "get_ipython().run_line_magic('time', '1/0')", "%%capture\n1/0"):
        error = closed.run(code, fresh=1)["error"]
        assert error["name"] == "ZeroDivisionError" and "/.remit/" not in error["traceback"], error


def test_traceback_marks_are_below_their_code(closed):
    """This also holds in a cell whose last line has no end."""
    for code in ("x = %time [1][5 + 1]", "x = 1\nzzz = (2, [1][5 + 1])"):
        shown = closed.run(code, fresh=1)["error"]["traceback"].splitlines()
        marks = [(line, shown[at + 1]) for at, line in enumerate(shown[:-1]) if "~^" in shown[at + 1]]
        for line, below in marks:  # from Python 3.11 on
            assert line[below.index("~") :].startswith("[1][5 + 1]"), shown


# ---- get_ipython() ----


def test_shell_runs_lines_and_cells(closed):
    assert value(closed, "import IPython\nfrom IPython import get_ipython as g\n[g() is get_ipython(), type(g()).__name__, g().config]") == [True, "InteractiveShell", {}]
    assert value(closed, "get_ipython().run_cell('n = 5')\nget_ipython().user_ns['n']") == 5
    assert out(closed, "%cd\nget_ipython().run_line_magic('cd', '/tmp')\nget_ipython().magic('cd -')") == "/workspace\n/tmp\n/workspace\n"
    assert TIMES.fullmatch(out(closed, "get_ipython().run_cell_magic('time', '', 'q = 1')"))
    code = "class C: pass\nget_ipython().display_formatter.formatters['text/html'].for_type(C, lambda c: '<c>')\nC()"
    assert ok(closed.run(code))["value"]["mime"] == {"text/html": "<c>"}
    error = closed.run("get_ipython().run_line_magic('nothing', '')")["error"]
    assert error["name"] == "SyntaxError" and "%nothing is not known" in error["value"]


def test_branch_keeps_notebook_lines(any_remit):
    client = SessionClient(any_remit)
    client.open(policy={"python": PYTHON}, forkable=1)
    assert ok(client.run("%cd /tmp"))["stdout"] == "/tmp\n"
    client.request("fork", branch="b")
    for session in ("s", "b"):
        assert ok(client.run("%pwd", session=session))["value"]["json"] == "/tmp"
    client.leave()


# ---- libraries that look for a shell ----


def test_sympy_formulas_are_latex(any_remit):
    """Its init_printing() changes what IPython's shell prints."""
    client = SessionClient(any_remit)
    client.open(policy={"python": PYTHON})
    result = ok(client.run("from sympy import *\ninit_printing()\nx = symbols('x')\ndisplay(x / 2)\nx**2"))
    assert result["value"]["mime"] == {"text/latex": "$\\displaystyle x^{2}$"} and result["value"]["left_out"] == []
    assert result["displays"][0]["mime"]["text/latex"] == "$\\displaystyle \\frac{x}{2}$"
    client.leave()


def test_endless_timed_cell_is_interrupted(closed):
    wait = closed.begin_cell("%%time\n" + FOREVER)
    closed.request("interrupt")
    assert wait()["status"] == "interrupted"
    assert ok(closed.run("1"))["value"]["json"] == 1
