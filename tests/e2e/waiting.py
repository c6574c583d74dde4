"""Waits for conditions, on a machine that may be busy."""

from __future__ import annotations

import time

PATIENCE = 60


def until(condition, why="it never came true", seconds: float = PATIENCE, every: float = 0.03):
    """Return the first true result of `condition`. `why` is the message of the failure, or a function that returns
    it."""
    end = time.monotonic() + seconds
    while not (answer := condition()):
        assert time.monotonic() < end, why() if callable(why) else why
        # A condition may cost work in the process that it observes.
        time.sleep(every)
    return answer
