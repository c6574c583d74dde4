"""Values and displays: represents an object as a bundle of MIME parts.

The result is a bounded bundle for any object: a part that cannot be made or is too large is left
out with a reason. The only exception that propagates is an interrupt.
"""

import sys
from posix import getpid

import _remit
import cell
import records

errors = cell.own_module("errors")
clip, name_of = errors.clip, errors.name_of

PIECE = 64 * 1024
PARTS = 16  # of one bundle; src/wire/record.h
REASON_MAX = 200
MIME_MAX = 100
# Deeper than any sensible value, and less than the C stack allows.
DEPTH = 3000
# The maximum number of elements of an array that is converted to JSON.
ARRAY_MAX = 100_000

MIME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.+-_/")
PLAIN = "text/plain"
JSON = "application/json"
# IPython's protocol.
METHODS = (
    ("_repr_html_", "text/html"),
    ("_repr_markdown_", "text/markdown"),
    ("_repr_svg_", "image/svg+xml"),
    ("_repr_png_", "image/png"),
    ("_repr_jpeg_", "image/jpeg"),
    ("_repr_pdf_", "application/pdf"),
    ("_repr_latex_", "text/latex"),
    ("_repr_json_", JSON),
    ("_repr_javascript_", "application/javascript"),
)

mro_of = type.__dict__["__mro__"].__get__
formatters = {}  # functions by MIME type and class, from get_ipython().display_formatter
captured = None  # a list while %%capture keeps displays
_shown_bytes = 0


class Bundle:
    """Parts by MIME type, in order, limited to a number of bytes."""

    def __init__(self, room):
        self.room = room
        self.parts = {}
        self.left_out = []
        self.truncated = False

    def leave_out(self, mime, reason):
        self.left_out.append((clip(mime, MIME_MAX), clip(reason, REASON_MAX)))
        del self.left_out[PARTS:]

    def add_text(self, text):
        raw = str.encode(text, "utf-8", "replace")
        self.room += len(self.parts.get(PLAIN, b""))
        if len(raw) > self.room:
            self.truncated = True
            raw = raw[: self.room].decode("utf-8", "ignore").encode()
        self.parts[PLAIN] = raw
        self.room -= len(raw)

    def add(self, mime, data):
        """Add a part. The data is text, bytes, or a value that JSON can represent."""
        if not (len(mime) <= MIME_MAX and mime.count("/") == 1 and MIME.issuperset(mime)):
            raise ValueError("not a MIME type")
        raw = as_bytes(mime, data)
        if len(raw) > self.room or len(self.parts) >= PARTS:
            self.leave_out(mime, f"{len(raw)} bytes exceed the limit")
            return
        self.parts[mime] = raw
        self.room -= len(raw)

    def attempt(self, mime, make, *arguments):
        """Add what `make` returns, unless that is None."""
        try:
            data = make(*arguments)
            if type(data) is tuple:  # with metadata
                data = data[0]
            if data is not None:
                self.add(mime, data)
        except KeyboardInterrupt:
            raise
        except BaseException as e:
            self.leave_out(mime, failure(e))


def failure(exc):
    try:
        return f"{name_of(type(exc))}: {exc}"
    except BaseException as e:
        return f"{name_of(type(exc))} <unprintable: {name_of(type(e))}>"


def is_json(mime):
    return mime == JSON or mime.endswith("+json")


def is_text(mime):
    return mime.startswith("text/") or mime.endswith("+xml") or mime == "application/javascript"


def as_bytes(mime, data):
    if is_json(mime) and not isinstance(data, bytes):
        import json

        return json.dumps(data, allow_nan=False, separators=(",", ":")).encode()
    if isinstance(data, str):
        if is_text(mime):
            return str.encode(data, "utf-8", "replace")
        import base64  # as in IPython

        return base64.b64decode(data)
    if isinstance(data, (bytes, bytearray, memoryview)):
        return bytes(data)
    raise TypeError(f"{mime} of type {name_of(type(data))}")


# ---- the representations of an object ----


def text_of(obj):
    if type(obj) is int and obj.bit_length() > 10_000:
        return f"<int of {obj.bit_length()} bits>"
    try:
        return repr(obj)
    except KeyboardInterrupt:
        raise
    except BaseException as e:
        return f"<{name_of(type(obj))} whose repr raised {failure(e)}>"


def method_of(obj, name):
    """Find a method in the class: an object with a catch-all __getattr__ would appear to have every method."""
    for cls in mro_of(type(obj)):
        found = type.__dict__["__dict__"].__get__(cls).get(name)
        if found is not None:
            return lambda *arguments: found.__get__(obj, type(obj))(*arguments)
    return None


def is_a(obj, module, *names):
    """Whether the object is an instance of one of these classes, if their module is imported."""
    loaded = sys.modules.get(module)
    kinds = tuple(filter(None, (getattr(loaded, name, None) for name in names)))
    return any(cls is kind for cls in mro_of(type(obj)) for kind in kinds)


