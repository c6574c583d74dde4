"""A branch of a session: this interpreter forks into another jail, and both continue.

The keeper permits the fork, and checks both processes before and after it (src/keeper/pool/branch.c).
"""

import posix

import _remit
import cell
import records

# A struct step_report that reports pending tasks instead of a step of the fork.
HAS_TASKS = (0xFFFFFFFF).to_bytes(4, "little") + bytes(8)


def fork(command):
    """Returns in both processes."""
    if not cell.close_event_loop():
        records.put(records.frame(records.FORKED, HAS_TASKS))
        return
    folder = posix.getcwd()
    report = _remit.branch(command)
    if report is not None:
        records.put(records.frame(records.FORKED, report))
        return
    posix.chdir(folder)
    cell.own_module("reseed").reseed()
    records.send(records.WARM)
