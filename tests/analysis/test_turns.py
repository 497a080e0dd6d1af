"""Success by turn and of all turns so far, and drift against the first source."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from editgauge._util.images import Picture, Pixels, write_png
from editgauge._util.masks import Rectangle
from editgauge.analysis.groups.turns import turn_tables
from editgauge.benchmarks import with_turns
from editgauge.engine.worker.scoring import build_item
from editgauge.errors import UnscorableError
from editgauge.models.answers import Detections, Patches
from editgauge.protocols import open_protocol
from editgauge.reports.context import Context
from editgauge.reports.sections.turns import section
from editgauge.results import JournalEntry, Run
from editgauge.results.manifest import ProtocolEntry
from editgauge.types import Benchmark, Edit, Outcome, Score, ScoreSpec, Unscored

TOLD = ProtocolEntry("about", "paper", "1", (), (ScoreSpec("edit", True, (0.0, 1.0)),))
Make = Callable[..., Any]


@pytest.fixture
def run(make_record: Make, make_run: Make) -> Run:
    """Three sessions of three turns; what is done of them: yes yes yes; yes no yes; yes unscored yes."""
    values: dict[str, tuple[float | str, ...]] = {
        "a": (1.0, 1.0, 1.0),
        "b": (1.0, 0.0, 1.0),
        "c": (1.0, "not_detected", 1.0),
    }
    records: list[JournalEntry] = []
    links: dict[str, dict[str, Any]] = {}
    for session, scores in values.items():
        for turn, value in enumerate(scores, start=1):
            edit = f"{session}{turn}"
            links[edit] = {"turn": turn, **({"follows": f"{session}{turn - 1}"} if turn > 1 else {})}
            records.append(make_record(edit, {"edit": value}, protocol="editval", source=session, place=len(records)))
    return Run.open(make_run(*records, fields=links, protocols={"editval": TOLD}))


def test_one_failed_turn_is_enough_to_know_and_an_unknown_one_is_not(run: Run) -> None:
    by_name = {table.name: table.cells["mine"] for table in turn_tables(run)}
    shown = {
        name: {
            turn: (cell.mean.value if cell.mean else None, cell.mean.n if cell.mean else 0, cell.unknown)
            for turn, cell in cells.items()
        }
        for name, cells in by_name.items()
    }
    assert shown["success"] == {1: (1.0, 3, 0), 2: (0.5, 2, 1), 3: (1.0, 3, 0)}
    assert shown["success_so_far"] == {1: (1.0, 3, 0), 2: (0.5, 2, 1), 3: (0.5, 2, 1)}


def test_the_report_draws_a_line_over_turns(run: Run) -> None:
    page = section.render(Context(run))
    assert page is not None
    assert "editval success_so_far" in page
    assert page.count("<svg") == 2
    assert "turn 3" in page


def test_a_run_of_single_turns_has_no_such_section(make_record: Make, make_run: Make) -> None:
    run = Run.open(make_run(make_record("a")))
    assert turn_tables(run) == []
    assert section.render(Context(run)) is None


class Seeing:
    """A perception for tests only: a token is the mean color of its patch, and one object stands on the left."""

    async def detect(self, image: Pixels, *phrases: str) -> Detections:
        if phrases == ("unicorn",):
            raise UnscorableError("unknown_word", "'unicorn'")
        box = np.array([[0, 0, 20, 40]], np.float32)
        return Detections(box, np.ones(1, np.float32), phrases, phrases)

    async def patches(self, image: Pixels) -> Patches:
        rows = [np.array_split(row, 4, axis=1) for row in np.array_split(image, 4, axis=0)]
        tokens = np.array([[patch.mean(axis=(0, 1)) for patch in row] for row in rows], np.float16)
        return Patches(tokens, tokens.mean(axis=(0, 1)))


def _scores(tmp_path: Path, masks: tuple[Rectangle | None, ...], unchanged: list[str]) -> dict[str, Score | Unscored]:
    """The second of two turns: the first made the left quarter white, the second the right one black."""
    first = np.full((40, 80, 3), 100, np.uint8)
    before, after = first.copy(), first.copy()
    before[:, :20] = after[:, :20] = 255
    after[:, 60:] = 0
    after[:20, 20:40] = 110  # nobody asked for this
    for name, pixels in (("first", first), ("before", before)):
        write_png(pixels, tmp_path / f"{name}.png")
    start = Edit(
        id="a1", source=Picture("first.png", tmp_path / "first.png"), type="color", instruction="x", mask=masks[0]
    )
    extras = {"unchanged_objects": unchanged}
    edits = [start, replace(start, id="a2", mask=masks[1], turn=2, follows="a1", extras=extras)]
    second = with_turns(Benchmark("turns", edits)).edits[1]
    item = build_item(second, Outcome(edit_id="a2", method="m", image=tmp_path / "x.png"), before, after)
    see: Any = Seeing()
    return dict(asyncio.run(open_protocol("drift").score(item, see)))


LEFT, RIGHT = Rectangle(0, 0, 20, 40), Rectangle(60, 0, 80, 40)


def test_drift_looks_outside_the_masks_of_all_turns_and_at_the_first_picture(tmp_path: Path) -> None:
    scores = _scores(tmp_path, (LEFT, RIGHT), [])
    changed = 10 / 255 / 4  # a quarter of the middle half
    assert isinstance(scores["unchanged_l1"], Score)
    assert scores["unchanged_l1"].value == pytest.approx(1 - changed, abs=1e-6)
    assert isinstance(scores["unchanged_tokens"], Score)
    assert scores["unchanged_tokens"].value == pytest.approx(1, abs=1e-3)  # the same gray, somewhat lighter
    assert scores["object_l1"] == Unscored("not_applicable", "the benchmark names no object that should stay")


def test_without_a_mask_of_every_turn_nothing_says_what_should_stay(tmp_path: Path) -> None:
    score = _scores(tmp_path, (None, RIGHT), [])["unchanged_l1"]
    assert isinstance(score, Unscored)
    assert score.reason == "not_applicable"


def test_objects_that_should_stay_are_looked_for_in_the_first_picture(tmp_path: Path) -> None:
    scores = _scores(tmp_path, (LEFT, RIGHT), ["dog"])
    assert isinstance(scores["object_l1"], Score)
    assert scores["object_l1"].value == pytest.approx(1 - 155 / 255, abs=1e-6)  # EdiVal: 1 - mean |first - last|
    assert isinstance(scores["object_tokens"], Score)
    unknown = _scores(tmp_path, (LEFT, RIGHT), ["unicorn"])["object_l1"]
    assert isinstance(unknown, Unscored)
    assert unknown.reason == "unknown_word"
