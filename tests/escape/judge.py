"""Was the attack contained, or did it escape? The only place that decides."""

from __future__ import annotations

from jail_run import Caller, Run
from program import Program


def _must_have_spoken(program: Program, run: Run) -> bool:
    """Whether the program itself came to its last line."""
    if run.status == "ok":
        return True
    return run.status == "exit" and program.judge == "program"


def _look_from_outside(
    program: Program, run: Run, caller: Caller, tolerated: tuple[str, ...]
) -> list[str]:
    wrong = [
        f"{name}: {what}"
        for name, what in run.findings.items()
        if name not in tolerated
    ]
    if run.place in run.stdout or run.place in run.stderr:
        wrong.append(f"the result names a folder of the host: {run.place}")
    if run.report.get("timed_out"):
        wrong.append("the run never ended")
    if run.report.get("left"):
        wrong.append(f"processes are left: {run.report['left']}")
    if run.report.get("wall", 0) > program.within:
        wrong.append(f"took {run.report['wall']:.1f} s, not {program.within:g}")
    if not caller.victim_is_alive():
        wrong.append("a process of the caller was killed")
    return wrong


def _look_at_result(program: Program, run: Run) -> list[str]:
    wrong = []
    if run.status not in program.statuses:
        wrong.append(f"status {run.status}, expected {program.statuses}")
    said = run.said()
    if said.startswith("ESCAPED"):
        wrong.append(said)
    elif _must_have_spoken(program, run) and not said.startswith("CONTAINED"):
        wrong.append("the program did not say how it went")
    if program.signal is not None and run.signal_number() != program.signal:
        wrong.append(f"signal {run.signal_number()}, expected {program.signal}")
    code = (run.result or {}).get("exit_code")
    # A program that was killed for its frames has no code of its own.
    if program.exit_code is not None and run.status != "killed":
        if code != program.exit_code:
            wrong.append(f"exit code {code}, expected {program.exit_code}")
    return wrong


def not_contained(
    program: Program,
    rounds: list[Run],
    caller: Caller,
    tolerated: tuple[str, ...] = (),
) -> list[str]:
    """Why these rounds prove no containment: empty if they do."""
    wrong = []
    for number, run in enumerate(rounds, 1):
        if run.result is None:
            wrong.append(f"round {number}: no result: {run.stderr[-500:]}")
            continue
        found = _look_at_result(program, run)
        found += _look_from_outside(program, run, caller, tolerated)
        wrong += [f"round {number}: {what}" for what in found]
    return wrong


def not_escaped(program: Program, rounds: list[Run]) -> list[str]:
    """Why the control failed to escape: empty if it did."""
    last = rounds[-1]
    if last.result is None:
        return [f"no result: {last.stderr[-500:]}"]
    wrong = []
    seen = {name for run in rounds for name in run.findings}
    said = any(run.said().startswith("ESCAPED") for run in rounds)
    if not said and not (program.judge == "outside" and seen):
        wrong.append(f"status {last.status}, said {last.said()!r}")
    missing = set(program.witness) - seen
    if missing:
        wrong.append(f"the harness saw nothing of: {sorted(missing)}")
    return wrong
