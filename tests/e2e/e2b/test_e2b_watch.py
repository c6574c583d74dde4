"""Watched folders of E2B's sandboxes: events from the keeper's watcher while code runs, and lists where nothing can be watched."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import threading
import time

import leftovers
import pytest
from conftest import make_remit, users
from served import serve
from test_e2b import COMMANDS, Box, boxed, event, form, of, stat, stream
from waiting import until

WATCH = "/filesystem.Filesystem/WatchDir"
TYPES = {"CREATE", "WRITE", "REMOVE", "RENAME", "CHMOD"}
TICK = os.sysconf("SC_CLK_TCK")


@pytest.fixture(scope="module", params=users())
def served(request, stage):
    remit = make_remit(request.param, stage)
    with serve(remit, "--files", "30000") as one:
        one.remit = remit
        yield one
    assert not leftovers.remaining(lambda: leftovers.processes(remit.command)), "processes are left"


@pytest.fixture(scope="module")
def one(stage):
    """A server for tests that do not depend on the user. Its sandboxes may start programs."""
    remit = make_remit(users()[-1], stage)
    with serve(remit, *COMMANDS, "--timeout", "2m", "--disk", "64M", "--files", "30000") as s:
        s.remit = remit
        yield s


def call(box: Box, name: str, status: int = 200, **message):
    return box.json("POST", f"/filesystem.Filesystem/{name}", message, status=status)


def watcher(box: Box, path: str = ".", **more) -> str:
    return call(box, "CreateWatcher", path=path, **more)["watcherId"]


def short(events: list[dict]) -> list[tuple[str, str]]:
    return [(e["name"], e["type"].removeprefix("EVENT_TYPE_")) for e in events]


def polled(box: Box, which: str) -> list[tuple[str, str]]:
    return short(call(box, "GetWatcherEvents", watcherId=which)["events"])


def watching(box: Box, path: str = ".", **more) -> http.client.HTTPResponse:
    answer = stream(box, WATCH, {"path": path, **more})
    assert event(answer) == {"start": {}}
    return answer


def next_of(answer) -> tuple[str, str]:
    return short([event(answer)["filesystem"]])[0]


def say(box: Box, code: str) -> str:
    lines = box.execute(code)
    assert not of(lines, "error"), of(lines, "error")[0]["traceback"]
    return "".join(line["text"] for line in of(lines, "stdout"))


def processes(served, name: str = "remit-watcher") -> list[int]:
    """The processes with this name that this server's keeper has started."""
    return [p for p in leftovers.processes(served.remit.command) if leftovers.name_of(p) == name]


def the_watcher(served) -> int:
    """The only watcher of this server. Those of other tests may be ending."""
    (pid,) = until(lambda: found if len(found := processes(served)) == 1 else None, "not one watcher")
    return pid


def watched(pid: int) -> list[tuple[int, int]]:
    """What the process watches, as the kernel reports it: device and inode."""
    found = []
    for path in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        with contextlib.suppress(OSError):
            for ino, device in re.findall(r"^inotify wd:\w+ ino:(\w+) sdev:(\w+)", path.read_text(), re.M):
                found.append((int(device, 16), int(ino, 16)))
    return found


