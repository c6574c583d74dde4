"""Displays: what a program shows, as bundles of MIME parts."""

import base64
import json
import struct
import sys
import time

import pytest
from shared_keeper import SharedKeeper
from session_client import SessionClient
from test_library import compile_with, prefix, run_as  # noqa: F401

from conftest import PYTHON, ROOT

sys.path.insert(0, str(ROOT / "tests" / "python"))
import venvs  # noqa: E402

SCIENTIFIC = ("--preset", "scientific")
CHART = "application/vnd.remit.chart+json"


def parts(result, at=0):
    assert result["status"] == "ok", (result["error"], result["stderr"])
    return result["displays"][at]["mime"]


def is_png(text):
    raw = base64.b64decode(text, validate=True)
    assert raw[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", raw[16:24])


@pytest.fixture(scope="session")
def watcher(stage, prefix):  # noqa: F811
    compile_with(prefix, ROOT / "tests" / "e2e" / "sessions" / "displays.c", stage / "displays")
    return stage / "displays"


def test_displays_keep_their_place_in_output(remit, watcher):
    # One write for each line, since print() writes the newline separately.
    code = "import os\nfor i in range(30):\n    os.write(1, b'%d\\n' % i)\n    display(i)\n    os.write(2, b'e\\n')\n    display('x' * 200_000)\n'v'"
    lines = run_as(remit, watcher, code).stdout.splitlines()
    expected = []
    for i in range(30):
        size = len(str(i))
        expected += [
            f"out {i}",
            f"display text/plain={size} application/json={size}",
            "err e",
            "display text/plain=200002 application/json=200002",
        ]
    assert lines == [*expected, "value text/plain=3 application/json=3", "status ok"]


def test_displays_of_threads_are_whole(remit):
    code = "from threading import Thread\nts = [Thread(target=lambda i=i: [display(str(i) * 70000) for _ in range(5)]) for i in range(4)]\n[t.start() for t in ts]\n[t.join() for t in ts]\nNone"
    texts = [d["mime"]["application/json"] for d in remit.json(code)["displays"]]
    assert sorted(texts) == sorted(str(i) * 70000 for i in range(4) for _ in range(5))


METHODS = """
class All:
    def __repr__(self): return "All()"
    def _repr_html_(self): return "<b>ä</b>"
    def _repr_markdown_(self): return "**x**"
    def _repr_svg_(self): return "<svg/>"
    def _repr_png_(self): return b"\\x89PNG"
    def _repr_jpeg_(self): return "/9j/", {"width": 1}
    def _repr_pdf_(self): return b"%PDF"
    def _repr_latex_(self): return "$x$"
    def _repr_json_(self): return {"a": [1]}
    def _repr_javascript_(self): return "1"
"""
EXPECTED = {
    "text/plain": "All()",
    "text/html": "<b>ä</b>",
    "text/markdown": "**x**",
    "image/svg+xml": "<svg/>",
    "image/png": "iVBORw==",
    "image/jpeg": "/9j/",
    "application/pdf": "JVBERg==",
    "text/latex": "$x$",
    "application/json": {"a": [1]},
    "application/javascript": "1",
}


def test_every_display_method_is_called(remit):
    result = remit.json(METHODS + "display(All())\nAll()")
    assert parts(result) == EXPECTED
    value = result["value"]
    assert (value["text"], value["json"]) == ("All()", {"a": [1]})
    assert value["mime"] == {k: v for k, v in EXPECTED.items() if k not in ("text/plain", "application/json")}


def test_mimebundle_is_used_unchanged(any_remit):
    code = "class C:\n    def _repr_mimebundle_(self, include=None, exclude=None):\n        return {'text/plain': 'mine', 'text/x-y': 'z', 'application/x+json': [1]}, {}\ndisplay(C())"
    assert parts(any_remit.json(code)) == {"text/plain": "mine", "text/x-y": "z", "application/x+json": [1]}


def test_raw_display_has_exactly_its_parts(any_remit):
    result = any_remit.json("display({'text/latex': r'\\alpha'}, raw=True)\ndisplay({'a b': 'x', 'text/html': 'y'}, raw=True)")
    assert parts(result) == {"text/latex": "\\alpha"}
    assert parts(result, 1) == {"text/html": "y"}
    assert result["displays"][1]["left_out"] == [{"mime": "a b", "reason": "ValueError: not a MIME type"}]


def test_display_works_in_first_process_only(remit):
    result = remit.json("import os\nif os.fork() == 0:\n    try: display(1)\n    except RuntimeError as e: print(e)\n    os._exit(0)\nos.wait(); display(2)", "--subprocess", "--cpu-fallback", "per_process", *SCIENTIFIC)
    assert "first process" in result["stdout"] and [d["mime"]["text/plain"] for d in result["displays"]] == ["2"]


@pytest.mark.parametrize("tier", ["local", "unsafe", "landlock"])
def test_displays_are_limited_in_size(remit, covers, tier):
    preset = ("--preset", "landlock") if tier == "landlock" else ("--tier", tier)
    code = "class C:\n    def __repr__(self): return 'C'\n    def _repr_png_(self): return b'x' * 600\ndisplay(C()); display(C()); display(C())"
    result = remit.json(code, *preset, "--display-max", "1k")
    assert [sorted(d["mime"]) for d in result["displays"]] == [["image/png", "text/plain"], ["text/plain"], ["text/plain"]]
    assert result["displays"][1]["left_out"][0]["mime"] == "image/png"
    covers(remit, "display_bytes", "frame_cap", tier=tier)


def test_displays_that_are_off_are_not_even_made(remit):
    """Neither by show() and display(), nor for a figure that is the value or stays open."""
    code = (
        "import matplotlib.pyplot as plt\nfrom matplotlib.figure import Figure\n"
        "def refuse(*a, **o): raise SystemError('a figure was drawn')\nFigure.savefig = refuse\n"
        "class C:\n    def _repr_html_(self): raise SystemExit('made')\n"
        "plt.plot([1, 2]); plt.title('kept'); plt.show(); plt.gcf().show(); display(C())\n"
        "print(plt.gca().get_title())\nplt.figure()\nplt.gcf()"
    )
    result = remit.json(code, *SCIENTIFIC, "--display-mode", "none")
    assert (result["status"], result["stdout"], result["displays"], result["displays_left_out"]) == ("ok", "kept\n", [], 0)
    assert result["value"]["text"].startswith("<Figure") and result["value"]["mime"] == {}


def test_explicit_displays_leave_open_figures_alone(remit):
    code = "import matplotlib.pyplot as plt\nplt.plot([1]); plt.show()\nplt.plot([2]); display(7)\nprint(plt.get_fignums())"
    result = remit.json(code, *SCIENTIFIC, "--display-mode", "explicit")
    assert [d["mime"]["text/plain"][:7] for d in result["displays"]] == ["<Figure", "7"]
    assert (result["status"], result["stdout"]) == ("ok", "[1]\n")
    assert len(remit.json(code, *SCIENTIFIC)["displays"]) == 3


FORGED = """
import sys
cell = sys.modules["builtins"].display.__globals__
cell["limits"]["display_mode"] = "all"
display("forged")
"""


@pytest.mark.parametrize("mode, count", [("none", 0), ("all", 1)])
def test_keeper_drops_displays_that_are_off(remit, mode, count):
    """Code can change the runner, which shares its process, but not the keeper."""
    result = remit.json(FORGED, "--display-mode", mode)
    assert (result["status"], len(result["displays"]), result["displays_left_out"]) == ("ok", count, 1 - count)


def test_folder_for_displays_is_refused_if_they_are_off(remit):
    done = remit("run", "--display-mode", "none", "--displays", remit.folder / "shown", "-c", "1")
    assert done.returncode == 2 and "the policy has display_mode none" in done.stderr
    assert not (remit.folder / "shown").exists()


def test_killed_program_keeps_its_displays(remit):
    result = remit.json("import os\ndisplay('before')\nos.kill(os.getpid(), 9)")
    assert result["status"] == "killed" and len(result["displays"]) == 1
    result = remit.json("display('before')\nwhile True: pass", "--timeout", "3s")
    assert result["status"] == "timeout" and len(result["displays"]) == 1


def test_fifty_large_displays_arrive(any_remit):
    code = "for i in range(50): display('x' * 200_000)\nprint('end')"
    process = any_remit.popen("run", "--json", "--python", "/usr/bin/python3", "-c", code, stdout=-1)
    out, _ = process.communicate(timeout=120)
    assert len(json.loads(out)["displays"]) == 50


# ---- sessions ----


def test_each_cell_has_its_own_displays(remit):
    client = SessionClient(remit)
    client.open(policy={"python": PYTHON, "display_bytes": 200})
    for i in range(3):
        result = client.run(f"x = {i}\ndisplay('y' * 80)\nx")
        assert (result["value"]["json"], len(result["displays"])) == (i, 1)
        assert sorted(result["displays"][0]["mime"]) == ["application/json", "text/plain"]
    client.leave()


def test_displays_of_threads_between_cells_are_lost_without_harm(remit):
    client = SessionClient(remit)
    client.open(policy={"python": PYTHON, "display_bytes": "64M"})
    code = "import threading, time\ndef f():\n    while go:\n        display('x' * 300_000)\ngo = True\nt = threading.Thread(target=f)\nt.start()"
    assert client.run(code)["status"] == "ok"
    for i in range(8):
        time.sleep(0.02)  # time for the thread to run between the cells
        result = client.run(f"{i}")
        assert (result["status"], result["value"]["json"]) == ("ok", i), result
    assert client.run("go = False\nt.join()\n'end'")["value"]["json"] == "end"
    client.leave()


def test_interrupted_display_harms_no_other_cell(remit):
    client = SessionClient(remit)
    client.open(policy={"python": PYTHON, "display_bytes": "256M"})
    for i in range(12):
        wait = client.begin_cell("print('begun', flush=True)\nwhile True: display('x' * 500_000)")
        time.sleep(i / 300)  # another moment in each round
        client.request("interrupt")
        result = wait()
        assert (result["status"], result["session"]["state"]) == ("interrupted", "open"), result
        assert client.run(f"{i}")["value"]["json"] == i
    client.leave()


# ---- the command ----


def test_value_is_printed_on_request(remit):
    done = remit("run", "--value", "-c", "print('a')\n'b\\x1b[31m'")
    assert (done.stdout, done.stderr) == ("a\n'b\\x1b[31m'\n", "")
    assert remit("run", "-c", "1 + 1").stdout == ""
    assert remit("run", "--value", "-c", "print(1)").stdout == "1\n"
    done = remit("run", "--value", "--json", "-c", "1")
    assert done.returncode == 2 and "--json already includes the value" in done.stderr


def test_displays_are_written_to_folder(remit):
    folder = remit.folder / "shown"
    code = METHODS + "display(All()); display(1); display({'a/b': b'x'}, raw=True)\nAll()"
    done = remit("run", "--displays", folder, "-c", code)
    assert done.returncode == 0 and done.stdout == ""
    names = sorted(p.name for p in folder.iterdir())
    ends = ["html", "jpg", "js", "json", "md", "pdf", "png", "svg", "tex"]
    assert names == [*(f"display-1.{e}" for e in ends), "display-2.json", "display-3.part1.bin", *(f"value.{e}" for e in ends)]
    assert (folder / "display-1.png").read_bytes() == b"\x89PNG"
    assert (folder / "display-1.html").read_text() == "<b>ä</b>"
    assert (folder / "display-1.png").stat().st_mode & 0o777 == 0o600
    assert done.stderr.count("\n") == len(names)
    # Existing files are not replaced.
    (folder / "display-1.png").write_bytes(b"mine")
    done = remit("run", "--displays", folder, "-c", code)
    assert (folder / "display-1.png").read_bytes() == b"mine" and "not written: File exists" in done.stderr
    done = remit("run", "--displays", folder / "no" / "such", "-c", code)
    assert done.returncode == 2 and "--displays" in done.stderr


# ---- libraries ----


@pytest.fixture(params=["cold", "warm"])
def scientific(remit, request):
    if request.param == "cold":
        yield lambda code: remit.json(code, *SCIENTIFIC)
        return
    keeper = SharedKeeper(remit)
    yield lambda code: keeper.warm(code, *SCIENTIFIC, "--preload", "matplotlib.pyplot")
    keeper.close()


def test_figures_are_displayed(scientific):
    result = scientific("import matplotlib.pyplot as plt\nplt.plot([1, 2, 4])\nplt.show()\nprint('after')\nplt.plot([4, 2, 1])\nplt.title('second')")
    assert [sorted(d["mime"]) for d in result["displays"]] == [[CHART, "image/png", "image/svg+xml", "text/plain"]] * 2
    width, height = is_png(parts(result)["image/png"])
    assert width > 300 and height > 200
    assert "<svg" in parts(result)["image/svg+xml"]
    assert parts(result, 1)[CHART]["title"] == "second"
    assert result["stdout"] == "after\n" and result["stderr"] == ""
    assert result["value"]["text"].startswith("Text(")


def test_figure_that_is_value_is_not_displayed_twice(remit):
    result = remit.json("import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.plot([1])\nfig", *SCIENTIFIC)
    assert result["displays"] == []
    is_png(result["value"]["mime"]["image/png"])
    assert result["value"]["mime"][CHART]["type"] == "line"


def test_figures_of_failing_program_are_displayed(any_remit):
    for end, status in (("1/0", "error"), ("raise SystemExit(3)", "exit")):
        result = any_remit.json(f"import matplotlib.pyplot as plt\nplt.plot([1, 2])\n{end}", *SCIENTIFIC)
        assert result["status"] == status
        is_png(result["displays"][0]["mime"]["image/png"])


def test_closed_or_saved_figures_are_not_displayed(any_remit):
    code = "import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.savefig('a.png'); plt.close()\nimport os\nprint(os.listdir('.'))"
    result = any_remit.json(code, *SCIENTIFIC)
    assert result["displays"] == [] and result["stdout"] == "['a.png']\n"


def test_show_of_one_figure_displays_it(any_remit):
    code = "import matplotlib.pyplot as plt\na = plt.figure(); b = plt.figure()\nb.add_subplot().plot([1])\nb.show()\nprint(plt.get_fignums())"
    result = any_remit.json(code, *SCIENTIFIC)
    assert result["stdout"] == "[1]\n" and len(result["displays"]) == 2
    assert "with 1 Axes" in parts(result)["text/plain"] and "with 0 Axes" in parts(result, 1)["text/plain"]


def test_program_s_line_numbers_are_unchanged(any_remit):
    code = "from __future__ import annotations\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])\nraise ValueError"
    result = any_remit.json(code, *SCIENTIFIC)
    assert result["error"]["line"] == 4


def test_drawing_with_many_points_is_image_only(any_remit):
    code = "import matplotlib.pyplot as plt\nplt.plot(range(200_000))"
    result = any_remit.json(code, *SCIENTIFIC)
    assert sorted(parts(result)) == ["image/png", "text/plain"]
    assert {gap["mime"] for gap in result["displays"][0]["left_out"]} == {"image/svg+xml", CHART}


def test_figure_that_cannot_be_drawn_has_reason(any_remit):
    code = "import matplotlib.pyplot as plt\nplt.title('$\\\\frac$')\nprint('x')"
    result = any_remit.json(code, *SCIENTIFIC)
    assert result["status"] == "ok" and result["stdout"] == "x\n"
    assert "image/png" in {gap["mime"] for gap in result["displays"][0]["left_out"]}


def test_pil_images_are_displayed(remit):
    code = "from PIL import Image\ni = Image.new('RGB', (30, 20), 'red')\ni.show()\ndisplay(i)\ni"
    result = remit.json(code, *SCIENTIFIC)
    assert is_png(parts(result)["image/png"]) == (30, 20) == is_png(parts(result, 1)["image/png"])
    assert is_png(result["value"]["mime"]["image/png"]) == (30, 20)


def test_images_of_new_pillow_are_displayed(any_remit):
    """From version 12 on, Image.show() calls another function than before."""
    code = "from PIL import Image, ImageShow\ni = Image.new('RGB', (30, 20))\ni.show()\ni.show('title')\nprint(ImageShow.show(i))"
    result = any_remit.json(code, *SCIENTIFIC, "--python", venvs.framework("notebook"))
    assert [is_png(parts(result, at)["image/png"]) for at in range(3)] == [(30, 20)] * 3
    assert len(result["displays"]) == 3 and result["stdout"] == "True\n"


def test_saved_image_is_not_displayed(any_remit):
    result = any_remit.json("from PIL import Image\nImage.new('RGB', (3, 2)).save('a.png')", *SCIENTIFIC)
    assert (result["status"], result["displays"]) == ("ok", [])


def test_show_closes_figure_as_in_jupyter(any_remit):
    code = "import matplotlib.pyplot as plt\nf, a = plt.subplots()\na.set_title('T')\nplt.show()\nprint(plt.get_fignums(), plt.gca().get_title() == '', a.get_title())\nf.savefig('a.png'); plt.close()"
    result = any_remit.json(code, *SCIENTIFIC)
    assert result["stdout"] == "[] True T\n" and len(result["displays"]) == 1


def test_tables_are_data_and_html(remit):
    code = """
import numpy as np, pandas as pd
d = pd.DataFrame({"n": [1, 2, 3], "x": [0.1, np.nan, np.inf], "t": pd.to_datetime(["2024-01-01", "2024-01-02T03:04:05", None]),
                  "s": ["a", None, "ä"], "c": pd.Categorical(["u", "v", "u"]), "b": [True, False, None]})
display(d["n"])
d
"""
    result = remit.json(code, *SCIENTIFIC)
    assert parts(result)["application/json"] == [1, 2, 3]
    value = result["value"]
    assert value["json"] == {
        "n": [1, 2, 3], "x": [0.1, None, None], "t": ["2024-01-01T00:00:00", "2024-01-02T03:04:05", None],
        "s": ["a", None, "ä"], "c": ["u", "v", "u"], "b": [True, False, None],
    }  # fmt: skip
    assert value["mime"]["text/html"].startswith("<div>") and "2024-01-02" in value["text"]


def test_numpy_numbers_and_arrays_are_data(any_remit):
    for code, data in (("np.int64(5)", 5), ("np.float32(0.5)", 0.5), ("np.arange(6).reshape(2, 3)", [[0, 1, 2], [3, 4, 5]]), ("np.zeros(10**6)", ...), ("np.array([np.nan])", ...)):
        value = any_remit.json(f"import numpy as np\n{code}", *SCIENTIFIC)["value"]
        assert value.get("json", ...) == data, code
