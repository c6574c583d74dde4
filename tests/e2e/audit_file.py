"""An audit file of one test, and what stands in it."""

from __future__ import annotations

import json

import pytest


def lines(path) -> list[dict]:
    text = path.read_text()
    assert text == "" or text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def file(remit):
    path = remit.folder / "audit.jsonl"
    path.unlink(missing_ok=True)
    yield path
    path.unlink(missing_ok=True)
