"""A hostile program: its file, and the headers in the comment lines at its top."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import re
import signal

FOLDER = pathlib.Path(__file__).parent
PRELUDE = FOLDER / "prelude.py"
PROGRAMS = FOLDER / "programs"
STRICT_TIMEOUT = 10  # seconds, in the preset

HEADER = re.compile(r"^# ([a-z-]+): (.*)$")
JUDGES = ("program", "status", "outside")
WITNESSES = (
    "abstract abstract_dgram artifacts canary drop tcp udp unix unix_dgram victim".split()
)


class BadHeader(Exception):
    pass


@dataclasses.dataclass(frozen=True)
class Program:
    path: pathlib.Path
    id: str  # the row of the catalogue
    field: str  # the policy field that is attacked
    kept_by: tuple[str, ...]  # the mechanisms, each of which alone stops it
    expect: str  # the observation that proves containment
    policy: dict  # added to the strict preset; "@name@" is a path of the world
    statuses: tuple[str, ...]
    users: tuple[str, ...]
    control: bool  # whether it must escape with all mechanisms left out
    control_reason: str  # why it has no control
    leaves_out: tuple[str, ...]  # what the control leaves out instead of the field's mechanisms
    judge: str  # what decides the outcome: the program, the status or the harness
    witness: tuple[str, ...]  # what the harness must see in the control
    tolerates: tuple[str, ...]  # what it may see when only one mechanism is kept
    runs: int  # rounds, one after the other, each in a new jail
    signal: int | None
    exit_code: int | None
    stdout_cap: int | None
    stderr_cap: int | None
    machine: str | None  # the only architecture that it applies to
    control_needs: str | None  # bait that only root can place
    landlock_abi: int  # the first version with which Landlock alone stops it

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def within(self) -> float:
        """How many seconds the run may take: its timeout, and time for a machine that has other work."""
        number, unit = re.fullmatch(r"(\d+)(m?s)?", str(self.policy.get("timeout", STRICT_TIMEOUT))).groups()
        return float(number) / (1000 if unit == "ms" else 1) + 30

    def source(self) -> str:
        """Returns the one file that is sent into the jail."""
        return PRELUDE.read_text() + "\n" + self.path.read_text()


def _headers(path: pathlib.Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in path.read_text().splitlines():
        match = HEADER.match(line)
        if not match:
            break
        key, value = match.groups()
        if key in found:
            raise BadHeader(f"{path.name}: {key} is given twice")
        found[key] = value.strip()
    return found


def _int_or_none(text: str | None) -> int | None:
    return None if text is None else int(text)


def load(path: pathlib.Path) -> Program:
    headers = _headers(path)
    pop = headers.pop
    try:
        control = pop("control", "yes")
        name = pop("signal", None)
        program = Program(
            path=path,
            id=pop("id"),
            field=pop("field"),
            kept_by=tuple(pop("kept-by").split()),
            expect=pop("expect"),
            policy=json.loads(pop("policy", "{}")),
            statuses=tuple(pop("status", "ok").split()),
            users=tuple(pop("users", "root user").split()),
            control=control == "yes",
            control_reason=control.removeprefix("no").strip(),
            leaves_out=tuple(pop("leaves-out", "").split()),
            judge=pop("judge", "program"),
            witness=tuple(pop("witness", "").split()),
            tolerates=tuple(pop("tolerates", "").split()),
            runs=int(pop("runs", "1")),
            signal=signal.Signals[name].value if name else None,
            exit_code=_int_or_none(pop("exit-code", None)),
            stdout_cap=_int_or_none(pop("stdout-cap", None)),
            stderr_cap=_int_or_none(pop("stderr-cap", None)),
            machine=pop("machine", None),
            control_needs=pop("control-needs", None),
            landlock_abi=int(pop("landlock-abi", "1")),
        )
    except (KeyError, ValueError) as e:
        raise BadHeader(f"{path.name}: {e!r}") from e
    if headers:
        raise BadHeader(f"{path.name}: unknown headers {sorted(headers)}")
    if not program.control and not program.control_reason:
        raise BadHeader(f"{path.name}: \"control: no\" needs a reason")
    if program.judge not in JUDGES or set(program.witness) - set(WITNESSES):
        raise BadHeader(f"{path.name}: unknown judge or witness")
    return program


def load_all() -> list[Program]:
    return [load(path) for path in sorted(PROGRAMS.glob("*.py"))]
