"""Reports of the command about this machine: explain, doctor, matrix."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

from ._connection import COMMAND, unsupported
from ._errors import RemitError, make
from ._policy import Policy
from ._result import Enforcement, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

# Exit codes of the command.
_MISUSE, _FAILED = 2, 125


def _error(done: subprocess.CompletedProcess[str]) -> RemitError:
    """Parse `remit: [refused: FIELD: ]MESSAGE`, followed by a line with the remedy."""
    message, _, remedy = done.stderr.strip().partition("\n")
    message = message.removeprefix("remit: ")
    where = ""
    if message.startswith("refused: "):
        where, _, message = message.removeprefix("refused: ").partition(": ")
        message = f"{where}: {message}"
    code = "input" if done.returncode == _MISUSE else "refused" if where else "internal"
    return make(code, message, where=where, remedy=remedy.strip())


def _run_command(*arguments: str, answers: tuple[int, ...] = (0,)) -> Any:
    if not os.path.exists(COMMAND):
        raise unsupported()
    done = subprocess.run([COMMAND, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode not in answers or not done.stdout:
        raise _error(done)
    return json.loads(done.stdout)


def _table(rows: list[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in list(zip(*rows))[:-1]]
    return "\n".join("  ".join([*(f"{cell:{width}}" for cell, width in zip(row, widths)), row[-1]]).rstrip() for row in rows)


class _Report(Record):
    def _rows(self) -> list[tuple[str, ...]]:
        raise NotImplementedError

    def __str__(self) -> str:
        return _table(self._rows())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from html import escape

        head, *rows = self._rows()
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        return "<table><tr>" + "".join(f"<th>{escape(cell)}</th>" for cell in head) + f"</tr>{body}</table>"


class Plan(_Report):
    """What would enforce each field of a policy on this machine."""

    tier: str
    python: str

    @property
    def enforcement(self) -> list[Enforcement]:
        """One row for each field that is enforced."""
        return [Enforcement(row) for row in self.document["enforcement"]]

    def _rows(self) -> list[tuple[str, ...]]:
        rows = [(e.field, json.dumps(e.value), e.strength, ", ".join(e.mechanisms)) for e in self.enforcement]
        return [("FIELD", "VALUE", "STRENGTH", "MECHANISMS"), *rows]


class Findings(_Report):
    """What this machine and this user can enforce."""

    local: bool
    landlock: bool
    python: Optional[str]

    def __bool__(self) -> bool:
        """Whether the default tier works here."""
        return bool(self.local)

    def _rows(self) -> list[tuple[str, ...]]:
        flat = [(key, json.dumps(value)) for key, value in self.document.items() if not isinstance(value, (dict, list))]
        return [("FINDING", "VALUE"), *flat, *self._capabilities()]

    def _capabilities(self) -> list[tuple[str, str]]:
        return [(can["name"], "yes" if can["yes"] else f"no: {can['why']}") for can in self.document["capabilities"]]


class Matrix(_Report):
    """For each tier and field, the mechanisms that can enforce the field, and those that do so on this machine."""

    def _rows(self) -> list[tuple[str, ...]]:
        rows = [
            (r["tier"], r["field"], ", ".join(r["here"]) or ("-" if r["built"] else "(not built yet)"), ", ".join(r["possible"]))
            for r in self.document["rows"]
        ]
        return [("TIER", "FIELD", "HERE", "POSSIBLE"), *rows]

    def mechanisms(self, field: str, tier: str = "local") -> list[str]:
        """The mechanisms that enforce a field in a tier on this machine."""
        for row in self.document["rows"]:
            if (row["field"], row["tier"]) == (field, tier):
                return list(row["here"])
        raise KeyError((field, tier))


def explain(policy: Policy) -> Plan:
    """The plan for a policy. Raises if a run would be refused."""
    if "python" not in policy and sys.executable and not ("tier" in policy and policy["tier"] == "wasm"):
        policy = policy.but(python=sys.executable)
    with tempfile.NamedTemporaryFile("w", prefix="remit-", suffix=".json") as document:
        document.write(policy.to_json())
        document.flush()
        return Plan(_run_command("explain", "--json", "--policy", document.name))


def doctor() -> Findings:
    """Try what this machine can enforce. The findings are true if the default tier works."""
    return Findings(_run_command("doctor", "--json", "--python", sys.executable or "python3", answers=(0, 1)))


def matrix() -> Matrix:
    """The mechanisms for each field and tier on this machine."""
    return Matrix({"rows": _run_command("matrix", "--json")})
