"""A small IPython for programs whose interpreter has none, and the real one's display() where it is installed.

Most notebook code imports from IPython.display. `find_spec` is called if no finder knows the
module (cell.Watcher), and `adopt` for each module of TABLE once it is imported.
"""

import sys

import cell

VERSION = (9, 0, 0)
REMEDY = "add the package ipython to the policy's packages (--package ipython)"
FORMATS = {"jpg": "jpeg", "jpeg": "jpeg", "png": "png", "gif": "gif", "webp": "webp"}
BEGINNINGS = ((b"\x89PNG", "png"), (b"\xff\xd8", "jpeg"), (b"GIF8", "gif"), (b"RIFF", "webp"))


# ---- objects that programs display ----


def read_url(url):
    import urllib.request

    with urllib.request.urlopen(url) as answer:
        return answer.read()


def read_file(name):
    with open(name, "rb") as file:
        return file.read()


def is_file(name):
    import os.path

    try:
        return os.path.isfile(name)
    except ValueError:  # a text with a NUL
        return False


class DisplayObject:
    """Data for display, from memory, from a file or from an address."""

    is_text = True

    def __init__(self, data=None, url=None, filename=None, metadata=None):
        if hasattr(data, "__fspath__"):
            data = data.__fspath__()
        if isinstance(data, str) and url is None and data.startswith(("http://", "https://")):
            data, url = None, data
        elif isinstance(data, str) and filename is None and is_file(data):
            data, filename = None, data
        self.data, self.url, self.metadata = data, url, metadata or {}
        self.filename = None if filename is None else str(filename)
        self.reload()

    def reload(self):
        raw = None
        if self.filename is not None:
            raw = read_file(self.filename)
        elif self.url is not None:
            raw = read_url(self.url)
        if raw is not None:
            self.data = raw.decode("utf-8", "replace") if self.is_text else raw

    def __repr__(self):
        return f"<{type(self).__module__}.{type(self).__name__} object>"


class Pretty(DisplayObject):
    def __repr__(self):
        return str(self.data)


class HTML(DisplayObject):
    def _repr_html_(self):
        return self.data

    __html__ = _repr_html_


class Markdown(DisplayObject):
    def _repr_markdown_(self):
        return self.data


class Latex(DisplayObject):
    def _repr_latex_(self):
        return self.data


class Math(DisplayObject):
    def _repr_latex_(self):
        return f"$\\displaystyle {self.data.strip('$')}$"


class SVG(DisplayObject):
    def _repr_svg_(self):
        return self.data


class Javascript(DisplayObject):
    def _repr_javascript_(self):
        return self.data


class JSON(DisplayObject):
    def reload(self):
        super().reload()
        if isinstance(self.data, str):
            import json

            self.data = json.loads(self.data)

    def _repr_json_(self):
        return self.data


class Image(DisplayObject):
    """An image whose data the caller gets; one with an address alone is a link in HTML."""

    is_text = False

    def __init__(self, data=None, url=None, filename=None, format=None, embed=None, width=None, height=None, alt=None, **_options):
        self.embed, self.width, self.height, self.alt = embed, width, height, alt
        super().__init__(data, url, filename)
        if self.data is None and self.url is None:
            raise ValueError("No image data found. Expecting filename, url, or data.")
        self.format = FORMATS.get((format or self.guess()).lower())
        if self.format is None:
            raise ValueError(f"Cannot embed the {format!r} image format")

    def reload(self):
        if self.url is None or self.embed:
            super().reload()

    def guess(self):
        data = self.data if isinstance(self.data, bytes) else b""
        for beginning, name in BEGINNINGS:
            if data.startswith(beginning):
                return name
        ending = (self.filename or "").rpartition(".")[2].lower()
        return ending if ending in FORMATS else "png"

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {} if self.data is None else {f"image/{self.format}": self.data}

    def _repr_html_(self):
        if self.data is not None:
            return None
        import html

        given = ("src", self.url), ("width", self.width), ("height", self.height), ("alt", self.alt)
        return "<img " + "".join(f'{name}="{html.escape(str(value))}" ' for name, value in given if value is not None) + "/>"


OBJECTS = (DisplayObject, Pretty, HTML, Markdown, Latex, Math, SVG, Javascript, JSON, Image)
for _class in OBJECTS:
    _class.__module__ = "IPython.core.display"


# ---- functions ----


