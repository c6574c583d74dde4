"""`remit batch`: files that jobs bring, and files that leave their jails."""

import os
import shutil
import signal
import subprocess

import pytest
from batches import Gate, batch, lines, results, started
from leftovers import processes
from shared_keeper import children
from waiting import until

WRITE = "open('out.txt', 'w').write({!r})"


@pytest.fixture
def top(remit):
    """A folder for artifacts that does not exist yet."""
    path = remit.folder / "batch-out"
    shutil.rmtree(path, ignore_errors=True)
    yield path
    shutil.rmtree(path, ignore_errors=True)


def exporting(top, *more) -> list:
    return ["--export", "**", "--artifacts", top, *more]


def content(top) -> dict:
    """All files below the folder, including hidden ones."""
    return {str(p.relative_to(top)): p.read_text() for p in top.rglob("*") if p.is_file()}


# ---- in ----


def test_job_brings_files(remit):
    remit.file("one.csv", "1,2")
    other = remit.file("deep/two.csv", "3,4")
    code = "import os; print(open('one.csv').read(), open('in/b.csv').read(), sorted(os.listdir()))"
    jobs = [{"code": code, "files": [{"local": "one.csv"}, {"local": str(other), "path": "in/b.csv"}]}, {"code": "import os; print(os.listdir())"}]
    for flags in ([], ["-j1", "--preload", "json"]):
        found = batch(remit, *jobs, flags=flags)
        assert [r["stdout"] for r in found] == ["1,2 3,4 ['in', 'one.csv']\n", "[]\n"], found


def test_unreadable_file_refuses_only_its_job(remit):
    wrong = [
        [{"local": "missing"}], [{"local": str(remit.folder)}], [{"local": "one.csv", "path": "../x"}],
        [{"local": "one.csv"}, {"local": "one.csv"}], [{"local": ""}], ["one.csv"],
    ]  # fmt: skip
    remit.file("one.csv", "1,2")
    jobs = [{"id": n, "code": "print(1)", "files": files} for n, files in enumerate(wrong)]
    done = remit("batch", input=lines(*jobs, {"id": "good", "code": "print(1)", "files": [{"local": "one.csv"}]}))
    found = results(done.stdout)
    assert done.returncode == 125 and [r["status"] for r in found] == ["refused"] * len(wrong) + ["ok"]
    assert all(r["stdout"] == "" and r["error"]["value"] for r in found[:-1])


# ---- out ----


@pytest.mark.parametrize("flags", [[], ["--preload", "json"]], ids=["cold", "warm"])
def test_each_job_exports_into_its_folder(remit, top, flags):
    jobs = [{"id": f"job {n}", "code": "import os; os.mkdir('d'); open('d/a', 'w').write('%d')" % n} for n in range(6)]
    found = batch(remit, *jobs, {"id": 7, "code": "pass"}, {"code": WRITE.format("no id")}, flags=[*exporting(top, *flags), "-j3"])
    assert content(top) == {**{f"job%20{n}/d/a": str(n) for n in range(6)}, "8/out.txt": "no id"}
    for n, r in enumerate(found[:6]):
        assert [(a["path"], a["size_bytes"], a["host_path"]) for a in r["artifacts"]] == [("d/a", 1, str(top.resolve() / f"job%20{n}/d/a"))]
    assert found[6]["artifacts"] == [] and not (top / "7").exists()
    assert os.stat(top).st_mode & 0o777 == 0o700


def test_skipped_artifact_is_named_with_reason(remit, top):
    (r,) = batch(remit, {"id": "x", "code": "import os; os.symlink('/etc/passwd', 'a'); open('b', 'w')"}, flags=exporting(top))
    assert [a["path"] for a in r["artifacts"]] == ["b"]
    assert r["artifacts_skipped"] == [{"path": "a", "reason": "a symbolic link"}]


def test_job_policy_decides_what_is_exported(remit, top):
    jobs = [
        {"id": "a", "code": WRITE.format("a"), "policy": {"artifact_export_paths": ["*.txt"]}},
        {"id": "b", "code": WRITE.format("b")},
    ]
    batch(remit, *jobs, flags=["--artifacts", top])
    assert content(top) == {"a/out.txt": "a"}
    (r,) = batch(remit, jobs[0])
    assert r["artifacts"] == []


def test_export_needs_artifacts_folder(remit):
    done = remit("batch", "--export", "*", input=lines({"code": ""}))
    assert done.returncode == 2 and done.stdout == "" and "--artifacts" in done.stderr


def test_hostile_ids_stay_in_folder(remit, top):
    """No two ids share a folder."""
    ids = ["..", ".", "", "../../escape", "/tmp/escape", "a/b", "-rf", "x" * 256, "x" * 255 + "y", "/" * 256, 1, "1", -1, "-1", "%31", "a\nb", "ä", ".remit-unfinished"]
    found = batch(remit, *[{"id": i, "code": WRITE.format(repr(i))} for i in ids], flags=exporting(top))
    assert sorted(content(top).values()) == sorted(map(repr, ids)) and all("/" not in os.path.relpath(p, top) for p in top.iterdir())
    for i, r in zip(ids, found):
        (made,) = r["artifacts"]
        with open(made["host_path"]) as f:
            assert f.read() == repr(i)
        assert os.path.dirname(os.path.dirname(made["host_path"])) == str(top.resolve())
    assert not (remit.folder / "escape").exists()


