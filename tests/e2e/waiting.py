"""What a test waits for, on a machine that may have much else to do."""

from __future__ import annotations

import time

PATIENCE = 60


def until(condition, why="it never came true", seconds: float = PATIENCE, every: float = 0.03):
    """The first true answer; `why` says what is wrong without one, or is asked."""
    end = time.monotonic() + seconds
    while not (answer := condition()):
        assert time.monotonic() < end, why() if callable(why) else why
        # To ask may be work for who is waited for.
        time.sleep(every)
    return answer
