"""`remit bench`: the shape of its report, plausible ratios, and no remains."""

from __future__ import annotations

import functools
import glob
import importlib.util
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree

import pytest
from conftest import PYTHON, ROOT
from leftovers import groups, processes, remaining

SECTIONS = [
    "print(1)", "pandas group-by", "1,000 cells in a session", "throughput, print(1)", "memory", "pool size, print(1)", "zygote size, print(1), hot",
    "zygote size, the fork",
    "extras, warm, gapped",
    "network, loopback",
    "beside a flood, warm, gapped",
    "tools, warm",
    "a branch of a session with 100 MiB",
    "doors, loopback",
]  # fmt: skip
BARE, COLD = "python3 -I", "remit run, cold"


def folders(remit) -> list[str]:
    return glob.glob(f"{remit.folder}/remit-bench-*")


@functools.cache
def quick(remit_type, label: str, folder: pathlib.Path) -> dict:
    """One benchmark run for all tests"""
    remit = remit_type(label, folder)
    shutil.copytree(ROOT / "bench", folder.parent / "share" / "remit" / "bench", dirs_exist_ok=True)
    done = remit("bench", "--quick", "--python", PYTHON, "--json", "bench.json", timeout=400)
    assert done.returncode == 0 and done.stderr == "", done
    report = json.loads((folder / "bench.json").read_text())
    return {**report, "table": done.stdout}


@pytest.fixture
def report(any_remit) -> dict:
    return quick(type(any_remit), any_remit.label, any_remit.folder)


def rows(report: dict, section: str) -> dict[str, dict]:
    (found,) = [s for s in report["sections"] if s["name"] == section]
    return {row["name"]: row for row in found["rows"]}


@pytest.mark.longer
def test_report_has_machine_and_versions(any_remit, report):
    assert report["cpus"] >= 1 and report["by_root"] == any_remit.by_root
    assert report["python"] == PYTHON and report["python_version"].startswith("3.")
    assert report["remit_version"] in any_remit("--version").stdout
    assert [s["name"] for s in report["sections"]] == SECTIONS


@pytest.mark.longer
def test_session_section_counts_cells(report):
    cells = rows(report, "1,000 cells in a session")
    assert list(cells) == ["remit, one session", "exec() in one process"]
    assert cells["remit, one session"]["time_us"]["count"] == 100


@pytest.mark.longer
def test_every_row_has_measurement_or_reason(report):
    for section in report["sections"]:
        assert section["rows"], section
        for row in section["rows"]:
            assert ("absent" in row) != bool({"time_us", "memory_bytes", "runs_per_s", "bytes_per_s"} & set(row)), row
            assert row["name"] in report["table"]
            if time_us := row.get("time_us"):
                assert time_us["count"] >= 1
                steps = [time_us[k] for k in ("min", "p50", "p95", "p99", "max")]
                assert steps == sorted(steps)


@pytest.mark.longer
def test_ratios_are_plausible(report):
    """Compare the best times with loose limits. The test shall find a start that became several times slower, and
    ignore noise."""
    start = rows(report, "print(1)")
    best = {name: row["time_us"]["min"] / start[BARE]["time_us"]["min"] for name, row in start.items() if "time_us" in row}
    assert start[BARE]["ratio"] == 1
    assert 0.2 < best[COLD] < 4
    assert best["remit, warm, hot"] < 2
    assert best["remit run, shared keeper"] < 2
    median = start[COLD]["time_us"]["p50"] / start[BARE]["time_us"]["p50"]
    assert abs(start[COLD]["ratio"] - median) < 0.01


@pytest.mark.longer
def test_run_takes_longer_than_its_process_switches(report):
    """Compare the best times, since medians mean nothing on a busy machine."""
    start = rows(report, "print(1)")
    for how in ("hot", "gapped"):
        byte, run = start[f"a byte by three processes, {how}"], start[f"remit, warm, {how}"]
        assert 0 < byte["time_us"]["min"] < run["time_us"]["min"], how
    assert start["a byte by three processes, hot"]["time_us"]["min"] < start["a waiting fork, no jail, hot"]["time_us"]["min"]


@pytest.mark.longer
def test_throughput_and_memory_are_counted(report):
    load = rows(report, "throughput, print(1)")
    for name in ("remit, warm, 1 client", "remit, warm, 64 clients", "a fork of Python, no jail, 2 clients", f"{BARE}, 2 clients"):
        assert load[name]["runs_per_s"] > 1 and load[name]["cpu_ms"] > 0, name
    memory = rows(report, "memory")
    assert 1 << 19 < memory["print(1) at its peak, by its result"]["memory_bytes"] < 1 << 29
    assert 1 << 20 < memory[f"each of 8 {BARE} asleep, PSS"]["memory_bytes"] < 1 << 29


