"""The public annotation forms of EditInspector: three people's answers to each edit, read into a study of ours.

The study is one of the design `editinspector` over a run of the benchmark `editinspector`; the forms are rows of the
public CSV, whose columns `metadata_annotated_*` hold one entry per annotator.
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
from editgauge._util.progress import log_info
from editgauge.errors import BadInputError
from editgauge.studies.errors import BadAnswersError
from editgauge.studies.exchange import ExchangeFormat
from editgauge.studies.exchange._tasks import validate_task_answers
from editgauge.studies.records import AnswerRecord
from editgauge.studies.store import StudyItem

if TYPE_CHECKING:
    from editgauge.studies.design import Answers
    from editgauge.studies.study import Study

DESIGN_QUESTIONS = frozenset({"accuracy", "consistent", "precise", "artifacts", "caption_right", "differences"})
ACCURACY = ("inaccurate", "reflects", "unexpected", "accurate")
ARTIFACTS = ("none", "mild", "significant")
LISTS = {
    "accuracy": "is_accurate_level",
    "artifacts": "is_artifacts_level",
    "consistent": "is_visualy_consistence",
    "precise": "is_good_quality",
    "caption_right": "is_extensive_difference_caption_accurate",
    "consistent_reason": "visualy_consistence_explanation",
    "precise_reason": "good_quality_explanation",
    "differences": "difference_caption_explanation",
}
"""Our questions and the part of a column's name that follows `metadata_annotated_`."""
Row = Mapping[str, str]


def refuse(_: Study, __: Path, ___: str | None) -> int:
    """Refuses to write: the forms were filled in elsewhere, in a study that is over."""
    raise BadInputError("The format 'editinspector-forms' is read only: it imports EditInspector's published answers.")


def read_forms(study: Study, file: Path) -> list[AnswerRecord]:
    """Read one page per annotator and edit of the study."""
    lacking = sorted(DESIGN_QUESTIONS - {question.id for question in study.design.questions})
    if lacking:
        raise BadInputError(f"The study has no question {', '.join(lacking)}; create it with `design='editinspector'`.")
    rows = list(csv.DictReader(io.StringIO(read_text(file))))
    items = _items_by_id(study)
    problems: list[str] = []
    pages: list[AnswerRecord] = []
    incomplete = 0
    for number, row in enumerate(rows, 1):
        try:
            for item in items.get(row["id"], ()):
                filled_pages = _pages(item, row)
                complete = [page for page in filled_pages if _is_complete(study, item, page)]
                incomplete += len(filled_pages) - len(complete)
                pages += complete
        except (KeyError, ValueError, SyntaxError, IndexError, TypeError) as error:
            problems.append(f"row {number}: {type(error).__name__}: {error}")
    if problems:
        raise BadInputError(f"'{file}' is no file of EditInspector's annotations.", problems)
    if not pages:
        raise BadInputError(
            f"None of the {len(rows)} edits in '{file}' is in the study. Is its benchmark editinspector?"
        )
    if incomplete:
        log_info(f"{incomplete} forms were left out: they lack a reason or a caption that the design asks for.")
    return pages


def _is_complete(study: Study, item: StudyItem, page: AnswerRecord) -> bool:
    try:
        validate_task_answers(study.design, item, page.answers, flipped=False, check=None)
    except BadAnswersError:
        return False
    return True


def _items_by_id(study: Study) -> dict[str, list[StudyItem]]:
    """Return the study's items by the edit's id in the public file."""
    items: dict[str, list[StudyItem]] = {}
    with study.database.read() as session:
        for item in session.scalars(select(StudyItem)):
            session.expunge(item)
            edit = item.content["edit"] if isinstance(item.content.get("edit"), dict) else {}
            name = edit.get("extras", {}).get("id") or item.edit
            items.setdefault(str(name), []).append(item)
    return items


def _pages(item: StudyItem, row: Row) -> list[AnswerRecord]:
    columns = {name: _entries(row, column) for name, column in LISTS.items()}
    count = len(columns["accuracy"])
    raters = _raters(row, count)
    if not item.content["edit"].get("extras", {}).get("difference_caption"):  # the question about it is not asked
        columns["caption_right"] = []
    return [
        AnswerRecord(rater=raters[index], item=item.key, answers=_answers(columns, index)) for index in range(count)
    ]


def _entries(row: Row, column: str) -> list[Any]:
    written = row[f"metadata_annotated_{column}"]
    return list(ast.literal_eval(written)) if written else []


def _raters(row: Row, count: int) -> list[str]:
    """Return the annotators' names if the file has them, else their index."""
    written = row.get("annotators") or ""
    named = [str(name) for name in ast.literal_eval(written)] if written.startswith("[") else []
    return [f"editinspector-{named[index] if index < len(named) else index + 1}" for index in range(count)]


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
