"""The bait on the host while a hostile program runs: files, sockets and a process, and how they are watched."""

from __future__ import annotations

import io
import os
import pathlib
import re
import secrets
import shutil
import socket
import stat
import subprocess
import tarfile
import tempfile

VICTIM_TEXT = b"victim\n"
BUILD = pathlib.Path(__file__).with_name("hostile_build.py")
FRAMES = pathlib.Path(__file__).parents[2] / "src" / "wire" / "frame.h"


def frame_types() -> dict[str, int]:
    """Returns the numbers of the frame types. An attacker could read them in the source too."""
    body = re.search(r"enum frame_type \{(.*?)\};", FRAMES.read_text(), re.S)
    names = re.findall(r"\bFRAME_(\w+),", body.group(1))
    return {name: number for number, name in enumerate(names)}


class World:
    """
    The bait is open to every user: only the jail may keep a program from it, and
    not the mode of a file. It is in /var/tmp, because a jail cannot see /tmp and
    /dev/shm of the host even with all mechanisms left out.
    """

    def __init__(self) -> None:
        self.canary = "REMIT-CANARY-" + secrets.token_hex(16)
        self.token = secrets.token_hex(6)
        self.dir = pathlib.Path(
            tempfile.mkdtemp(prefix="remit-escape-", dir="/var/tmp")
        )
        self.dir.chmod(0o755)
        self.runs = self._make_directory("runs")
        self._plant_files()
        self._listen()

    def _make_directory(self, name: str, mode: int = 0o755) -> pathlib.Path:
        path = self.dir / name
        path.mkdir()
        path.chmod(mode)
        return path

    def _make_file(self, path: pathlib.Path, text: str, mode: int = 0o644) -> str:
        path.write_text(text)
        path.chmod(mode)
        return str(path)

    def _plant_files(self) -> None:
        self.secret_dir = self._make_directory("secret")
        name = f"secret-{self.token}.txt"
        self.secret_path = self._make_file(self.secret_dir / name, self.canary)
        self.granted = self._make_directory("granted")
        self._make_file(self.granted / "open.txt", "granted\n")
        (self.granted / "link").symlink_to(self.secret_path)
        (self.granted / "relative_link").symlink_to(f"../secret/{name}")
        (self.granted / "linked_dir").symlink_to("../secret")
        self.drop_dir = self._make_directory("drop", 0o777)
        self.victim_dir = self._make_directory("victim", 0o777)
        self.victim_file = self.victim_dir / "victim"
        self.site_dir = self._make_directory("site")
        self.module = f"module_{self.token}"
        self._make_file(
            self.site_dir / f"{self.module}.py", f"CANARY = {self.canary!r}\n"
        )
        self.marks = [
            self._make_file(
                pathlib.Path(folder) / f"remit-mark-{self.token}", self.canary
            )
            for folder in ("/tmp", "/dev/shm", "/var/tmp")
        ]
        # The secret is in an extended attribute, if the file system has those. The
        # file is empty, so that its content gives nothing away.
        self.labelled = self.dir / "labelled"
        self._make_file(self.labelled, "")
        try:
            os.setxattr(self.labelled, "user.remit", self.canary.encode())
        except OSError:
            self.labelled.unlink()
        # A copy of /dev/full in a place that a jail's private /dev does not hide.
        self.device = self.dir / "device"
        if os.geteuid() == 0:
            os.mknod(self.device, stat.S_IFCHR | 0o666, os.makedev(1, 7))
            self.device.chmod(0o666)
        self.reset_files()

    def _listen(self) -> None:
        folder = self.socket_dir = self._make_directory("sockets")
        names = {
            "tcp": (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
            "udp": (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
            "abstract": (
                socket.AF_UNIX,
                socket.SOCK_STREAM,
                f"\0remit-escape-{self.token}",
            ),
            "abstract_dgram": (
                socket.AF_UNIX,
                socket.SOCK_DGRAM,
                f"\0remit-escape-dgram-{self.token}",
            ),
            "unix": (socket.AF_UNIX, socket.SOCK_STREAM, str(folder / "stream")),
            "unix_dgram": (
                socket.AF_UNIX,
                socket.SOCK_DGRAM,
                str(folder / "dgram"),
            ),
        }
        self.sockets: dict[str, socket.socket] = {}
        for name, (family, kind, address) in names.items():
            s = socket.socket(family, kind)
            s.bind(address)
            s.setblocking(False)
            if kind == socket.SOCK_STREAM:
                s.listen(64)
            if isinstance(address, str) and not address.startswith("\0"):
                os.chmod(address, 0o777)
            self.sockets[name] = s

    def argument(self, **more: object) -> dict:
        """Returns the program's argument: the places and names of the bait."""
        return {
            "secret_path": self.secret_path,
            "secret_dir": str(self.secret_dir),
            "granted": str(self.granted),
            "drop_dir": str(self.drop_dir),
            "victim_file": str(self.victim_file),
            "site_dir": str(self.site_dir),
            "module": self.module,
            "marks": self.marks,
            "device": str(self.device),
            "labelled": str(self.labelled),
            "frames": frame_types(),
            "tcp_port": self.sockets["tcp"].getsockname()[1],
            "udp_port": self.sockets["udp"].getsockname()[1],
            "abstract": f"remit-escape-{self.token}",
            "abstract_dgram": f"remit-escape-dgram-{self.token}",
            "unix_path": self.sockets["unix"].getsockname(),
            "unix_dgram_path": self.sockets["unix_dgram"].getsockname(),
            "host_name": socket.gethostname(),
            "key_desc": f"remit-escape-key-{self.token}",
            "env_name": f"REMIT_ESCAPE_{self.token.upper()}",
            **more,
        }

    @property
    def packages(self) -> pathlib.Path:
        """Makes a new directory with the package of hostile_build.py, so that it is built each time."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.runs))
        folder.chmod(0o755)
        files = {
            "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n',
            "backend.py": f"ARG = {self.argument()!r}\n" + BUILD.read_text(),
            "PKG-INFO": "Metadata-Version: 2.1\nName: hostile_build\nVersion: 1.0\n",
        }
        path = folder / "hostile_build-1.0.tar.gz"
        with tarfile.open(path, "w:gz") as t:
            for name, text in files.items():
                entry = tarfile.TarInfo(f"hostile_build-1.0/{name}")
                entry.size = len(text.encode())
                t.addfile(entry, io.BytesIO(text.encode()))
        path.chmod(0o644)
        return folder

    def fill_in(self, value: object) -> object:
        """Returns the policy with each "@name@" replaced by that path of the world."""
        if isinstance(value, dict):
            return {k: self.fill_in(v) for k, v in value.items()}
        if isinstance(value, list):
            return [self.fill_in(v) for v in value]
        if isinstance(value, str) and value.startswith("@"):
            return str(getattr(self, value.strip("@")))
        return value

    def reset_files(self) -> None:
        for folder in (self.drop_dir, self.victim_dir):
            for entry in folder.iterdir():
                if entry.is_dir() and not entry.is_symlink():
                    shutil.rmtree(entry)
                else:
                    entry.unlink()
        self.victim_file.write_bytes(VICTIM_TEXT)
        self.victim_file.chmod(0o666)

    def _count_contacts(self, name: str) -> int:
        s = self.sockets[name]
        count = 0
        while True:
            try:
                if s.type & socket.SOCK_DGRAM:
                    s.recv(65536)
                else:
                    s.accept()[0].close()
            except BlockingIOError:
                return count
            count += 1

    def findings(self) -> dict[str, str]:
        """Returns what happened to the bait since the last reset()."""
        found = {}
        for name in self.sockets:
            visits = self._count_contacts(name)
            if visits:
                found[name] = f"{visits} messages or connections"
        dropped = sorted(entry.name for entry in self.drop_dir.iterdir())
        if dropped:
            found["drop"] = f"files on the host: {dropped}"
        try:
            if self.victim_file.read_bytes() != VICTIM_TEXT:
                found["victim"] = "a host file was changed"
        except OSError as e:
            found["victim"] = f"a host file is gone: {e}"
        return found

    def reset(self) -> None:
        self.findings()
        self.reset_files()

    def close(self) -> None:
        for s in self.sockets.values():
            s.close()
        for mark in self.marks:
            os.unlink(mark)
        shutil.rmtree(self.dir)


def start_victim(uid: int, gid: int) -> subprocess.Popen:
    """Starts a process of the caller's user, for programs that try to kill one."""
    me = os.geteuid()
    ids = {"user": uid, "group": gid, "extra_groups": []} if me == 0 else {}
    return subprocess.Popen(["sleep", "86400"], **ids)
