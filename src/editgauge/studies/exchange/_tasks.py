"""The items of a study as tasks for another tool, under neutral names; and whose answers come back."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import or_, select

from editgauge.errors import BadInputError
from editgauge.studies._pages import Page, page_questions, preview, to_item_sides
from editgauge.studies.assignment import draw, is_turn
from editgauge.studies.design import Answers, Design, validate_answers
from editgauge.studies.store import StudyItem
from editgauge.studies.study import Study

PSEUDONYM_LENGTH = 16
"""Signs of a name made by hashing: no two of a million are alike."""


@dataclass(frozen=True, slots=True)
class ExportedTask:
    """One item as another tool shows it; the same to everybody there."""

    name: str
    """Leads back to the item, and tells neither method nor edit."""
    flipped: bool
    check: str | None
    page: Page
    not_asked: tuple[str, ...]
    """Questions of the design that make no sense for this edit."""


def open_tasks(study: Study) -> list[ExportedTask]:
    """Return the items that still need raters and all gold items, in the study's random order."""
    query = (
        select(StudyItem)
        .where(or_(StudyItem.is_open, StudyItem.kind == "gold"))
        .order_by(StudyItem.shuffle, StudyItem.id)
    )
    with study.database.read() as session:
        items = session.scalars(query).all()
        tasks = [_task(study, index, item) for index, item in enumerate(items, start=1)]
    if not tasks:
        raise BadInputError(f"All items of '{study.folder}' have their raters already; there is nothing to assign.")
    return tasks


def _task(study: Study, index: int, item: StudyItem) -> ExportedTask:
    seed = study.manifest.seed
    flipped = is_flipped(study, item)
    attention = study.design.attention
    check = None
    if attention and is_turn(attention.every, index, seed, "attention elsewhere"):
        check = attention.questions[draw(len(attention.questions), seed, "check elsewhere", item.key)].id
    page = preview(study.design, item, number=index, flipped=flipped, check=check)
    question_ids = {question.id for question in page.questions}
    missing = tuple(question.id for question in study.design.questions if question.id not in question_ids)
    return ExportedTask(pseudonym(study, item.key), flipped, check, page, missing)


def is_flipped(study: Study, item: StudyItem) -> bool:
    """Return whether other tools show the second of a pair on the left."""
    return len(item.content["compared"]) == 2 and draw(2, study.manifest.seed, "side elsewhere", item.key) == 1


def item_texts(design: Design, page: Page) -> dict[str, str]:
    """Return the texts an item inserts into questions: introductions and quoted texts; empty if not asked.

    The names are `prefill_QUESTION` and `quote_QUESTION`.
    """
    page_questions = {question.id: question for question in page.questions}
    columns = [
        (question.id, part) for part in ("prefill", "quote") for question in design.questions if getattr(question, part)
    ]
    return {
        f"{part}_{name}": getattr(page_questions[name], part) if name in page_questions else ""
        for name, part in sorted(columns)
    }


def items_by_name(study: Study) -> dict[str, StudyItem]:
    """Return the study's items by their task names."""
    with study.database.read() as session:
        items = session.scalars(select(StudyItem)).all()
        session.expunge_all()
    return {pseudonym(study, item.key): item for item in items}


def pseudonym(study: Study, words: str) -> str:
    """Derive a short pseudonym that hides a worker, or the method an item shows.

    Keyed with the study's own random name, so that a worker's number cannot be found by hashing all numbers.
    """
    key, message = study.manifest.study.encode(), words.encode("utf-8", "surrogatepass")
    return hmac.new(key, message, hashlib.sha256).hexdigest()[:PSEUDONYM_LENGTH]


def validate_task_answers(
    design: Design, item: StudyItem, values: Mapping[str, Any], *, flipped: bool, check: str | None
) -> Answers:
    """Return the answers as a study stores them; raise `BadAnswersError` with all problems.

    A tool that cannot hide a question from some items may send an answer to it: that is no answer.
    """
    questions, checks = page_questions(design, check, item)
    elsewhere = design.all_questions.keys() - {question.id for question in (*questions, *checks)}
    answers = {name: value for name, value in values.items() if name not in elsewhere}
    return to_item_sides(validate_answers(questions, checks, answers), design, flipped=flipped)


def image_base_url(url: str | None, tool: str) -> str:
    """Return the base URL of the images, with a trailing slash."""
    if url is None or not url.startswith(("http://", "https://", "/")):
        got = "none was given" if url is None else f"got '{url}'"
        raise BadInputError(
            f"{tool} shows pictures by their address: put the study's folder 'images' where the raters' browsers reach "
            f"it, and pass that address as `url`, such as https://lab.example/images; {got}."
        )
    return url.rstrip("/") + "/"


def new_folder(out: Path) -> Path:
    """Create the output folder; refuse one with other files."""
    if out.suffix:
        raise BadInputError(f"'{out}' looks like a file; this form of export writes a folder, pass one as `out`.")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise BadInputError(f"'{out}' is there already. Choose another `out`.")
    out.mkdir(parents=True, exist_ok=True)
    return out
