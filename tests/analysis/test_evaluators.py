"""Agreement along a mix of two scores."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from editgauge.analysis._evaluators import list_similarity, rouge_l
from editgauge.analysis.agree import agree
from editgauge.benchmarks.attributes import Attributes
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
    (tmp_path / "choices.jsonl").write_text("".join(json.dumps(item) + "\n" for item in told))
    (tmp_path / "ratings.csv").write_text("\n".join(ratings) + "\n")
    return make_run(*records)


def test_the_ends_are_the_scores_and_the_middle_may_be_better(run: Path, tmp_path: Path) -> None:
    alone = agree(run, choices=tmp_path / "choices.jsonl")
    result = agree(run, choices=tmp_path / "choices.jsonl", blend="toy/loss,toy/gain").blend
    assert result is not None
    assert alone.choice_scores is not None
    (curve,) = result.curves
    shares = {score.spec.name: score.share for score in alone.choice_scores.scores}
    first, last = curve.points[0], curve.points[-1]
    for point, name in ((first, "gain"), (last, "loss")):
        share = shares[name]
        assert share is not None
        assert (point.value, point.low, point.high, point.n) == (share.value, share.low, share.high, share.n)
    assert (result.preservation, result.modification, result.outcomes) == ("toy/loss", "toy/gain", 2 * EDITS)
    middle = curve.points[result.gammas.index(0.5)]
    assert (first.value, middle.value, last.value) == (0.5, 1.0, 0.5)
    assert curve.best is not None
    assert 0 < curve.best <= 0.5
    assert curve.chance == 0.5


def test_everything_that_was_asked_has_a_curve_and_a_panel(run: Path, tmp_path: Path) -> None:
    plot = tmp_path / "blend.svg"
    words = {"ratings": tmp_path / "ratings.csv", "choices": tmp_path / "choices.jsonl"}
    result = agree(run, **words, blend="loss,gain", plot=plot).blend  # type: ignore[arg-type]
    assert result is not None
    assert [curve.target for curve in result.curves] == ["choices", "ratings"]
    drawing = ElementTree.fromstring(plot.read_text("utf-8"))
    panels = [item for item in drawing if item.tag.endswith("}g")]
    assert len(panels) == 2
    assert "choices, 0.50 at gamma 0" in drawing.attrib["aria-label"]


def test_what_cannot_be_blended_is_told(
    run: Path, tmp_path: Path, make_run: Callable[..., Path], make_record: Callable[..., JournalEntry]
) -> None:
    choices = tmp_path / "choices.jsonl"
    with pytest.raises(BadInputError, match="takes two scores") as error:
        agree(run, choices=choices, blend="toy/*,gain")
    assert set(error.value.problems) == {"toy/gain", "toy/loss"}
    with pytest.raises(BadInputError, match="draws the agreement along a blend"):
        agree(run, choices=choices, plot=tmp_path / "x.svg")
    with pytest.raises(BadInputError, match=r"must end in \.svg; got"):
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


MakeRun = Callable[..., Path]
Make = Callable[..., JournalEntry]
EDITS_ROBUSTNESS = 10
PHRASES = st.lists(st.lists(st.sampled_from(["red", "cap", "tan", "dog"]), min_size=1).map(" ".join), min_size=1)


def scored_again(make_run: MakeRun, make_record: Make, name: str, shift: float, wrong: int = 0) -> Path:
    """`gain` moves up by `shift` at every second edit, and prefers b on the first `wrong` edits; `loss` never moves."""
    return make_run(
        *(
            make_record(
                f"e{edit}",
                {"gain": 0.3 + 0.1 * (method == ("b" if edit < wrong else "a")) + shift * (edit % 2), "loss": 0.1},
                method=method,
                place=edit,
                source=f"{edit}.png",
            )
            for edit in range(EDITS_ROBUSTNESS)
            for method in ("a", "b")
        ),
        name=name,
    )


def test_scores_and_agreement_move_as_far_as_they_were_moved(
    make_run: MakeRun, make_record: Make, tmp_path: Path
) -> None:
    runs = [scored_again(make_run, make_record, f"run{n}", 0.2 * n, wrong=n) for n in range(3)]
    told = [{"edit": f"e{n}", "first": "a", "second": "b", "chosen": "first"} for n in range(EDITS_ROBUSTNESS)]
    (tmp_path / "c.jsonl").write_text("".join(json.dumps(item) + "\n" for item in told))
    result = agree(runs[0], choices=tmp_path / "c.jsonl", rerun=runs[1:])
    gain, loss = result.stability
    assert (gain.score, gain.runs, gain.outcomes) == ("toy/gain", 3, 2 * EDITS_ROBUSTNESS)
    (moved,) = gain.agreement
    assert moved.values == pytest.approx((1.0, 0.9, 0.8))
    assert moved.variance == pytest.approx(np.var([1.0, 0.9, 0.8], ddof=1))
    assert moved.deviation == pytest.approx(0.1)
    assert loss.variance is not None
    assert loss.variance.value == pytest.approx(0, abs=1e-12)
    assert loss.of_all is None
    assert result.attributes == (), "these edits bring no attributes"


def test_the_variance_of_a_score_over_runs(make_run: MakeRun, make_record: Make) -> None:
    """Half of the outcomes have 0.3, 0.5, 0.7, whose variance is 0.04; the others stay where they are."""
    runs = [scored_again(make_run, make_record, f"run{n}", 0.2 * n) for n in range(3)]
    gain = agree(runs[0], choices=_choices(runs[0].parent), rerun=runs[1:]).stability[0]
    assert gain.variance is not None
    assert gain.variance.value == pytest.approx(0.02)
    values = np.array([[0.3 + 0.1 * a + 0.2 * n * odd for n in range(3)] for a in (0, 1) for odd in (0, 1)])
    assert gain.of_all == pytest.approx(values.var(axis=1).mean() / values.var())


def _choices(folder: Path) -> Path:
    (folder / "c.jsonl").write_text(json.dumps({"edit": "e0", "first": "a", "second": "b", "chosen": "first"}) + "\n")
    return folder / "c.jsonl"


def test_runs_without_a_common_score_cannot_be_compared(make_run: MakeRun, make_record: Make, tmp_path: Path) -> None:
    run = scored_again(make_run, make_record, "run", 0.0)
    other = make_run(make_record("e0", {"gain": "refused", "loss": "refused"}, method="a"), name="other")
    with pytest.raises(BadInputError, match="no score in common"):
        agree(run, choices=_choices(tmp_path), rerun=[other])


def test_attributes_in_another_order_are_alike_one_by_one_but_not_as_a_text() -> None:
    joined, item = rouge_l(["red cap", "tan shorts", "low ledge"], ["low ledge", "red cap", "tan shorts"])
    assert item == 1.0
    assert joined == pytest.approx(4 / 6), "the longest common run of words in order is 'red cap tan shorts'"
    assert rouge_l(["red cap"], ["green field"]) == (0.0, 0.0)


@given(PHRASES, PHRASES)
def test_rouge_l_is_the_same_both_ways_and_one_only_for_the_same_words(one: list[str], two: list[str]) -> None:
    there, back = rouge_l(one, two), rouge_l(two, one)
    assert there == pytest.approx(back)
    assert all(0 <= value <= 1 for value in there)
    assert rouge_l(one, one) == pytest.approx((1.0, 1.0))


def test_lists_of_three_seeds_are_compared_two_by_two() -> None:
    seeds = [
        {"e0": Attributes(("red cap",), ("black cat",)), "e1": Attributes(("dog",), ("cat",))},
        {"e0": Attributes(("red cap",), ("black dog",))},
        {"e0": Attributes(("red cap",), ("white dog",)), "once": Attributes(("sky",), ("sea",))},
    ]
    source, target = list_similarity(seeds)
    assert (source.side, source.edits, source.joined.n, source.joined.value) == ("source", 1, 3, 1.0)
    assert target.joined.value == pytest.approx((0.5 + 0 + 0.5) / 3)
    assert list_similarity([{"once": Attributes(("sky",), ("sea",))}]) == []
