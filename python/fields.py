"""Writes remit/_fields.py, the policy fields as Python keywords, from the table in the command.

    fields.py REMIT OUTPUT
"""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

# The type hint for each type of field.
TYPES = {
    "bool": "bool",
    "bytes": "Union[int, str]",
    "time": "Union[float, str, datetime.timedelta]",
    "count": "Union[int, str]",
    "choice": "Literal[{choices}]",
    "switch": "Union[bool, Literal[{choices}]]",
    "text": "Union[str, PathLike[str]]",
    "list": "Sequence[str]",
    "paths": "Sequence[Union[str, PathLike[str]]]",
    "place": "Union[str, PathLike[str]]",
    "places": "Sequence[Union[str, PathLike[str]]]",
    "mounts": "Sequence[Union[str, Sequence[Union[str, PathLike[str]]], Mapping[str, Any]]]",
    "env": "Mapping[str, Optional[str]]",
}

HEAD = '''"""The policy fields. Generated from the table in the remit command: do not edit."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import datetime
    from os import PathLike
    from typing import Any, Literal, Mapping, Optional, Sequence, TypedDict, Union

    class PolicyFields(TypedDict, total=False):
        """The fields of a policy by their short names: keywords of Policy() and run()."""

        preset: str
'''


def keyword(row: dict) -> str:
    return row["short"].replace("-", "_")


def choices(row: dict) -> tuple[str, ...]:
    """All choices except those that are True and False in Python."""
    return tuple(word for word in row.get("choices", ()) if word not in ("true", "false"))


def hint(row: dict) -> str:
    return TYPES[row["type"]].format(choices=", ".join(map(repr, choices(row))))


def main() -> None:
    command, output = sys.argv[1:]
    rows = json.loads(subprocess.run([command, "policy", "--fields"], check=True, capture_output=True).stdout)
    text = HEAD
    for row in rows:
        text += f"        {keyword(row)}: {hint(row)}\n        {row['sentence'] + '.'!r}\n"
    text += "\n# keyword: (name, type, least, most, \"unlimited\" is accepted, choices)\n"
    text += "FIELDS: dict[str, tuple[str, str, float | None, float | None, bool, tuple[str, ...]]] = {\n"
    for row in rows:
        entry = row["name"], row["type"], row.get("min"), row.get("max"), row["unlimited"], choices(row)
        text += f"    {keyword(row)!r}: {entry!r},\n"
    pathlib.Path(output).write_text(text + "}\n")


main()
