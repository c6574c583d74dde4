"""The data of a matplotlib figure, in the format of E2B.

A figure with one pair of axes is a chart, one with several is a "superchart". The artists in the
axes determine the kind of a chart; a mixture is "unknown".
"""

import sys

POINTS_MAX = 100_000


def plain(item):
    """Convert to a number or string that JSON can represent."""
    if hasattr(item, "item"):  # a type of numpy
        item = item.item()
    if hasattr(item, "isoformat"):
        return item.isoformat()
    if isinstance(item, float) and not abs(item) < float("inf"):
        return None
    return item if isinstance(item, (int, float, str)) else str(item)


def number(item):
    return plain(float(item))


def is_kind(artist, module, name):
    return any(cls.__name__ == name and cls.__module__ == f"matplotlib.{module}" for cls in type(artist).__mro__)


def is_rule(line):
    """Whether a line of two points is horizontal or vertical: a grid line, not data."""
    x, y = line.get_xdata(orig=False), line.get_ydata(orig=False)
    return len(x) == 2 and (x[0] == x[1] or y[0] == y[1])


def unit(label):
    """Return the unit in parentheses or brackets: "speed (m/s)"."""
    for opening, closing in ("()", "[]"):
        begin, end = label.rfind(opening), label.rfind(closing)
        if 0 <= begin < end:
            return label[begin + 1 : end].strip() or None
    return None


def name_of(artist, word):
    """Return the label of an artist, or a number if it has none."""
    label = str(artist.get_label())
    return f"{word} {label[6:]}" if label.startswith("_child") else label


# ---- axes ----


def is_of_dates(axis):
    converter = axis.get_converter() if hasattr(axis, "get_converter") else axis.converter
    return "Date" in type(converter).__name__


def is_of_categories(axis):
    converter = axis.get_converter() if hasattr(axis, "get_converter") else axis.converter
    return "Category" in type(converter).__name__


def tick(axis, at):
    return sys.modules["matplotlib.dates"].num2date(at).isoformat() if is_of_dates(axis) else number(at)


def scale(axis):
    if axis.get_scale() != "linear":
        return axis.get_scale()
    if is_of_dates(axis):
        return "datetime"
    return "categorical" if is_of_categories(axis) else "linear"


def labels(axes):
    x, y = axes.get_xlabel() or None, axes.get_ylabel() or None
    return {"x_label": x, "y_label": y, "x_unit": unit(x or ""), "y_unit": unit(y or "")}


def ticks(axes):
    found = {}
    for name, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        found[f"{name}_ticks"] = [tick(axis, at) for at in axis.get_ticklocs()]
        found[f"{name}_tick_labels"] = [text.get_text() for text in axis.get_ticklabels()]
        found[f"{name}_scale"] = scale(axis)
    return found


# ---- kinds ----


def lines_of(axes):
    return [
        {"label": name_of(line, "Line"), "points": [[plain(x), plain(y)] for x, y in zip(line.get_xdata(), line.get_ydata())]}
        for line in axes.lines
        if not is_rule(line)
    ]  # fmt: skip


def scatter_of(axes):
    return [
        {"label": name_of(c, "Dataset"), "points": [[tick(axes.xaxis, x), tick(axes.yaxis, y)] for x, y in c.get_offsets()]}
        for c in axes.collections
    ]  # fmt: skip


def pie_of(axes):
    """Angles are rounded: matplotlib adds up fractions of a turn, some versions in single precision, and 36 degrees become
    35.999996185302734."""
    return [
        {"label": str(w.get_label()), "angle": number(round(abs(float(w.theta2) - float(w.theta1)), 3)), "radius": number(w.r)}
        for w in axes.patches
    ]  # fmt: skip


def is_sideways(bars):
    """Whether bars are horizontal: they have the same height."""
    if getattr(bars, "orientation", None):
        return bars.orientation == "horizontal"
    return len({bar.get_height() for bar in bars}) == 1


def place_label(axis, at):
    """Return the text of the tick at a position, or the number. A tick that was set explicitly, or
    for a category, also applies to nearby positions, because bars may be grouped."""
    where = sorted(zip(axis.get_ticklocs(), (text.get_text() for text in axis.get_ticklabels())))
    near = min(where, key=lambda one: abs(one[0] - at), default=None)
    is_named = type(axis.get_major_locator()).__name__ in ("FixedLocator", "StrCategoryLocator")
    steps = [b[0] - a[0] for a, b in zip(where, where[1:])]
    reach = min(steps, default=1) / 2 if is_named else 1e-9
    return near[1] if near and near[1] and abs(near[0] - at) <= reach else f"{number(at):g}"