@pytest.mark.longer
def test_extra_is_compared_with_run_without_it(report):
    """The report has each pair in this sequence: without, with."""
    (section,) = [s for s in report["sections"] if s["name"] == "extras, warm, gapped"]
    pairs = list(zip(section["rows"][::2], section["rows"][1::2]))
    names = [(without["name"], extra["name"]) for without, extra in pairs]
    assert names == [
        ("100 files written", "100 files written and exported"),
        ("a call that is allowed", "a call that is refused and told"),
        ("a file changed in the workspace", "a file of 10,000 changed on the host"),
    ]
    for without, extra in pairs:
        assert "over_without" not in without and extra["time_us"]["count"] == without["time_us"]["count"] > 1
        median = extra["time_us"]["p50"] / without["time_us"]["p50"]
        assert abs(extra["over_without"] - median) < 0.01 * median and "/without" in report["table"]
    # Exported files are read, sent and written after the jail has died.
    assert pairs[0][0]["time_us"]["min"] < pairs[0][1]["time_us"]["min"]


@pytest.mark.longer
def test_large_zygote_uses_huge_pages(report):
    """With small pages a fork of 300 MB takes eleven times as long. The exact time depends on the machine's load."""
    found = rows(report, "zygote size, the fork")
    small, large = found.values()
    assert list(found) == ["nothing preloaded", "300 MB of objects"]
    assert small["zygote_bytes"] < 60e6 and 300e6 < large["zygote_bytes"]
    assert 0.6 * large["zygote_bytes"] < large["huge_bytes"] < large["zygote_bytes"]
    assert small["time_us"]["min"] < large["time_us"]["min"] and large["over_without"] > 0


@pytest.mark.longer
def test_tool_call_is_measured(report):
    (section,) = [s for s in report["sections"] if s["name"] == "tools, warm"]
    (row,) = section["rows"]
    assert row["name"] == "a call of a tool, there and back" and row["time_us"]["count"] >= 6
    assert 5 < row["time_us"]["min"] < 100_000


@pytest.mark.longer
def test_run_is_measured_alone_and_during_flood(report):
    """The ratio depends on the machine, but both runs must be served warm."""
    (section,) = [s for s in report["sections"] if s["name"] == "beside a flood, warm, gapped"]
    alone, beside = section["rows"]
    assert (alone["name"], beside["name"]) == ("alone", "beside")
    assert alone["time_us"]["count"] == beside["time_us"]["count"] >= 10
    assert alone["pool_hits"] > 0 and beside["pool_hits"] > 0 and beside["over_without"] > 0


@pytest.mark.longer
def test_plot_shows_every_way_to_start(report, tmp_path):
    source = tmp_path / "bench.json"
    source.write_text(json.dumps(report))
    done = subprocess.run([sys.executable, ROOT / "bench" / "plot.py", source], capture_output=True, text=True, check=True)
    svg = xml.etree.ElementTree.fromstring(done.stdout)
    shown = "".join(svg.itertext())
    for name in ("remit, warm, hot", "remit, warm, gapped", COLD, BARE):
        assert name in shown, name


def test_missing_peer_is_absent(remit):
    arguments = ("--quick", "--rounds", "1", "--only", "print*", "--python", PYTHON)
    done = remit("bench", *arguments, "--json", "few.json", env={"PATH": "/nonexistent"})
    assert done.returncode == 0, done
    report = json.loads((remit.folder / "few.json").read_text())
    assert [s["name"] for s in report["sections"]] == ["print(1)"]
    assert rows(report, "print(1)")["bubblewrap"]["absent"] == "not installed"


@pytest.mark.parametrize("after", [0, 1.2, 4])
def test_ctrl_c_leaves_nothing(remit, after):
    groups_before = set(groups())
    env = {"TMPDIR": str(remit.folder)}
    with remit.popen("bench", "--python", PYTHON, env=env, stdout=subprocess.PIPE, start_new_session=True) as p:
        assert remaining(lambda: not folders(remit), 60) is False, "the folder was not made"
        time.sleep(after)  # another moment in each test
        # To the whole group, as a terminal does
        os.killpg(p.pid, signal.SIGINT)
        out, _ = p.communicate(timeout=60)
    assert (p.returncode, out) == (130, b"")
    assert remaining(lambda: processes(remit.command)) == []
    assert folders(remit) == []
    assert remaining(lambda: set(groups()) - groups_before) == set()


@pytest.mark.parametrize(
    "args,words",
    [
        (("--rounds", "0"), "--rounds must be a number from 1 to 10000"),
        (("--rounds",), "--rounds requires a value, such as 60"),
        (("--json",), "--json requires a value, such as bench.json"),
        (("--fast",), "unknown option --fast"),
    ],
)
def test_wrong_arguments_are_clear_errors(any_remit, args, words):
    done = any_remit("bench", *args)
    assert done.returncode == 2 and words in done.stderr, done


