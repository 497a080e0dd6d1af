"""Evaluators on a human reference set, and a page that begins with a disagreement."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

import editgauge
from editgauge._stats.resampling import Estimate
from editgauge.analysis.ratings import Rating
from editgauge.audits.audit import audit
from editgauge.audits.human_reference import disagree, mean_ratings
from editgauge.errors import BadInputError
from tests.audits.conftest import RedBoxes

PHOTOS = 12
Ratings = Callable[[Callable[[str], float]], Path]


@pytest.fixture(scope="module")
def probes(tmp_path_factory: pytest.TempPathFactory, red_boxes: RedBoxes) -> Path:
    return red_boxes(tmp_path_factory.mktemp("probes"), PHOTOS)


@pytest.fixture(scope="module")
def rated_run(tmp_path_factory: pytest.TempPathFactory, probes: Path) -> Path:
    out = tmp_path_factory.mktemp("ground") / "run"
    editgauge.run(probes, outcomes={"mine": probes / "edited"}, protocol=["preservation"], out=out, quiet=True)
    return out


@pytest.fixture
def ratings(tmp_path: Path) -> Ratings:
    def write(value: Callable[[str], float]) -> Path:
        file = tmp_path / "ratings.csv"
        with file.open("w", newline="") as lines:
            rows = csv.writer(lines)
            rows.writerow(["edit", "method", "rater", "question", "value"])
            for number in range(PHOTOS):
                for kind in ("right", "nothing"):
                    rows.writerow([f"{number}--{kind}", "mine", "ann", "SC", value(kind)])
        return file

    return write


@pytest.mark.parametrize("liked", ["nothing", "right"])
@pytest.mark.slow
def test_page_begins_with_a_disagreement(
    liked: str, probes: Path, rated_run: Path, ratings: Ratings, tmp_path: Path
) -> None:
    file = ratings(lambda kind: float(kind == liked))
    card = audit(
        protocol=["preservation"],
        probes=probes,
        ground=str(rated_run),
        ratings=file,
        out=tmp_path / "audit",
        against="l1",
        quiet=True,
    )
    assert card.human_reference is not None
    assert (card.human_reference.outcomes, card.human_reference.photos, card.human_reference.methods) == (
        2 * PHOTOS,
        PHOTOS,
        1,
    )
    row = card.human_reference.of("preservation", "l1")
    assert row is not None
    assert row.answered == 1
    assert row.done.value == float(liked == "nothing"), "a picture that stayed as it was has the better l1"
    page = (tmp_path / "audit" / "index.html").read_text("utf-8")
    lead = page.partition('<p class="summary">')[2]
    assert lead.startswith("Probes and people disagree.") is (liked == "nothing")


def test_reference_set_needs_ratings(probes: Path, rated_run: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="--ground and --ratings go together"):
        audit(protocol=["preservation"], probes=probes, ground=str(rated_run), out=tmp_path / "audit", quiet=True)


def test_scales_are_divided_by_their_end() -> None:
    ratings = [Rating("a", "m", 8, "ann", "alignment"), Rating("a", "m", 4, "bob", "alignment")]
    assert mean_ratings([*ratings, Rating("a", "m", 10, "ann", "quality")]) == {("a", "m"): {"done": 0.6, "quality": 1}}


def test_disagreement_means_disjoint_intervals() -> None:
    high, low, wide = (
        Estimate(value, *ends, 9, 9) for value, ends in ((0.9, (0.85, 0.95)), (0.6, (0.5, 0.7)), (0.7, (0.5, 0.9)))
    )
    assert disagree(high, low)
    assert disagree(low, high)
    assert not disagree(high, wide)
    assert not disagree(high, Estimate(None, None, None, 0, 0, "nothing"))
