"""The data of figures, in the form that E2B's clients know."""

import pytest

CHART = "application/vnd.remit.chart+json"
BEGIN = "import matplotlib.pyplot as plt\nimport numpy as np\n"


@pytest.fixture
def chart(any_remit):
    def of(code):
        result = any_remit.json(BEGIN + code + "\nplt.show()", "--preset", "scientific")
        assert result["status"] == "ok", (result["error"], result["stderr"])
        (shown,) = result["displays"]
        assert shown["left_out"] == [] and "image/png" in shown["mime"]
        return shown["mime"].get(CHART)

    return of


def near(found, wanted):
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted):
        assert one == pytest.approx(other, abs=1e-9)


def test_line_chart_has_its_data(chart):
    found = chart(
        "x = np.linspace(0, 4, 3)\nplt.plot(x, x ** 2, label='a')\nplt.plot([0, 4], [1, 2])\nplt.grid(True)\nplt.axhline(3)\n"
        "plt.xlabel('Time (s)'); plt.ylabel('Speed [m/s]'); plt.title('T'); plt.legend()"
    )
    assert (found["type"], found["title"]) == ("line", "T")
    assert (found["x_label"], found["y_label"], found["x_unit"], found["y_unit"]) == ("Time (s)", "Speed [m/s]", "s", "m/s")
    assert found["elements"] == [
        {"label": "a", "points": [[0.0, 0.0], [2.0, 4.0], [4.0, 16.0]]},
        {"label": "Line 1", "points": [[0, 1], [4, 2]]},
    ]
    assert (found["x_scale"], found["y_scale"]) == ("linear", "linear")
    assert len(found["x_ticks"]) == len(found["x_tick_labels"]) > 2


def test_scales_are_described(chart):
    found = chart("plt.plot([1, 10, 100], [1, 2, 3]); plt.xscale('log')")
    assert (found["x_scale"], found["y_scale"]) == ("log", "linear")
    found = chart("import datetime as d\nplt.plot([d.date(2024, 1, i) for i in (1, 2, 3)], [1, 2, 3])")
    assert found["x_scale"] == "datetime" and found["elements"][0]["points"][0] == ["2024-01-01", 1]
    assert found["x_ticks"][0].startswith("2024-01-01T")
    found = chart("plt.plot(['a', 'b'], [1, float('nan')])")
    assert found["x_scale"] == "categorical" and found["elements"][0]["points"] == [["a", 1], ["b", None]]


def test_scatter_chart_has_its_data(chart):
    found = chart("plt.scatter([1, 2], [3, 4], label='A')\nplt.scatter([5], [6])")
    assert found["type"] == "scatter"
    assert found["elements"] == [{"label": "A", "points": [[1.0, 3.0], [2.0, 4.0]]}, {"label": "Dataset 1", "points": [[5.0, 6.0]]}]


def test_bar_chart_has_its_data(chart):
    found = chart("plt.bar(['a', 'b'], [3, 4], label='G'); plt.bar(['a', 'b'], [1, 1], bottom=[3, 4], label='H'); plt.ylabel('n')")
    assert found["type"] == "bar"
    assert found["elements"] == [
        {"label": "a", "group": "G", "value": 3.0},
        {"label": "b", "group": "G", "value": 4.0},
        {"label": "a", "group": "H", "value": 1.0},
        {"label": "b", "group": "H", "value": 1.0},
    ]
    found = chart("plt.barh(['a', 'b'], [3, 4]); plt.xlabel('n (kg)')")
    assert [(e["label"], e["value"]) for e in found["elements"]] == [("a", 3.0), ("b", 4.0)]
    assert (found["y_label"], found["y_unit"], found["x_label"]) == ("n (kg)", "kg", None)


def test_histogram_is_bars_at_their_positions(chart):
    found = chart("plt.hist([1, 1, 2, 3], bins=[0.5, 1.5, 2.5, 3.5])")
    assert [(e["label"], e["value"]) for e in found["elements"]] == [("1.0", 2.0), ("2.0", 1.0), ("3.0", 1.0)]


def test_pie_chart_has_its_data(chart):
    found = chart("plt.pie([1, 3], labels=['p', 'q'], autopct='%d'); plt.title('P')")
    assert (found["type"], found["title"]) == ("pie", "P")
    assert found["elements"] == [{"label": "p", "angle": 90.0, "radius": 1.0}, {"label": "q", "angle": 270.0, "radius": 1.0}]


@pytest.mark.parametrize("angles", ["0, 323.99999999999994", "numpy.float32(90), numpy.float32(414.00003)"])
def test_pie_angles_are_rounded(chart, angles):
    found = chart(f"import numpy\nfrom matplotlib.patches import Wedge\nf, a = plt.subplots()\na.add_patch(Wedge((0, 0), 1, {angles}))")
    assert found["elements"][0]["angle"] == 324.0


@pytest.mark.parametrize("form", ["patch_artist=True", "", "vert=False", "notch=True", "showfliers=False"])
def test_box_plot_has_its_data(chart, form):
    found = chart(f"plt.boxplot([[1, 2, 3, 4, 5, 40], [2, 4, 6]], {form})\nplt.gca().set_{'y' if 'vert' in form else 'x'}ticklabels(['u', 'v'])")
    assert found["type"] == "box_and_whisker"
    first, second = found["elements"]
    assert (first["label"], second["label"]) == ("u", "v")
    near([first[k] for k in ("min", "first_quartile", "median", "third_quartile", "max")], [1, 2.25, 3.5, 4.75, 5])
    near([second[k] for k in ("min", "first_quartile", "median", "third_quartile", "max")], [2, 3, 4, 5, 6])
    assert first["outliers"] == ([] if "fliers" in form else [40.0]) and second["outliers"] == []


def test_several_axes_are_superchart(chart):
    found = chart("f, (a, b) = plt.subplots(1, 2)\nf.suptitle('S')\na.plot([1, 2]); b.imshow([[1]]); b.set_title('I')")
    assert (found["type"], found["title"]) == ("superchart", "S")
    assert [(e["type"], e["title"]) for e in found["elements"]] == [("line", None), ("unknown", "I")]


def test_mixed_chart_is_unknown(chart):
    for code in ("plt.plot([1, 2, 3]); plt.scatter([1], [2])", "plt.imshow([[1, 2]])", "plt.fill_between([1, 2], [3, 4])", "plt.contour([[1, 2], [3, 4]])"):
        found = chart(code)
        assert found["type"] == "unknown" and found["elements"] == [], code


def test_empty_figure_has_no_chart(chart):
    assert chart("plt.figure()") is None
    assert chart("plt.subplots()")["type"] == "unknown"


def test_pandas_plots_have_their_data(chart):
    found = chart("import pandas as pd\npd.DataFrame({'x': [1, 2], 'y': [3, 4]}, index=['a', 'b']).plot.bar()")
    assert [(e["label"], e["group"], e["value"]) for e in found["elements"]] == [("a", "x", 1.0), ("b", "x", 2.0), ("a", "y", 3.0), ("b", "y", 4.0)]
    found = chart("import pandas as pd\npd.Series([1, 2, 4], name='s').plot()")
    assert found["type"] == "line" and found["elements"][0]["points"][2] == [2, 4]
