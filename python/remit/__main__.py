"""The command: `remit`, or `python -m remit`. What the wheel carries takes this process over."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Become the remit command."""
    # Not by importing the package's parts: each start would pay for them.
    command = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_native", "remit")
    try:
        os.execv(command, ["remit", *sys.argv[1:]])
    except OSError:
        from ._connection import unsupported

        sys.exit(f"remit: {unsupported()}")


if __name__ == "__main__":
    main()
