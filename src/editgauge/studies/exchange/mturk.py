"""Amazon Mechanical Turk: write the layout and input of a batch, read its results and propose who is paid.

Checked against Amazon's Requester UI Guide ("Create a project", "Publish a batch of HITs"), the Developer Guide's
crowd-form examples, and the API Reference (CreateHITType, QualificationRequirement).
"""

from __future__ import annotations

import csv
import html
import io
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from markupsafe import Markup

from editgauge._render.text import open_templates
from editgauge._util.datasets import read_text
from editgauge._util.fields import format_value
from editgauge._util.files import write_text
from editgauge._util.progress import log_info
from editgauge.errors import BadAnswersError, BadInputError
from editgauge.studies.design import Answers, Design, DesignQuestion, QuestionFields, parse_form_value
from editgauge.studies.design._fields import MAX_TEXT_CHARACTERS, MTurk
from editgauge.studies.exchange import ExchangeFormat
from editgauge.studies.exchange._tasks import (
    ExportedTask,
    image_base_url,
    item_texts,
    items_by_name,
    new_folder,
    open_tasks,
    pseudonym,
    validate_task_answers,
)
from editgauge.studies.raters import flags_of, wrong_answers
from editgauge.studies.records import AnswerRecord
from editgauge.studies.store import StudyItem
from editgauge.studies.study import Study

APPROVED_SHARE, APPROVED_COUNT = "000000000000000000L0", "00000000000000000040"
"""Amazon's names for the percentage of a worker's assignments, and the number of HITs, that were approved."""
DAY = 86400


def write_batch(study: Study, out: Path, url: str | None) -> int:
    """Write the open items as `layout.html`, `input.csv` and `hit.json`, one HIT each; return the number of HITs."""
    terms = study.design.mturk
    if terms is None:
        raise BadInputError("The design does not say what a HIT pays: give it 'mturk: {reward: 0.15}' (US dollars).")
    address = image_base_url(url, "Mechanical Turk")
    tasks = open_tasks(study)
    folder = new_folder(out)
    rows = [_row(study.design, task, address) for task in tasks]
    write_text(folder / "layout.html", layout(study.design))
    write_text(folder / "input.csv", quoted_csv(list(rows[0]), rows))
    hit = properties(study.design, terms, study.manifest.raters)
    write_text(folder / "hit.json", json.dumps(hit, indent=2, ensure_ascii=False) + "\n")
    return len(tasks)


def layout(design: Design) -> str:
    """Render the workers' page with placeholders for the columns of `input.csv`."""
    environment = open_templates(__package__ or "")
    environment.filters["literal"] = literal
    return environment.get_template("mturk.html.j2").render(
        design=design,
        whens={question.id: _when(question) for question in design.all_questions.values()},
        quote=lambda question: f"${{quote_{question.id}}}" if getattr(question, "quote", None) else "",
        prefill=lambda question: f"${{prefill_{question.id}}}" if question.prefill else "",
        longest=MAX_TEXT_CHARACTERS,
    )


def _when(question: QuestionFields) -> Markup:
    conditions = question.when if isinstance(question, DesignQuestion) else {}
    return literal(json.dumps({name: [str(value) for value in values] for name, values in conditions.items()}))


def literal(text: str) -> Markup:
    """Escape a text for the platform, which expands `${…}` and lacks characters beyond the basic plane.

    >>> literal('say "5 ${n}"')
    Markup('say &quot;5 &#36;{n}&quot;')
    """
    escaped = html.escape(text).replace("$", "&#36;").replace("\r", "&#13;").replace("\n", "&#10;")
    return Markup(escaped.encode("ascii", "xmlcharrefreplace").decode())  # noqa: S704 - escaped above


def _row(design: Design, task: ExportedTask, address: str) -> dict[str, str]:
    page = task.page
    row = {"item": task.name, "flipped": "yes" if task.flipped else "no", "check": task.check or ""}
    row |= {"hidden": " ".join(task.not_asked), "text": literal(page.text)}
    row |= {picture.role: address + picture.name for picture in page.pictures}
    if page.left is not None and page.right is not None:
        row |= {"left": literal(page.left), "right": literal(page.right)}
    return row | {name: literal(words) for name, words in item_texts(design, page).items()}


