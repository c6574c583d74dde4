"""Matplotlib and PIL: figures and images that a program shows, or leaves open.

`adopt` is called for each module of TABLE once it is imported, so that show()
displays. No line of the program is changed for it.
"""

import sys

import cell

display = cell.own_module("display")

CHART = "application/vnd.remit.chart+json"
# With more points than this a drawing is an image.
SVG_POINTS = 20_000


# ---- what a figure looks like ----


def points_in(figure):
    total = 0
    for axes in figure.axes:
        total += sum(len(line.get_xdata(orig=False)) for line in axes.lines)
        total += sum(len(c.get_offsets()) + sum(len(p.vertices) for p in c.get_paths()) for c in axes.collections)
        total += sum(len(p.get_path().vertices) for p in axes.patches)
    return total


def drawn(figure, form):
    import io

    out = io.BytesIO()
    # Nothing has no bounds to be tight to.
    tight = "tight" if figure.axes or figure.texts else None
    figure.savefig(out, format=form, bbox_inches=tight)
    return out.getvalue()


def vectors(figure):
    if points_in(figure) > SVG_POINTS:
        raise ValueError(f"more than {SVG_POINTS} points")
    return drawn(figure, "svg")


def chart(figure):
    return cell.own_module("charts").chart_of(figure)


def add_figure(bundle, figure):
    bundle.attempt("image/png", drawn, figure, "png")
    bundle.attempt("image/svg+xml", vectors, figure)
    # Now that it was drawn its ticks have texts.
    bundle.attempt(CHART, chart, figure)


# ---- when they are shown ----


def managers():
    pylab = sys.modules.get("matplotlib._pylab_helpers")
    return pylab.Gcf, list(pylab.Gcf.get_all_fig_managers())


def show_manager(manager):
    cell.display(manager.canvas.figure)
    managers()[0].destroy(manager)


def show_all(*_arguments, **_options):
    """In place of pyplot.show(), with its arguments about windows."""
    for manager in managers()[1]:
        show_manager(manager)


def show_rest(value):
    """At the end of a cell: what is still open, but for its value."""
    gcf, open_now = managers()
    for manager in open_now:
        if manager.canvas.figure is value:
            gcf.destroy(manager)
        else:
            show_manager(manager)


def show_image(image, **_options):
    cell.display(image)


def adopt_pyplot(module):
    module.show = show_all
    sys.modules["matplotlib.backend_bases"].FigureManagerBase.show = show_manager


def adopt_image(module):
    module._show = show_image


TABLE = {
    "matplotlib.pyplot": adopt_pyplot,
    "PIL.Image": adopt_image,
}


def adopt(name):
    TABLE[name](sys.modules[name])