def test_missing_benchmark_program_is_reported(any_remit, tmp_path):
    alone = shutil.copy2(any_remit.command, tmp_path)
    done = subprocess.run([alone, "bench", "--quick"], capture_output=True, text=True)
    assert done.returncode == 125 and done.stdout == "", done
    assert done.stderr.startswith("remit: the benchmark is not installed") and '"remit"' in done.stderr


def test_benchmark_measures_only_command_next_to_it(any_remit, tmp_path):
    shutil.copy2(pathlib.Path(any_remit.command).parent / "remit-bench", tmp_path)
    done = subprocess.run([tmp_path / "remit-bench", "--quick"], capture_output=True, text=True)
    assert done.returncode != 0 and str(tmp_path) in done.stderr, done


def test_command_contains_no_benchmark_code(any_remit):
    """Both programs have symbols, so names of functions are in the files. Of the benchmark the command has only the
    option rows, for its help."""
    command, benchmark = (pathlib.Path(any_remit.command).with_name(name).read_bytes() for name in ("remit", "remit-bench"))
    assert b"\0keeper_main\0" in command and b"\0bench_open\0" in benchmark
    assert {name for name in re.findall(rb"\0(bench_\w+)", command) if not name.startswith(b"bench_request")} == set()
    assert b"\0keeper_main\0" not in benchmark


@pytest.mark.longer
def test_proxied_network_is_compared_with_direct(report):
    found = rows(report, "network, loopback")
    assert all(found[f"first connection, {way}"]["time_us"]["p50"] > 0 for way in ("direct", "by the proxy"))
    share = found["one stream, by the proxy"]["bytes_per_s"] / found["one stream, direct"]["bytes_per_s"]
    assert abs(share - found["one stream, by the proxy"]["over_without"]) < 0.01 and share > 0
    waiting = [found[f"to build one that waits, {which}"]["child_bytes"] for which in ("no network", "a named host")]
    assert 0.5 < waiting[1] / waiting[0] < 2


@pytest.mark.longer
def test_frontends_are_compared_with_library(report):
    found = rows(report, "doors, loopback")
    for kind, frontends in (("a run", ("POST /", "POST /v1/runs", "POST /mcp")), ("a cell", ("POST /v1/sessions/ID/cells", "POST /execute of E2B", "POST /mcp"))):
        direct = found[f"{kind}, the library"]
        assert direct["runs_per_s"] > 0 and "added_ms" not in direct
        for frontend in frontends:
            row = found[f"{kind}, {frontend}"]
            added = (row["time_us"]["p50"] - direct["time_us"]["p50"]) / 1e3
            assert abs(added - row["added_ms"]) < 0.01 and row["runs_per_s"] > 0
            assert row["time_us"]["count"] == direct["time_us"]["count"] > 1


def compare(*arguments: str | pathlib.Path) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, ROOT / "bench" / "compare.py", *arguments], capture_output=True, text=True)


def test_compare_measures_two_builds_in_turns():
    build = ROOT / "build"
    options = ("--quick", "--rounds", "1", "--only", "print(1)", "--python", PYTHON)
    done = compare(build, build, "--turns", "1", "--", *options)
    assert done.returncode == 0, done
    assert re.search(r"^print\(1\): remit, warm, hot: p50 +[0-9.e+,]+ +[0-9.e+,]+ +\d+\.\d\d ", done.stdout, re.M), done.stdout
    assert re.search(r"^0 of \d+ rows are slower$", done.stdout, re.M), done.stdout
    missing = compare(build, "/nowhere")
    assert missing.returncode == 2 and "/nowhere contains no finished build" in missing.stderr, missing


@pytest.mark.parametrize(
    "old, new, more_is_better, slower",
    [
        ([100, 100, 100], [120, 110, 107], False, True),
        ([100, 100, 100], [120, 110, 99], False, False),  # not in every turn
        ([100, 100, 100], [103, 104, 101], False, False),  # too little
        ([100, 100], [200, 200], False, False),  # too few turns
        ([100, 100, 100], [80, 90, 85], True, True),
        ([100, 100, 100], [120, 110, 107], True, False),
    ],
)
def test_compare_calls_a_row_slower_if_it_is_in_every_turn(old, new, more_is_better, slower):
    assert compare_module().Row("row: p50", old, new, more_is_better).is_slower() is slower


def compare_module():
    spec = importlib.util.spec_from_file_location("compare", ROOT / "bench" / "compare.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["compare"] = module  # dataclasses look it up
    spec.loader.exec_module(module)
    return module
