"""A branch of a session: this interpreter forks into another jail, and both go on.

The keeper lets it, and looks at both before and after (src/keeper/pool/branch.c).
"""

import posix

import _remit
import cell
import records

# Of a struct step_report: no step of the fork, but tasks that wait.
HAS_TASKS = (0xFFFFFFFF).to_bytes(4, "little") + bytes(8)


def fork(command):
    """Comes back in both."""
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
