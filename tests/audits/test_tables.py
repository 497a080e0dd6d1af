"""Tables 3 and 4 of EditInspector, from a run of several judges and people's ratings."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from editgauge._cli._show_inspect import show_inspector_tables
from editgauge.audits.tables import tables
from editgauge.errors import BadInputError
from editgauge.results.manifest import ProtocolEntry
from editgauge.types import ScoreSpec

UNIT = (0.0, 1.0)
ANSWERS = ProtocolEntry("", "", "1", (), (ScoreSpec("edit", True, UNIT), ScoreSpec("artifacts", False, UNIT)))
CAPTIONS = ProtocolEntry(
    "", "", "2", (), tuple(ScoreSpec(name, True, (0.0, 99.0)) for name in ("mp", "hr", "differences", "bleu"))
)


@pytest.fixture
def run(make_run: Callable[..., Path], make_record: Callable[..., Any]) -> Path:
    records = []
    for place, (edit, said) in enumerate({"a": 1.0, "b": 1.0, "c": 0.0, "d": 1.0}.items()):
        where = {"place": place, "source": f"{edit}.png"}
        for judge, answer in (("wise", said), ("yes-man", 1.0)):
            records.append(
                make_record(edit, {"edit": answer, "artifacts": 0.0}, protocol=f"editinspector[{judge}]", **where)
            )
        told = {"mp": 0.5, "hr": "not_applicable" if edit == "a" else 0.25, "differences": float(place), "bleu": 0.1}
        records.append(make_record(edit, told, protocol="difference-captions[grader=wise,yes-man]", **where))
    protocols = {f"editinspector[{judge}]": ANSWERS for judge in ("wise", "yes-man")}
    protocols["difference-captions[grader=wise,yes-man]"] = CAPTIONS
    judges: dict[str, dict[str, Any]] = {
        name: {"address": "", "model": name, "parameters": {}} for name in ("wise", "yes-man")
    }
    return make_run(*records, protocols=protocols, judges=judges)


def ratings(folder: Path) -> Path:
    """People find a and b done, c and d not."""
    file = folder / "ratings.csv"
    with file.open("w", newline="", encoding="utf-8") as lines:
        writer = csv.writer(lines)
        writer.writerow(["edit", "method", "question", "value", "rater"])
        for edit, level in {"a": 3, "b": 2, "c": 1, "d": 0}.items():
            writer.writerows([edit, "mine", "accuracy", level, rater] for rater in ("x", "y", "z"))
    return file


def test_the_tables_have_a_column_per_judge(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = tables(run, ratings=ratings(tmp_path))
    assert result.judges == ("wise", "yes-man", "yes-man grader=wise")
    accuracy = {judge: value.value for judge, value in result.table_3["Accuracy"].items()}
    assert accuracy == {"wise": 0.75, "yes-man": 0.5, "yes-man grader=wise": None}
    captions = {row: values["yes-man grader=wise"] for row, values in result.table_3.items()}
    assert captions["MP"].value == 0.5
    assert (captions["HR"].value, captions["HR"].n) == (0.25, 3)  # where nothing was told there is no rate
    assert (captions["Avg. Diff"].value, captions["No Diffs"].value) == (1.5, 0.25)
    assert list(result.table_4) == ["Main Difference", "MP", "HR", "METEOR", "ROUGE-1", "ROUGE-2", "BLEU"]
    assert result.table_4["BLEU"]["yes-man grader=wise"].value == pytest.approx(0.1)
    show_inspector_tables(result)
    printed = capsys.readouterr().out
    assert "table 3" in printed
    assert "Contextual Consistency" in printed


def test_a_run_without_such_protocols_is_told_what_to_run(
    make_run: Callable[..., Path], make_record: Callable[..., Any]
) -> None:
    with pytest.raises(BadInputError, match="neither editinspector nor difference-captions"):
        tables(make_run(make_record("a", {"gain": 1.0, "loss": 0.0})))