def bars_of(axes):
    found = []
    for bars in axes.containers:
        for bar in bars:
            if is_sideways(bars):
                label, length = place_label(axes.yaxis, bar.get_y() + bar.get_height() / 2), bar.get_width()
            else:
                label, length = place_label(axes.xaxis, bar.get_x() + bar.get_width() / 2), bar.get_height()
            found.append({"label": label, "group": str(bars.get_label()), "value": number(length)})
    return found


def is_closed(line):
    """Whether a line is a closed box of five points; with a notch it has more."""
    x, y = line.get_xdata(orig=False), line.get_ydata(orig=False)
    return len(x) in (5, 11) and (x[0], y[0]) == (x[-1], y[-1])


def boxes_of(axes):
    """Return the lines of each box, which follow it: two whiskers, two caps, the median, and
    outliers."""
    found = []
    for artist in axes.get_children():
        is_line = is_kind(artist, "lines", "Line2D")
        if is_kind(artist, "patches", "PathPatch") or (is_line and is_closed(artist)):
            found.append([])
        elif is_line and found:
            found[-1].append(artist)
    return [lines for lines in found if len(lines) >= 5]


def across(lines):
    """Return 0 if the first whisker is parallel to x, 1 if it is parallel to y."""
    return 1 if lines[0].get_xdata(orig=False)[0] == lines[0].get_xdata(orig=False)[1] else 0


def box_of(axes, lines):
    """Describe a box. A whisker extends from a quartile to the last value that is not an outlier."""
    way = across(lines)
    ends = [(line.get_xdata(orig=False), line.get_ydata(orig=False))[way] for line in lines]
    centre = (lines[0].get_ydata(orig=False), lines[0].get_xdata(orig=False))[way][0]
    return {
        "label": place_label((axes.yaxis, axes.xaxis)[way], float(centre)),
        "min": number(min(ends[0])),
        "first_quartile": number(max(ends[0])),
        "median": number(ends[4][0]),
        "third_quartile": number(min(ends[1])),
        "max": number(max(ends[1])),
        "outliers": [number(at) for line, end in zip(lines[5:], ends[5:]) if line.get_marker() != "None" for at in end],
    }


def boxplot_of(axes):
    return [box_of(axes, lines) for lines in boxes_of(axes)]


def is_scatter(artist):
    """Whether a collection is a scatter plot. Contours are collections of paths, too, but have no marker sizes."""
    return is_kind(artist, "collections", "PathCollection") and len(artist.get_sizes()) > 0


def kind_of(axes):
    """Return the kind of a chart, the function for its elements, and those for its axes."""
    patches, collections = axes.patches, axes.collections
    lines = [line for line in axes.lines if not is_rule(line)]
    if not (patches or collections or lines or axes.images):
        return "unknown", None, ()
    if boxes_of(axes) and not collections:
        return "box_and_whisker", boxplot_of, (labels,)
    if lines and not (patches or collections or axes.images):
        return "line", lines_of, (labels, ticks)
    if collections and not (lines or patches) and all(map(is_scatter, collections)):
        return "scatter", scatter_of, (labels, ticks)
    if patches and not (lines or collections):
        if all(is_kind(p, "patches", "Wedge") for p in patches):
            return "pie", pie_of, ()
        if axes.containers and all(is_kind(p, "patches", "Rectangle") for p in patches):
            return "bar", bars_of, (labels,)
    return "unknown", None, ()


def chart_of_axes(axes):
    kind, elements, rest = kind_of(axes)
    chart = {"type": kind, "title": axes.get_title() or None}
    for describe in rest:
        chart.update(describe(axes))
    if kind == "bar" and any(is_sideways(bars) for bars in axes.containers):
        for end in ("label", "unit"):
            chart[f"x_{end}"], chart[f"y_{end}"] = chart[f"y_{end}"], chart[f"x_{end}"]
    return {**chart, "elements": elements(axes) if elements else []}


def title_of(figure):
    title = getattr(figure, "_suptitle", None)
    return title.get_text() if title is not None else None


def points_in(axes):
    return sum(len(a.get_xdata(orig=False)) for a in axes.lines) + sum(len(c.get_offsets()) for c in axes.collections)


def chart_of(figure):
    """Describe a figure. Return None if it has no axes."""
    if sum(map(points_in, figure.axes)) > POINTS_MAX:
        raise ValueError(f"more than {POINTS_MAX} points")
    charts = [chart_of_axes(axes) for axes in figure.axes]
    if len(charts) > 1:
        return {"type": "superchart", "title": title_of(figure), "elements": charts}
    return charts[0] if charts else None
