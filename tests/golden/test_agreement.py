"""Published agreement with people, recomputed from the published ratings and scores."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from math import sqrt
from pathlib import Path

import numpy as np
import pytest

from editgauge._stats.agreement import PEARSON, SPEARMAN, Parts, between, correlate, within
from editgauge._stats.intervals import Labels, Numbers
from editgauge._stats.resampling import Estimate
from editgauge.analysis.agree import agree
from editgauge.results import JournalEntry
from editgauge.results.manifest import ProtocolEntry
from editgauge.types import ScoreSpec
from tests.golden.published import (
    JUDGES,
    PIXLENS_TABLE_4,
    editval_leaderboard,
    imagenhub_ratings,
    viescore_answers,
    viescore_correlations,
)

ASPECTS = ("SC", "PQ", "O")
"""Semantic consistency, perceptual quality, and overall: sqrt(SC * PQ) of each item (VIEScore, arXiv 2312.14867)."""
CUT_OFF = ("gpt4o_0shot", "Pix2PixZero", "PQ")
"""The one correlation that the expected file has from other numbers than the raw ones; it has a test of its own."""


def aspect(name: str, consistency: float, quality: float) -> float:
    return {"SC": consistency, "PQ": quality, "O": sqrt(consistency * quality)}[name]


def judged(judge: str) -> dict[tuple[str, str], tuple[float, float]]:
    return {key: (answers[0] / 10, answers[1] / 10) for key, answers in viescore_answers(judge).items()}


def pairs(judge: str, name: str) -> tuple[Numbers, Numbers, Labels, Labels]:
    """The judge's scores, the ratings with a column per rater, the methods and the source images."""
    keys = list(judged(judge))
    scores = np.array([aspect(name, *judged(judge)[key]) for key in keys])
    ratings = np.array([[aspect(name, *one) for one in imagenhub_ratings()[key]] for key in keys])
    return scores, ratings, np.array([key[0] for key in keys]), np.array([key[1].rsplit("_", 1)[0] for key in keys])


@cache
def per_method(judge: str, name: str, *, fisher_z: bool = False) -> Parts:
    scores, ratings, methods, sources = pairs(judge, name)
    return within(SPEARMAN, scores, ratings.mean(axis=1), methods, sources, fisher_z=fisher_z)


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize("name", ASPECTS)
@pytest.mark.slow
def test_viescore_judges_agree_with_raters_as_expected_within_each_method(judge: str, name: str) -> None:
    table = viescore_correlations()[judge]
    found = per_method(judge, name)
    assert set(found.parts) == set(table["per_method_spearman"])
    for method, told in table["per_method_spearman"].items():
        assert found.parts[method].n == told["n"]
        if (judge, method, name) != CUT_OFF:
            assert found.parts[method].value == pytest.approx(told[name], abs=0.00005)
    assert found.average.value == pytest.approx(table["plain_mean"][name], abs=0.00005)
    averaged = per_method(judge, name, fisher_z=True).average.value
    assert averaged == pytest.approx(table["fisher_z_average"][name], abs=0.00005)


def test_half_a_point_was_cut_off_in_the_expected_file() -> None:
    """The judge gave one outcome (sample_108871_1) 8.5 and 9; the expected 0.4148 is what 8 and 9 would give."""
    judge, method, name = CUT_OFF
    scores, ratings, methods, _ = pairs(judge, name)
    raw, people = scores[methods == method] * 10, ratings[methods == method].mean(axis=1)
    told = viescore_correlations()[judge]["per_method_spearman"][method][name]
    assert np.flatnonzero(raw % 1).size == 1
    assert correlate(SPEARMAN, raw, people).value == pytest.approx(0.4153, abs=0.00005)
    assert correlate(SPEARMAN, np.floor(raw), people).value == pytest.approx(told, abs=0.00005)


# VIEScore's notebook, commit 2cbea4e8, prints these averages for Text-Guided IE and gemini_0shot.
NOTEBOOK = {"SC": 0.2836, "PQ": 0.4291, "O": 0.2728}


@pytest.mark.parametrize("name", ASPECTS)
def test_the_notebook_of_viescore_transformed_its_averages_only_once(name: str) -> None:
    """Printed is tanh(plain mean): back from Fisher's z, to which the correlations had never been brought."""
    average = per_method("gemini_0shot", name).average.value
    assert average is not None
    assert np.tanh(average) == pytest.approx(NOTEBOOK[name], abs=0.0001)


def levels(judge: str, name: str) -> dict[str, Estimate]:
    scores, ratings, methods, sources = pairs(judge, name)
    means = ratings.mean(axis=1)
    thrice = [np.repeat(each, 3) for each in (scores, methods, sources)]
    raters = np.tile(["1", "2", "3"], len(scores))
    cells = np.char.add(thrice[1], raters)
    return {
        "pooled": correlate(SPEARMAN, scores, means, sources),
        "per_method": per_method(judge, name).average,
        "per_rater": within(SPEARMAN, thrice[0], ratings.ravel(), raters, thrice[2]).average,
        "per_rater and method": within(SPEARMAN, thrice[0], ratings.ravel(), cells, thrice[2], fisher_z=True).average,
        "system": between(SPEARMAN, scores, means, methods, sources),
    }


