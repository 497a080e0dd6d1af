"""Points that a protocol drew reach the gallery as they are, for the larger view."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from editgauge._util.images import Pixels, write_png
from editgauge.evidence import Note, Scatter, ScatterPoint, to_json
from editgauge.reports.report import report
from editgauge.results import ImageStamp, JournalEntry

PIECE = Scatter(
    "plane", (ScatterPoint("cat", "source", 0.5, -1.25), ScatterPoint("dog", "target", 1, 2)), (0, -1, 0, 1)
)


def test_a_scatter_goes_to_its_outcome(
    make_run: Callable[..., Path],
    make_record: Callable[..., JournalEntry],
    as_page: Callable[[Path], Any],
    photo: Pixels,
    tmp_path: Path,
) -> None:
    write_png(photo, tmp_path / "photo.png")
    stamp = ImageStamp.of(tmp_path / "photo.png")
    stored = tuple(to_json(piece) for piece in (Note("seen"), PIECE))
    run = make_run(make_record(source_image=stamp, edited_image=stamp, evidence=stored))
    (edit,) = as_page(report(run, out=tmp_path / "report", quiet=True)).gallery["edits"]
    (outcome,) = edit["outcomes"]
    assert outcome["scatters"] == [{**to_json(PIECE), "by": [0]}]
    assert outcome["notes"] == [{"note": "seen", "by": [0]}]


def test_a_damaged_scatter_is_told_in_its_place(
    make_run: Callable[..., Path],
    make_record: Callable[..., JournalEntry],
    as_page: Callable[[Path], Any],
    tmp_path: Path,
) -> None:
    run = make_run(make_record(evidence=({"scatter": [["cat", "source", 1]], "label": "plane"},)))
    (edit,) = as_page(report(run, out=tmp_path / "report", quiet=True)).gallery["edits"]
    assert edit["outcomes"][0]["damaged"][0].startswith("A piece of evidence for gain is damaged")
