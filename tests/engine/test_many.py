"""A run whose edits and outcomes stay on disk is the same run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from editgauge._util import disk_list as shelf
from editgauge._util.disk_list import DiskList
from editgauge.benchmarks.folder import load
from editgauge.engine.run import run
from editgauge.errors import BadInputError
from editgauge.methods.outcomes import find_outcomes
from editgauge.reports.export import export

Make = Callable[..., Path]


@pytest.fixture
def home(tmp_path: Path, make_benchmark: Make, make_outcomes: Make) -> Path:
    """Eight edits of four photographs; `mine` as a folder, `listed` as a list in another order, with a gap."""
    make_benchmark(tmp_path / "photos", edits=8, size=32)
    make_outcomes(tmp_path / "photos", tmp_path / "mine")
    lines = [{"id": f"edit-{n:03d}", "image_path": f"mine/edit-{n:03d}.png", "seed": n % 2} for n in (5, 0, 7, 2, 1, 4)]
    (tmp_path / "listed.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


def scores(home: Path, out: str) -> bytes:
    outcomes = {"listed": home / "listed.jsonl", "mine": home / "mine"}
    return export(
        run(
            home / "photos", protocol=["preservation"], outcomes=outcomes, out=home / out, processes=1, quiet=True
        ).folder,
        format="csv",
    )


def test_on_disk_and_in_memory_are_the_same(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_memory = scores(home, "in-memory")
    monkeypatch.setattr(shelf, "MAX_IN_MEMORY", 2)
    edits = load(home / "photos").edits
    assert isinstance(edits, DiskList)
    assert isinstance(find_outcomes("listed", home / "listed.jsonl", edits).outcomes, DiskList)
    assert scores(home, "on-disk") == in_memory
    assert (home / "in-memory" / "edits.jsonl").read_bytes() == (home / "on-disk" / "edits.jsonl").read_bytes()
    assert scores(home, "on-disk") == in_memory  # nothing is left to do


def test_what_is_wrong_with_a_list_is_told_all_at_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shelf, "MAX_IN_MEMORY", 2)
    with (home / "listed.jsonl").open("a") as lines:
        lines.write('{"id": "edit-007", "image_path": "x.png", "seed": 1}\n{"id": 3}\n')
    with pytest.raises(BadInputError) as told:
        find_outcomes("listed", home / "listed.jsonl", load(home / "photos").edits)
    assert [problem.split(":")[0] for problem in told.value.problems] == [
        "listed.jsonl",
        "edit 'edit-007', seed 1 is listed 2 times",
    ]