def test_one_judge_agrees_from_a_third_to_nearly_all_depending_on_the_level() -> None:
    """GPT-4o's overall score: no number of agreement means anything without its level."""
    found = levels("gpt4o_0shot", "O")
    values = {level: each.value for level, each in found.items()}
    assert values == pytest.approx(
        {"pooled": 0.589, "per_method": 0.403, "per_rater": 0.519, "per_rater and method": 0.332, "system": 0.929},
        abs=0.0006,
    )
    assert (found["system"].n, found["pooled"].n) == (8, 8 * 179)
    ends = [(each.low or 0, each.value or 0, each.high or 0) for each in found.values()]
    assert all(low < value < high for low, value, high in ends)
    (pooled_low, _, _), (_, _, per_method_high), *_ = ends
    assert pooled_low > per_method_high, "the intervals of these levels do not even touch"


@pytest.mark.slow
def test_the_verb_agree_says_the_same_of_a_run_with_the_judge_s_scores(
    make_run: Callable[..., Path], make_record: Callable[..., JournalEntry], tmp_path: Path
) -> None:
    """The published ratings and answers as users bring them: a run folder and a CSV file."""
    judge, names = "gpt4o_0shot", list(dict.fromkeys(edit for _, edit in judged("gpt4o_0shot")))
    specs = tuple(ScoreSpec(name, True, (0.0, 1.0)) for name in ASPECTS)
    records = [
        make_record(
            edit,
            {name: aspect(name, *told) for name in ASPECTS},
            method=method,
            place=names.index(edit),
            source=edit.rsplit("_", 1)[0],
            protocol=f"viescore[{judge}]",
        )
        for (method, edit), told in judged(judge).items()
    ]
    entry = ProtocolEntry("VIEScore's published answers.", "arXiv 2312.14867", "1", (), specs)
    run = make_run(*records, protocols={f"viescore[{judge}]": entry})
    rows = [
        f"{edit},{method},rater{number},{aspect('O', *one)}"
        for (method, edit), told in imagenhub_ratings().items()
        for number, one in enumerate(told, start=1)
    ]
    (tmp_path / "ratings.csv").write_text("\n".join(["edit,method,rater,value", *rows]) + "\n")
    found = agree(run, ratings=tmp_path / "ratings.csv", score=["viescore*/O"])
    (score,) = found.rated
    expected_levels = levels(judge, "O")
    for level in ("pooled", "per_method", "per_rater", "system"):
        ours, theirs = score.levels[level].spearman, expected_levels[level]
        assert (ours.n, ours.clusters) == (theirs.n, theirs.clusters)
        near = pytest.approx(
            (theirs.value, theirs.low, theirs.high), abs=0.0005
        )  # `agree` takes means exactly: ties stay ties
        assert (ours.value, ours.low, ours.high) == near
    table = viescore_correlations()[judge]
    assert score.levels["per_method"].spearman.value == pytest.approx(table["plain_mean"]["O"], abs=0.0005)
    scores, ratings, methods, _ = pairs(judge, "O")
    for method, told in table["per_method_spearman"].items():
        value, own = score.levels["per_method"].parts[method].value, methods == method
        assert value == pytest.approx(told["O"], abs=0.001)
        tied = ratings[own].mean(axis=1).round(9)  # sums in another order differ in the last digit, which parts ties
        assert value == pytest.approx(correlate(SPEARMAN, scores[own], tied).value, abs=1e-9)
    (ranking,) = found.rankings
    (placed,) = ranking.scores
    assert placed.spearman == score.levels["system"].spearman
    assert placed.kendall.value == pytest.approx(0.857, abs=0.0005)
    best = next(iter(ranking.people))
    assert (best, placed.ranks[best].value) == ("MagicBrush", 1)


def both_boards() -> tuple[Numbers, Numbers]:
    automatic, people = editval_leaderboard("automatic"), editval_leaderboard("people")
    assert set(automatic) == set(people)
    return np.stack([automatic[method] for method in automatic]), np.stack([people[method] for method in automatic])


def test_editval_over_methods() -> None:
    automatic, people = (board[:, -1] for board in both_boards())
    assert correlate(PEARSON, automatic, people).value == pytest.approx(0.846, abs=0.0005)
    assert correlate(SPEARMAN, automatic, people).value == pytest.approx(0.857, abs=0.0005)


def test_editval_over_all_cells_and_over_those_of_one_method() -> None:
    automatic, people = (board[:, :-1] for board in both_boards())
    pix2pix = list(editval_leaderboard("automatic")).index("Pix2Pix")
    assert automatic.size == 48
    assert correlate(PEARSON, automatic.ravel(), people.ravel()).value == pytest.approx(0.59, abs=0.005)
    assert correlate(PEARSON, automatic[pix2pix], people[pix2pix]).value == pytest.approx(0.146, abs=0.0005)


@pytest.mark.parametrize(
    ("scores", "published", "low", "high"),
    [(PIXLENS_TABLE_4["pixlens"], 0.903, 0.55, 1.0), (PIXLENS_TABLE_4["editval_auto"], 0.146, -1.0, 1.0)],
    ids=["PixLens", "EditVal"],
)
def test_six_edit_types_say_little(
    scores: list[float], published: float, low: float, high: float, capsys: pytest.CaptureFixture[str]
) -> None:
    """The correlation is right to the printed digit; its interval, which was not printed, is wide."""
    found = correlate(PEARSON, scores, PIXLENS_TABLE_4["editval_human"])
    with capsys.disabled():
        sys.stdout.write(f"\n  Pearson {found.value:.3f}, {found.low:.2f} to {found.high:.2f}, n = {found.n} ")
    assert found.value == pytest.approx(published, abs=0.0005)
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.05)
    assert found.n == 6