class DisplayHandle:
    """Names a display. Each update is another display, since the caller has the first one already."""

    def __init__(self, display_id=None):
        import uuid

        self.display_id = uuid.uuid4().hex if display_id in (None, True) else str(display_id)

    def __repr__(self):
        return f"<DisplayHandle display_id={self.display_id}>"

    def display(self, obj, **options):
        cell.display(obj, **options)

    update = display


def update_display(obj, *, display_id, **options):
    cell.display(obj, **options)


def publish_display_data(data, metadata=None, **_options):
    cell.display(data, raw=True)


def clear_output(wait=False):
    """Does nothing: the caller has the output already."""


FUNCTIONS = {
    "display": cell.display,
    "update_display": update_display,
    "publish_display_data": publish_display_data,
    "clear_output": clear_output,
    "DisplayHandle": DisplayHandle,
}


def displaying(mime):
    """A function like display_html(), which with raw=True takes data of its MIME type."""

    def display_as(*objects, raw=False, **_options):
        cell.display(*({mime: obj} if raw else obj for obj in objects), raw=raw)

    return display_as


KINDS = {
    "display_pretty": "text/plain",
    "display_html": "text/html",
    "display_markdown": "text/markdown",
    "display_svg": "image/svg+xml",
    "display_png": "image/png",
    "display_jpeg": "image/jpeg",
    "display_latex": "text/latex",
    "display_json": "application/json",
    "display_javascript": "application/javascript",
}
DISPLAY = {**FUNCTIONS, **{cls.__name__: cls for cls in OBJECTS}, **{name: displaying(mime) for name, mime in KINDS.items()}}


# ---- modules where IPython is not installed ----


def missing_name(module):
    """For __getattr__ of a module: an import of a name that only the real one has."""

    def missing(name):
        if name.startswith("_"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        raise ImportError(f"{module} of Remit has no {name}: {REMEDY}", name=module)

    return missing


MODULES = {
    "IPython": {
        "version_info": (*VERSION, ""), "__version__": ".".join(map(str, VERSION)), "get_ipython": cell.get_ipython, "display": None,
        "__path__": [],
    },
    "IPython.display": DISPLAY,
    "IPython.core": {"__path__": []},
    "IPython.core.display": DISPLAY,
    "IPython.core.display_functions": FUNCTIONS,
    "IPython.core.getipython": {"get_ipython": cell.get_ipython},
    # matplotlib before 3.9.1 looks here for the window system that its backend uses.
    "IPython.core.pylabtools": {"backend2gui": {}},
    # sympy's init_printing() asks whether the shell is a terminal, and for images of formulas where LaTeX is missing.
    "IPython.lib": {"__path__": []},
    "IPython.lib.latextools": {"latex_to_png": lambda *_arguments, **_options: None},
    "IPython.terminal": {"__path__": []},
    "IPython.terminal.interactiveshell": {"TerminalInteractiveShell": type("TerminalInteractiveShell", (), {})},
}  # fmt: skip


class Loader:
    @staticmethod
    def create_module(_spec):
        return None

    @staticmethod
    def exec_module(module):
        name = module.__name__
        module.__dict__.update(MODULES[name], __getattr__=missing_name(name), __doc__=__doc__)
        if name == "IPython":
            import IPython.display

            module.display = IPython.display


def is_ours():
    spec = getattr(sys.modules.get("IPython"), "__spec__", None)
    return getattr(spec, "loader", None) is Loader


def find_spec(name):
    """The spec of one of our modules, if IPython is not installed."""
    if name != "IPython" and not is_ours():
        return None
    if name not in MODULES:
        raise ModuleNotFoundError(f"Remit's small IPython has no {name}: {REMEDY}", name=name)
    from importlib.machinery import ModuleSpec

    return ModuleSpec(name, Loader, origin="remit", is_package="__path__" in MODULES[name])


# ---- where IPython is installed ----


def adopt_display(module):
    """The real functions print the repr of an object if no kernel runs."""
    for name in ("display", "publish_display_data", "clear_output"):
        if hasattr(module, name):
            setattr(module, name, FUNCTIONS[name])


def adopt_shell(module):
    own = module.get_ipython
    module.get_ipython = lambda: cell.get_ipython() or own()


TABLE = {
    "IPython.core.display": adopt_display,  # up to IPython 7.22
    "IPython.core.display_functions": adopt_display,
    "IPython.core.getipython": adopt_shell,
}


def adopt(name):
    TABLE[name](sys.modules[name])