def properties(design: Design, terms: MTurk, raters: int) -> dict[str, Any]:
    """Return the project's properties under the names of CreateHIT, so that a script can pass them on."""
    needs = ((APPROVED_SHARE, terms.approval_above), (APPROVED_COUNT, terms.hits_above))
    return {
        "Title": design.title,
        "Description": design.about,
        "Keywords": "image, picture, comparison, rating",
        "Reward": f"{terms.reward:.2f}",
        "MaxAssignments": raters,
        "AssignmentDurationInSeconds": 60 * terms.minutes,
        "AutoApprovalDelayInSeconds": DAY * terms.approve_after_days,
        "LifetimeInSeconds": DAY * terms.active_days,
        "QualificationRequirements": [
            {"QualificationTypeId": kind, "Comparator": "GreaterThan", "IntegerValues": [least]}
            for kind, least in needs
            if least is not None
        ],
    }


REQUIRED_COLUMNS = ("AssignmentId", "WorkerId", "AssignmentStatus", "Input.item", "Input.flipped", "Input.check")
APPROVE, REJECT = "Approve", "Reject"
TASK_ANSWERS_COLUMN = "Answer.taskAnswers"
EXTRA_CELLS = ""
"""Key of cells that have no column."""
UTC_OFFSETS = {"UTC": 0, "GMT": 0, "PST": -8, "PDT": -7}
"""Hours of the time zones that Amazon writes."""
Row = dict[str, str]


@dataclass(frozen=True, slots=True)
class AssessedAssignment:
    """One assignment: the page it gives, or why it gives nassignment."""

    row: Row
    page: AnswerRecord | None
    failed_gold: bool = False
    problem: str = ""


def read_results(study: Study, file: Path) -> list[AnswerRecord]:
    """Read the pages that fit the study; the rest is reported and proposed for rejection in the reviewed copy."""
    columns, rows = _rows(file)
    items = items_by_name(study)
    unknown = [row["Input.item"] for row in rows if row["Input.item"] not in items]
    if unknown:
        raise BadInputError(f"'{file}' is of another study: this one has no item {format_value(unknown[0])}.")
    assessed = [_assess(study, items[row["Input.item"]], row) for row in rows if row["AssignmentStatus"] != "Rejected"]
    exclusions = _exclusions(study.design, assessed)
    reviewed = file.with_name(f"{file.stem}.reviewed.csv")
    write_text(reviewed, _reviewed(columns, rows, assessed, exclusions))
    pages = [
        replace(assignment.page, excluded=exclusions.get(assignment.page.rater, ""))
        for assignment in assessed
        if assignment.page
    ]
    left_out = "".join(
        f" {assignment.row['AssignmentId']} is left out: {assignment.problem}."
        for assignment in assessed
        if assignment.problem
    )
    log_info(f"{reviewed}: {len(pages)} of {len(rows)} assignments fit; look at it, then upload it.{left_out}")
    return pages


def _rows(file: Path) -> tuple[list[str], list[Row]]:
    reader = csv.DictReader(
        io.StringIO(read_text(file).removeprefix("\ufeff"), newline=""), restkey=EXTRA_CELLS, restval=""
    )
    try:
        rows = [dict(row) for row in reader]
    except csv.Error as error:
        raise BadInputError(f"'{file}' is not valid CSV: {error}.") from error
    columns = list(reader.fieldnames or ())
    lacking = [name for name in REQUIRED_COLUMNS if name not in columns]
    if lacking:
        raise BadInputError(
            f"'{file}' is no results file of this study's batch: it lacks {', '.join(lacking)}. "
            "On the Requester site, open the batch and choose Download CSV."
        )
    if not rows:
        raise BadInputError(f"'{file}' holds no assignments yet.")
    if any(EXTRA_CELLS in row for row in rows):
        raise BadInputError(f"A row of '{file}' has more cells than the header has names; download it again.")
    return columns, rows


def _assess(study: Study, item: StudyItem, row: Row) -> AssessedAssignment:
    flipped, check = row["Input.flipped"] == "yes", row["Input.check"] or None
    try:
        answers = validate_task_answers(study.design, item, answers_of(study.design, row), flipped=flipped, check=check)
    except BadAnswersError as error:
        return AssessedAssignment(row, None, problem=str(error))
    seconds = _number(row.get("WorkTimeInSeconds", ""))
    done = _parse_time(row.get("SubmitTime", ""))
    page = AnswerRecord(
        rater=f"mturk-{pseudonym(study, row['WorkerId'])}",
        item=item.key,
        answers=answers,
        flipped=flipped,
        check=check,
        done=done,
        claimed=None if done is None or seconds is None else done - seconds,
        flags=flags_of(study.design, answers, check, seconds),
    )
    failed = item.right is not None and bool(wrong_answers(study.design, answers, item.right))
    return AssessedAssignment(row, page, failed_gold=failed)


