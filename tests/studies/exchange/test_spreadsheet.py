"""A spreadsheet that raters fill in: the template, its way back, and errors that name the column."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from editgauge.errors import BadInputError
from editgauge.studies import Study, export, import_
from editgauge.studies.records import records

Make = Callable[..., Study]
Row = dict[str, str]


def read(file: Path) -> list[Row]:
    with file.open(encoding="utf-8-sig", newline="") as opened:
        return list(csv.DictReader(opened))


def write(file: Path, rows: list[Row], delimiter: str = ",") -> Path:
    with file.open("w", encoding="utf-8-sig", newline="") as opened:
        writer = csv.DictWriter(opened, rows[0], delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return file


def template(study: Study, file: Path) -> list[Row]:
    assert export(study.folder, form="spreadsheet", out=file) == study.manifest.items
    return read(file)


def test_the_template_lists_items_and_questions_and_no_method(make_study: Make, tmp_path: Path) -> None:
    study = make_study(edits=2, methods=("secret-one", "secret-two"), design="editval")
    file = tmp_path / "sheet.csv"
    help_row, *rows = template(study, file)
    assert list(help_row) == ["rater", "item", "text", "source", "edited", "applied", "object_kept", "context_kept"]
    assert help_row["item"] == "help"
    assert all(str(level) in help_row["applied"] for level in range(4))
    assert len(rows) == 4
    assert all((study.folder / row["edited"]).is_file() for row in rows)
    assert "secret" not in file.read_text("utf-8")


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_filled_sheet_comes_back(make_study: Make, tmp_path: Path, delimiter: str) -> None:
    study = make_study(edits=2, methods=("a", "b"), design="2afc", raters=2)
    file = tmp_path / "sheet.csv"
    help_row, first, second = template(study, file)
    first |= {"rater": "ann", "better": "Left"}
    rows = [help_row, first, second | {"rater": "ann"}]
    imported = import_(study.folder, write(file, rows, delimiter), form="spreadsheet")
    assert (imported.done, imported.unchanged) == (1, 0), "a row without answers is not a page"
    with study.database.read() as session:
        (record,) = records(session)
    assert record.rater == "ann"
    expected = "second" if record.flipped else "first"
    assert record.answers == {"better": expected}
    again = import_(study.folder, file, form="spreadsheet")
    assert (again.done, again.unchanged) == (0, 1)


def test_errors_name_line_and_column(make_study: Make, tmp_path: Path) -> None:
    study = make_study(edits=1, methods=("a", "b"), design="editval")
    file = tmp_path / "sheet.csv"
    _, first, second = template(study, file)
    first |= {"rater": "ann", "applied": "7", "object_kept": "1", "context_kept": "0"}
    second |= {"rater": "", "applied": "1", "object_kept": "1"}
    with pytest.raises(BadInputError) as caught:
        import_(study.folder, write(file, [first, second]), form="spreadsheet")
    problems = str(caught.value.problems)
    assert "line 2, column 'applied'" in problems
    assert "line 3, column 'rater'" in problems
    with pytest.raises(BadInputError, match="aplied"):
        import_(study.folder, write(file, [{"rater": "ann", "item": "x", "aplied": "1"}]), form="spreadsheet")
    with pytest.raises(BadInputError, match="lacks the column 'item'"):
        import_(study.folder, write(file, [{"rater": "ann", "applied": "1"}]), form="spreadsheet")
    with pytest.raises(BadInputError, match=r"\.csv"):
        export(study.folder, form="spreadsheet", out=tmp_path / "sheet.xlsx")


def test_an_item_of_another_study_is_refused(make_study: Make, tmp_path: Path) -> None:
    study = make_study(edits=1, methods=("a",))
    row = {"rater": "ann", "item": "0123456789abcdef", "good": "1"}
    with pytest.raises(BadInputError) as caught:
        import_(study.folder, write(tmp_path / "sheet.csv", [row]), form="spreadsheet")
    assert "column 'item'" in str(caught.value.problems)
