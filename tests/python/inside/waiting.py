"""Waits for events, with timeouts that are long enough for a busy machine."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from typing import Callable, Iterator

EVENT_TIMEOUT_S = 60
# The timeout of a policy by default: a run that ends earlier was ended by a shorter one.
DEFAULT_TIMEOUT_S = 30


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + EVENT_TIMEOUT_S
    while not condition():
        assert time.monotonic() < end, "the condition never became true"
        time.sleep(0.02)  # polls


class Begun(threading.Event):
    """An on_output callback that is set when the program has begun: when it prints something."""

    def __call__(self, stream: str, text: str) -> None:
        self.set()

    def wait_until_begun(self) -> None:
        assert self.wait(EVENT_TIMEOUT_S), "the program never began"

    @contextlib.contextmanager
    def then_signal(self, number: int = signal.SIGINT) -> Iterator[None]:
        """Signals this process from another thread when the program has begun, but never after the block."""
        lock, over = threading.Lock(), threading.Event()

        def act() -> None:
            self.wait_until_begun()
            time.sleep(0.1)  # until the main thread waits again
            with lock:
                if not over.is_set():
                    os.kill(os.getpid(), number)

        threading.Thread(target=act, daemon=True).start()
        try:
            yield
        finally:
            with lock:
                over.set()


# Programs that print when they have begun, and run until they are ended.
SPINS = "print('begun', flush=True)\nwhile True: pass"
SLEEPS = "print('begun', flush=True)\nimport time; time.sleep(600)"
