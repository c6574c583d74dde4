"""Matplotlib, PIL and plotly: displays figures and images that a program shows or leaves open.

`adopt` is called when a module of TABLE has been imported, and redirects its show() to display().
The program is not changed.
"""

import sys

import cell

display = cell.own_module("display")

CHART = "application/vnd.remit.chart+json"
# A figure with more points is not converted to SVG.
SVG_POINTS = 20_000


# ---- the representations of a figure ----


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
    # An empty figure has no tight bounding box.
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
    # Last, because ticks have texts only after the figure was drawn.
    bundle.attempt(CHART, chart, figure)


# ---- showing ----


def managers():
    pylab = sys.modules.get("matplotlib._pylab_helpers")
    return pylab.Gcf, list(pylab.Gcf.get_all_fig_managers())


def show_manager(manager):
    if display.is_off():
        return
    cell.display(manager.canvas.figure)
    managers()[0].destroy(manager)


def show_all(*_arguments, **_options):
    """Replaces pyplot.show(); its arguments about windows are ignored."""
    if display.is_off():
        return  # as Agg does: the figures stay open
    for manager in managers()[1]:
        show_manager(manager)


def show_rest(value):
    """Display open figures at the end of a cell, except its value."""
    gcf, open_now = managers()
    for manager in open_now:
        if manager.canvas.figure is value:
            gcf.destroy(manager)
        else:
            show_manager(manager)


def show_image(image, *_arguments, **_options):
    """Replaces Image.show() and ImageShow.show(), with their arguments about windows."""
    cell.display(image)
    return True  # as a viewer that worked


def adopt_pyplot(module):
    module.show = show_all
    sys.modules["matplotlib.backend_bases"].FigureManagerBase.show = show_manager


def adopt_image(module):
    # Replace the method, not the function that it calls, which differs between versions of Pillow.
    module.Image.show = show_image


def adopt_viewers(module):
    module.show = show_image


def adopt_plotly(module):
    """Figures as data. Its renderer for notebooks adds 5 MB of JavaScript, and wants nbformat."""
    import os

    own = module.show

    def show(figure, renderer=None, **options):
        if renderer is not None or not hasattr(figure, "_repr_mimebundle_"):
            own(figure, renderer=renderer, **options)
        else:
            cell.display(figure)

    module.show = show
    if "PLOTLY_RENDERER" not in os.environ:
        module.renderers.default = "plotly_mimetype"


TABLE = {
    "matplotlib.pyplot": adopt_pyplot,
    "PIL.Image": adopt_image,
    "PIL.ImageShow": adopt_viewers,
    "plotly.io._renderers": adopt_plotly,
}


def adopt(name):
    TABLE[name](sys.modules[name])
