"""Prints docs/reference/python-api.md: the public names of the package, from their docstrings.

    PYTHONPATH=SITE tools/python_api.py > docs/reference/python-api.md
"""

from __future__ import annotations

import inspect
import textwrap

import remit
import remit.compat

HEAD = """# The Python API

Made from the docstrings by `tools/python_api.py`. [The tutorial](../tutorial/python.md) comes first.
"""


def own_members(cls: type) -> list[tuple[str, object]]:
    return [(name, member) for name, member in vars(cls).items() if not name.startswith("_")]


def signature(name: str, function: object) -> str:
    return f"{name}{inspect.signature(function)}".replace("'", "")  # type: ignore[arg-type]


def quoted(text: str | None) -> str:
    return textwrap.dedent(inspect.cleandoc(text or ""))


def describe(name: str, thing: object) -> str:
    kind = "class " if isinstance(thing, type) else "async " if inspect.iscoroutinefunction(thing) else ""
    if isinstance(thing, type) and issubclass(thing, Exception):
        return f"### {name}\n\n{quoted(thing.__doc__)}\n"
    text = f"### {name}\n\n"
    if callable(thing):
        try:
            text += f"```text\n{textwrap.fill(kind + signature(name, thing), 110, subsequent_indent='    ')}\n```\n\n"
        except ValueError:
            pass  # it has no signature
        text += f"{quoted(thing.__doc__)}\n"
    if isinstance(thing, type):
        hints = {key: hint for key, hint in vars(thing).get("__annotations__", {}).items() if not key.startswith(("_", "ENFORCED_"))}
        rows = [f"| `{key}` | `{hint}` |".replace("'", "") for key, hint in hints.items()]
        for key, member in own_members(thing):
            if isinstance(member, property):
                rows.append(f"| `{key}` | {quoted(member.fget.__doc__)} |")
            elif inspect.isfunction(member):
                rows.append(f"| `{key}()` | {quoted(member.__doc__).splitlines()[0]} |")
        if rows:
            text += "\n| member | |\n|---|---|\n" + "\n".join(rows) + "\n"
    return text


def main() -> None:
    print(HEAD)
    for module in (remit, remit.compat):
        print(f"## {module.__name__}\n")
        for name in sorted(module.__all__, key=lambda n: (isinstance(getattr(module, n), type), n)):
            thing = getattr(module, name)
            if callable(thing) and hasattr(thing, "__doc__") and not str(thing).startswith("typing."):
                print(describe(name, thing))


main()
