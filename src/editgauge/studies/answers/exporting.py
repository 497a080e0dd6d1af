"""Ratings and choices in the form that `editgauge agree` reads, and full answers."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from editgauge.core.errors import BadInput, UnknownName
from editgauge.core.files import write_text
from editgauge.core.text import csv_text
from editgauge.findings.people.ratings import CHOICE_FIELDS, RATING_FIELDS
from editgauge.studies.answers.files import to_csv, to_jsonl
from editgauge.studies.answers.records import AnswerRecord, rating_of, records
from editgauge.studies.design import Design
from editgauge.studies.exchange import exchanges
from editgauge.studies.raters import find_rater
from editgauge.studies.study import Study

FORMS = ("ratings", "choices", "answers")
USUAL_FORM = {"outcome": "ratings", "pair": "choices", "attributes": "answers"}
SUFFIXES = (".jsonl", ".csv")


def write_export(
    study: Study, out: Path, form: str | None, question: str | None, rater: str | None, url: str | None = None
) -> int:
    """Writes the file; says how many lines it has."""
    form = form or USUAL_FORM[study.design.unit]
    if form not in FORMS:
        if form not in exchanges:
            raise UnknownName("form of export", form, [*FORMS, *exchanges])
        return exchanges.get(form).write(study, out, url)
    if out.suffix not in SUFFIXES:
        raise BadInput(f"'{out}' must end with .jsonl or .csv, so that it is clear how to write it.")
    with study.database.read() as session:
        name = find_rater(session, rater).name if rater else None
        pages = list(records(session, name))
    if form == "answers":
        write_text(out, to_csv(pages, study.design) if out.suffix == ".csv" else to_jsonl(pages))
        return len(pages)
    rows = ratings(pages, study.design, question) if form == "ratings" else choices(pages, study.design, question)
    lines = list(rows)
    if not lines:
        raise BadInput(f"There are no {form} yet. `editgauge study status {study.folder}` shows how far the study is.")
    fields = RATING_FIELDS if form == "ratings" else CHOICE_FIELDS
    write_text(out, _csv(lines, fields) if out.suffix == ".csv" else _jsonl(lines))
    return len(lines)


def ratings(pages: Iterable[AnswerRecord], design: Design, question: str | None = None) -> Iterator[dict[str, Any]]:
    """What counts, a line per page and question that has a number; gold items are no ratings."""
    if design.unit != "outcome":
        raise BadInput(
            f"A design with the unit '{design.unit}' gives no ratings of outcomes; export choices or answers."
        )
    if question is not None and design.question(question) is None:
        raise UnknownName("question in this design", question, [each.id for each in design.questions])
    for page in _counted(pages):
        (shown,) = page.compared
        for name, answer in page.answers.items():
            value = rating_of(design, name, answer)
            if value is not None and question in (None, name):
                line = {"edit": page.edit, "method": shown["method"], "value": value}
                line |= {"rater": page.rater, "question": name, "seed": shown["seed"]}
                yield line | ({} if page.probability is None else {"probability": page.probability})


def choices(pages: Iterable[AnswerRecord], design: Design, question: str | None = None) -> Iterator[dict[str, Any]]:
    """What counts, a line per page."""
    side_question = _side_question(design, question)
    for page in _counted(pages):
        first, second = page.compared
        pair = {"edit": page.edit, "first": first["method"], "second": second["method"]}
        if side_question in page.answers:
            yield pair | {"chosen": page.answers[side_question], "rater": page.rater}


def _side_question(design: Design, question: str | None) -> str:
    if design.unit != "pair":
        raise BadInput(f"A design with the unit '{design.unit}' gives no choices; export ratings or answers.")
    sided = [each.id for each in design.questions if each.kind == "pick_side"]
    if question is None and len(sided) > 1:
        raise BadInput(
            f"The design asks for a side {len(sided)} times: say which with --question ({', '.join(sided)})."
        )
    if question is not None and question not in sided:
        raise UnknownName("question about sides in this design", question, sided)
    return question or sided[0]


def _counted(pages: Iterable[AnswerRecord]) -> Iterator[AnswerRecord]:
    return (page for page in pages if page.state == "done" and page.kind == "rated")


def _jsonl(lines: Iterable[dict[str, Any]]) -> str:
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def _csv(lines: Iterable[dict[str, Any]], fields: Iterable[str]) -> str:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(fields), lineterminator="\n")
    writer.writeheader()
    for line in lines:
        writer.writerow({name: csv_text(cell) if isinstance(cell, str) else cell for name, cell in line.items()})
    return out.getvalue()
