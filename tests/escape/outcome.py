"""Decides whether an attack was contained or escaped. No other module does."""

from __future__ import annotations

from jail_run import Caller, Run
from program import Program


def _must_have_reported(program: Program, run: Run) -> bool:
    """Whether the program must have reached the line that reports its outcome."""
    if run.status == "ok":
        return True
    return run.status == "exit" and program.judge == "program"


def _outside_problems(
    program: Program, run: Run, caller: Caller, tolerated: tuple[str, ...]
) -> list[str]:
    problems = [
        f"{name}: {what}"
        for name, what in run.findings.items()
        if name not in tolerated
    ]
    if run.directory in run.stdout or run.directory in run.stderr:
        problems.append(f"the result names a folder of the host: {run.directory}")
    if run.report.get("timed_out"):
        problems.append("the run never ended")
    if run.report.get("left"):
        problems.append(f"processes are left: {run.report['left']}")
    if run.report.get("wall", 0) > program.within:
        problems.append(f"took {run.report['wall']:.1f} s, expected at most {program.within:g}")
    if not caller.victim_is_alive():
        problems.append("a process of the caller was killed")
    return problems


def _result_problems(program: Program, run: Run) -> list[str]:
    problems = []
    if run.status not in program.statuses:
        problems.append(f"status {run.status}, expected {program.statuses}")
    reported = run.last_report()
    if reported.startswith("ESCAPED"):
        problems.append(reported)
    elif _must_have_reported(program, run) and not reported.startswith("CONTAINED"):
        problems.append("the program did not report its outcome")
    if program.signal is not None and run.signal_number() != program.signal:
        problems.append(f"signal {run.signal_number()}, expected {program.signal}")
    code = (run.result or {}).get("exit_code")
    # A program that was killed because of its frames has no exit code.
    if program.exit_code is not None and run.status != "killed":
        if code != program.exit_code:
            problems.append(f"exit code {code}, expected {program.exit_code}")
    return problems


def containment_problems(
    program: Program,
    rounds: list[Run],
    caller: Caller,
    tolerated: tuple[str, ...] = (),
) -> list[str]:
    """Returns the reasons why these rounds do not prove containment: none if they do."""
    problems = []
    for number, run in enumerate(rounds, 1):
        if run.result is None:
            problems.append(f"round {number}: no result: {run.stderr[-500:]}")
            continue
        found = _result_problems(program, run)
        found += _outside_problems(program, run, caller, tolerated)
        problems += [f"round {number}: {what}" for what in found]
    return problems


def control_problems(program: Program, rounds: list[Run]) -> list[str]:
    """Returns the reasons why the control is not an escape: none if it escaped."""
    last = rounds[-1]
    if last.result is None:
        return [f"no result: {last.stderr[-500:]}"]
    problems = []
    seen = {name for run in rounds for name in run.findings}
    reported = any(run.last_report().startswith("ESCAPED") for run in rounds)
    if not reported and not (program.judge == "outside" and seen):
        problems.append(f"status {last.status}, last report {last.last_report()!r}")
    missing = set(program.witness) - seen
    if missing:
        problems.append(f"the harness did not observe: {sorted(missing)}")
    return problems
