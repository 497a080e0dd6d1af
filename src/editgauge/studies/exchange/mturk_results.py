"""The results of a batch on Mechanical Turk: answers in, and who is paid.

The columns are those of the files that the Requester site gives under "Download CSV" (HITId, AssignmentId, WorkerId,
AssignmentStatus, SubmitTime, WorkTimeInSeconds, Input.*, Answer.*, Approve, Reject), as published batches have them and
the Requester UI Guide describes them ("Review assignments offline": an X approves, a reason in Reject rejects). Answers
of a crowd-form come as `Answer.NAME`, as `Answer.NAME.VALUE` with true or false, or as JSON in `Answer.taskAnswers`.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from editgauge._util.datasets import read_text
from editgauge._util.fields import format_value
from editgauge._util.files import write_text
from editgauge._util.progress import log_info
from editgauge.errors import BadInputError
from editgauge.studies.answers.records import AnswerRecord
from editgauge.studies.design import Answers, Design, parse_form_value
from editgauge.studies.errors import BadAnswersError
from editgauge.studies.exchange.tasks import items_by_name, pseudonym, validate_task_answers
from editgauge.studies.quality import flags_of, wrong_answers
from editgauge.studies.store import StudyItem
from editgauge.studies.study import Study

REQUIRED_COLUMNS = ("AssignmentId", "WorkerId", "AssignmentStatus", "Input.item", "Input.flipped", "Input.check")
APPROVE, REJECT = "Approve", "Reject"
TASK_ANSWERS_COLUMN = "Answer.taskAnswers"
REST = ""
"""Where cells go that have no column."""
HOURS = {"UTC": 0, "GMT": 0, "PST": -8, "PDT": -7}
"""Amazon writes its times in one of these zones."""
Row = dict[str, str]


@dataclass(frozen=True, slots=True)
class AssessedAssignment:
    """One assignment: the page it gives, or why it gives none."""

    row: Row
    page: AnswerRecord | None
    failed_gold: bool = False
    why_not: str = ""


def read_results(study: Study, file: Path) -> list[AnswerRecord]:
    """Read the pages that fit the study; the rest is reported and proposed for rejection in the reviewed copy."""
    columns, rows = _rows(file)
    items = items_by_name(study)
    strange = [row["Input.item"] for row in rows if row["Input.item"] not in items]
    if strange:
        raise BadInputError(f"'{file}' is of another study: this one has no item {format_value(strange[0])}.")
    assessed = [_assess(study, items[row["Input.item"]], row) for row in rows if row["AssignmentStatus"] != "Rejected"]
    dismissed = _dismissed(study.design, assessed)
    reviewed = file.with_name(f"{file.stem}.reviewed.csv")
    write_text(reviewed, _reviewed(columns, rows, assessed, dismissed))
    pages = [replace(one.page, excluded=dismissed.get(one.page.rater, "")) for one in assessed if one.page]
    left_out = "".join(f" {one.row['AssignmentId']} is left out: {one.why_not}." for one in assessed if one.why_not)
    log_info(f"{reviewed}: {len(pages)} of {len(rows)} assignments fit; look at it, then upload it.{left_out}")
    return pages


def _rows(file: Path) -> tuple[list[str], list[Row]]:
    reader = csv.DictReader(io.StringIO(read_text(file).removeprefix("\ufeff"), newline=""), restkey=REST, restval="")
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
    if any(REST in row for row in rows):
        raise BadInputError(f"A row of '{file}' has more cells than the header has names; download it again.")
    return columns, rows


def _assess(study: Study, item: StudyItem, row: Row) -> AssessedAssignment:
    flipped, check = row["Input.flipped"] == "yes", row["Input.check"] or None
    try:
        answers = validate_task_answers(study.design, item, answers_of(study.design, row), flipped=flipped, check=check)
    except BadAnswersError as error:
        return AssessedAssignment(row, None, why_not=str(error))
    seconds = _number(row.get("WorkTimeInSeconds", ""))
    done = _moment(row.get("SubmitTime", ""))
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
    fields = _all_at_once(row) if row.get(TASK_ANSWERS_COLUMN) else _by_column(row)
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


def _by_column(row: Mapping[str, str]) -> dict[str, str]:
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


def _all_at_once(row: Mapping[str, str]) -> dict[str, str]:
    try:
        (answers,) = json.loads(row[TASK_ANSWERS_COLUMN])
        return {name: _chosen(value) for name, value in answers.items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise BadInputError(
            f"{TASK_ANSWERS_COLUMN} of the assignment {row['AssignmentId']} cannot be read: {error}."
        ) from error


def _chosen(value: Any) -> str:
    if isinstance(value, dict):
        return next((name for name, is_selected in value.items() if is_selected is True), "")
    return value if isinstance(value, str) else ""


def _dismissed(design: Design, assessed: Iterable[AssessedAssignment]) -> dict[str, str]:
    """Raters who failed too many gold items or attention checks, and why they are excluded."""
    pages = [(one.page, one.failed_gold) for one in assessed if one.page]
    gold = Counter(page.rater for page, failed in pages if failed)
    attention = Counter(page.rater for page, _ in pages if "attention_failed" in page.flags)
    most = design.attention.exclude_after if design.attention else None
    excluded = {rater: f"failed {n} attention checks" for rater, n in attention.items() if most and n >= most}
    return excluded | {rater: f"failed {n} gold items" for rater, n in gold.items() if n >= design.gold.exclude_after}


def _reviewed(
    columns: list[str], rows: list[Row], assessed: Iterable[AssessedAssignment], dismissed: Mapping[str, str]
) -> str:  # fmt: skip
    reasons = {one.row["AssignmentId"]: _rejection(one, dismissed) for one in assessed}
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


def _rejection(one: AssessedAssignment, dismissed: Mapping[str, str]) -> str:
    if one.page is None:
        return f"The form was not completed as required ({one.why_not})."
    why = dismissed.get(one.page.rater, "")
    return f"Control questions were answered wrongly ({why})." if why else ""


def _number(text: str) -> float | None:
    return float(text) if text.replace(".", "", 1).isdecimal() else None


def _moment(text: str) -> float | None:
    """Seconds since 1970 of a time such as `Wed Mar 01 11:23:45 PST 2017`; None when it is written otherwise."""
    words = text.split()
    if len(words) != 6 or words[4] not in HOURS:
        return None
    zone = timezone(timedelta(hours=HOURS[words[4]]))
    moment = datetime.strptime(" ".join([*words[:4], words[5]]), "%a %b %d %H:%M:%S %Y")
    return moment.replace(tzinfo=zone).timestamp()
