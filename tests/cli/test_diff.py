"""`editgauge diff`, as users type it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

from typer.testing import CliRunner

from editgauge._cli import app
from editgauge.results import JournalEntry
from editgauge.results.manifest import ProtocolEntry
from editgauge.types import ScoreSpec

ENTRY = ProtocolEntry("About " * 40, "none", "1", (), (ScoreSpec("gain", True, (0.0, 1.0)),))
NEWER = dataclasses.replace(ENTRY, version="2", deviations=("Another rule.",))
MODEL = {"id": "eyes", "revision": "abc", "role": "detector"}


def test_of_protocols_and_models_only_what_differs_is_shown(
    make_run: Callable[..., Path], make_record: Callable[..., JournalEntry]
) -> None:
    record = make_record(scores={"gain": 0.5})
    first = make_run(record, protocols={"toy": ENTRY, "gone": ENTRY}, models={"detector": MODEL})
    second = make_run(record, name="second", protocols={"toy": NEWER})
    told = CliRunner().invoke(app, ["diff", str(first), str(second)]).output
    rows = [" ".join(line.split()) for line in told.splitlines()]
    assert "protocol gone version 1 -" in rows
    assert "protocol toy, version 1 2" in rows
    assert "model detector id eyes, revision abc -" in rows
    assert "About" not in told
    assert "{" not in told
