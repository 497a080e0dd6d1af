"""Filled forms: the pages of a study as raters left them, side by side (as figures 14 to 23 of EditInspector)."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import cv2
from sqlalchemy import select

from editgauge._util.files import write_bytes
from editgauge._util.images import read_image
from editgauge.studies.analysis.page import checked_page, template_page
from editgauge.studies.answers.records import AnswerRecord, records
from editgauge.studies.page import PageQuestion, preview
from editgauge.studies.store import StudyItem

if TYPE_CHECKING:
    from editgauge.studies.design import Answer
    from editgauge.studies.study import Study

PAGE = "forms.html"
MAX_IMAGE_SIDE = 480
"""Of a picture on the page, in pixels."""
TITLES = {"source": "Original", "edited": "Result", "left": "First", "right": "Second"}


@dataclass(frozen=True, slots=True)
class FilledQuestion:
    """A question, and what each rater said; None for a rater who was not asked."""

    question: PageQuestion
    answers: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class FilledForm:
    """One item: what was shown, and what was answered."""

    item: str
    text: str
    words: tuple[str, ...]
    """The two attributes of a study that compares attributes."""
    pictures: tuple[tuple[str, str], ...]
    """Title and address inside the page."""
    raters: tuple[str, ...]
    questions: tuple[FilledQuestion, ...]


def write_forms(study: Study, out: Path, limit: int) -> Path:
    """Write `forms.html` with the first answered items by name and return its path."""
    page = checked_page(out, PAGE)
    write_bytes(page, template_page("forms.html.j2", title=study.design.title, forms=filled_forms(study, limit)))
    return page


def filled_forms(study: Study, limit: int) -> list[FilledForm]:
    """Return the first answered items, ordered by name."""
    with study.database.read() as session:
        by_item: dict[str, list[AnswerRecord]] = {}
        for record in records(session):
            by_item.setdefault(record.item, []).append(record)
        names = sorted(by_item)[:limit]
        items = {item.key: item for item in session.scalars(select(StudyItem).where(StudyItem.key.in_(names)))}
        return [_form(study, items[key], by_item[key]) for key in names]


def _form(study: Study, item: StudyItem, answered: list[AnswerRecord]) -> FilledForm:
    page = preview(study.design, item)
    questions = [
        FilledQuestion(question, tuple(_words(question, record.answers.get(question.id)) for record in answered))
        for question in page.questions
    ]
    return FilledForm(
        item=item.key,
        text=page.text,
        words=tuple(word for word in (page.left, page.right) if word is not None),
        pictures=tuple((TITLES[picture.role], _embedded(study.images / picture.name)) for picture in page.pictures),
        raters=tuple(record.rater for record in answered),
        questions=tuple(element for element in questions if any(answer is not None for answer in element.answers)),
    )


def _words(question: PageQuestion, answer: Answer | None) -> str | None:
    """Return the labels of the answer."""
    if answer is None:
        return None
    labels = {option.value: option.label for option in question.options}
    values = answer if isinstance(answer, list) else [answer]
    return ", ".join(str(labels.get(value, value)) for value in values)


def _embedded(file: Path) -> str:
    picture = read_image(file)
    share = min(1.0, MAX_IMAGE_SIDE / max(picture.shape[:2]))
    height, width = (max(1, round(side * share)) for side in picture.shape[:2])
    small = cv2.resize(cv2.cvtColor(picture, cv2.COLOR_RGB2BGR), (width, height), interpolation=cv2.INTER_AREA)
    return "data:image/jpeg;base64," + base64.b64encode(cv2.imencode(".jpg", small)[1].tobytes()).decode()
