"""Agreement along a mix of two scores."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from editgauge.analysis.agree import agree
from editgauge.errors import BadInputError
from editgauge.results import JournalEntry

EDITS = 20


@pytest.fixture
def run(make_run: Callable[..., Path], make_record: Callable[..., JournalEntry], tmp_path: Path) -> Path:
    """People want both: `gain` (changed) is right on the even edits, `loss` (kept, lower is better) on the odd ones.

    Either errs by little where it errs, so that an even mix is always right.
    """
    records, told, ratings = [], [], ["edit,method,value"]
    for edit in range(EDITS):
        even = edit % 2 == 0
        for method, gain, loss in (
            ("liked", 0.9 if even else 0.45, 0.55 if even else 0.1),
            ("other", 0.1 if even else 0.55, 0.45 if even else 0.9),
        ):
            records.append(
                make_record(f"e{edit}", {"gain": gain, "loss": loss}, method=method, place=edit, source=f"{edit}.png")
            )
            ratings.append(f"e{edit},{method},{5 if method == 'liked' else 1}")
        told.append({"edit": f"e{edit}", "first": "liked", "second": "other", "chosen": "first"})
    (tmp_path / "choices.jsonl").write_text("".join(json.dumps(each) + "\n" for each in told))
    (tmp_path / "ratings.csv").write_text("\n".join(ratings) + "\n")
    return make_run(*records)


def test_the_ends_are_the_scores_and_the_middle_may_be_better(run: Path, tmp_path: Path) -> None:
    alone = agree(run, choices=tmp_path / "choices.jsonl")
    found = agree(run, choices=tmp_path / "choices.jsonl", blend="toy/loss,toy/gain").blend
    assert found is not None
    assert alone.chosen is not None
    (curve,) = found.curves
    shares = {each.spec.name: each.share for each in alone.chosen.scores}
    first, last = curve.points[0], curve.points[-1]
    for point, name in ((first, "gain"), (last, "loss")):
        share = shares[name]
        assert share is not None
        assert (point.value, point.low, point.high, point.n) == (share.value, share.low, share.high, share.n)
    assert (found.preservation, found.modification, found.outcomes) == ("toy/loss", "toy/gain", 2 * EDITS)
    middle = curve.points[found.gammas.index(0.5)]
    assert (first.value, middle.value, last.value) == (0.5, 1.0, 0.5)
    assert curve.best is not None
    assert 0 < curve.best <= 0.5
    assert curve.chance == 0.5


def test_everything_that_was_asked_has_a_curve_and_a_panel(run: Path, tmp_path: Path) -> None:
    plot = tmp_path / "blend.svg"
    words = {"ratings": tmp_path / "ratings.csv", "choices": tmp_path / "choices.jsonl"}
    found = agree(run, **words, blend="loss,gain", plot=plot).blend  # type: ignore[arg-type]
    assert found is not None
    assert [curve.asked for curve in found.curves] == ["choices", "ratings"]
    drawing = ElementTree.fromstring(plot.read_text("utf-8"))
    panels = [each for each in drawing if each.tag.endswith("}g")]
    assert len(panels) == 2
    assert "choices, 0.50 at gamma 0" in drawing.attrib["aria-label"]


def test_what_cannot_be_blended_is_told(
    run: Path, tmp_path: Path, make_run: Callable[..., Path], make_record: Callable[..., JournalEntry]
) -> None:
    choices = tmp_path / "choices.jsonl"
    with pytest.raises(BadInputError, match="--blend takes two scores") as error:
        agree(run, choices=choices, blend="toy/*,gain")
    assert set(error.value.problems) == {"toy/gain", "toy/loss"}
    with pytest.raises(BadInputError, match="--plot draws the agreement along a blend"):
        agree(run, choices=choices, plot=tmp_path / "x.svg")
    with pytest.raises(BadInputError, match=r"ends in \.svg, not '.*x\.png'"):
        agree(run, choices=choices, blend="loss,gain", plot=tmp_path / "x.png")
    same = make_run(
        *(
            make_record(f"e{n}", {"gain": 0.5, "loss": n / 9}, method=m, place=n)
            for n in range(9)
            for m in ("liked", "other")
        ),
        name="same",
    )
    with pytest.raises(BadInputError, match="toy/gain is the same for all 18 outcomes"):
        agree(same, choices=choices, blend="loss,gain")
