"""The release build cannot leave a mechanism out."""

import os
import pathlib
import subprocess

from conftest import ROOT


def test_release_binary_has_no_holes_option(remit):
    for path in (pathlib.Path(remit.command), pathlib.Path(remit.command).parent / "runtime" / "_remit.abi3.so"):
        assert b"REMIT_HOLES" not in path.read_bytes()
    env = {"REMIT_HOLES": "seccomp,landlock,mount_namespace,network_namespace"}
    result = remit.json("import socket; socket.socket()", env=env)
    assert result["error"]["name"] == "PermissionError"
    mechanisms = {m for row in result["enforcement"] for m in row["mechanisms"]}
    assert {"seccomp", "landlock", "mount_namespace", "network_namespace"} <= mechanisms
    result = remit.json("open('/proc/self/status')", env=env)
    assert result["error"]["name"] == "FileNotFoundError"


def test_build_has_holes_option(remit):
    """Control: otherwise the previous test would prove nothing."""
    holes = os.environ.get("REMIT_HOLES_BUILD", str(ROOT / "build-holes" / "remit"))
    assert b"REMIT_HOLES" in pathlib.Path(holes).read_bytes()


def test_library_exports_only_public_names():
    library = pathlib.Path(os.environ.get("REMIT", ROOT / "build" / "remit")).parent / "libremit.so"
    names = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    exported = {line.split()[-1] for line in names.splitlines()}
    assert exported and all(n.startswith("remit_") for n in exported), exported
    header = (ROOT / "include" / "remit.h").read_text()
    assert all(f"{n}(" in header for n in exported)