def cpu_seconds(pid: int) -> float:
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def resident_bytes(pid: int, which: str = "VmRSS") -> int:
    (kib,) = re.findall(rf"^{which}:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text(), re.M)
    return int(kib) * 1024


# ---- what is reported ----


def test_each_change_is_reported_even_if_it_is_undone_at_once(served):
    with boxed(served) as box:
        which = watcher(box)
        say(box, "import os\nos.mkdir('d')\nopen('f', 'w').write('x')\nos.chmod('f', 0o600)\nos.rename('f', 'g')\nos.remove('g')\nos.rmdir('d')\nprint(os.listdir())")
        assert polled(box, which) == [("d", "CREATE"), ("f", "CREATE"), ("f", "WRITE"), ("f", "CHMOD"), ("f", "RENAME"), ("g", "CREATE"), ("g", "REMOVE"), ("d", "REMOVE")]
        assert polled(box, which) == []


def test_events_come_while_code_runs(served):
    with boxed(served) as box:
        waiting = watching(box)
        code = "import time, os\nprint('on', flush=True)\nopen('now', 'w').close()\nwhile not os.path.exists('stop'): time.sleep(0.01)\nopen('end', 'w').close()"
        with box.executing(code):
            assert next_of(waiting) == ("now", "CREATE")
            # A folder can be watched while code runs, and polled.
            which = watcher(box)
            assert polled(box, which) == []
            waiting.close()
        assert polled(box, which) in ([], [("end", "CREATE")])


def test_upload_is_three_events(served):
    """As with E2B, whose tests count them."""
    with boxed(served) as box:
        which = watcher(box)
        box.request("POST", "/files?path=f", *form(("f", b"some text")))
        assert polled(box, which) == [("f", "CREATE"), ("f", "CHMOD"), ("f", "WRITE")]
        box.request("POST", "/files?path=f", *form(("f", b"other text")))
        assert polled(box, which) == [("f", "WRITE")]
        assert say(box, "import os\nos.umask(0o777)\nprint(oct(os.stat('f').st_mode))") == "0o100644\n"
        box.request("POST", "/files?path=masked", *form(("f", b"")))
        assert stat(box, "masked")["mode"] == 0o644


def test_nested_folders_are_watched_as_they_appear(served):
    with boxed(served) as box:
        deep, plain = watcher(box, recursive=True), watcher(box)
        say(box, "import os\nos.makedirs('a/b/c')\nopen('a/b/c/f', 'w').write('x')")
        assert set(polled(box, deep)) == {("a", "CREATE"), ("a/b", "CREATE"), ("a/b/c", "CREATE"), ("a/b/c/f", "CREATE"), ("a/b/c/f", "WRITE")}
        assert polled(box, plain) == [("a", "CREATE")]
        call(box, "RemoveWatcher", watcherId=deep)
        call(box, "GetWatcherEvents", 404, watcherId=deep)
        # Only the folder of the other watcher is still watched.
        pid = the_watcher(served)
        until(lambda: len(watched(pid)) == 1, lambda: watched(pid))


def test_renamed_folder_is_followed(served):
    with boxed(served) as box:
        say(box, "import os\nos.makedirs('a/b')")
        deep = watcher(box, recursive=True)
        say(box, "import os\nos.rename('a', 'n')\nopen('n/b/f', 'w').close()")
        assert polled(box, deep) == [("a", "RENAME"), ("n", "CREATE"), ("n/b/f", "CREATE")]
        inner = watcher(box, "n/b")
        say(box, "import os\nos.rename('n', 'm')")
        end = call(box, "GetWatcherEvents", 429, watcherId=inner)
        assert end["code"] == "resource_exhausted" and "moved" in end["message"], end
        say(box, "open('m/b/g', 'w').close()")
        assert polled(box, deep) == [("n", "RENAME"), ("m", "CREATE"), ("m/b/g", "CREATE")]


def test_watchers_are_polled_and_limited_in_number(one):
    with boxed(one) as box:
        ids = [watcher(box, "/home/user", recursive=True) for _ in range(8)]
        assert call(box, "CreateWatcher", 429, path=".")["code"] == "resource_exhausted"
        say(box, "import os\nos.mkdir('d')\nopen('d/f', 'w').close()")
        assert polled(box, ids[0]) == polled(box, ids[7]) == [("d", "CREATE"), ("d/f", "CREATE")]
        call(box, "RemoveWatcher", watcherId=ids[1])
        inner = watcher(box, "d")
        say(box, "import shutil\nshutil.rmtree('d')")
        assert polled(box, inner) == [("f", "REMOVE"), (".", "REMOVE")]
        for name in ("GetWatcherEvents", "RemoveWatcher"):
            assert call(box, name, 404, watcherId=ids[1])["code"] == "not_found" and call(box, name, 404, watcherId=5)["code"] == "not_found"
        with boxed(one) as other:  # another sandbox does not see this watcher
            call(other, "GetWatcherEvents", 404, watcherId=ids[0])
        assert the_watcher(one)
        # Only folders can be watched, which exist.
        assert call(box, "CreateWatcher", 404, path="nowhere")["code"] == "not_found"
        box.request("POST", "/files?path=f", *form(("f", b"")))
        assert call(box, "CreateWatcher", 400, path="f")["code"] == "invalid_argument"


def test_events_include_entries_on_request(one):
    with boxed(one) as box:
        box.request("POST", "/files?path=d/old", *form(("old", b"1")))
        wants = {"path": "d", "includeEntry": True, "allowNetworkMounts": True}
        asked, plain = call(box, "CreateWatcher", **wants)["watcherId"], watcher(box, "d")
        waiting = stream(box, WATCH, wants)
        assert event(waiting) == {"start": {}}
        box.request("POST", "/files?path=d/new", *(form(("new", b"12"))[0], {**form()[1], "X-Metadata-a": "b"}))
        call(box, "Remove", path="d/old")
        entry = stat(box, "d/new")
        assert entry["path"] == "/home/user/d/new" and entry["metadata"] == {"a": "b"}
        events = call(box, "GetWatcherEvents", watcherId=asked)["events"]
        assert short(events) == polled(box, plain) == [("new", "CREATE"), ("new", "CHMOD"), ("new", "WRITE"), ("old", "REMOVE")]
        assert events[2]["entry"] == entry and "entry" not in events[3]
        assert [e["entry"]["path"] for e in events[:2]] == ["/home/user/d/new"] * 2
        seen = [event(waiting)["filesystem"] for _ in range(4)]
        assert short(seen) == short(events) and seen[2]["entry"]["size"] == "2"
        waiting.close()
        box.execute("import os\nos.symlink('new', 'd/link')")
        (event_of_link,) = call(box, "GetWatcherEvents", watcherId=asked)["events"]
        assert (event_of_link["entry"]["symlinkTarget"], event_of_link["entry"]["permissions"]) == ("new", "Lrwxrwxrwx")


# ---- what cannot be watched is listed ----


def test_folder_outside_the_workspace_is_listed(served):
    with boxed(served) as box:
        which = watcher(box, "/tmp")
        say(box, "open('/tmp/f', 'w').write('x')\nimport os\nopen('/tmp/g', 'w').close()\nos.remove('/tmp/g')")
        assert polled(box, which) == [("f", "CREATE"), ("f", "WRITE")]
        assert all(not watched(pid) for pid in processes(served))


def test_memory_of_list_is_bounded(one):
    with boxed(one) as box:
        box.execute("import os\nd = '/tmp/l/' + '/'.join(['d' * 250] * 8)\nos.makedirs(d)\nfor i in range(1500): open(f'{d}/{i}', 'w').close()")
        assert "too many entries" in call(box, "CreateWatcher", 429, path="/tmp/l", recursive=True)["message"]
        assert watcher(box, "/tmp/l")


def test_mounted_folder_of_the_host_is_listed(stage):
    """inotify would report what other processes do on the host."""
    for label in users():
        remit = make_remit(label, stage)
        folder = remit.folder / "watched"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        remit.own(folder)
        with serve(remit, "--mount", f"{folder}:/workspace/in/host:ro") as s, boxed(s) as box:
            s.remit = remit
            inside, above, near = watcher(box, "/workspace/in/host"), watcher(box, "/workspace/in", recursive=True), watcher(box, "/workspace/in")
            device = os.stat(folder).st_dev
            pid = the_watcher(s)
            assert len(watched(pid)) == 1 and all(d != os.makedev(os.major(device), os.minor(device)) for d, _ in watched(pid))
            remit.file("watched/f", "x")
            made = folder / "gone"
            made.touch()
            made.unlink()
            assert polled(box, inside) == [("f", "CREATE"), ("f", "WRITE")]
            assert polled(box, above) == [("host/f", "CREATE"), ("host/f", "WRITE")]
            assert polled(box, near) == []
        shutil.rmtree(folder)


def test_landlock_tier_is_listed(stage):
    remit = make_remit(users()[-1], stage)
    with serve(remit, "--preset", "landlock") as s, boxed(s) as box:
        s.remit = remit
        which = watcher(box)
        say(box, "open('f', 'w').write('x')")
        assert polled(box, which) == [("f", "CREATE"), ("f", "WRITE")] and processes(s) == []


# ---- hostile code ----

SWAPPER = """
import os, threading, time
os.makedirs('t/a/b')
os.symlink('/', 'link')
def swap(path, target):
    while True:
        for make in (lambda: os.symlink(target, path), lambda: os.mkdir(path)):
            try: make()
            except OSError: pass
            try: os.rename(path, 't/old')
            except OSError: pass
            for remove in (os.unlink, os.rmdir):
                try: remove('t/old')
                except OSError: pass
for target in ('/', '/usr/lib', '/proc/self', '../..', '/tmp'):
    threading.Thread(target=swap, args=(f't/a/{abs(hash(target))}', target), daemon=True).start()
print('on', flush=True)
time.sleep(60)
"""


def test_no_trick_leads_the_watcher_out_of_its_workspace(served):
    assert not leftovers.remaining(lambda: processes(served))  # of other tests
    with boxed(served) as box:
        device = int(say(box, "import os\nprint(os.minor(os.stat('.').st_dev))"))
        with box.executing(SWAPPER):
            which = watcher(box, recursive=True)
            end = time.monotonic() + 4
            seen, most = set(), 0
            while time.monotonic() < end:
                for pid in processes(served):
                    found = watched(pid)
                    seen |= {d for d, _ in found}
                    most = max(most, len(found))
                box.request("POST", "/filesystem.Filesystem/GetWatcherEvents", {"watcherId": which})
        assert seen == {device} and most >= 4, (seen, most)
        for path in ("link", "link/usr", "t/../../..", "/proc/self/cwd", "/home/user/../../etc"):
            box.request("POST", "/filesystem.Filesystem/CreateWatcher", {"path": path})
        assert {d for d, _ in watched(the_watcher(served))} <= {device}


FLOOD = """
import os, time
print('on', flush=True)
end = time.monotonic() + 6
while time.monotonic() < end:
    for i in range(200): os.close(os.open(f'flood/{i}', os.O_CREAT | os.O_WRONLY))
    for i in range(200): os.remove(f'flood/{i}')
"""


def test_ten_thousand_files_are_all_reported(served):
    with boxed(served) as box:
        which = watcher(box)
        say(box, "for i in range(10000): open(f'file-{i}', 'w').close()")
        assert polled(box, which) == [(f"file-{i}", "CREATE") for i in range(10000)]


def last_of(answer, found: list) -> None:
    """Read a stream of events to its end, which is an error."""
    while not found or "error" not in found[-1]:
        found[:] = [event(answer)]


def test_flood_of_events_is_bounded_and_reported_as_lost(served):
    with boxed(served) as box, boxed(served) as other:
        say(box, "import os\nos.mkdir('flood')")
        which, waiting = watcher(box, recursive=True), watching(box, "flood")
        pid = the_watcher(served)
        keeper, last = leftovers.parent_of(pid), []
        reader = threading.Thread(target=last_of, args=(waiting, last), daemon=True)
        reader.start()
        before = cpu_seconds(keeper)
        with box.executing(FLOOD) as running:
            begun, slowest, fattest = time.monotonic(), 0.0, 0
            while time.monotonic() < begun + 5:
                at = time.monotonic()
                assert of(other.execute("1"), "result")
                slowest = max(slowest, time.monotonic() - at)
                fattest = max(fattest, resident_bytes(pid))
            spent, kept = cpu_seconds(pid), cpu_seconds(keeper) - before
            running.read()
        # The code has made at least a hundred thousand changes.
        assert spent < 3 and kept < 3 and fattest < 64 << 20, (spent, kept, fattest)
        assert slowest < 10, slowest
        reader.join(60)
        lost = last[0].get("error")
        assert lost["code"] == "resource_exhausted" and "lost" in lost["message"], lost
        for _ in range(3):
            status, _, text = box.request("POST", "/filesystem.Filesystem/GetWatcherEvents", {"watcherId": which})
            if status != 200:
                break
        assert (status, json.loads(text)["code"]) == (429, "resource_exhausted"), text
        call(box, "RemoveWatcher", watcherId=which)
        # Afterwards the folder can be watched again: soon, when its events are within the limit.
        again = watcher(box, "flood")
        say(box, "open('flood/f', 'w').close()")
        until(lambda: polled(box, again) == [("f", "CREATE")], "the new file is not reported")


LARGE_EVENTS = """
import os, time
for name in "ab":
    os.symlink("x" * 4000, name)
end = time.monotonic() + 3
while time.monotonic() < end:
    for name in "ab":
        os.utime(name, (0, 0), follow_symlinks=False)
"""


def test_large_events_for_many_watches_take_little_memory(served):
    with boxed(served) as box, contextlib.ExitStack() as stack:
        for _ in range(15):
            stack.callback(watching(box, includeEntry=True).close)
        pid = the_watcher(served)
        fattest = resident_bytes(pid, "VmHWM")
        say(box, LARGE_EVENTS)
        fattest = resident_bytes(pid, "VmHWM") - fattest
        assert fattest < 32 << 20, f"{fattest >> 20} MiB"
        assert processes(served) == [pid], "the watcher has ended"


def test_too_many_folders_end_a_recursive_watch(served):
    with boxed(served) as box:
        deep, plain = watcher(box, recursive=True), watcher(box)
        say(box, "import os\nfor i in range(5000): os.makedirs(f'many/{i}')\nopen('f', 'w').close()")
        while (got := box.request("POST", "/filesystem.Filesystem/GetWatcherEvents", {"watcherId": deep}))[0] == 200:
            assert json.loads(got[2])["events"], "nothing tells that events are missing"
        assert json.loads(got[2])["code"] == "resource_exhausted" and "subfolders" in json.loads(got[2])["message"], got
        assert polled(box, plain) == [("many", "CREATE"), ("f", "CREATE")]


# ---- the end ----


def test_waiting_watchers_end_with_their_sandbox(one):
    with boxed(one) as box:
        waiting = [watching(box) for _ in range(8)]
        many = stream(box, WATCH, {"path": "."})
        assert event(many) == {"start": {}} and event(many)["error"]["code"] == "resource_exhausted"
        waiting.pop().close()
        box.execute("open('new', 'w').close()")
        for w in waiting:
            assert event(w) == {"filesystem": {"name": "new", "type": "EVENT_TYPE_CREATE"}}
    for w in waiting:
        with pytest.raises((AssertionError, http.client.IncompleteRead)):
            event(w)
    assert not leftovers.remaining(lambda: processes(one))


def test_watcher_ends_with_its_jail(served):
    with boxed(served) as box:
        waiting, which = watching(box), watcher(box)
        box.execute("import os\nos._exit(3)")
        end = event(waiting)
        assert end["error"]["code"] == "failed_precondition", end
        assert call(box, "GetWatcherEvents", 400, watcherId=which)["code"] == "failed_precondition"
        assert not leftovers.remaining(lambda: processes(served))
        # A fresh jail can be watched again.
        (context,) = box.json("GET", "/contexts", port=49999)
        assert box.request("POST", f"/contexts/{context['id']}/restart", {}, port=49999)[0] < 300
        again = watcher(box)
        say(box, "open('f', 'w').close()")
        assert polled(box, again) == [("f", "CREATE")] and the_watcher(served)


def test_killed_watcher_is_reported_and_replaced_by_lists(served):
    with boxed(served) as box:
        waiting, which = watching(box), watcher(box)
        pid = the_watcher(served)
        os.kill(pid, signal.SIGKILL)
        assert event(waiting)["error"]["code"] == "failed_precondition"
        call(box, "GetWatcherEvents", 400, watcherId=which)
        listed = watcher(box)
        say(box, "open('f', 'w').write('x')")
        assert polled(box, listed) == [("f", "CREATE"), ("f", "WRITE")]


def test_watcher_sees_only_its_own_copy_of_a_forked_sandbox(served):
    with boxed(served) as box:
        say(box, "import os\nos.mkdir('d')")
        which = watcher(box, recursive=True)
        (copy,) = served.json("POST", f"/sandboxes/{box.id}/fork", {"count": 1, "timeout": 60}, status=201)
        other = Box.__new__(Box)
        other.served, other.about, other.id = served, copy["sandbox"], copy["sandbox"]["sandboxID"]
        theirs = watcher(other, "d")
        say(other, "open('d/copy', 'w').close()")
        say(box, "open('d/first', 'w').close()")
        assert polled(box, which) == [("d/first", "CREATE")] and polled(other, theirs) == [("copy", "CREATE")]
        other.kill()
        say(box, "open('d/second', 'w').close()")
        assert polled(box, which) == [("d/second", "CREATE")]


def test_paused_sandbox_can_be_watched_again(stage):
    remit = make_remit(users()[-1], stage)
    state = remit.folder / "watch-state"
    shutil.rmtree(state, ignore_errors=True)
    with serve(remit, "--state", state) as s, boxed(s) as box:
        s.remit = remit
        say(box, "import os\nos.mkdir('d')")
        waiting = watching(box, "d")
        assert s.request("POST", f"/sandboxes/{box.id}/pause", {"memory": False})[0] == 204
        with pytest.raises((AssertionError, http.client.IncompleteRead, KeyError)):
            event(waiting)["filesystem"]
        assert not leftovers.remaining(lambda: processes(s))
        made = s.json("POST", f"/sandboxes/{box.id}/connect", {"timeout": 60}, status=201)
        box.about = {**box.about, **made}
        which = watcher(box, "d")
        say(box, "open('d/f', 'w').close()")
        assert polled(box, which) == [("f", "CREATE")]
    shutil.rmtree(state, ignore_errors=True)


def test_watcher_is_locked_down(served):
    """It has no right, no other descriptor, and a filter that no jail has."""
    with boxed(served) as box:
        assert watcher(box)
        pid = the_watcher(served)
        about = dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line)
        assert int(about["CapEff"], 16) == int(about["CapPrm"], 16) == 0 and about["NoNewPrivs"] == "1"
        assert about["Seccomp"] == "2" and about["Threads"] == "1"
        if served.remit.by_root:
            assert int(about["Uid"].split()[1]) > 65536
        links = [os.readlink(link) for link in pathlib.Path(f"/proc/{pid}/fd").iterdir() if int(link.name) > 2]
        assert sorted(re.sub(r"\[\d+\]$", "", link) for link in links if not link.startswith("/")) == ["anon_inode:inotify", "socket:"], links
        assert len(links) == 3, links
