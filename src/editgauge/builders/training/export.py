"""Lessons as conversations for fine-tuning, in the two common forms, with their pictures.

- `llava.json`: the form of LLaVA and its many readers, both pictures side by side in one.
- `messages.jsonl`: chat messages as transformers and trl take them, the two pictures as a judge is shown them.
- `sheet.png`: a few lessons as one picture, to see with one's own eyes what a model will be taught.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from editgauge._util.files import write_json, write_jsonl
from editgauge._util.images import Pixels, pixel_hash, read_image, resize_image, write_png
from editgauge.builders.judge_calls import OpenPrompt
from editgauge.builders.training.lessons import KINDS, MAIN_DIFFERENCE, Kind, Lesson
from editgauge.judges.prompts import Prompt

LLAVA = "llava.json"
MESSAGES = "messages.jsonl"
PICTURES = "pictures"
PAIRS = "pairs"
SEAM = 16
"""Pixels of white between the two halves."""
DIGITS = 12
"""Of a picture's hash, in its name."""
WHITE = 255
LABELS = {MAIN_DIFFERENCE: ("Before the change:", "After the change:")}
USUAL_LABELS = ("The picture before the change:", "The picture after the change:")
"""As the protocols show the pictures: a judge is asked what it was taught."""
SHEET = "sheet.png"
OUTCOMES = 4
"""This many outcomes are shown at least, each in a row with its instances."""
WIDTH, HEIGHT, GAP = 460, 230, 14
LINE, LETTERS = 19, 60
"""Of the text under a picture."""
INK, YES, NO = (40, 40, 40), (0, 110, 60), (170, 40, 30)


@dataclass(frozen=True, slots=True)
class Shot:
    """Two pictures of one size as they were written, and the two of them side by side."""

    before: str
    after: str
    pair: str


def said(answer: bool | str) -> str:
    """Return an answer in the form that the prompts ask for.

    >>> said(True), said("A cup was added.")
    ('{"answer": "yes"}', '{"difference": "A cup was added."}')
    """
    fields = {"difference": answer} if isinstance(answer, str) else {"answer": "yes" if answer else "no"}
    return json.dumps(fields, ensure_ascii=False)


def side_by_side(before: Pixels, after: Pixels) -> Pixels:
    """Both pictures in one, before at the left, with a white seam between them."""
    seam = np.full((before.shape[0], SEAM, 3), WHITE, np.uint8)
    return np.concatenate([before, seam, after], axis=1)


def export(lessons: Sequence[Lesson], out: Path, prompt: OpenPrompt) -> dict[str, Shot]:
    """Write both formats and every image once; return the images of each lesson."""
    write = cache(lambda before, after: _write(before, after, out))
    shots = {lesson.id: write(lesson.before, lesson.after) for lesson in lessons}
    halves = prompt("side_by_side")
    write_json(out / LLAVA, [_llava(lesson, shots[lesson.id], halves) for lesson in lessons])
    write_jsonl(out / MESSAGES, (_messages(lesson, shots[lesson.id]) for lesson in lessons))
    return shots


def _write(first: Path, second: Path, out: Path) -> Shot:
    before, other = read_image(first), read_image(second)
    after = resize_image(other, before.shape[1], before.shape[0])
    one, two = (pixel_hash(item)[:DIGITS] for item in (before, after))
    shot = Shot(f"{PICTURES}/{one}.png", f"{PICTURES}/{two}.png", f"{PAIRS}/{one}-{two}.png")
    pictures = {shot.before: before, shot.after: after, shot.pair: side_by_side(before, after)}
    for name, pixels in pictures.items():
        if not (out / name).exists():
            write_png(pixels, out / name)
    return shot


def _llava(lesson: Lesson, shot: Shot, halves: Prompt) -> dict[str, Any]:
    request = halves.render(question=lesson.asked).text
    turns = [("human", f"<image>\n{request}"), ("gpt", said(lesson.answer))]
    return {
        "id": lesson.id,
        "image": shot.pair,
        "conversations": [{"from": who, "value": text} for who, text in turns],
        **_mark(lesson),
    }


def _messages(lesson: Lesson, shot: Shot) -> dict[str, Any]:
    first, second = LABELS.get(lesson.question, USUAL_LABELS)
    content = [_text(first), {"type": "image"}, _text(second), {"type": "image"}]
    return {
        "id": lesson.id,
        "images": [shot.before, shot.after],
        "messages": [
            {"role": "user", "content": [*content, _text(lesson.asked)]},
            {"role": "assistant", "content": [_text(said(lesson.answer))]},
        ],
        **_mark(lesson),
    }


def _mark(lesson: Lesson) -> dict[str, str]:
    """Says of an answer that a machine gave it."""
    return {"labeled_by": lesson.labeled_by} if lesson.labeled_by else {}


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


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
    """Return lessons on accuracy of some outcomes, those with most instances first."""
    outcomes: dict[tuple[str, str, int], dict[Kind, Lesson]] = {}
    for lesson in lessons:
        if lesson.question == "edit":
            outcomes.setdefault((lesson.edit, lesson.method, lesson.seed), {})[lesson.kind] = lesson
    fullest = sorted(outcomes.values(), key=lambda row: -len(row))
    first = {next(iter(row.values())).action: row for row in reversed(fullest)}
    rows = sorted(first.values(), key=lambda row: -len(row))
    return [*rows, *(row for row in fullest if row not in rows)][: max(OUTCOMES, len(rows))]


def _cell(lesson: Lesson, pair: Path) -> Image.Image:
    """Draw an image pair with request and answer."""
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
