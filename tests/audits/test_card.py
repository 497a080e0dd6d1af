"""The card's statistics: against an independent implementation, on hand-made scores, and by laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from editgauge.audits._probe_set import Probe, Split
from editgauge.audits.card import (
    ProbeScores,
    ScoreCard,
    Sheet,
    accuracy,
    auroc,
    auroc_ahead,
    best_mark,
    blend,
    score_card,
    worst_failures,
)
from editgauge.errors import BadInputError
from editgauge.types import ScoreSpec

UP, DOWN = ScoreSpec("s", True, (-9, 9)), ScoreSpec("s", False, (-9, 9))
WRONG = ("nothing", "black", "another_instruction")
Numbers = np.ndarray[tuple[int], np.dtype[np.float64]]


def probes(photos: int = 20) -> list[Probe]:
    """Per photograph: right, three wrong ones, a graded family, two harmless changes; half of them for tuning."""
    result = []
    for number in range(photos):
        split: Split = "tuning" if number % 2 else "held_back"
        edit, photo, kind_of_edit = f"e{number}", f"photo {number}", "color" if number % 4 < 2 else "size"

        def probe(
            kind: str,
            done: bool | None,
            family: str = "",
            severity: float | None = None,
            harmless: bool = False,
            whose: tuple[str, str, str, Split] = (edit, photo, kind_of_edit, split),
        ) -> Probe:
            name, where, what, half = whose
            return Probe(f"{name}--{kind}", name, where, what, kind, done, family, severity, harmless, half)

        result += [
            probe("right", True, severity=0.0),
            *(probe(kind, False) for kind in WRONG),
            *(probe(f"blur-{step}", True, "rest/blur", step / 100) for step in (50, 100)),
            *(probe(kind, True, harmless=True) for kind in ("jpeg-90", "shift-1")),
            probe("ghost-100", None, "artifact/ghost", 1.0),
        ]
    return result


SHEET = Sheet.of(probes())
TRUTH = np.array([1.0 if probe.done is None else float(probe.done) for probe in SHEET.probes])
QUALITY = TRUTH - np.array([0.3 * (probe.severity or 0) for probe in SHEET.probes])


def card(values: Numbers, spec: ScoreSpec = UP, mark: float | None = None) -> ScoreCard:
    return score_card(ProbeScores("p", spec, values, mark=mark), SHEET)


@given(st.data())
def test_auroc_is_that_of_scikit_learn(data: st.DataObject) -> None:
    n = data.draw(st.integers(4, 40))
    values = np.array(data.draw(st.lists(st.integers(0, 5), min_size=n, max_size=n)), dtype=np.float64)
    good = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), dtype=np.float64)
    result = auroc(values, good, np.arange(n) % 7)
    if good.all() or not good.any():
        assert result.value is None
    else:
        assert result.value == pytest.approx(roc_auc_score(good, values))
        mark = best_mark(values, good)
        if mark is not None:
            reached = accuracy(values, good, mark, np.arange(n))[0].value
            others = [balanced_accuracy_score(good, values >= item) for item in np.unique(values)[1:]]
            assert reached == pytest.approx(max(others))


def test_the_truth_itself_has_a_perfect_card() -> None:
    result = card(QUALITY, mark=0.5)
    assert (result.auroc.value, result.auroc.high, result.accuracy.value) == (1.0, 1.0, 1.0)
    assert result.auroc.low is not None
    assert 0.5 < result.auroc.low < 1, "a handful of photographs prove no perfection"
    assert result.pair_accuracy.value == 1.0
    assert {kind: item.value for kind, item in result.against.items()} == dict.fromkeys(WRONG, 1.0)
    assert result.ordering["rest"].value == result.ordering["rest/blur"].value == 1.0
    assert result.moves["jpeg-90"].value == 0.0
    assert result.flips["shift-1"].value == 0.0
    assert result.unchanged_rate.value == 0.0
    assert (result.probes, result.scored, result.unscored) == (90, 90, {})
    assert {name: cell.auroc.value for name, cell in result.by_type.items()} == {"color": 1.0, "size": 1.0}


def test_two_scores_are_compared_where_both_have_a_value() -> None:
    half = np.where(np.arange(len(SHEET.probes)) % 2, np.nan, np.random.default_rng(0).random(len(SHEET.probes)))
    result = auroc_ahead(QUALITY, half, SHEET.done, SHEET.photos)
    alone = auroc(half, SHEET.done, SHEET.photos)
    assert result.n == alone.n
    assert result.value == pytest.approx(1.0 - (alone.value or 0.0))
    assert result.low is not None
    assert result.low > 0
    assert auroc_ahead(half, half, SHEET.done, SHEET.photos).value == 0.0


def test_a_constant_score_is_exposed() -> None:
    result = card(np.ones(len(SHEET.probes)), mark=0.5)
    assert (result.auroc.value, result.accuracy.value, result.pair_accuracy.value) == (0.5, 0.5, 0.5)
    assert (result.sensitivity.value, result.specificity.value) == (1.0, 0.0)
    assert result.unchanged_rate.value == 1.0
    assert result.moves["jpeg-90"].value is None
    assert result.moves["jpeg-90"].reason == "all scores are equal"


def test_a_preservation_score_prefers_nothing_done_and_is_deaf() -> None:
    likeness = {"right": 0.6, "another_instruction": 0.6, "nothing": 1.0, "black": 0.0}
    values = np.array([likeness.get(probe.kind, 0.6 - 0.1 * (probe.severity or 0)) for probe in SHEET.probes])
    result = card(values)
    assert result.against["nothing"].value == 0.0
    assert result.against["black"].value == 1.0
    assert result.unchanged_rate.value == 1.0
    assert result.ordering["rest"].value == 1.0


@given(st.lists(st.floats(-5, 5), min_size=len(SHEET.probes), max_size=len(SHEET.probes)))
@settings(max_examples=5)
def test_turning_a_score_round_changes_nothing_but_its_sign(values: list[float]) -> None:
    up, down = card(np.array(values)), card(-np.array(values), DOWN)
    assert up.auroc == down.auroc
    assert up.pair_accuracy == down.pair_accuracy
    assert up.moves == down.moves
    assert up.accuracy == down.accuracy
    assert (up.mark is None) == (down.mark is None)
    assert up.mark is None or up.mark == pytest.approx(-(down.mark or 0.0))


def test_a_mark_is_chosen_on_the_tuning_photographs_alone() -> None:
    shift = np.where(SHEET.tuning, 0.0, 10.0)
    result = card(QUALITY + shift)
    assert result.mark is not None
    assert 0.0 < result.mark < 1.0
    assert result.auroc.value == 1.0
    assert result.accuracy.value == 0.5  # all held-back values lie over the mark of the others
    assert not result.mark_is_its_own


def test_what_has_no_score_is_counted_by_reason_and_enters_nothing() -> None:
    sizes = np.array([probe.type == "size" for probe in SHEET.probes])
    reasons = ["no_rule" if size else "" for size in sizes]
    result = score_card(ProbeScores("p", UP, np.where(sizes, np.nan, QUALITY), reasons, 0.5), SHEET)
    assert result.unscored == {"no_rule": 45}
    assert result.scored == 45
    assert result.by_type["size"].auroc.value is None
    assert result.auroc.value == 1.0


def test_harmless_changes_are_measured_in_the_spread_of_the_score() -> None:
    jpeg = np.array([probe.kind == "jpeg-90" for probe in SHEET.probes])
    result = card(QUALITY - 0.75 * jpeg, mark=0.5)
    assert result.spread is not None
    assert result.moves["jpeg-90"].value == pytest.approx(0.75 / result.spread)
    assert result.flips["jpeg-90"].value == 1.0
    assert result.moves["shift-1"].value == 0.0


def test_an_interval_covers_a_whole_photograph_at_a_time() -> None:
    lucky = np.array([TRUTH[place] if int(probe.photo[6:]) % 4 else 0.0 for place, probe in enumerate(SHEET.probes)])
    result = card(lucky, mark=0.5)
    assert result.auroc.clusters == 10
    assert result.auroc.low is not None
    assert result.auroc.value is not None
    assert result.auroc.low < result.auroc.value - 0.05


def test_the_worst_failures_are_on_the_wrong_side_and_held_back() -> None:
    values = QUALITY.copy()
    black = next(place for place, probe in enumerate(SHEET.probes) if probe.kind == "black" and not SHEET.tuning[place])
    right = next(
        place
        for place, probe in enumerate(SHEET.probes)
        if probe.kind == "right" and not SHEET.tuning[place] and probe.edit != SHEET.probes[black].edit
    )
    values[black], values[right] = 5.0, -5.0
    measured = ProbeScores("p", UP, values, mark=0.5)
    result = worst_failures(measured, score_card(measured, SHEET), SHEET)
    assert {(item.probe, item.done) for item in result} == {
        (SHEET.probes[black].id, False),
        (SHEET.probes[right].id, True),
    }


def test_a_mix_is_weighted_by_the_tuning_half_and_never_helps_what_is_perfect() -> None:
    preserved = ProbeScores("pixels", DOWN, np.array([float(probe.kind == "black") for probe in SHEET.probes]))
    done = ProbeScores("rules", ScoreSpec("edit", True, (0, 1)), QUALITY)
    result = blend(preserved, done, SHEET)
    assert result.gamma == 0.0
    assert result.pair_accuracy.value == 1.0
    assert result.ahead is not None
    assert (result.ahead.difference.value, result.ahead.second) == (0.0, "rules/edit")


def test_a_mix_of_two_halves_of_the_truth_is_better_than_either() -> None:
    black = np.array([probe.kind == "black" for probe in SHEET.probes])
    one = ProbeScores("one", UP, np.where(black, 0.0, 1.0))
    two = ProbeScores("two", UP, np.where(black, 1.0, QUALITY))
    result = blend(one, two, SHEET)
    assert 0 < result.gamma < 1
    assert result.pair_accuracy.value == 1.0
    assert result.ahead is not None
    assert result.ahead.difference.value > 0


def test_a_score_that_is_always_the_same_cannot_be_mixed() -> None:
    constant = ProbeScores("one", UP, np.ones(len(SHEET.probes)))
    with pytest.raises(BadInputError, match="the same for all probes"):
        blend(constant, ProbeScores("two", UP, QUALITY), SHEET)
