"""EditVal's checklist: where each number comes from, and what is missing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import editgauge
from editgauge.analysis.checklist import AUTOMATIC_TYPES, HUMAN_TYPES, ChecklistEntry, checklists
from editgauge.analysis.outcomes import match
from editgauge.analysis.ratings import read_ratings
from editgauge.benchmarks.editval import TYPES
from editgauge.results import Run
from editgauge.results.manifest import ProtocolEntry
from editgauge.types import ScoreSpec

SPECS = ScoreSpec("edit", True, (0.0, 1.0)), ScoreSpec("context[dino]", True, (-1.0, 1.0))
PROTOCOLS = {"editval": ProtocolEntry("", "", "4", (), SPECS)}
EDITS = 12
"""Of each edit type."""


@pytest.fixture
def run(make_run: Callable[..., Path], make_record: Callable[..., Any]) -> Path:
    records: list[Any] = []
    for kind in ("size", "color"):
        for number in range(EDITS):
            scores = {"edit": float(number % 2) if kind == "size" else "not_applicable", "context[dino]": 0.5}
            place = {"place": len(records), "source": f"{kind}-{number}.png", "edit_type": kind}
            records.append(make_record(f"{kind}-{number}", scores, protocol="editval", method="mine", **place))
    return make_run(*records, protocols=PROTOCOLS)


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    lines = ["edit,method,value,rater,question"]
    for number in range(EDITS):
        lines += [f"color-{number},mine,{level},{rater},applied" for rater, level in (("ann", 3), ("bob", number % 2))]
        lines += [f"color-{number},mine,0,ann,context_kept"]
    file = tmp_path / "ratings.csv"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def entries_of(run: Path, ratings: Path | None) -> dict[str, ChecklistEntry]:
    opened = Run.open(run)
    matched = match(read_ratings(ratings), opened.score_columns.seeds) if ratings else None
    (checklist,) = checklists(opened, matched)
    return {entry.edit_type if entry.edit_type != "all" else entry.measure: entry for entry in checklist.entries}


def test_the_thirteen_types_are_split_as_in_the_paper() -> None:
    assert (len(AUTOMATIC_TYPES), len(HUMAN_TYPES)) == (6, 7)
    assert {*AUTOMATIC_TYPES, *HUMAN_TYPES} == set(TYPES)


def test_scores_ratings_and_context_come_from_their_sources(run: Path, ratings: Path) -> None:
    entries = entries_of(run, ratings)
    assert list(entries) == [*AUTOMATIC_TYPES, *HUMAN_TYPES, "context", "distance"]
    size, color, context = (entries[name].mean for name in ("size", "color", "context"))
    assert size is not None
    assert color is not None
    assert context is not None
    assert (size.value, size.n) == (0.5, EDITS)
    assert color.value == pytest.approx((3 + 0.5) / 2), "the mean over outcomes of the mean of their raters"
    assert (entries["color"].measure, entries["context"].name) == ("rating", "context[dino]")
    assert context.value == 0.5


def test_what_is_missing_is_named(run: Path) -> None:
    entries = entries_of(run, None)
    assert "no ratings" in entries["color"].missing
    assert "no such edits" in entries["viewpoint"].missing
    assert "no such edits" in entries["alter_parts"].missing
    assert "fid_features" in entries["distance"].missing


def test_a_run_without_the_protocol_has_no_checklist(make_run: Callable[..., Path], make_record: Any) -> None:
    assert checklists(Run.open(make_run(make_record("a", {"gain": 0.5, "loss": 0.5}))), None) == ()


def test_the_report_has_a_checklist_when_people_rated(run: Path, ratings: Path, tmp_path: Path) -> None:
    page = editgauge.report(run, out=tmp_path / "report", ratings=ratings, quiet=True).read_text("utf-8")
    assert "As Markdown" in page
    assert "\\toprule" in page
    assert "no such edits" in page
    plain = editgauge.report(run, out=tmp_path / "plain", quiet=True).read_text("utf-8")
    assert "As Markdown" not in plain
