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
from editgauge.studies.answers.submission import page_questions, seen_from_item
from editgauge.studies.assignment import draw, is_turn
from editgauge.studies.design import Answers, Design, checked
from editgauge.studies.page import Page, preview
from editgauge.studies.store import StudyItem
from editgauge.studies.study import Study

SHORT = 16
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
    """Every item that still wants raters, and every gold item, in the study's order of chance."""
    wanted = (
        select(StudyItem)
        .where(or_(StudyItem.is_open, StudyItem.kind == "gold"))
        .order_by(StudyItem.shuffle, StudyItem.id)
    )
    with study.database.read() as session:
        items = session.scalars(wanted).all()
        tasks = [_task(study, index, item) for index, item in enumerate(items, start=1)]
    if not tasks:
        raise BadInputError(f"All items of '{study.folder}' have their raters already; there is nothing to assign.")
    return tasks


def _task(study: Study, index: int, item: StudyItem) -> ExportedTask:
    seed = study.manifest.seed
    flipped = len(item.content["compared"]) == 2 and draw(2, seed, "side elsewhere", item.key) == 1
    attention = study.design.attention
    check = None
    if attention and is_turn(attention.every, index, seed, "attention elsewhere"):
        check = attention.questions[draw(len(attention.questions), seed, "check elsewhere", item.key)].id
    page = preview(study.design, item, number=index, flipped=flipped, check=check)
    there = {question.id for question in page.questions}
    missing = tuple(question.id for question in study.design.questions if question.id not in there)
    return ExportedTask(hidden_name(study, item.key), flipped, check, page, missing)


def words_of_item(design: Design, page: Page) -> dict[str, str]:
    """What an item puts into questions: the words to begin with, and those that a question quotes; empty if not asked.

    The names are `prefill_QUESTION` and `quote_QUESTION`.
    """
    shown = {question.id: question for question in page.questions}
    columns = [
        (question.id, part) for part in ("prefill", "quote") for question in design.questions if getattr(question, part)
    ]
    return {f"{part}_{name}": getattr(shown[name], part) if name in shown else "" for name, part in sorted(columns)}


def items_by_name(study: Study) -> dict[str, StudyItem]:
    """The items of the study by the names that tasks carry."""
    with study.database.read() as session:
        items = session.scalars(select(StudyItem)).all()
        session.expunge_all()
    return {hidden_name(study, item.key): item for item in items}


def hidden_name(study: Study, words: str) -> str:
    """A short name for something that must not be told: a worker, or which method an item shows.

    Keyed with the study's own random name, so that a worker's number cannot be found by hashing all numbers.
    """
    key, message = study.manifest.study.encode(), words.encode("utf-8", "surrogatepass")
    return hmac.new(key, message, hashlib.sha256).hexdigest()[:SHORT]


def fitting(design: Design, item: StudyItem, values: Mapping[str, Any], *, flipped: bool, check: str | None) -> Answers:
    """The answers as a study keeps them; `BadAnswers` tells what is wrong.

    A tool that cannot hide a question from some items may send an answer to it: that is no answer.
    """
    questions, checks = page_questions(design, check, item)
    elsewhere = design.all_questions.keys() - {question.id for question in (*questions, *checks)}
    answers = {name: value for name, value in values.items() if name not in elsewhere}
    return seen_from_item(checked(questions, checks, answers), design, flipped=flipped)


def picture_address(url: str | None, tool: str) -> str:
    """The address that the pictures lie under, ending with a slash."""
    if url is None or not url.startswith(("http://", "https://", "/")):
        got = "none was given" if url is None else f"got '{url}'"
        raise BadInputError(
            f"{tool} shows pictures by their address: put the study's folder 'images' where the raters' browsers reach "
            f"it, and give that address with --url, such as https://lab.example/images; {got}."
        )
    return url.rstrip("/") + "/"


def new_folder(out: Path) -> Path:
    """The folder to write into; refuses one that holds something else."""
    if out.suffix:
        raise BadInputError(f"'{out}' looks like a file; this form of export writes a folder, give one with --out.")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise BadInputError(f"'{out}' is there already. Choose another folder with --out.")
    out.mkdir(parents=True, exist_ok=True)
    return out