def data_of(obj):
    """Convert to data for JSON, or raise a TypeError or ValueError."""
    if is_a(obj, "pandas", "DataFrame", "Series"):
        return cell.own_module("tables").data_of(obj)
    if is_a(obj, "numpy", "generic"):
        return obj.item()
    if is_a(obj, "numpy", "ndarray"):
        if obj.size > ARRAY_MAX:
            raise ValueError(f"more than {ARRAY_MAX} elements")
        return obj.tolist()
    return obj


def add_data(bundle, obj):
    """Add the object as JSON if it can be converted. An omission is reported only if it is too large."""
    try:
        raw = as_bytes(JSON, data_of(obj))
    except KeyboardInterrupt:
        raise
    except BaseException:
        return
    bundle.add(JSON, raw)


def add_mimebundle(bundle, make):
    found = make()
    if type(found) is tuple:
        found = found[0]
    for mime, data in dict(found).items():
        if data is not None:
            add_named(bundle, mime, data)


def add_named(bundle, mime, data):
    """Add a part whose MIME type the program chose."""
    if mime == PLAIN:
        bundle.add_text(str(data))
    else:
        bundle.attempt(mime, lambda: data)


def add_formatters(bundle, obj):
    """Compared by identity: a class can define its own equality and hash."""
    for mime, printers in tuple(formatters.items()):
        found = [make for cls in mro_of(type(obj)) for known, make in tuple(printers.items()) if cls is known]
        if found and mime != PLAIN:
            bundle.attempt(mime, found[0], obj)


def add_methods(bundle, obj):
    make = method_of(obj, "_repr_mimebundle_")
    if make:
        try:
            add_mimebundle(bundle, make)
        except KeyboardInterrupt:
            raise
        except BaseException as e:
            bundle.leave_out("_repr_mimebundle_", failure(e))
    for name, mime in METHODS:
        make = method_of(obj, name)
        if make and mime not in bundle.parts:
            bundle.attempt(mime, make)


def bundle_of(obj, room):
    bundle = Bundle(room)
    depth = sys.getrecursionlimit()
    sys.setrecursionlimit(min(depth, DEPTH))
    try:
        bundle.add_text(text_of(obj))
        if is_a(obj, "matplotlib.figure", "Figure"):
            if not is_off():
                cell.own_module("figures").add_figure(bundle, obj)
        else:
            add_data(bundle, obj)
            add_formatters(bundle, obj)
            add_methods(bundle, obj)
    finally:
        sys.setrecursionlimit(depth)
    return bundle


# ---- sending to the keeper ----


def pieces(data):
    """Split bytes into frames; empty data needs one frame."""
    for at in range(0, len(data) or 1, PIECE):
        piece = data[at : at + PIECE]
        yield len(piece).to_bytes(4, "little") + bytes((records.DISPLAY_DATA, 0, 0, 0)) + piece


def send(kind, bundle):
    head = [("kind", kind)]
    if bundle.truncated:
        head.append(("truncated", "yes"))
    for mime, raw in bundle.parts.items():
        head += ("mime", mime), ("bytes", str(len(raw)))
    for mime, reason in bundle.left_out:
        head += ("left_out", mime), ("reason", reason)
    data = b"".join(pieces(b"".join(bundle.parts.values())))
    # The keeper reads the head, then all output so far, then the rest. Later output is written only
    # after settle(). A signal cannot interrupt a frame.
    begin = records.encode(records.DISPLAY, head)
    if kind == "value":  # a value has no position in the output
        records.put(begin + data)
        return
    _remit.put(records.CHANNEL, begin, data)
    _remit.settle(records.CHANNEL)


def give_value(value):
    send("value", bundle_of(value, int(cell.limits["value_bytes"])))


def show_bundle(make):
    """Display the bundle that `make` builds within the bytes that are left."""
    global _shown_bytes
    room = int(cell.limits["display_bytes"]) - _shown_bytes
    bundle = make(max(room, 0))
    _shown_bytes += room - bundle.room
    if captured is not None:
        captured.append(bundle)
    else:
        send("display", bundle)


def raw_bundle(parts, room):
    bundle = Bundle(room)
    for mime, data in dict(parts).items():
        add_named(bundle, mime, data)
    return bundle


def is_off():
    """Whether the policy wants no displays: their representations are not even made."""
    return cell.limits.get("display_mode") == "none"


def display(objects, raw):
    if getpid() != cell.process:
        raise RuntimeError("display() works only in the first process of a run")
    if is_off():
        return
    for obj in objects:
        show_bundle(lambda room, obj=obj: raw_bundle(obj, room) if raw else bundle_of(obj, room))


def begin():
    """Reset the number of displayed bytes for a new cell."""
    global _shown_bytes
    _shown_bytes = 0
