"""Runs Python in a Jupyter kernel: once, or many times in one kernel.

    bench/jupyter.py [--serve] CODE

With --serve it writes "ready" after the first run. Then it answers each line that it
reads with the milliseconds of another run, from the request until the kernel is idle
again. The kernel runs this interpreter.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time

from ipykernel.kernelspec import get_kernel_dict
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager


def run(client, code: str, show) -> float:
    begun = time.perf_counter()
    reply = client.execute_interactive(code, timeout=60, output_hook=show)
    spent = time.perf_counter() - begun
    if reply["content"]["status"] != "ok":
        sys.exit(f"the kernel answered {reply['content'].get('evalue')}")
    return spent * 1000


def show(message: dict) -> None:
    sys.stdout.write(message["content"].get("text", ""))


def keep_quiet(message: dict) -> None:
    pass


def serve(client, code: str) -> None:
    print("ready", flush=True)
    for _ in sys.stdin:
        print(run(client, code, keep_quiet), flush=True)


def main() -> None:
    serves = sys.argv[1] == "--serve"
    code = sys.argv[-1]
    manager = KernelManager()
    manager._kernel_spec = KernelSpec(**get_kernel_dict())
    manager.start_kernel()
    client = manager.client()
    try:
        client.start_channels()
        client.wait_for_ready(timeout=60)
        run(client, code, keep_quiet if serves else show)
        if serves:
            serve(client, code)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


# The kernel and its temporary folder must not outlive this process.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
with tempfile.TemporaryDirectory(prefix="remit-bench-") as folder:
    os.environ.update(IPYTHONDIR=folder, JUPYTER_RUNTIME_DIR=folder)
    main()
