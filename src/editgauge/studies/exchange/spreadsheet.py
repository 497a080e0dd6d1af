"""Spreadsheets: a template with one row per item and one column per question, and its way back.

Raters write their name into the column `rater` and answer in the columns named like the questions, by value or label.
Items have neutral names, and sides of pairs are those of the row's images. Attention checks are left out.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path

from editgauge._util.datasets import read_text
from editgauge._util.fields import describe_unknown, format_value
from editgauge._util.files import write_text
from editgauge._util.text import csv_text, from_csv_text
from editgauge.errors import BadAnswersError, BadInputError
from editgauge.studies.design import Answers, Design, DesignQuestion, parse_form_value
from editgauge.studies.exchange import ExchangeFormat
from editgauge.studies.exchange._tasks import (
    ExportedTask,
    is_flipped,
    items_by_name,
    open_tasks,
    validate_task_answers,
)
from editgauge.studies.records import AnswerRecord
from editgauge.studies.store import StudyItem
from editgauge.studies.study import IMAGES, Study

IDENTITY = ("rater", "item")
CONTEXT = {
    "outcome": ("text", "source", "edited"),
    "pair": ("text", "source", "left", "right"),
    "attributes": ("text", "source", "left", "right"),
}
"""Columns that show what a row is about, by unit of the design; ignored on import."""
HELP = "help"
"""Item of the row that explains the columns."""
DELIMITERS = (",", ";", "\t")
"""Spreadsheet programs write the one of their language."""


def write_template(study: Study, out: Path, url: str | None) -> int:
    """Write a template with the open items as CSV and return their number."""
    if out.suffix != ".csv":
        raise BadInputError(f"'{out}' must end with .csv: a spreadsheet program opens such a file.")
    tasks, design = open_tasks(study), study.design
    base = f"{url.rstrip('/')}/" if url else f"{IMAGES}/"
    text = io.StringIO(newline="")
    columns = [*IDENTITY, *CONTEXT[design.unit], *(question.id for question in design.questions)]
    writer = csv.DictWriter(text, columns, lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerow({"item": HELP, **{question.id: _explain(question) for question in design.questions}})
    writer.writerows(_row(task, base) for task in tasks)
    write_text(out, "\ufeff" + text.getvalue())  # without the mark, Excel does not recognize UTF-8
    return len(tasks)


def _explain(question: DesignQuestion) -> str:
    if question.kind == "text":
        return csv_text(question.label)
    options = [
        str(option.value)
        if str(option.value).casefold() == option.label.casefold()
        else f"{option.value} = {option.label}"
        for option in question.choices
    ]
    several = " (several: separate with |)" if question.kind == "multi_choice" else ""
    return csv_text(f"{question.label}{several} {'; '.join(options)}")


def _row(task: ExportedTask, base: str) -> dict[str, str]:
    page = task.page
    row = {"item": task.name, "text": csv_text(page.text)}
    row |= {picture.role: base + picture.name for picture in page.pictures}
    if page.left is not None and page.right is not None:
        row |= {"left": csv_text(page.left), "right": csv_text(page.right)}
    return row


def read_sheet(study: Study, file: Path) -> list[AnswerRecord]:
    """Read the answered rows; raise `BadInputError` that names line and column of every problem."""
    rows = _rows(file, study.design)
    items = items_by_name(study)
    problems: list[str] = []
    pages: list[AnswerRecord] = []
    for line, row in rows:
        answers = _answers(study.design, row)
        if row.get("item") == HELP or not answers:
            continue
        item = items.get(row.get("item", ""))
        if item is None:
            problems.append(f"line {line}, column 'item': the study has no item {format_value(row.get('item', ''))}")
        if not row.get("rater"):
            problems.append(f"line {line}, column 'rater': a name is missing")
        if item is not None:
            try:
                pages.append(_page(study, item, row.get("rater", ""), answers))
            except BadAnswersError as error:
                problems += [f"line {line}, column '{name}': {problem}" for name, problem in error.problems.items()]
    if problems:
        raise BadInputError(f"The answers in '{file}' have problems.", problems)
    if not pages:
        raise BadInputError(f"'{file}' holds no answers.")
    return pages


def _rows(file: Path, design: Design) -> list[tuple[int, dict[str, str]]]:
    text = read_text(file)
    header = text.partition("\n")[0]
    reader = csv.DictReader(io.StringIO(text), delimiter=max(DELIMITERS, key=header.count))
    columns = [name.strip() for name in reader.fieldnames or ()]
    reader.fieldnames = columns
    for name in IDENTITY:
        if name not in columns:
            raise BadInputError(
                f"'{file}' lacks the column '{name}'; `study export --form spreadsheet` writes a template."
            )
    questions = [question.id for question in design.questions]
    unknown = [name for name in columns if name and name not in (*IDENTITY, *CONTEXT[design.unit], *questions)]
    if unknown:
        raise BadInputError(f"'{file}': {describe_unknown('column', unknown[0], questions)}.")
    try:
        return [
            (reader.line_num, {name: from_csv_text(cell.strip()) for name, cell in row.items() if name and cell})
            for row in reader
        ]
    except csv.Error as error:
        raise BadInputError(f"'{file}' is not valid CSV: {error}.") from error


def _answers(design: Design, row: Mapping[str, str]) -> Answers:
    answers: Answers = {}
    for question in design.questions:
        cell = row.get(question.id, "")
        values = cell.split("|") if question.kind == "multi_choice" else [cell]
        by_word = {option.label.casefold(): str(option.value) for option in question.choices}
        by_word |= {str(option.value).casefold(): str(option.value) for option in question.choices}
        answer = parse_form_value(question, [by_word.get(value.strip().casefold(), value) for value in values])
        if answer is not None:
            answers[question.id] = answer
    return answers


def _page(study: Study, item: StudyItem, rater: str, answers: Answers) -> AnswerRecord:
    flipped = is_flipped(study, item)
    checked = validate_task_answers(study.design, item, answers, flipped=flipped, check=None)
    return AnswerRecord(rater=rater, item=item.key, answers=checked, flipped=flipped)


spreadsheet = ExchangeFormat(write_template, read_sheet)
