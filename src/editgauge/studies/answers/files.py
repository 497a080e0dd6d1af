"""Answered pages as JSON lines or CSV, and back again: nothing is lost on the way."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from editgauge.core.errors import BadInput
from editgauge.core.files import open_text
from editgauge.core.reading.fields import shown
from editgauge.core.reading.lines import read_jsonl
from editgauge.core.reading.sources import read_text
from editgauge.core.text import csv_text, from_csv_text
from editgauge.studies.answers.records import AnswerRecord, Version, as_time, from_time
from editgauge.studies.design import Answers, Design, QuestionFields, from_form

ANSWER = "answer."
"""How the columns of answers begin in CSV."""
BESIDE_ANSWERS = (
    *("rater", "item", "kind", "edit", "edit_type", "compared", "state", "flipped", "number", "check"),
    *("claimed", "done", "flags", "passed", "excluded", "history"),
)
AS_JSON = ("compared", "flags", "flipped", "number", "passed", "history")
"""Columns whose cells are JSON; the others are plain words."""


def to_jsonl(records: Iterable[AnswerRecord]) -> str:
    """One line per page."""
    return "".join(json.dumps(_as_json(record), ensure_ascii=False) + "\n" for record in records)


def to_csv(records: Iterable[AnswerRecord], design: Design) -> str:
    """One row per page, a column per question."""
    questions = _questions(design)
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*BESIDE_ANSWERS, *(ANSWER + name for name in questions)])
    for record in records:
        fields = _as_json(record)
        beside = [_beside(fields[name], name) for name in BESIDE_ANSWERS]
        writer.writerow([*beside, *(_cell(fields["answers"].get(name)) for name in questions)])
    return out.getvalue()


def _cell(answer: Any) -> str:
    if isinstance(answer, list):
        return csv_text("|".join(answer))
    return "" if answer is None else csv_text(str(answer))


def _beside(value: Any, name: str) -> str:
    return json.dumps(value, ensure_ascii=False) if name in AS_JSON else csv_text(str(value or ""))


def _as_json(record: AnswerRecord) -> dict[str, Any]:
    fields = asdict(record)
    del fields["probability"]  # known about the item, in the study that the answers come from and go to
    fields |= {"claimed": as_time(record.claimed), "done": as_time(record.done)}
    return fields | {"history": [asdict(each) | {"at": as_time(each.at)} for each in record.history]}


def _questions(design: Design) -> dict[str, QuestionFields]:
    checks = design.attention.questions if design.attention else []
    return {question.id: question for question in (*design.questions, *checks)}


def read_answers(file: Path, design: Design) -> list[AnswerRecord]:
    """The pages of a file; raises `BadInput` that lists everything wrong with it, line by line."""
    if file.suffix not in (".csv", ".jsonl"):
        raise BadInput(f"'{file}' must end with .csv or .jsonl, so that it is clear how to read it.")
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
        raise BadInput(f"The answers in '{file}' have problems.", problems)
    if not answer_records:
        raise BadInput(f"'{file}' holds no answers.")
    return answer_records


def _jsonl_rows(file: Path, problems: list[str]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    document = read_jsonl(read_text(file), file.name)
    problems += document.problems()
    for place, values in enumerate(document.value["edits"] if document.value else ()):
        line = document.lines.find(("edits", place))
        if isinstance(values, dict):
            yield line, values
        else:
            problems.append(f"{file.name}:{line}: must be a mapping, got {shown(values)}")


def _csv_rows(file: Path, design: Design, problems: list[str]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    with open_text(file, "utf-8-sig") as opened:
        reader = csv.DictReader(opened)
        try:
            for row in reader:
                yield reader.line_num, _from_cells(row, design)
        except (csv.Error, ValueError) as error:
            problems.append(f"{file.name}:{reader.line_num}: not valid CSV: {error}")


def _from_cells(row: Mapping[str, str | None], design: Design) -> dict[str, Any]:
    cells = {name: from_csv_text(cell) for name, cell in row.items() if name and cell}
    values: dict[str, Any] = {n: json.loads(c) if n in AS_JSON else c for n, c in cells.items() if n in BESIDE_ANSWERS}
    answers: Answers = {}
    for name, question in _questions(design).items():
        cell = cells.get(ANSWER + name, "")
        answer = from_form(question, cell.split("|") if question.kind == "multi_choice" else [cell])
        if answer is not None:
            answers[name] = answer
    return values | {"answers": answers}


def _record(values: Mapping[str, Any]) -> AnswerRecord:
    for name in ("rater", "item"):
        if not isinstance(values[name], str) or not values[name]:
            raise ValueError(f"'{name}' must be a text, got {shown(values[name])}")
    if not isinstance(values["answers"], dict):
        raise ValueError(f"'answers' must be a mapping, got {shown(values['answers'])}")
    unknown = sorted(set(values) - set(BESIDE_ANSWERS) - {"answers"})
    if unknown:
        raise ValueError(f"there is no field {shown(unknown[0])}; there are: answers, {', '.join(BESIDE_ANSWERS)}")
    fields = {name: value for name, value in values.items() if value is not None}
    fields |= {name: from_time(fields[name]) for name in ("claimed", "done") if name in fields}
    fields |= {name: tuple(fields[name]) for name in ("compared", "flags") if name in fields}
    fields["history"] = tuple(
        Version(one["question"], one["version"], one["value"], from_time(one["at"]) or 0.0)
        for one in fields.get("history", ())
    )
    return AnswerRecord(**fields)
