"""Sixty ratings of ImagenHub and a judge's 1,432 scores (VIEScore): the interval holds, and is shorter.

The files are public (`imagenhub_viescore` in the folder named by EDITGAUGE_SHARED_DATA, with its SOURCE.md).
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from editgauge.stats.intervals import Labels, Numbers
from editgauge.stats.prediction_powered import PoweredMean, in_units_of, prediction_powered_mean

RATED, DRAWS = 60, 200


@dataclass(frozen=True)
class Judged:
    human: Numbers
    """Mean over three raters of sqrt(SC x PQ), as in the paper."""
    judge: Numbers
    source: Labels


def rows(file: Path) -> Iterator[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        yield from csv.DictReader(lines, delimiter="\t")


@pytest.fixture(scope="module")
def folder() -> Path:
    shared = os.environ.get("EDITGAUGE_SHARED_DATA", "")
    if not shared:
        pytest.skip("EDITGAUGE_SHARED_DATA is not set: estimates were NOT tested on real ratings")
    return Path(shared) / "imagenhub_viescore"


@pytest.fixture(scope="module", params=["gemini_0shot", "gpt4o_0shot"])
def judged(folder: Path, request: pytest.FixtureRequest) -> Judged:
    ratings: dict[tuple[str, str], list[float]] = {}
    for file in sorted((folder / "human_ratings" / "Text-Guided_IE").glob("*.tsv")):
        for row in rows(file):
            name = row.pop("uid")
            for method, cell in row.items():
                ratings.setdefault((method, name), []).append(float(np.sqrt(np.prod(json.loads(cell)))))
    human, judge, source = [], [], []
    for row in rows(folder / "vie_scores" / f"text_guided_ie_{request.param}.tsv"):
        human.append(np.mean(ratings[row["method"], row["uid"]]))
        judge.append(np.sqrt(min(json.loads(row["SC_scores"])) * min(json.loads(row["PQ_scores"]))) / 10)
        source.append(row["uid"].split("_")[1])  # sample_100081_3.jpg is the third edit of image 100081
    return Judged(np.array(human), np.array(judge), np.array(source))


def draw(judged: Judged, random: np.random.Generator) -> PoweredMean:
    chosen = np.zeros(judged.human.size, dtype=np.bool_)
    chosen[random.choice(chosen.size, RATED, replace=False)] = True
    labels = judged.human[chosen]
    here, there = in_units_of(labels, judged.judge[chosen], judged.judge[~chosen])
    return prediction_powered_mean(labels, here, judged.source[chosen], there, judged.source[~chosen])


def test_sixty_ratings_and_a_judge(judged: Judged) -> None:
    assert judged.human.size == 1_432
    random = np.random.default_rng(0)
    found = [draw(judged, random) for _ in range(DRAWS)]
    truth = float(judged.human.mean())
    covered = np.mean(
        [each.low is not None and each.high is not None and each.low <= truth <= each.high for each in found]
    )
    ratio = float(np.mean([each.width_ratio for each in found if each.width_ratio is not None]))

    print(f"60 ratings: covers {covered:.3f}, width {ratio:.3f} of ratings alone")  # noqa: T201
    assert 0.91 <= covered <= 0.985
    assert ratio < 0.95
