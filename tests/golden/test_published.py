"""The typed tables hold what the public files hold, where `EDITGAUGE_SHARED_DATA` names those."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.golden.published import (
    JUDGES,
    PIXLENS_AVERAGES,
    PIXLENS_EDITS,
    PIXLENS_TABLE_1,
    PIXLENS_TABLE_4,
    editval_leaderboard,
    imagenhub_ratings,
    unibench_table_1,
    viescore_answers,
    viescore_correlations,
)


def _table(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t"))


@pytest.mark.parametrize("rater", [1, 2, 3])
def test_ratings_of_imagenhub(shared: Path, rater: int) -> None:
    files = shared / "imagenhub_viescore" / "human_ratings" / "Text-Guided_IE"
    ratings = imagenhub_ratings()
    assert len(ratings) == 9 * 179
    for row in _table(files / f"Text-Guided_IE_rater{rater}.tsv"):
        edit = row.pop("uid")
        assert {method: list(ratings[method, edit][rater - 1]) for method in row} == {
            method: json.loads(cell) for method, cell in row.items()
        }


@pytest.mark.parametrize("judge", JUDGES)
def test_answers_of_viescore(shared: Path, judge: str) -> None:
    folder = shared / "imagenhub_viescore"
    answers = {
        (row["method"], row["uid"]): tuple(min(json.loads(row[name])) for name in ("SC_scores", "PQ_scores"))
        for row in _table(folder / "vie_scores" / f"text_guided_ie_{judge}.tsv")
    }
    assert answers == viescore_answers(judge)
    assert list(answers) == list(viescore_answers(judge)), "in the order of the file"
    expected = json.loads((folder / "expected_correlations.json").read_text("utf-8"))
    assert expected[judge] == viescore_correlations()[judge]


@pytest.mark.parametrize(("name", "file"), [("automatic", "aut_eval_table.csv"), ("people", "human_study_table.csv")])
def test_leaderboards_of_editval(shared: Path, name: str, file: str) -> None:
    with (shared / "editval" / file).open(encoding="utf-8", newline="") as lines:
        table = {row[0]: [float(cell) for cell in row[1:]] for row in csv.reader(lines)}
    assert {method: list(row) for method, row in editval_leaderboard(name).items()} == table


def test_tables_of_pixlens(shared: Path) -> None:
    copy = json.loads((shared / "pixlens" / "published_tables.json").read_text("utf-8"))
    rows = copy["table1_edit_specific"]["rows"]
    assert tuple(rows.pop("AVG")[:5]) == PIXLENS_AVERAGES
    assert {name: tuple(row[:5]) for name, row in rows.items()} == PIXLENS_TABLE_1
    assert copy["edit_counts_for_weighting"] == PIXLENS_EDITS
    assert {name: copy["table4"][name] for name in PIXLENS_TABLE_4} == PIXLENS_TABLE_4


def test_table_1_of_unibench(shared: Path) -> None:
    copy = json.loads((shared / "unibench" / "published_table1.json").read_text("utf-8"))
    assert {name: copy[name] for name in ("columns", "models")} == unibench_table_1()
