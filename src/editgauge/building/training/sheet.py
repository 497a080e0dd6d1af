"""A few lessons as one picture, to see with one's own eyes what a model will be taught."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import wrap

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from editgauge.building.training.export import Shot, said
from editgauge.building.training.lessons import KINDS, Kind, Lesson
from editgauge.core.images import read_image, write_png

SHEET = "sheet.png"
OUTCOMES = 4
"""This many outcomes are shown at least, each in a row with its instances."""
WIDTH, HEIGHT, GAP = 460, 230, 14
LINE, LETTERS = 19, 60
"""Of the text under a picture."""
INK, YES, NO = (40, 40, 40), (0, 110, 60), (170, 40, 30)


def write_sheet(lessons: Sequence[Lesson], shots: Mapping[str, Shot], out: Path) -> None:
    """Draws the instances of a few outcomes, of every action at least one, with what is asked and answered."""
    rows = [
        {kind: _cell(lesson, out / shots[lesson.id].pair) for kind, lesson in row.items()} for row in _rows(lessons)
    ]
    heights = [max(cell.height for cell in row.values()) for row in rows]
    sheet = Image.new("RGB", (GAP + len(KINDS) * (WIDTH + GAP), GAP + sum(heights) + GAP * len(rows)), "white")
    top = GAP
    for row, height in zip(rows, heights, strict=True):
        for kind, cell in row.items():
            sheet.paste(cell, (GAP + KINDS.index(kind) * (WIDTH + GAP), top))
        top += height + GAP
    write_png(np.asarray(sheet, np.uint8), out / SHEET)


def _rows(lessons: Sequence[Lesson]) -> list[dict[Kind, Lesson]]:
    """The lessons on accuracy of some outcomes, those with most instances first."""
    outcomes: dict[tuple[str, str, int], dict[Kind, Lesson]] = {}
    for lesson in lessons:
        if lesson.question == "edit":
            outcomes.setdefault((lesson.edit, lesson.method, lesson.seed), {})[lesson.kind] = lesson
    fullest = sorted(outcomes.values(), key=lambda row: -len(row))
    first = {next(iter(row.values())).action: row for row in reversed(fullest)}
    chosen = sorted(first.values(), key=lambda row: -len(row))
    return [*chosen, *(row for row in fullest if row not in chosen)][: max(OUTCOMES, len(chosen))]


def _cell(lesson: Lesson, pair: Path) -> Image.Image:
    """A pair of pictures with the request and the answer under it."""
    picture = Image.fromarray(read_image(pair))
    picture.thumbnail((WIDTH, HEIGHT), Image.Resampling.LANCZOS)
    request = wrap(lesson.asked.splitlines()[0], LETTERS)
    lines = [(f"{lesson.kind.replace('_', ' ')} · {lesson.action}", INK), *((line, INK) for line in request)]
    lines.append((said(lesson.answer), YES if lesson.answer else NO))
    cell = Image.new("RGB", (WIDTH, picture.height + LINE * (len(lines) + 1)), "white")
    cell.paste(picture, (0, 0))
    pen, font = ImageDraw.Draw(cell), ImageFont.load_default(15)
    for number, (line, color) in enumerate(lines):
        pen.text((0, picture.height + LINE // 3 + number * LINE), line, color, font)
    return cell
