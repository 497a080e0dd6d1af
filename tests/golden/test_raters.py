"""How far people agreed with each other in published studies, recomputed from their single answers.

The data of EditInspector is not ours to ship: `EDITGAUGE_SHARED_DATA` names the folder with `editinspector`.
"""

from __future__ import annotations

import csv
from ast import literal_eval
from functools import cache

import numpy as np
import pytest

from editgauge._stats.intervals import Labels, Numbers
from editgauge._stats.raters import Panel, human_ceiling, krippendorff, panel
from tests.golden.published import imagenhub_ratings
from tests.shared_data import needs_shared_data, shared_data


@cache
def imagenhub() -> tuple[Numbers, Labels]:
    """Outcome by rater by (SC, PQ), and the source images (ImagenHub, arXiv 2310.01596)."""
    ratings = imagenhub_ratings()
    return np.array(list(ratings.values())), np.array([edit.rsplit("_", 1)[0] for _, edit in ratings])


@pytest.mark.parametrize(("place", "alike"), [(0, 0.807), (1, 0.533)], ids=["SC", "PQ"])
def test_three_raters_of_imagenhub_give_the_same_answer_as_often_as_is_known(place: int, alike: float) -> None:
    """Over 9 methods and 179 edits: SC 0.807, PQ 0.533."""
    answers, sources = imagenhub()
    result = panel(answers[:, :, place], sources)
    assert result is not None
    assert result.full_agreement.n == 9 * 179
    assert result.full_agreement.value == pytest.approx(alike, abs=0.0005)


def test_a_rater_of_imagenhub_agrees_with_the_others_better_than_any_judge_does() -> None:
    """Overall score: 0.73; GPT-4o by VIEScore reaches 0.52 (0.48 to 0.55) with each rater alone."""
    answers, sources = imagenhub()
    overall = np.sqrt(answers.prod(axis=2))
    ceiling, alpha = human_ceiling(overall, sources), krippendorff(overall, "ordinal", sources)
    assert ceiling.value == pytest.approx(0.73, abs=0.01)
    assert ceiling.low is not None
    assert ceiling.low > 0.6
    assert alpha.value == pytest.approx(0.70, abs=0.015)


# EditInspector (arXiv 2506.09988), section 2.3 and table 1; its public file has the answers of three annotators.
WITHOUT_MAJORITY = {"is_accurate_level": 35, "is_artifacts_level": 18}
YES_OR_NO = ("is_visualy_consistence", "is_good_quality", "is_extensive_difference_caption_accurate")


@cache
def editinspector(question: str) -> Panel:
    with shared_data("editinspector", "editinspector_benchmark.csv").open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    answers = [[float(one) for one in literal_eval(row[f"metadata_annotated_{question}"])] for row in table]
    result = panel(answers, np.array([row["id"].split("_")[0] for row in table]))
    assert result is not None
    return result


@needs_shared_data
@pytest.mark.parametrize(("question", "without"), WITHOUT_MAJORITY.items())
def test_editinspector_has_as_many_rows_without_a_majority_as_its_table_leaves_out(question: str, without: int) -> None:
    result = editinspector(question)
    assert (result.majority.n, result.majority.clusters, result.without_majority) == (783, 398, without)


@needs_shared_data
def test_editinspector_s_annotators_agree_as_printed() -> None:
    """A majority on 96 and 97 % (levels), 80 to 86 % on the commonest answer, all three alike on 42 to 57 %."""
    result = [editinspector(question) for question in (*WITHOUT_MAJORITY, *YES_OR_NO)]
    assert [item.majority.value for item in result[:2]] == pytest.approx([0.96, 0.97], abs=0.01)
    shares, alike = ([getattr(item, name).value for item in result] for name in ("modal_share", "full_agreement"))
    assert (min(shares), max(shares)) == pytest.approx((0.80, 0.86), abs=0.01)
    assert (min(alike), max(alike)) == pytest.approx((0.42, 0.57), abs=0.01)
