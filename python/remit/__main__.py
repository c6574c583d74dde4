"""The command `remit`, or `python -m remit`: executes the binary of the wheel in this process."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Execute the remit command in place of this process."""
    # The package's modules are not imported, since that would slow down each start.
    command = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_native", "remit")
    try:
        os.execv(command, ["remit", *sys.argv[1:]])
    except OSError:
        from ._connection import unsupported

        sys.exit(f"remit: {unsupported()}")


if __name__ == "__main__":
    main()
