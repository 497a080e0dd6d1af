"""Pages about a finished study that open from disk: the analysis, and filled forms."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cv2
from markupsafe import Markup
from sqlalchemy import select

from editgauge import __version__
from editgauge._render import text
from editgauge._render.text import open_templates
from editgauge._util.files import write_bytes
from editgauge._util.images import read_image
from editgauge.analysis.summary import ALL, FEW_SOURCES
from editgauge.errors import BadInputError
from editgauge.studies._pages import PageQuestion, preview
from editgauge.studies.records import AnswerRecord, records
from editgauge.studies.store import StudyItem

if TYPE_CHECKING:
    from editgauge._stats.resampling import Estimate
    from editgauge.analysis.agree import Agreement
    from editgauge.analysis.preferences import PairwisePreferences
    from editgauge.analysis.study import CountedQuestion, LevelCell, QuestionFindings, StudyFindings
    from editgauge.studies.design import Answer
    from editgauge.studies.study import Study, StudyStatus

ANALYSIS_PAGE = "study.html"
GENERATOR = Markup('<meta name="generator" content="EditGauge study">')
"""Tells a page of ours, which may be refreshed, from anyone else's, which may not be touched."""
STEPS = 7
HEIGHT = 10
SVG = Markup('<svg viewBox="0 0 100 {}" preserveAspectRatio="none" role="img" aria-label="{}">{}</svg>')


def write_page(study_findings: StudyFindings, status: StudyStatus, agreement: Agreement, out: Path) -> Path:
    """Write `study.html` into a folder and return its path."""
    page = checked_page(out, ANALYSIS_PAGE)
    write_bytes(page, template_page("analysis.html.j2", found=study_findings, status=status, agreement=agreement))
    return page


def checked_page(out: Path, name: str) -> Path:
    """Return the path of a page; raise `BadInputError` if it would overwrite another file."""
    page = out / name
    if out.is_file():
        raise BadInputError(f"'{out}' is a file; give a folder for {name}.")
    if page.exists() and GENERATOR.encode() not in page.read_bytes()[:2_000]:
        raise BadInputError(f"'{page}' is not a page of a study; choose another folder, it would be overwritten.")
    return page


def template_page(template: str, **values: Any) -> bytes:
    """Render a page template; all texts of the study are escaped."""
    templates = resources.files(__package__ or "") / "templates"
    style = Markup((templates / "analysis.css").read_text(encoding="utf-8"))  # noqa: S704 - a file of this package
    pinned = f"'sha256-{base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()}'"
    environment = open_templates(__package__ or "")
    environment.filters["number"] = number
    environment.globals |= {"ALL": ALL, "FEW_SOURCES": FEW_SOURCES, "methods": methods, "edit_types": edit_types}
    environment.globals |= {"stacked": stacked, "dots": dots, "swatch": swatch, "step": step, "ranked": ranked}
    page = environment.get_template(template).render(
        **values, version=__version__, style=style, pinned=Markup(pinned), generator=GENERATOR  # noqa: S704 - made above
    )  # fmt: skip
    return page.encode("utf-8", "replace")


def number(value: float, *, percent: bool = False) -> str:
    """Format a number with two decimals, or as a whole percentage.

    >>> number(-0.5), number(0.256, percent=True)
    ('−0.50', '26%')
    """
    return text.percent(value) if percent else f"{value:.2f}".replace("-", "−")


def methods(question: QuestionFindings) -> list[str]:
    """Return the methods, highest mean first; by name if there are no means."""
    means = {method: cell.mean for (method, kind), cell in question.cells.items() if method is not None and kind == ALL}
    return sorted(means, key=lambda name: (-mean.value if (mean := means[name]) else 0.0, name))


def edit_types(question: QuestionFindings) -> list[str]:
    """Return the rated edit types."""
    return sorted({kind for _, kind in question.cells if kind != ALL})


def ranked(pairs: PairwisePreferences) -> list[str]:
    """Return the methods, strongest first; by win rate where a strength is infinite."""
    return sorted(pairs.methods, key=lambda name: (-pairs.won[name].value, name))


def step(share: float) -> int:
    """Return the shade of a share."""
    return min(int(share * STEPS), STEPS - 1)


def _shade(index: int, levels: int) -> int:
    """Return the shade of a level, spread evenly over the available shades.

    >>> [_shade(index, 4) for index in range(4)]
    [0, 2, 4, 6]
    """
    return round(index * (STEPS - 1) / max(levels - 1, 1))


def swatch(index: int, question: CountedQuestion) -> Markup:
    """Draw the color of a level for the legend."""
    shade = _shade(index, len(question.levels))
    return Markup(
        '<svg viewBox="0 0 10 6" aria-hidden="true"><rect class="step-{}" width="10" height="6"/></svg>'
    ).format(shade)


def stacked(cell: LevelCell, question: CountedQuestion, name: str) -> Markup:
    """Draw a stacked bar with the share of every level."""
    parts, start = [], 0.0
    for index, (share, level) in enumerate(zip(cell.shares, question.levels, strict=True)):
        title = f"{level.label}: {number(share, percent=True)} ({cell.counts[index]} answers)"
        form = Markup('<rect class="step-{}" x="{:.2f}" width="{:.2f}" height="{}"><title>{}</title></rect>')
        parts.append(form.format(_shade(index, len(question.levels)), start, 100 * share, HEIGHT, title))
        start += 100 * share
    description = ", ".join(
        f"{level.label} {number(share, percent=True)}"
        for share, level in zip(cell.shares, question.levels, strict=True)
    )
    return SVG.format(HEIGHT, f"{name}: {description}", Markup().join(parts))


def dots(strength: Estimate, pairs: PairwisePreferences, name: str) -> Markup:
    """Draw a strength as a dot with its interval as a line, on the axis that all methods share."""
    reach = _reach(list(pairs.strengths.values()))
    middle = HEIGHT / 2
    parts = [_line("track", 0, middle, 100, middle), _line("zero", 50, 0, 50, HEIGHT)]
    if strength.value is None:
        return _dots(f"{name}: none, {strength.reason}", parts)
    if strength.low is not None and strength.high is not None:
        parts.append(_line("span", _x(strength.low, reach), middle, _x(strength.high, reach), middle))
    at = _x(strength.value, reach)
    parts.append(_line("dot", at, middle, at, middle))
    return _dots(f"{name}: {number(strength.value)}", parts)


def _dots(description: str, parts: Sequence[Markup]) -> Markup:
    return Markup('<span class="dots">{}</span>').format(SVG.format(HEIGHT, description, Markup().join(parts)))


def _reach(strengths: Sequence[Estimate]) -> float:
    ends = [
        abs(end) for strength in strengths for end in (strength.value, strength.low, strength.high) if end is not None
    ]
    return 1.05 * max([*ends, 0.5])


def _x(value: float, reach: float) -> float:
    return 50 + 50 * value / reach


def _line(kind: str, x: float, y: float, to_x: float, to_y: float) -> Markup:
    return Markup('<line class="{}" x1="{:.2f}" y1="{:g}" x2="{:.2f}" y2="{:g}"/>').format(kind, x, y, to_x, to_y)


FORMS_PAGE = "forms.html"
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
    page = checked_page(out, FORMS_PAGE)
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
