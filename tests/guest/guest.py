"""Boots a second kernel and runs tests in it.

    tests/guest/guest.py                 the core
    tests/guest/guest.py full            everything
    tests/guest/guest.py PYTEST-ARG...   these, without systemd

Prints the guest's output, and ends with "N passed, N failed".
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading

import image
import packages

EMULATOR = "qemu-system-x86_64"
INSIDE = "tests/guest/inside"
BARE_TESTS = [f"{INSIDE}/test_groups.py", f"{INSIDE}/test_escape_core.py"]
CORE = {
    "bare": [*BARE_TESTS, "-m", "not full"],
    "systemd": [f"{INSIDE}/test_systemd.py", "-m", "not full"],
}
FULL = {
    "bare": [*BARE_TESTS, "tests/escape/test_escape.py", "tests/escape/test_warm_escape.py"],
    "systemd": [f"{INSIDE}/test_systemd.py"],
}
# A guest that hangs is killed. These are far more than the tests need.
BOOT_TIMEOUT_S = {"core": 1800, "full": 6 * 3600}


def missing_requirement() -> str | None:
    """Returns what this machine lacks for the guest, or None."""
    if os.uname().machine != "x86_64":
        return "the guest needs an x86-64 machine"
    if os.geteuid() != 0:
        return "only root can make the files of the guest's root directory"
    if not shutil.which(EMULATOR):
        return f"{EMULATOR} is not installed (tools/setup.sh test)"
    lacking = packages.missing([*image.ON_DISK, "busybox-static"])
    if lacking:
        return f"not installed (tools/setup.sh test): {' '.join(lacking)}"
    return None if image.vmlinuz() else f"no kernel in {image.KERNEL.relative_to(image.ROOT)} (tools/setup.sh test)"


def boot(phases: dict[str, list[str]], timeout_s: int) -> str:
    """Boots the guest and returns its output.

    The guest's clock counts its instructions, two nanoseconds each, and follows the host's clock only when the guest is
    idle. However little processor time it gets, no timeout in it ends too soon. (With sleep=off an idle guest would jump from
    timer to timer, past work that the emulator still has to do.) QEMU supports this for one processor only.
    """
    argv = [
        EMULATOR, "-M", "q35", "-cpu", "max,la57=off", "-accel", "tcg,thread=single", "-icount", "shift=1,sleep=on", "-m", "1536",
        "-nodefaults", "-no-user-config", "-nographic", "-no-reboot", "-serial", "stdio",
        "-kernel", str(image.vmlinuz()), "-initrd", str(image.make_initramfs()),
        "-append", "console=ttyS0 quiet panic=-1 reboot=t mitigations=off systemd.firstboot=off systemd.show_status=off",
        "-drive", f"id=disk,file={image.make_disk(phases)},format=raw,if=none,cache=unsafe",
        "-device", "virtio-blk-pci,drive=disk",
    ]  # fmt: skip
    lines = []
    # The emulator dies with this process, also if this process is killed.
    argv = ["setpriv", "--pdeathsig", "KILL", *argv]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, errors="replace") as guest:
        clock = threading.Timer(timeout_s, guest.kill)
        clock.start()
        for line in guest.stdout:
            print("  | " + line.rstrip(), flush=True)
            lines.append(line)
        clock.cancel()
    return "".join(lines)


def count(printed: str, phases: dict[str, list[str]]) -> tuple[int, int]:
    """Counts the passed and failed tests. A phase that did not end counts as a failure."""
    sums = " ".join(re.findall(r"^=*(.*\d+ \w+.* in [\d.]+s).*$", printed, re.M))
    passed = sum(int(n) for n in re.findall(r"(\d+) passed", sums))
    failed = sum(int(n) for n in re.findall(r"(\d+) (?:failed|errors?|skipped)\b", sums))
    ended = re.findall(r"^phase ended: (\d+)", printed, re.M)
    if len(ended) != len([args for args in phases.values() if args]) or any(code != "0" for code in ended):
        failed = max(failed, 1)
    return passed, failed


def run(phases: dict[str, list[str]], timeout_s: int) -> tuple[int, int]:
    reason = missing_requirement()
    if reason:
        print(f"SKIPPED: {reason}")
        return 0, int(os.environ.get("REMIT_MUST_WORK") == "all")
    return count(boot(phases, timeout_s), phases)


def main() -> int:
    args = sys.argv[1:]
    if args and args != ["full"]:
        result = run({"bare": args, "systemd": []}, BOOT_TIMEOUT_S["full"])
    else:
        result = run(FULL, BOOT_TIMEOUT_S["full"]) if args else run(CORE, BOOT_TIMEOUT_S["core"])
    print(f"{result[0]} passed, {result[1]} failed")
    return 1 if result[1] or not result[0] else 0


if __name__ == "__main__":
    sys.exit(main())
