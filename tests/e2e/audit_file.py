"""The audit file of one test, and its lines."""

from __future__ import annotations

import json

import pytest
from waiting import until


def lines(path) -> list[dict]:
    text = path.read_text()
    assert text == "" or text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def wait_for_lines(path, count: int) -> list[dict]:
    """Return the lines as soon as the file has `count` of them. They arrive shortly after the answers."""
    until(lambda: path.exists() and path.read_bytes().count(b"\n") >= count, f"fewer than {count} lines")
    return lines(path)


@pytest.fixture
def file(remit):
    path = remit.folder / "audit.jsonl"
    path.unlink(missing_ok=True)
    yield path
    path.unlink(missing_ok=True)
