"""What the tests here wait for, however long a machine with other work takes."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from typing import Callable, Iterator

EVENT_TIMEOUT_S = 60
# Of a policy: who ends before it was ended by a timeout of its own.
DEFAULT_TIMEOUT_S = 30


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + EVENT_TIMEOUT_S
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)  # a look now and then


class Begun(threading.Event):
    """An on_output that knows when the program runs: it has printed something."""

    def __call__(self, stream: str, text: str) -> None:
        self.set()

    def wait_until_begun(self) -> None:
        assert self.wait(EVENT_TIMEOUT_S), "it never began"

    @contextlib.contextmanager
    def then_signal(self, number: int = signal.SIGINT) -> Iterator[None]:
        """This process, from another thread, when the program runs, and never later."""
        lock, over = threading.Lock(), threading.Event()

        def act() -> None:
            self.wait_until_begun()
            time.sleep(0.1)  # the main thread waits again
            with lock:
                if not over.is_set():
                    os.kill(os.getpid(), number)

        threading.Thread(target=act, daemon=True).start()
        try:
            yield
        finally:
            with lock:
                over.set()


# Programs that say when they run, and go on until they are ended.
SPINS = "print('begun', flush=True)\nwhile True: pass"
SLEEPS = "print('begun', flush=True)\nimport time; time.sleep(600)"