def answers_of(design: Design, row: Mapping[str, str]) -> Answers:
    """Collect the answers of a worker's form by question."""
    fields = _from_json(row) if row.get(TASK_ANSWERS_COLUMN) else _from_columns(row)
    answers: Answers = {}
    for question in design.all_questions.values():
        words = [fields.get(question.id, "")]
        if question.kind == "multi_choice":
            ticked = (fields.get(f"{question.id}--{index}") for index in range(len(question.options)))
            words = [str(option.value) for option, tick in zip(question.options, ticked, strict=True) if tick]
        answer = parse_form_value(question, words)
        if answer is not None:
            answers[question.id] = answer
    return answers


def _from_columns(row: Mapping[str, str]) -> dict[str, str]:
    fields: dict[str, str] = {}
    for column, cell in row.items():
        name, _, value = column.removeprefix("Answer.").partition(".")
        if not column.startswith("Answer.") or not cell:
            continue
        if not value:
            fields[name] = cell
        elif cell.lower() == "true":
            fields[name] = value
    return fields


def _from_json(row: Mapping[str, str]) -> dict[str, str]:
    try:
        (answers,) = json.loads(row[TASK_ANSWERS_COLUMN])
        return {name: _selected_option(value) for name, value in answers.items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise BadInputError(
            f"{TASK_ANSWERS_COLUMN} of the assignment {row['AssignmentId']} cannot be read: {error}."
        ) from error


def _selected_option(value: Any) -> str:
    if isinstance(value, dict):
        return next((name for name, is_selected in value.items() if is_selected is True), "")
    return value if isinstance(value, str) else ""


def _exclusions(design: Design, assessed: Iterable[AssessedAssignment]) -> dict[str, str]:
    """Raters who failed too many gold items or attention checks, and why they are excluded."""
    pages = [(assignment.page, assignment.failed_gold) for assignment in assessed if assignment.page]
    gold = Counter(page.rater for page, failed in pages if failed)
    attention = Counter(page.rater for page, _ in pages if "attention_failed" in page.flags)
    most = design.attention.exclude_after if design.attention else None
    excluded = {rater: f"failed {n} attention checks" for rater, n in attention.items() if most and n >= most}
    return excluded | {rater: f"failed {n} gold items" for rater, n in gold.items() if n >= design.gold.exclude_after}


def _reviewed(
    columns: list[str], rows: list[Row], assessed: Iterable[AssessedAssignment], exclusions: Mapping[str, str]
) -> str:  # fmt: skip
    reasons = {assignment.row["AssignmentId"]: _rejection(assignment, exclusions) for assignment in assessed}
    for row in rows:
        if row["AssignmentStatus"] == "Submitted":
            reason = reasons[row["AssignmentId"]]
            row |= {APPROVE: "" if reason else "X", REJECT: reason}
    return quoted_csv([*columns, *(name for name in (APPROVE, REJECT) if name not in columns)], rows)


def quoted_csv(columns: Sequence[str], rows: Iterable[Mapping[str, str]]) -> str:
    """Format a table as Amazon does: every cell quoted."""
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, columns, quoting=csv.QUOTE_ALL, lineterminator="\r\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _rejection(assignment: AssessedAssignment, exclusions: Mapping[str, str]) -> str:
    if assignment.page is None:
        return f"The form was not completed as required ({assignment.problem})."
    why = exclusions.get(assignment.page.rater, "")
    return f"Control questions were answered wrongly ({why})." if why else ""


def _number(text: str) -> float | None:
    return float(text) if text.replace(".", "", 1).isdecimal() else None


def _parse_time(text: str) -> float | None:
    """Seconds since 1970 of a time such as `Wed Mar 01 11:23:45 PST 2017`; None when it is written otherwise."""
    words = text.split()
    if len(words) != 6 or words[4] not in UTC_OFFSETS:
        return None
    zone = timezone(timedelta(hours=UTC_OFFSETS[words[4]]))
    moment = datetime.strptime(" ".join([*words[:4], words[5]]), "%a %b %d %H:%M:%S %Y")
    return moment.replace(tzinfo=zone).timestamp()


mturk = ExchangeFormat(write_batch, read_results)