def test_existing_file_is_not_replaced(remit, top):
    (top / "a").mkdir(parents=True)
    (top / "a" / "out.txt").write_text("precious")
    for path in (top, top / "a", top / "a" / "out.txt"):
        remit.own(path)
    (r,) = batch(remit, {"id": "a", "code": WRITE.format("new")}, flags=exporting(top))
    assert content(top) == {"a/out.txt": "precious"} and r["artifacts"] == []
    assert "exists already" in r["artifacts_skipped"][0]["reason"]


def test_link_in_place_of_job_folder_is_not_followed(remit, top):
    elsewhere = remit.folder / "elsewhere"
    shutil.rmtree(elsewhere, ignore_errors=True)
    elsewhere.mkdir()
    top.mkdir()
    (top / "a").symlink_to(elsewhere)
    for path in (elsewhere, top):
        remit.own(path)
    done = remit("batch", *exporting(top), input=lines({"id": "a", "code": WRITE.format("x")}))
    assert done.returncode == 125 and done.stdout == "" and list(elsewhere.iterdir()) == []


# ---- resuming ----


@pytest.mark.parametrize("flags", [(), ("--unordered",)], ids=["ordered", "unordered"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_resumed_batch_has_all_files(remit, top, flags, number):
    gate = Gate(remit)
    gate.let(*range(3))
    jobs = [gate.job(n, f"open('a', 'w').write('{n}')", f"open('b', 'w').write('{n}')") for n in range(12)]
    p, path, out = started(remit, jobs, "-j3", *gate.flags, *exporting(top), *flags)
    until(lambda: gate.begun() == 6)  # the next three jobs have written the first of their two files
    p.send_signal(number)
    p.communicate(timeout=60)
    assert len(results(out.read_text())) == 3
    gate.let(*range(12))
    if number == signal.SIGKILL:
        until(lambda: not processes(remit.command))
    done = remit("batch", path, "--output", out, "--resume", "-j3", *gate.flags, *exporting(top), *flags)
    assert done.returncode == 0, done
    found = results(out.read_text())
    assert sorted(r["id"] for r in found) == list(range(12))
    assert {r["id"]: [a["path"] for a in r["artifacts"]] for r in found} == {n: ["a", "b"] for n in range(12)}
    visible = {name: text for name, text in content(top).items() if not name.endswith(".remit-unfinished")}
    assert visible == {f"{n}/{name}": str(n) for n in range(12) for name in "ab"}


def test_remains_of_unfinished_job_are_replaced(remit, top):
    """Whatever type the remains have, and nothing next to them is touched."""
    job = {"id": "a", "code": "open('x', 'w').write('new')"}
    (top / "a" / "x" / "y").mkdir(parents=True)
    (top / "a" / "x" / "y" / "z").write_text("old")
    (top / "a" / ".remit-unfinished").write_text("")
    keep = remit.file("keep.txt", "kept")
    (top / "a" / "link").symlink_to(keep)
    (top / "b").write_text("kept")
    for at in (top, *top.rglob("*")):
        if not at.is_symlink():
            remit.own(at)
    (r,) = batch(remit, job, flags=exporting(top))
    assert content(top) == {"a/x": "new", "b": "kept"} and [a["path"] for a in r["artifacts"]] == ["x"]
    assert keep.read_text() == "kept"


def test_keeper_that_dies_during_export_is_replaced(remit, top):
    """The files of the first run do not block those of the second, and the two are not mixed."""
    code = "import os, random; r = str(random.random())\nfor n in range(900): open('f%d' % n, 'w').write(r + 'x' * 100000)"
    path = remit.file("jobs.jsonl", lines({"id": "a", "code": code}))
    flags = exporting(top, "-j1", "--disk", "200M", "--memory", "800M", "--export-time", "120")
    p = remit.popen("batch", *flags, path, env={"REMIT_KEEPER": ""}, stdout=subprocess.PIPE, text=True)
    until(lambda: len(visible(top / "a")) > 0)
    (keeper,) = children(p.pid)
    os.kill(keeper, signal.SIGSTOP)
    assert len(visible(top / "a")) < 900
    os.kill(keeper, signal.SIGKILL)
    out, _ = p.communicate(timeout=120)
    (r,) = results(out)
    assert r["status"] == "ok" and len(r["artifacts"]) == 900 and r["artifacts_skipped"] == [], r
    assert len(set(content(top).values())) == 1 and len(content(top)) == 900


def visible(folder) -> list[str]:
    return [name for name in os.listdir(folder) if not name.startswith(".")] if folder.exists() else []
