"""A pytest plugin for tests/run.py: reports each test when it ends, and starts files that take long first.

Reports are lines of JSON, written to the descriptor in REMIT_PROGRESS. REMIT_TEST_TIMES is a file with the duration of each
test file in the last run. It is a copy that does not change, because all workers must sort alike. For a file without a
duration, its folder and its number of tests decide.
"""

from __future__ import annotations

import collections
import json
import os
import pathlib

import pytest

KEPT = pathlib.Path(f"/var/tmp/remit-test-times-{os.getuid()}.json")
IS_WORKER = "PYTEST_XDIST_WORKER" in os.environ
# Folders of few tests that take long, because they install and build.
LONG = ("tests/deb/", "tests/newcomer/", "tests/python/")
durations: dict[str, float] = collections.defaultdict(float)


def read_times(path: str | pathlib.Path) -> dict[str, float]:
    try:
        return json.loads(pathlib.Path(path).read_text())
    except (OSError, ValueError):
        return {}


def send(**event: object) -> None:
    if not IS_WORKER:
        os.write(int(os.environ["REMIT_PROGRESS"]), json.dumps(event).encode() + b"\n")


def file_of(nodeid: str) -> str:
    return nodeid.split("::")[0]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    counts = collections.Counter(file_of(item.nodeid) for item in items)
    guesses = {file: float("inf") if file.startswith(LONG) else count for file, count in counts.items()}
    times = {**guesses, **read_times(os.environ["REMIT_TEST_TIMES"])}
    items.sort(key=lambda item: -times[file_of(item.nodeid)])


def pytest_xdist_node_collection_finished(node: object, ids: list[str]) -> None:
    send(collected=ids)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    durations[file_of(report.nodeid)] += report.duration
    # A test ends with its call. Its setup and teardown are reported only if they fail or skip.
    if report.when == "call" or report.outcome != "passed":
        send(test=report.nodeid, when=report.when, outcome=report.outcome, text=report.longreprtext)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        send(test=report.nodeid, when="collect", outcome="failed", text=report.longreprtext)


def pytest_sessionfinish() -> None:
    if not IS_WORKER and durations:
        new = KEPT.with_suffix(f".{os.getpid()}")
        new.write_text(json.dumps({**read_times(KEPT), **durations}))
        new.replace(KEPT)
