"""How far people agreed with each other in published studies, recomputed from their single answers.

The data is not ours to ship: `EDITGAUGE_SHARED_DATA` names the folder with `imagenhub_viescore` and `editinspector`.
"""

from __future__ import annotations

import csv
import json
import os
from ast import literal_eval
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from editgauge.stats.intervals import Labels, Numbers
from editgauge.stats.raters import Panel, human_ceiling, krippendorff, panel

PLACE = os.environ.get("EDITGAUGE_SHARED_DATA")
pytestmark = pytest.mark.skipif(
    PLACE is None, reason="NOT TESTED: EDITGAUGE_SHARED_DATA does not name the folder with the published data"
)


def rows(*parts: str, delimiter: str = ",") -> Iterator[dict[str, str]]:
    with Path(PLACE or "").joinpath(*parts).open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file, delimiter=delimiter)


@cache
def imagenhub() -> tuple[Numbers, Labels]:
    """Outcome by rater by (SC, PQ), and the source images (ImagenHub, arXiv 2310.01596)."""
    found: dict[tuple[str, str], list[list[float]]] = {}
    for rater in (1, 2, 3):
        place = ("human_ratings", "Text-Guided_IE", f"Text-Guided_IE_rater{rater}.tsv")
        for row in rows("imagenhub_viescore", *place, delimiter="\t"):
            edit = row.pop("uid")
            for method, told in row.items():
                found.setdefault((method, edit), []).append(json.loads(told))
    return np.array(list(found.values())), np.array([edit.rsplit("_", 1)[0] for _, edit in found])


@pytest.mark.parametrize(("place", "alike"), [(0, 0.807), (1, 0.533)], ids=["SC", "PQ"])
def test_three_raters_of_imagenhub_give_the_same_answer_as_often_as_is_known(place: int, alike: float) -> None:
    """Over 9 methods and 179 edits: SC 0.807, PQ 0.533."""
    answers, sources = imagenhub()
    found = panel(answers[:, :, place], sources)
    assert found is not None
    assert found.full_agreement.n == 9 * 179
    assert found.full_agreement.value == pytest.approx(alike, abs=0.0005)


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
    table = list(rows("editinspector", "editinspector_benchmark.csv"))
    answers = [[float(one) for one in literal_eval(row[f"metadata_annotated_{question}"])] for row in table]
    found = panel(answers, np.array([row["id"].split("_")[0] for row in table]))
    assert found is not None
    return found


@pytest.mark.parametrize(("question", "without"), WITHOUT_MAJORITY.items())
def test_editinspector_has_as_many_rows_without_a_majority_as_its_table_leaves_out(question: str, without: int) -> None:
    found = editinspector(question)
    assert (found.majority.n, found.majority.clusters, found.without_majority) == (783, 398, without)


def test_editinspector_s_annotators_agree_as_printed() -> None:
    """A majority on 96 and 97 % (levels), 80 to 86 % on the commonest answer, all three alike on 42 to 57 %."""
    found = [editinspector(question) for question in (*WITHOUT_MAJORITY, *YES_OR_NO)]
    assert [each.majority.value for each in found[:2]] == pytest.approx([0.96, 0.97], abs=0.01)
    shares, alike = ([getattr(each, name).value for each in found] for name in ("on_the_commonest", "full_agreement"))
    assert (min(shares), max(shares)) == pytest.approx((0.80, 0.86), abs=0.01)
    assert (min(alike), max(alike)) == pytest.approx((0.42, 0.57), abs=0.01)
