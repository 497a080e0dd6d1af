"""The protocol `text`: edits of words that can be read in a picture.

Are the requested words present, letter by letter; are the old ones gone; are the new ones in the old position; and can
all other text still be read? Letters are compared without case, spaces and punctuation, because OCR loses spaces
between words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from editgauge._util.masks import bounding_box
from editgauge._util.text import edit_distance
from editgauge.errors import UnscorableError
from editgauge.evidence import Note
from editgauge.instructions.parsed import edit_steps
from editgauge.protocols import Protocol
from editgauge.types import Item, Score, Scores, ScoreSpec, Unscored

if TYPE_CHECKING:
    from editgauge.models.answers import TextLines
    from editgauge.models.perception import Perception

MAX_READ_ERROR = 0.25
"""Maximum character error rate at which words count as read."""
MIN_OTHER_ERROR = 0.5
"""Character error rate from which it is another text: unrelated words share letters by chance."""
MAX_LINES = 3
"""Maximum number of consecutive lines that may hold the words together."""
NOT_A_TEXT_EDIT = Unscored("not_applicable", "the edit asks for no words, or for several changes")


@dataclass(frozen=True, slots=True, eq=False)
class Passage:
    """The passage most similar to some words."""

    text: str
    error_rate: float
    box: NDArray[np.float32]
    lines: frozenset[int]


class TextEdit(Protocol):
    """Requested words, words that should go, and all other text."""

    name = "text"
    about = "Text in the picture: are the requested words there, are the old ones gone, is all other text unchanged?"
    paper = "EditGauge; character error rate as in text recognition, read by the model of the role `text_reader`."
    version = "3"
    deviations: tuple[str, ...] = (
        "Case, spaces and punctuation are ignored.",
        "Text that cannot be read in the source is not counted as lost.",
    )
    needs = ("text_reader",)
    scores: tuple[ScoreSpec, ...] = (
        ScoreSpec("words", True, (0.0, 1.0), "1 - character error rate of the requested words.", "done"),
        ScoreSpec("old_words_gone", True, (0.0, 1.0), "Are the old words no longer readable?"),
        ScoreSpec(
            "place",
            True,
            (0.0, 1.0),
            "Do the new words stand where the old ones stood, or else in the edit's mask? Share of the smaller box.",
        ),
        ScoreSpec(
            "other_text",
            True,
            (0.0, 1.0),
            "Share of the letters of all other lines that can be read as before.",
            "kept",
        ),
    )

    async def score(self, item: Item, perception: Perception) -> Scores:
        """Compare the text of both images."""
        names = [spec.name for spec in self.scores]
        try:
            before, after = await perception.read_text(item.source), await perception.read_text(item.edited)
        except UnscorableError as error:
            return dict.fromkeys(names, Unscored(error.reason, error.detail))
        steps = edit_steps(item.edit)
        unscored: Scores = dict.fromkeys(names, NOT_A_TEXT_EDIT)
        if not any(step.type == "text" for step in steps):
            return {**unscored, "other_text": score_other_text(before, after)}
        if len(steps) > 1 or not letters(steps[0].to or ""):
            return unscored
        new, old = steps[0].to or "", steps[0].from_ or ""
        passage, former = best_passage(new, after), best_passage(old, before) if letters(old) else None
        replaced = former if former and former.error_rate <= MAX_READ_ERROR else None
        return {
            "words": _score_words(new, passage, before, after),
            "old_words_gone": _score_removal(old, new, replaced, after),
            "place": _score_position(passage, replaced.box if replaced else _mask_box(item), after),
            "other_text": score_other_text(
                before, after, replaced.lines if replaced else _covered_lines(before, passage)
            ),
        }


def letters(text: str) -> str:
    """Return the letters and digits of a text, which are compared.

    >>> letters("Open, 24 hours!")
    'open24hours'
    """
    return "".join(sign for sign in text.casefold() if sign.isalnum())


def error_rate(target: str, text: str) -> float:
    """Return the character error rate of a text against the target, at most 1.

    >>> error_rate("OPEN", "0PEN"), error_rate("OPEN", "open.")
    (0.25, 0.0)
    """
    expected, present = letters(target), letters(text)
    return min(edit_distance(expected, present) / max(len(expected), 1), 1.0)


def best_passage(target: str, lines: TextLines) -> Passage | None:
    """Return the passage, within a line or over consecutive lines, most similar to the target; None without text."""
    length = len(letters(target))
    candidates: list[tuple[str, frozenset[int]]] = []
    for index, line in enumerate(lines.texts):
        words = line.split()
        for start, end in combinations(range(len(words) + 1), 2):
            passage = " ".join(words[start:end])
            if length <= 2 * len(letters(passage)) and len(letters(passage)) <= 2 * length:
                candidates.append((passage, frozenset({index})))
        for count in range(1, MAX_LINES + 1):
            span = range(index, min(index + count, len(lines)))
            candidates.append((" ".join(lines.texts[line_index] for line_index in span), frozenset(span)))
    if not candidates:
        return None
    text, line_indices = min(
        candidates, key=lambda candidate: (error_rate(target, candidate[0]), len(candidate[1]), len(candidate[0]))
    )
    boxes = lines.boxes[sorted(line_indices)]
    box = np.concatenate([boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)])
    return Passage(text, error_rate(target, text), box, line_indices)


def score_other_text(before: TextLines, after: TextLines, excluded: frozenset[int] = frozenset()) -> Score | Unscored:
    """Return the fraction of letters of the source's lines that are read in the same position."""
    indices = [index for index in range(len(before)) if index not in excluded and letters(before.texts[index])]
    if not indices:
        return Unscored("not_detected", "no other text is read in the source")
    rates = {index: _rate_at(before.texts[index], before.boxes[index], after) for index in indices}
    sizes = {index: len(letters(before.texts[index])) for index in indices}
    value = 1 - sum(rates[index] * sizes[index] for index in indices) / sum(sizes.values())
    lost = ", ".join(f"“{before.texts[index]}”" for index in indices if rates[index] > MAX_READ_ERROR)
    note = f"{len(indices)} other lines in the source; " + (
        f"no longer read: {lost}." if lost else "all can still be read."
    )
    return Score(min(max(value, 0.0), 1.0), (Note(note), *before.evidence("source"), *after.evidence("edited")))


