"""Answers as JSON lines or CSV: in full, and back again with nothing lost; or what `editgauge agree` reads of them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from editgauge._util.datasets import read_text
from editgauge._util.documents import read_jsonl
from editgauge._util.fields import describe_unknown, format_value
from editgauge._util.files import open_text, write_jsonl, write_text
from editgauge._util.text import csv_text, from_csv_text
from editgauge.analysis.ratings import CHOICE_FIELDS, RATING_FIELDS
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.studies.design import Answers, Design, parse_form_value
from editgauge.studies.exchange import exchanges
from editgauge.studies.raters import find_rater
from editgauge.studies.records import AnswerRecord, Version, format_time, parse_time, rating_of, records
from editgauge.studies.study import Study

FORMS = ("ratings", "choices", "answers")
DEFAULT_FORM = {"outcome": "ratings", "pair": "choices", "attributes": "answers"}
SUFFIXES = (".jsonl", ".csv")
ANSWER_PREFIX = "answer."
"""How the columns of answers begin in CSV."""
METADATA_COLUMNS = (
    *("rater", "item", "kind", "edit", "edit_type", "compared", "state", "flipped", "number", "check"),
    *("claimed", "done", "flags", "passed", "excluded", "history"),
)
JSON_COLUMNS = ("compared", "flags", "flipped", "number", "passed", "history")
"""Columns whose cells are JSON; the others are plain words."""


def write_export(
    study: Study,
    out: Path,
    form: str | None = None,
    *,
    question: str | None = None,
    rater: str | None = None,
    url: str | None = None,
) -> int:
    """Write the answers to a file and return the number of lines."""
    form = form or DEFAULT_FORM[study.design.unit]
    if form not in FORMS:
        if form not in exchanges:
            raise UnknownNameError("form of export", form, [*FORMS, *exchanges])
        return exchanges.get(form).write(study, out, url)
    if out.suffix not in SUFFIXES:
        raise BadInputError(f"'{out}' must end with .jsonl or .csv, so that it is clear how to write it.")
    with study.database.read() as session:
        pages = list(records(session, find_rater(session, rater).name if rater else None))
    is_table = out.suffix == ".csv"
    counted = (page for page in pages if page.counts)
    columns: Sequence[str]
    if form == "answers":
        lines = [_cells(page) if is_table else _fields(page) for page in pages]
        columns = [*METADATA_COLUMNS, *(ANSWER_PREFIX + name for name in study.design.all_questions)]
    elif form == "ratings":
        lines, columns = list(_ratings(counted, study.design, question)), RATING_FIELDS
    else:
        lines, columns = list(_choices(counted, study.design, question)), CHOICE_FIELDS
    if not lines and form != "answers":
        raise BadInputError(
            f"There are no {form} yet. `editgauge study status {study.folder}` shows how far the study is."
        )
    if is_table:
        write_text(out, _csv(lines, columns))
    else:
        write_jsonl(out, lines)
    return len(lines)


def _ratings(pages: Iterable[AnswerRecord], design: Design, question: str | None) -> Iterator[dict[str, Any]]:
    """Yield one line per page and numeric question."""
    if design.unit != "outcome":
        raise BadInputError(
            f"A design with the unit '{design.unit}' gives no ratings of outcomes; export choices or answers."
        )
    if question is not None and design.question(question) is None:
        raise UnknownNameError("question in this design", question, [item.id for item in design.questions])
    for page in pages:
        (outcome,) = page.compared
        for name, answer in page.answers.items():
            value = rating_of(design, name, answer)
            if value is not None and question in (None, name):
                line = {"edit": page.edit, "method": outcome["method"], "value": value}
                line |= {"rater": page.rater, "question": name, "seed": outcome["seed"]}
                yield line | ({} if page.probability is None else {"probability": page.probability})


def _choices(pages: Iterable[AnswerRecord], design: Design, question: str | None) -> Iterator[dict[str, Any]]:
    """Yield one line per page."""
    side_question = _side_question(design, question)
    for page in pages:
        first, second = page.compared
        pair = {"edit": page.edit, "first": first["method"], "second": second["method"]}
        if side_question in page.answers:
            yield pair | {"chosen": page.answers[side_question], "rater": page.rater}


def _side_question(design: Design, question: str | None) -> str:
    if design.unit != "pair":
        raise BadInputError(f"A design with the unit '{design.unit}' gives no choices; export ratings or answers.")
    sided = [item.id for item in design.sided]
    if question is None and len(sided) > 1:
        raise BadInputError(
            f"The design asks for a side {len(sided)} times: choose one with `question` ({', '.join(sided)})."
        )
    if question is not None and question not in sided:
        raise UnknownNameError("question about sides in this design", question, sided)
    return question or sided[0]


def _fields(record: AnswerRecord) -> dict[str, Any]:
    fields = asdict(record)
    del fields["probability"]  # known about the item, in the study that the answers come from and go to
    fields |= {"claimed": format_time(record.claimed), "done": format_time(record.done)}
    return fields | {"history": [asdict(item) | {"at": format_time(item.at)} for item in record.history]}


def _cells(record: AnswerRecord) -> dict[str, Any]:
    """Flatten a record to a table row with one column per question."""
    fields = _fields(record)
    cells = {
        name: json.dumps(fields[name], ensure_ascii=False) if name in JSON_COLUMNS else str(fields[name] or "")
        for name in METADATA_COLUMNS
    }
    answers = record.answers.items()
    return cells | {
        ANSWER_PREFIX + name: "|".join(item) if isinstance(item, list) else str(item) for name, item in answers
    }


def _csv(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> str:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, columns, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: csv_text(cell) if isinstance(cell, str) else cell for name, cell in row.items()})
    return out.getvalue()


def read_answers(file: Path, design: Design) -> list[AnswerRecord]:
    """Read pages from a file; raise `BadInputError` that lists all problems by line."""
    if file.suffix not in SUFFIXES:
        raise BadInputError(f"'{file}' must end with .csv or .jsonl, so that it is clear how to read it.")
    problems: list[str] = []
    answer_records: list[AnswerRecord] = []
    rows = _csv_rows(file, design, problems) if file.suffix == ".csv" else _jsonl_rows(file, problems)
    for line, values in rows:
        try:
            answer_records.append(_record(values))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            lacking = f"'{error.args[0]}' is missing" if isinstance(error, KeyError) else str(error)
            problems.append(f"{file.name}:{line}: {lacking}")
    if problems:
        raise BadInputError(f"The answers in '{file}' have problems.", problems)
    if not answer_records:
        raise BadInputError(f"'{file}' holds no answers.")
    return answer_records


def _jsonl_rows(file: Path, problems: list[str]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    document = read_jsonl(read_text(file), file.name)
    problems += document.problems()
    for location, values in document.entries():
        if isinstance(values, dict):
            yield location.line, values
        else:
            problems.append(f"{file.name}:{location.line}: must be a mapping, got {format_value(values)}")


def _csv_rows(file: Path, design: Design, problems: list[str]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    with open_text(file, "utf-8-sig") as opened:
        reader = csv.DictReader(opened)
        try:
            questions = [*design.all_questions, *(ANSWER_PREFIX + name for name in design.all_questions)]
            unknown = [name for name in reader.fieldnames or () if name not in (*METADATA_COLUMNS, *questions)]
            problems += [f"{file.name}:1: {describe_unknown('column', name, questions)}" for name in unknown]
            for row in reader:
                yield reader.line_num, _from_cells(row, design)
        except (csv.Error, ValueError) as error:
            problems.append(f"{file.name}:{reader.line_num}: not valid CSV: {error}")


def _from_cells(row: Mapping[str, str | None], design: Design) -> dict[str, Any]:
    cells = {name: from_csv_text(cell) for name, cell in row.items() if name and cell}
    values: dict[str, Any] = {
        n: json.loads(c) if n in JSON_COLUMNS else c for n, c in cells.items() if n in METADATA_COLUMNS
    }
    answers: Answers = {}
    for name, question in design.all_questions.items():
        cell = cells.get(ANSWER_PREFIX + name) or ("" if name in METADATA_COLUMNS else cells.get(name, ""))
        answer = parse_form_value(question, cell.split("|") if question.kind == "multi_choice" else [cell])
        if answer is not None:
            answers[name] = answer
    return values | {"answers": answers}


def _record(values: Mapping[str, Any]) -> AnswerRecord:
    for name in ("rater", "item"):
        if not isinstance(values[name], str) or not values[name]:
            raise ValueError(f"'{name}' must be a text, got {format_value(values[name])}")
    if not isinstance(values["answers"], dict):
        raise ValueError(f"'answers' must be a mapping, got {format_value(values['answers'])}")
    unknown = sorted(set(values) - set(METADATA_COLUMNS) - {"answers"})
    if unknown:
        raise ValueError(
            f"there is no field {format_value(unknown[0])}; there are: answers, {', '.join(METADATA_COLUMNS)}"
        )
    fields = {name: value for name, value in values.items() if value is not None}
    fields |= {name: parse_time(fields[name]) for name in ("claimed", "done") if name in fields}
    fields |= {name: tuple(fields[name]) for name in ("compared", "flags") if name in fields}
    fields["history"] = tuple(
        Version(entry["question"], entry["version"], entry["value"], parse_time(entry["at"]) or 0.0)
        for entry in fields.get("history", ())
    )
    return AnswerRecord(**fields)
