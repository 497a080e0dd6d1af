"""Import the public annotations of EditInspector: the answers of three people about each edit.

The study needs the design `editinspector` and a run of the benchmark `editinspector`. The annotations are rows of the
public CSV file, whose columns `metadata_annotated_*` hold one entry per annotator.
"""

from __future__ import annotations

import ast
import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from editgauge._util.datasets import read_text
from editgauge.errors import BadInputError
from editgauge.studies.exchange import ExchangeFormat
from editgauge.studies.records import AnswerRecord
from editgauge.studies.store import StudyItem

if TYPE_CHECKING:
    from editgauge.studies.design import Answers
    from editgauge.studies.study import Study

ACCURACY = ("inaccurate", "reflects", "unexpected", "accurate")
ARTIFACTS = ("none", "mild", "significant")
COLUMNS = {
    "accuracy": "is_accurate_level",
    "artifacts": "is_artifacts_level",
    "consistent": "is_visualy_consistence",
    "precise": "is_good_quality",
    "caption_right": "is_extensive_difference_caption_accurate",
    "consistent_reason": "visualy_consistence_explanation",
    "precise_reason": "good_quality_explanation",
    "differences": "difference_caption_explanation",
}
"""Question to the part of its column's name that follows `metadata_annotated_`."""
Row = Mapping[str, str]


def refuse(_: Study, __: Path, ___: str | None) -> int:
    """Refuse to export: the format exists for published answers only."""
    raise BadInputError("The format 'editinspector-forms' is read only: it imports EditInspector's published answers.")


def read_forms(study: Study, file: Path) -> list[AnswerRecord]:
    """Read one page per annotator and edit of the study."""
    missing = sorted(COLUMNS.keys() - {question.id for question in study.design.questions})
    if missing:
        raise BadInputError(f"The study has no question {', '.join(missing)}; create it with `design='editinspector'`.")
    rows = list(csv.DictReader(io.StringIO(read_text(file))))
    items = _items_by_id(study)
    problems: list[str] = []
    pages: list[AnswerRecord] = []
    for number, row in enumerate(rows, 1):
        try:
            for item in items.get(row["id"], items.get(_edit_id(row["id"]), [])):
                pages += _pages(item, row)
        except (KeyError, ValueError, SyntaxError, IndexError, TypeError) as error:
            problems.append(f"row {number}: {type(error).__name__}: {error}")
    if problems:
        raise BadInputError(f"'{file}' is no file of EditInspector's annotations.", problems)
    if not pages:
        raise BadInputError(
            f"None of the {len(rows)} rows of '{file}' is in the study. Is its benchmark editinspector?"
        )
    return pages


def _items_by_id(study: Study) -> dict[str, list[StudyItem]]:
    """Return the study's items by the id of the public file, or by edit in runs that did not store it."""
    items: dict[str, list[StudyItem]] = {}
    with study.database.read() as session:
        for item in session.scalars(select(StudyItem)):
            session.expunge(item)
            original_id = item.content["edit"].get("extras", {}).get("original_id")
            items.setdefault(str(original_id or item.edit), []).append(item)
    return items


def _edit_id(original_id: str) -> str:
    """Return the edit's id in MagicBrush.

    >>> _edit_id("380097_Let the counter turn white._1")
    '380097-1'
    """
    return f"{original_id.partition('_')[0]}-{original_id.rpartition('_')[2]}"


def _pages(item: StudyItem, row: Row) -> list[AnswerRecord]:
    columns = {name: _entries(row, column) for name, column in COLUMNS.items()}
    count = len(columns["accuracy"])
    raters = _raters(row, count)
    if not item.content["edit"].get("extras", {}).get("difference_caption"):  # the question about it is not asked
        columns["caption_right"] = []
    return [
        AnswerRecord(rater=raters[index], item=item.key, answers=_answers(columns, index)) for index in range(count)
    ]


def _entries(row: Row, column: str) -> list[Any]:
    text = row[f"metadata_annotated_{column}"]
    return list(ast.literal_eval(text)) if text else []


def _raters(row: Row, count: int) -> list[str]:
    """Return the annotators' names if the file has them, else their index."""
    text = row.get("annotators") or ""
    names = [str(name) for name in ast.literal_eval(text)] if text.startswith("[") else []
    return [f"editinspector-{names[index] if index < len(names) else index + 1}" for index in range(count)]


def _answers(columns: Mapping[str, list[Any]], index: int) -> Answers:
    def entry(name: str) -> Any:
        values = columns[name]
        return values[index] if index < len(values) else None

    answers: Answers = {
        "accuracy": ACCURACY[int(entry("accuracy"))],
        "artifacts": ARTIFACTS[int(entry("artifacts"))],
    }
    for name in ("consistent", "precise", "caption_right"):
        if entry(name) is not None:
            answers[name] = "yes" if entry(name) else "no"
    for name in ("consistent_reason", "precise_reason", "differences"):
        text = str(entry(name) or "").strip()
        if text and (name == "differences" or answers.get(name.removesuffix("_reason")) == "no"):
            answers[name] = text
    return answers


editinspector_forms = ExchangeFormat(refuse, read_forms)