def _rate_at(text: str, box: NDArray[np.float32], lines: TextLines) -> float:
    """Return the lowest error rate of the lines that touch a box, alone and together."""
    indices = [index for index in range(len(lines)) if overlap_fraction(box, lines.boxes[index]) > 0]
    texts = [lines.texts[index] for index in indices]
    return min((error_rate(text, candidate) for candidate in (*texts, " ".join(texts))), default=1.0)


def overlap_fraction(first: Sequence[float] | NDArray[Any], second: Sequence[float] | NDArray[Any]) -> float:
    """Return the fraction of the smaller box inside the larger one.

    >>> overlap_fraction([0, 0, 10, 10], [5, 0, 25, 10])
    0.5
    """
    (left, top, right, bottom), (other_left, other_top, other_right, other_bottom) = map(list, (first, second))
    width = min(right, other_right) - max(left, other_left)
    height = min(bottom, other_bottom) - max(top, other_top)
    areas = (right - left) * (bottom - top), (other_right - other_left) * (other_bottom - other_top)
    return float(max(width, 0) * max(height, 0) / max(min(areas), 1e-6))


def _score_words(new: str, passage: Passage | None, before: TextLines, after: TextLines) -> Score:
    earlier = best_passage(new, before)
    readable = f"most like it: “{passage.text}”, error rate {passage.error_rate:.2f}" if passage else "no text is read"
    former = f" Before: “{earlier.text}”, {earlier.error_rate:.2f}." if earlier else ""
    value = 1 - passage.error_rate if passage else 0.0
    return Score(value, (Note(f"Asked for “{new}”; {readable}.{former}"), *after.evidence("edited")))


def _score_removal(old: str, new: str, replaced: Passage | None, after: TextLines) -> Score | Unscored:
    if not letters(old):
        return Unscored("not_applicable", "the edit does not say which words should go")
    if letters(old) in letters(new):
        return Unscored("not_applicable", f"“{old}” is part of the new words")
    if replaced is None:
        return Unscored("not_detected", f"“{old}” is not read in the source")
    remaining = best_passage(old, after)
    value = min(remaining.error_rate / MIN_OTHER_ERROR, 1.0) if remaining else 1.0
    return Score(value, (Note(f"Most like “{old}” now: " + (f"“{remaining.text}”." if remaining else "nothing.")),))


def _mask_box(item: Item) -> Sequence[float] | None:
    return bounding_box(item.mask) if item.mask is not None and item.mask.any() else None


def _score_position(
    passage: Passage | None, target: Sequence[float] | NDArray[Any] | None, after: TextLines
) -> Score | Unscored:
    if target is None:
        return Unscored(
            "not_applicable", "nothing says where the words belong: no words that they replace are read, and no mask"
        )
    if passage is None or passage.error_rate > MAX_READ_ERROR:
        return Unscored("not_detected", "the new words are not read")
    return Score(min(overlap_fraction(passage.box, target), 1.0), after.evidence("edited"))


def _covered_lines(before: TextLines, passage: Passage | None) -> frozenset[int]:
    """Return the source lines that the new words cover, if the edit does not name the old words."""
    if passage is None or passage.error_rate > MAX_READ_ERROR:
        return frozenset()
    return frozenset(index for index in range(len(before)) if overlap_fraction(before.boxes[index], passage.box) > 0.5)


text = TextEdit()
