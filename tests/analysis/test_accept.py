"""From which score on people accept: of a run and its ratings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from editgauge.analysis.accept import accept
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.results import JournalEntry


@pytest.fixture
def rated(make_run: Callable[..., Path], make_record: Callable[..., JournalEntry], tmp_path: Path) -> tuple[Path, Path]:
    """200 edits of 100 sources and two methods; people rate half of them, and accept the better ones (4 or 5)."""
    random = np.random.default_rng(0)
    records, lines = [], ["edit,method,value"]
    for place in range(200):
        for method in ("mine", "theirs"):
            good = random.uniform()
            scores = {"gain": float(np.clip(good + random.normal() * 0.1, 0, 1)), "loss": 1 - good}
            records.append(make_record(f"e{place}", scores, method=method, place=place, source=f"{place // 2}.png"))
            lines += [f"e{place},{method},{1 + round(4 * good)}"] if random.uniform() < 0.5 else []
    (tmp_path / "ratings.csv").write_text("\n".join(lines))
    return make_run(*records), tmp_path / "ratings.csv"


@pytest.mark.parametrize("score", ["gain", "toy/loss"])
@pytest.mark.parametrize("share", [0.05, 0.2])
def test_the_promise_is_kept_and_the_run_is_sorted(rated: tuple[Path, Path], score: str, share: float) -> None:
    result = accept(rated[0], ratings=rated[1], level=4, share=share, score=score)
    assert result.threshold.value is not None
    assert 0.3 < result.threshold.value < 0.95 if score == "gain" else result.threshold.value < 0.7
    assert result.measured is not None
    assert result.measured.value <= share + 0.05
    assert result.threshold.passed is not None
    assert result.threshold.passed > 0.4
    assert {method: item.scored for method, item in result.passing.items()} == {"mine": 200, "theirs": 200}
    assert all(0 < item.passed < 200 for item in result.passing.values())
    assert sum(item.n for item in result.curve) == result.rated
    assert 0 < result.accepted < result.rated


def test_a_stricter_share_lets_less_pass(rated: tuple[Path, Path]) -> None:
    strict, lax = (
        accept(rated[0], ratings=rated[1], level=4, share=share, score="gain", method="mine") for share in (0.05, 0.3)
    )
    assert list(strict.passing) == ["mine"]
    assert strict.passing["mine"].passed < lax.passing["mine"].passed


def test_too_few_ratings_give_no_threshold(rated: tuple[Path, Path], tmp_path: Path) -> None:
    few = tmp_path / "few.csv"
    few.write_text("\n".join(rated[1].read_text().splitlines()[:6]))
    result = accept(rated[0], ratings=few, level=4, score="gain")
    assert (result.threshold.value, result.measured) == (None, None)
    assert "needs rejected edits of 9 source images" in result.threshold.note
    assert all(item.passed == 0 for item in result.passing.values())


def test_the_plot_is_a_picture_with_a_dot_for_every_bin(rated: tuple[Path, Path], tmp_path: Path) -> None:
    result = accept(rated[0], ratings=rated[1], level=4, score="gain", plot=tmp_path / "plot.svg")
    drawn = ElementTree.fromstring((tmp_path / "plot.svg").read_text("utf-8"))
    classes = [item.get("class") for item in drawn.iter()]
    assert classes.count("dot") == len(result.curve) == 10
    assert classes.count("limit") == 1
    assert "toy/gain" in (drawn.get("aria-label") or "")


def test_mistakes_are_told(rated: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="must be between 0 and 1"):
        accept(rated[0], ratings=rated[1], level=4, share=10, score="gain")
    with pytest.raises(UnknownNameError, match="Did you mean 'mine'"):
        accept(rated[0], ratings=rated[1], level=4, score="gain", method="mien")
