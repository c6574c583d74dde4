"""IPython.display and get_ipython() where IPython is not installed, and display() where it is."""

import base64
import sys

import pytest
from session_client import SessionClient
from shared_keeper import SharedKeeper

from conftest import PYTHON, ROOT

sys.path.insert(0, str(ROOT / "tests" / "python"))
import venvs  # noqa: E402

CODE = """
from IPython.display import display, HTML, Image, Latex, Markdown, SVG, clear_output, display_html
display(HTML("<b>x</b>"))
display(Markdown("*a*"), SVG("<svg/>"), Latex("$x$"))
display(Image(data=b"\\x89PNG\\r\\n\\x1a\\n" + b"0" * 20))
display(Image(url="http://a.example/b.png", width=5))
display_html("<u>", raw=True)
clear_output(wait=True)
display({"text/html": "raw"}, raw=True)
HTML("<i>")
"""


def shown(result):
    assert result["status"] == "ok", (result["error"], result["stderr"])
    assert (result["stdout"], result["stderr"]) == ("", "")
    return [d["mime"] for d in result["displays"]]


def check_displays(result):
    found = shown(result)
    assert found[0] == {"text/plain": "<IPython.core.display.HTML object>", "text/html": "<b>x</b>"}
    assert (found[1]["text/markdown"], found[2]["image/svg+xml"], found[3]["text/latex"]) == ("*a*", "<svg/>", "$x$")
    assert base64.b64decode(found[4]["image/png"]).startswith(b"\x89PNG")
    assert found[5]["text/html"].startswith('<img src="http://a.example/b.png" width="5"')
    assert found[6]["text/html"] == "<u>" and found[7] == {"text/html": "raw"} and len(found) == 8
    assert result["value"]["mime"] == {"text/html": "<i>"}


@pytest.mark.parametrize("start", ["cold", "warm"])
def test_display_works_without_ipython(remit, start):
    if start == "cold":
        check_displays(remit.json(CODE))
        return
    keeper = SharedKeeper(remit)
    check_displays(keeper.warm(CODE))
    keeper.close()


def test_display_works_with_real_ipython(any_remit):
    real = ("--preset", "scientific", "--python", venvs.framework("notebook"))
    check_displays(any_remit.json(CODE, *real))
    result = any_remit.json("import IPython\nfrom IPython.display import Audio, display\nprint(IPython.__version__, IPython.get_ipython())\nprint(display(1), display(2, display_id='a').display_id)", *real)
    assert result["stdout"] == "9.18.1 None\nNone a\n", result


def test_program_s_own_ipython_module_comes_first(any_remit):
    """A package or file of that name is found as in every Python."""
    code = "import sys\nopen('IPython.py', 'w').write('mine = 1')\nsys.path.insert(0, '.')\nimport IPython\nprint(IPython.mine)\nimport IPython.display"
    result = any_remit.json(code)
    assert result["stdout"] == "1\n" and result["error"]["value"] == "No module named 'IPython.display'; 'IPython' is not a package"


MISSING = {
    "from IPython.display import Audio": "ImportError",
    "from IPython import embed": "ImportError",
    "import IPython.core.magic": "ModuleNotFoundError",
}


@pytest.mark.parametrize("code", MISSING)
def test_missing_names_have_remedy(any_remit, code):
    error = any_remit.json(code)["error"]
    assert error["name"] == MISSING[code] and "add the package ipython to the policy's packages (--package ipython)" in error["value"]


def test_images_are_read_from_files(any_remit):
    code = "from IPython.display import Image, display\nopen('a.jpg', 'wb').write(b'\\xff\\xd8x')\ndisplay(Image('a.jpg'), Image(filename='a.jpg'))\nfor bad in ({}, {'filename': 'none.png'}, {'data': b'x', 'format': 'exe'}):\n    try: Image(**bad)\n    except Exception as e: display(type(e).__name__)"
    found = shown(any_remit.json(code))
    assert [part.get("image/jpeg") for part in found[:2]] == ["/9h4", "/9h4"]
    assert [part["application/json"] for part in found[2:]] == ["ValueError", "FileNotFoundError", "ValueError"]


def test_display_handle_displays_again(any_remit):
    found = shown(any_remit.json("from IPython.display import update_display\nh = display(1, display_id='x')\nh.update(2)\nupdate_display(3, display_id='x')"))
    assert [part["application/json"] for part in found] == [1, 2, 3]


def test_program_has_no_shell(any_remit):
    result = any_remit.json("import IPython\nprint(IPython.get_ipython(), IPython.version_info >= (8, 24))\nget_ipython()")
    assert result["stdout"] == "None True\n" and result["error"]["name"] == "NameError"


def test_matplotlib_works_after_ipython(any_remit):
    """matplotlib asks a loaded IPython for its shell."""
    result = any_remit.json("import IPython.display\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()", "--preset", "scientific")
    assert "image/png" in shown(result)[0]


PLOTLY = """
import plotly.graph_objects as go
f = go.Figure(go.Bar(y=[1, 2]))
f.show()
f
"""


@pytest.mark.parametrize("is_cell", [False, True], ids=["program", "cell"])
def test_plotly_figures_are_data(any_remit, is_cell):
    """Without nbformat, which plotly wants where it finds a shell of IPython."""
    policy = {"preset": "scientific", "python": str(venvs.framework("plotly"))}
    if is_cell:
        client = SessionClient(any_remit)
        client.open(policy=policy)
        result = client.run(PLOTLY)
        client.leave()
    else:
        result = any_remit.json(PLOTLY, "--preset", "scientific", "--python", policy["python"])
    (figure,) = shown(result)
    assert figure["application/vnd.plotly.v1+json"]["data"][0]["y"] == [1, 2] and len(str(figure)) < 100_000
    assert result["value"]["mime"]["application/vnd.plotly.v1+json"]["data"][0]["type"] == "bar"


def test_cells_of_session_display(remit):
    client = SessionClient(remit)
    client.open(policy={"python": PYTHON})
    for number in range(2):
        assert shown(client.run(f"from IPython.display import display, HTML\ndisplay(HTML('{number}'))"))[0]["text/html"] == str(number)
    client.leave()
