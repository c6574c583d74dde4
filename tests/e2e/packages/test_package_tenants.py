"""Two keys of one server that use packages: what one key installs must not stop or cost the other."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pathlib
import re
import select
import struct

import pytest
from conftest import skip_or_fail
from package_index import Wheel
from shared_keeper import family
from test_packages import Shop, index  # noqa: F401
from test_tenants import SMALL, answer, is_answered, start, two_keys
from waiting import until


@pytest.fixture
def shop(any_remit, index, request):  # noqa: F811
    return Shop(any_remit, index, request.node.name.partition("[")[0])


# ---- checks of large package layers ----

FAN_CLASS_CONTENT, FAN_CLOEXEC, FAN_MARK_ADD = 0x4, 0x1, 0x1
FAN_OPEN_PERM, FAN_ONDIR, FAN_ALLOW = 0x10000, 0x40000000, 0x1
# struct fanotify_event_metadata
EVENT = struct.Struct("IBBHQii")


class HeldOpen:
    """Each process that opens a directory waits until this object allows it (fanotify(7))."""

    def __init__(self, path: pathlib.Path) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC, os.O_RDONLY)
        mask = ctypes.c_uint64(FAN_OPEN_PERM | FAN_ONDIR)
        if self.fd < 0 or libc.fanotify_mark(self.fd, FAN_MARK_ADD, mask, -100, os.fsencode(path)) < 0:
            self.close()
            skip_or_fail(f"no fanotify: {os.strerror(ctypes.get_errno())}")

    def wait(self) -> int:
        """The process that waits."""
        until(lambda: select.select([self.fd], [], [], 0)[0], "no process opens the directory")
        *_, self.event, pid = EVENT.unpack(os.read(self.fd, EVENT.size))
        return pid

    def allow(self) -> None:
        os.write(self.fd, struct.pack("iI", self.event, FAN_ALLOW))
        os.close(self.event)
        self.close()

    def close(self) -> None:
        """The kernel allows what still waits."""
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1


@pytest.fixture(scope="module")
def large(index):  # noqa: F811
    wheel = Wheel("large_one")
    for i in range(500):
        wheel.add(f"large_one/m{i}.py")
    wheel.add("large_one/__init__.py", "value = 500\n").write(index.folder)


CODE = {"code": "import large_one; print(large_one.value)", "policy": {**SMALL, "packages": ["large_one"]}}


def test_a_check_of_a_large_package_layer_delays_no_other_key(shop, large):
    """A process waits for the check, and the keeper goes on."""
    with two_keys(shop.remit, *shop.source[2:], env=shop.env) as (s, alice, bob):
        assert s.json("POST", "/v1/runs", CODE, token=alice)["stdout"] == "500\n"
    (site,) = shop.store.glob("*/*/site")
    with two_keys(shop.remit, *shop.source[2:], env=shop.env) as (s, alice, bob), contextlib.ExitStack() as stack:
        assert s.run("print(1)")["stdout"] == "1\n"
        held = stack.enter_context(contextlib.closing(HeldOpen(site)))
        waiting = start(stack, s, alice, CODE)
        opener = held.wait()
        theirs = start(stack, s, bob, {"code": "print(2)", "policy": SMALL})
        until(lambda: is_answered(theirs), "a program of another key waits for the check")
        assert answer(theirs)[1]["stdout"] == "2\n" and not is_answered(waiting)
        assert opener in family(s.process.pid)
        held.allow()
        assert answer(waiting)[1]["stdout"] == "500\n"


# ---- the limit on disk ----


def weigh(path: pathlib.Path, gib: int, used: int) -> None:
    """Describe a package layer as larger, and used longer ago, than it is."""
    about = path / "about"
    about.write_bytes(re.sub(rb"\0bytes\0\d+\0", b"\0bytes\0%d\0" % (gib << 30), about.read_bytes()))
    os.utime(about, (used, used))


def test_packages_of_one_key_do_not_push_those_of_another_off_the_disk(shop, index):  # noqa: F811
    def install(s, key: str, package: str) -> None:
        body = {"code": f"import {package}", "policy": {**SMALL, "packages": [package]}}
        assert s.json("POST", "/v1/runs", body, token=key)["status"] == "ok"

    for name in ("alice_one", "alice_two", "bob_one"):
        Wheel(name).add(f"{name}.py").write(index.folder)
    with two_keys(shop.remit, *shop.source[2:], env=shop.env) as (s, alice, bob):
        install(s, alice, "alice_one")
        install(s, bob, "bob_one")
    rows = {row["packages"][0]: row for row in shop.package_layers()}
    assert {name: row["tenant"] for name, row in rows.items()} == {"alice_one": "alice", "bob_one": "bob"}
    weigh(shop.store / "layers" / rows["alice_one"]["id"], 9, used=2_000_000)
    weigh(shop.store / "layers" / rows["bob_one"]["id"], 8, used=1_000_000)
    with two_keys(shop.remit, *shop.source[2:], env=shop.env) as (s, alice, bob):
        install(s, alice, "alice_two")
    assert {row["packages"][0] for row in shop.package_layers()} == {"alice_two", "bob_one"}
