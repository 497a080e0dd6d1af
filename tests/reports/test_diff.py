"""A page of what got better and what got worse between two runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from editgauge._util.images import pixel_hash, write_png
from editgauge.analysis.diff import RunDifference
from editgauge.errors import BadInputError
from editgauge.reports.diff import _sentence, _unlike, diff
from editgauge.results import ImageStamp, JournalEntry, Run
from editgauge.results.manifest import ProtocolEntry
from editgauge.types import ScoreSpec

if TYPE_CHECKING:
    from tests.reports.conftest import Page

EDIT = ScoreSpec("edit", True, (0.0, 1.0), "", "done")
ENTRY = ProtocolEntry("For tests.", "none", "1", (), (EDIT, ScoreSpec("damage", False, (0.0, 1.0), "", "artifacts")))
MakeRun = Callable[..., Path]


@pytest.fixture
def runs(make_record: Callable[..., JournalEntry], make_run: MakeRun, tmp_path: Path) -> tuple[Path, Path]:
    """Twelve edits; in the second run all are done better but the last, and the first one is more damaged."""
    stamps = []
    for shade in range(3):
        pixels = np.full((8, 8, 3), 60 * shade, np.uint8)
        write_png(pixels, tmp_path / f"{shade}.png")
        stamps.append(ImageStamp.of(tmp_path / f"{shade}.png", pixel_hash(pixels)))

    def made(name: str, new: bool) -> Path:
        records = [
            make_record(
                f"e{n:02d}",
                {
                    "edit": (0.1 if n == 11 else 0.8 + 0.01 * n) if new else 0.4,
                    "damage": 0.9 if new and n == 0 else 0.2,
                },
                place=n,
                source=f"{n}.png",
                source_image=stamps[0],
                edited_image=stamps[2 if new else 1],
            )
            for n in range(12)
        ]
        return make_run(*records, name=name, protocols={"toy": ENTRY})

    return made("old", new=False), made("new", new=True)


def test_what_moved_is_shown_with_both_pictures(
    runs: tuple[Path, Path], tmp_path: Path, as_page: Callable[[Path], Page]
) -> None:
    result = diff(*runs, report=tmp_path / "changes.html")
    assert isinstance(result, RunDifference)
    assert not result.same_scores
    page = as_page(tmp_path / "changes.html")
    better, worse = page.root.all("ul", "changes")
    assert [len(item.all("li")) for item in (better, worse)] == [10, 2], (
        "the first edit is done better, but damaged more"
    )
    assert {element.full_text() for element in worse.all("h3")} == {"e00", "e11"}
    first = next(element for element in worse.all("li") if element.all("h3")[0].full_text() == "e00")
    assert first.all("p", "n")[0].full_text().endswith("artifacts 0.20 → 0.90, edit done 0.40 → 0.80")
    assert [element.full_text() for element in first.all("figcaption")] == ["source", "first", "second"]
    addresses = [element.attributes["src"] or "" for element in first.all("img")]
    assert len(set(addresses)) == 3
    assert all(address.startswith("data:image/jpeg;base64,") for address in addresses)
    assert "12 outcomes in both runs, 12 of them with changed images." in page.root.full_text()


def test_a_change_is_called_significant_only_when_it_is(
    runs: tuple[Path, Path], tmp_path: Path, as_page: Callable[[Path], Page]
) -> None:
    diff(*runs, report=tmp_path / "changes.html")
    page = as_page(tmp_path / "changes.html")
    [answer] = page.root.all("p", "answer")
    assert answer.full_text() == "In the second run, significantly better: mine (edit done)."
    diff(runs[0], runs[0], report=tmp_path / "changes.html")
    text = as_page(tmp_path / "changes.html").root.full_text()
    assert "No primary score of any method differs significantly" in text
    assert "No outcome got better over the primary scores together." in text


def test_the_scores_of_a_method_are_named_together() -> None:
    verdicts = [("a", "edit done", "better"), ("b", "edit done", "worse"), ("a", "quality", "better")]
    assert _sentence(verdicts) == (
        "In the second run, significantly better: a (edit done, quality); significantly worse: b (edit done)."
    )


def test_only_what_takes_part_in_the_compared_scores_is_called_measured_differently(
    make_record: Callable[..., JournalEntry], make_run: MakeRun
) -> None:
    first, second = (
        Run.open(
            make_run(
                make_record("e", {"edit": 0.5, "damage": 0.5}),
                name=name,
                protocols={"toy": ENTRY} | ({"extra": ENTRY} if name == "old" else {}),
                roles={"toy": ["detector"], "extra": ["embedder"]},
            )
        )
        for name in ("old", "new")
    )
    settings = dict.fromkeys(["seed", "protocol extra", "model embedder", "model detector", "protocol toy"], (1, 2))
    assert _unlike(first, second, [("toy", "edit")], settings) == ["model detector", "protocol toy"]


def test_nothing_else_is_overwritten(runs: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "thesis.html").write_text("precious")
    with pytest.raises(BadInputError, match="is not a report"):
        diff(*runs, report=tmp_path / "thesis.html")
    with pytest.raises(BadInputError, match=r"one \.html file"):
        diff(*runs, report=tmp_path)
