"""An audit file of one test, and what stands in it."""

from __future__ import annotations

import json

import pytest
from waiting import until


def lines(path) -> list[dict]:
    text = path.read_text()
    assert text == "" or text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def wait_for_lines(path, count: int) -> list[dict]:
    """The lines, once there are so many: they come soon after the answers."""
    until(lambda: path.exists() and path.read_bytes().count(b"\n") >= count, f"there are no {count} lines")
    return lines(path)


@pytest.fixture
def file(remit):
    path = remit.folder / "audit.jsonl"
    path.unlink(missing_ok=True)
    yield path
    path.unlink(missing_ok=True)
