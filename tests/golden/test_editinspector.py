"""EditInspector's tables (arXiv 2506.09988), recomputed from its public file through our own loader and analysis.

The data is not ours to ship: `EDITGAUGE_SHARED_DATA` names the folder with `editinspector`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from editgauge.analysis.binary_agreement import Confusion, binary_agreement
from editgauge.analysis.feedback import feedback
from editgauge.benchmarks.datasets import ratings
from editgauge.benchmarks.editinspector import QUESTIONS, Inspected, majority, read_inspected
from editgauge.results import JournalEntry
from editgauge.results.manifest import ProtocolEntry
from editgauge.types import ScoreSpec
from tests.shared_data import needs_shared_data, shared_data

pytestmark = needs_shared_data
EDITS = 783


def folder() -> Path:
    return shared_data("editinspector")


@cache
def inspected() -> tuple[Inspected, ...]:
    return read_inspected(folder())


@cache
def published() -> dict[str, Any]:
    result: dict[str, Any] = json.loads((folder() / "published_tables.json").read_text("utf-8"))
    return result


def shares(question: str) -> dict[int | None, float]:
    """In percent of all edits, by the answer of the majority."""
    counts = Counter(majority(row.answers[question]) for row in inspected())
    return {answer: 100 * count / EDITS for answer, count in counts.items()}


def test_accuracy_and_artifacts_are_spread_as_table_1_prints() -> None:
    """8 / 77 / 6 / 4 % and 38 / 57 / 2 %, over all 783 edits, of which 35 and 18 have no majority."""
    accuracy, artifacts = shares("accuracy"), shares("artifacts")
    printed = published()["table1_percent"]
    ours = {"inaccurate": 0, "inaccurate_reflects": 1, "accurate_unexpected": 2, "accurate": 3}
    assert {name: round(accuracy[level]) for name, level in ours.items()} == printed["accuracy"]
    ours = {"significant": 0, "mild": 1, "none": 2}
    assert {name: round(artifacts[level]) for name, level in ours.items()} == printed["artifacts"]
    assert [round(item[None] * EDITS / 100) for item in (accuracy, artifacts)] == [35, 18]


def test_yes_or_no_is_spread_as_table_1_prints_but_for_technical_precision() -> None:
    printed = published()["table1_percent"]
    assert shares("consistent")[1] == pytest.approx(printed["visual_consistency"]["yes"], abs=0.5)
    assert shares("caption_right")[1] == pytest.approx(printed["difference_caption_accurate"]["yes"], abs=1)
    assert shares("precise")[1] == pytest.approx(31.3, abs=0.05)
    assert shares("precise")[1] == pytest.approx(printed["technical_precision_as_printed"]["no"], abs=0.5)


def test_actions_are_spread_as_printed() -> None:
    counts = Counter(row.action for row in inspected())
    printed = published()["edit_type_percent"]
    assert {action: round(100 * counts[action] / EDITS, 1) for action in printed} == printed
    assert counts[None] == EDITS - sum(counts[action] for action in printed)


def test_the_edit_reflects_the_instruction_in_85_percent() -> None:
    accuracy = shares("accuracy")
    assert accuracy[2] + accuracy[3] == pytest.approx(85, abs=0.5)


def test_the_set_of_100_is_a_part_of_the_whole() -> None:
    part = read_inspected(folder() / "editinspector_100_benchmark.csv")
    whole = {row.id: row for row in inspected()}
    assert len(part) == 100
    assert all(len(row.answers[question]) == len(row.raters) == 3 for row in inspected() for question in QUESTIONS)
    assert all(whole[row.id].answers == row.answers for row in part)


def test_the_authors_artifacts_agree_with_people_as_known(
    tmp_path: Path, make_run: Callable[..., Path], make_record: Callable[..., JournalEntry]
) -> None:
    """`artifacts_bboxes` that are not empty, against significant artifacts: TP 135, TN 359, FP 124, FN 165; 0.597.

    The paper prints 64 % for its two methods together; the boxes that were released give less.
    """
    entry = ProtocolEntry("", "", "1", (), (ScoreSpec("artifact", False, (0.0, 1.0)),))
    records = [
        make_record(
            row.id,
            {"artifact": float(bool(row.released_artifacts))},
            method="magicbrush",
            protocol="released",
            place=place,
            edit_type=row.action or "unspecified",
            source=row.image,
        )
        for place, row in enumerate(inspected())
    ]
    run = make_run(*records, protocols={"released": entry})
    file = tmp_path / "ratings.csv"
    assert ratings("editinspector", data=folder(), method="magicbrush", out=file) == EDITS * 3 * len(QUESTIONS)
    (result,) = binary_agreement(run, file).scores
    assert result.confusion == Confusion(yes_rightly=135, yes_wrongly=124, no_wrongly=165, no_rightly=359)
    balanced = result.rates.balanced_accuracy
    assert balanced.value == pytest.approx(0.597, abs=0.0005)
    assert (balanced.n, balanced.clusters) == (783, 398)
    assert balanced.low is not None
    assert balanced.high is not None
    assert 0.55 < balanced.low < 0.597 < balanced.high < 0.64
    assert result.rates.recall.value == pytest.approx(135 / 300)
    assert (result.without_majority, result.unscored) == (0, {})
    removals = result.by_action["Remove"]
    assert (removals.balanced_accuracy.n, removals.precision.n) == (57, 15)  # all removals; those with released boxes
    assert set(result.conditional) == {"accuracy", "consistent", "precise", "caption_right"}


def test_shape_and_resolution_are_what_people_complain_of_most() -> None:
    """Figure 3 (its bars have no numbers in the text): shape and proportion, and resolution, stand out."""
    consistent, precise = feedback("editinspector", data=folder())
    assert (consistent.question, next(iter(consistent.kinds))) == ("consistent", "Shape and proportion")
    assert (precise.question, next(iter(precise.kinds))) == ("precise", "Resolution")
    assert (consistent.unsorted + precise.unsorted) / (consistent.remarks + precise.remarks) < 0.06
