"""VIEScore's published raw answers through our rubric's own formulas give the published correlations with people.

The data is not ours to ship: `EDITGAUGE_SHARED_DATA` names the folder with `imagenhub_viescore`.
"""

from __future__ import annotations

import csv
import json
import os
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from editgauge.protocols.rubric._formulas import evaluate
from editgauge.protocols.rubric._model import open_rubric

PLACE = os.environ.get("EDITGAUGE_SHARED_DATA")
pytestmark = pytest.mark.skipif(
    PLACE is None, reason="NOT TESTED: EDITGAUGE_SHARED_DATA does not name the folder with the published data"
)
DIMENSIONS = ("success", "no_overediting", "naturalness", "no_artifacts")
OURS = {"SC": "sc", "PQ": "pq", "O": "overall"}
CUT_OFF = ("gpt4o_0shot", "Pix2PixZero", "PQ")
"""The expected file cut off half a point of one answer here; `test_agreement.py` tells the story."""


def rows(*parts: str) -> list[dict[str, str]]:
    with Path(PLACE or "").joinpath("imagenhub_viescore", *parts).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def human(name: str) -> dict[tuple[str, str], float]:
    result: dict[tuple[str, str], list[float]] = {}
    for rater in (1, 2, 3):
        for row in rows("human_ratings", "Text-Guided_IE", f"Text-Guided_IE_rater{rater}.tsv"):
            edit = row.pop("uid")
            for method, told in row.items():
                consistency, quality = json.loads(told)
                value = {"SC": consistency, "PQ": quality, "O": sqrt(consistency * quality)}[name]
                result.setdefault((method, edit), []).append(value)
    return {key: float(np.mean(item)) for key, item in result.items()}


def judged(judge: str, name: str) -> dict[tuple[str, str], float]:
    rubric = open_rubric("viescore").rubric
    result = {}
    for row in rows("vie_scores", f"text_guided_ie_{judge}.tsv"):
        semantics, quality = (json.loads(row[column]) for column in ("SC_scores", "PQ_scores"))
        answers = (semantics[0], semantics[-1], quality[0], quality[-1])  # some answers have one number for both
        # Divided by 10 as the published numbers are: rounding then breaks a few ties, such as 3 * 8 and 4 * 6.
        values: dict[str, Any] = dict(zip(DIMENSIONS, (answer / 10 for answer in answers), strict=True))
        for made in rubric.scores:
            values[made.name] = evaluate(made.formulas[0].formula, values)
        result[row["method"], row["uid"]] = values[OURS[name]]
    return result


@pytest.mark.parametrize("judge", ["gemini_0shot", "gpt4o_0shot"])
@pytest.mark.parametrize("name", list(OURS))
def test_the_rubric_reproduces_the_published_correlations(judge: str, name: str) -> None:
    file = Path(PLACE or "") / "imagenhub_viescore" / "expected_correlations.json"
    expected = json.loads(file.read_text())[judge]["per_method_spearman"]
    people, scores = human(name), judged(judge, name)
    for method, told in expected.items():
        keys = [key for key in scores if key[0] == method]
        assert len(keys) == told["n"]
        ours, theirs = (np.array([item[key] for key in keys]) for item in (scores, people))
        if (judge, method, name) != CUT_OFF:
            assert spearmanr(ours, theirs).statistic == pytest.approx(told[name], abs=0.00005)
