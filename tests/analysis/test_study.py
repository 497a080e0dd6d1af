"""Levels per method and edit type, and raters who are more generous than others."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from editgauge._stats.raters import krippendorff, panel, rater_bias
from editgauge.analysis.study import AnswerLevel, CountedQuestion, LevelAnswer, question_findings
from editgauge.analysis.summary import ALL

LEVELS = CountedQuestion("q", "How good?", (AnswerLevel("bad", 0), AnswerLevel("middling", 1), AnswerLevel("good", 2)))
NAMES = CountedQuestion("n", "Which?", (AnswerLevel("cat", None), AnswerLevel("dog", 1)))


def answer(outcome: str, rater: str, level: int, *, method: str = "mine", edit_type: str = "color") -> LevelAnswer:
    return LevelAnswer(f"{outcome}/{method}", method, edit_type, outcome, rater, level)


def test_levels_are_counted_by_method_and_type() -> None:
    told = [
        answer("e1", "a", 2),
        answer("e1", "b", 1),
        answer("e2", "a", 2, edit_type="style"),
        answer("e1", "a", 0, method="theirs"),
    ]
    result = question_findings(LEVELS, told)
    assert list(result.cells) == [
        *((None, ALL), (None, "color"), (None, "style")),
        *(("mine", ALL), ("mine", "color"), ("mine", "style"), ("theirs", ALL), ("theirs", "color")),
    ]
    assert result.cells["mine", ALL].counts == (0, 1, 2)
    assert result.cells["mine", ALL].shares == pytest.approx((0, 1 / 3, 2 / 3))
    assert result.cells[None, "color"].counts == (1, 1, 1)
    mean = result.cells["mine", ALL].mean
    assert mean is not None
    assert (mean.value, mean.n, mean.clusters) == (1.75, 2, 2), "an outcome counts with the mean of its raters"


def test_agreement_is_that_of_raters_on_outcomes() -> None:
    told = [
        answer("e1", "a", 2),
        answer("e1", "b", 2),
        answer("e2", "a", 0),
        answer("e2", "b", 1),
        answer("e3", "a", 1),
    ]
    result = question_findings(LEVELS, told)
    matrix, sources = np.array([[2, 2], [0, 1], [1, np.nan]]), np.array(["e1", "e2", "e3"])
    assert result.panel == panel(matrix, sources)
    assert result.alpha == krippendorff(matrix, "ordinal", sources)
    assert (result.raters, result.answers, result.scale) == (2, 5, "ordinal")


def test_names_without_an_order_have_no_mean_and_no_bias() -> None:
    result = question_findings(NAMES, [answer("e1", "a", 0), answer("e1", "b", 1)])
    assert result.cells[None, ALL].mean is None
    assert (result.scale, result.bias) == ("nominal", ())


def test_a_generous_rater_is_found_and_a_random_one_is_not() -> None:
    random = np.random.default_rng(0)
    truth = random.integers(1, 4, size=(200, 1)).astype(np.float64)
    matrix = truth + random.normal(size=(200, 4)) * 0.3 + np.array([0.5, 0, 0, 0])
    matrix[random.random(matrix.shape) < 0.3] = np.nan
    result = rater_bias(matrix, ["generous", "b", "c", "d"], np.arange(200))
    first = result[0]
    assert first.rater == "generous"
    assert first.deviation is not None
    assert first.deviation.low is not None
    assert first.deviation.low > 0.4
    assert first.deviation.value == pytest.approx(0.5, abs=0.1)


def test_a_rater_alone_is_beside_nobody() -> None:
    result = rater_bias(np.array([[1, np.nan], [2, 2]]), ["a", "b"], np.array(["x", "y"]))
    assert [(one.rater, one.answers, one.deviation and one.deviation.n) for one in result] == [("a", 2, 1), ("b", 1, 1)]
    (alone,) = rater_bias([[1.0], [2.0]], ["a"], np.array(["x", "y"]))
    assert alone.deviation is None


@given(st.lists(st.lists(st.integers(0, 4), min_size=3, max_size=3), min_size=1, max_size=12))
def test_deviations_of_all_raters_cancel_out_where_everybody_answers(rows: list[list[int]]) -> None:
    result = rater_bias(rows, ["a", "b", "c"], np.arange(len(rows)))
    assert sum(one.deviation.value for one in result if one.deviation) == pytest.approx(0, abs=1e-9)


@given(data=st.data(), lowest=st.integers(-1, 1), options=st.integers(2, 5))
def test_means_stay_on_the_scale_of_the_question(data: st.DataObject, lowest: int, options: int) -> None:
    levels = tuple(AnswerLevel(str(n), float(lowest + n)) for n in range(options))
    answers = [
        LevelAnswer(f"o{n}", "mine", "color", f"{n // 2}", "ada", data.draw(st.integers(0, options - 1)))
        for n in range(data.draw(st.integers(2, 12)))
    ]
    cells = question_findings(CountedQuestion("quality", "Quality", levels), answers).cells
    for cell in cells.values():
        assert cell.mean is not None
        if cell.mean.low is not None and cell.mean.high is not None:
            assert lowest <= cell.mean.low <= cell.mean.high <= lowest + options - 1
