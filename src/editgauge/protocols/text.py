"""The protocol `text`: score edits of text in an image.

It checks with OCR whether the requested words are present, the old words are gone, the new words are in the position
of the old ones, and all other text is still readable. Texts are compared without case, spaces and punctuation, because
OCR often drops spaces between words.
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

Box = Sequence[float] | NDArray[Any]
"""Corners in pixels: left, top, right, bottom."""

MAX_READ_ERROR = 0.25
"""Maximum character error rate at which words count as recognized."""
MIN_OTHER_ERROR = 0.5
"""Character error rate from which a text counts as different: unrelated words share letters by chance."""
MAX_LINES = 3
"""Maximum number of consecutive lines that one passage may span."""
MIN_COVERED_FRACTION = 0.5
"""Minimum overlap of a source line and the new words at which the line counts as replaced."""
NOT_A_TEXT_EDIT = Unscored("not_applicable", "the edit asks for no words, or for several changes")


@dataclass(frozen=True, slots=True, eq=False)
class Passage:
    """The passage of OCR text that is most similar to a target text."""

    text: str
    error_rate: float
    box: NDArray[np.float32]
    lines: frozenset[int]
    """Indices of the lines that contain the passage."""

    @property
    def is_recognized(self) -> bool:
        """Whether the passage is similar enough to count as the target text."""
        return self.error_rate <= MAX_READ_ERROR


class TextEdit(Protocol):
    """Score whether requested words appear, old words are gone, and all other text is unchanged."""

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
        new_text, old_text = steps[0].to or "", steps[0].from_ or ""
        new_passage = best_passage(new_text, after)
        old_passage = best_passage(old_text, before) if letters(old_text) else None
        target_box: Box | None
        if old_passage is not None and old_passage.is_recognized:
            target_box, replaced_lines = old_passage.box, old_passage.lines
        else:
            old_passage = None
            target_box, replaced_lines = _mask_box(item), _covered_lines(before, new_passage)
        return {
            "words": _score_words(new_text, new_passage, before, after),
            "old_words_gone": _score_removal(old_text, new_text, old_passage, after),
            "place": _score_position(new_passage, target_box, after),
            "other_text": score_other_text(before, after, replaced_lines),
        }


def letters(text: str) -> str:
    """Return the letters and digits of a text in lower case, the form in which texts are compared.

    >>> letters("Open, 24 hours!")
    'open24hours'
    """
    return "".join(character for character in text.casefold() if character.isalnum())


def error_rate(target: str, text: str) -> float:
    """Return the character error rate of a text against the target, at most 1.

    >>> error_rate("OPEN", "0PEN"), error_rate("OPEN", "open.")
    (0.25, 0.0)
    """
    target_letters = letters(target)
    return min(edit_distance(target_letters, letters(text)) / max(len(target_letters), 1), 1.0)


def best_passage(target: str, lines: TextLines) -> Passage | None:
    """Return the passage most similar to the target, within a line or over several; None without text."""
    length = len(letters(target))
    candidates: list[tuple[str, frozenset[int]]] = []
    for index, line in enumerate(lines.texts):
        words = line.split()
        for start, end in combinations(range(len(words) + 1), 2):
            passage = " ".join(words[start:end])
            if length / 2 <= len(letters(passage)) <= length * 2:
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
    """Return the fraction of letters in the source that are still recognized in the same position.

    Lines whose index is in `excluded` are ignored.
    """
    indices = [index for index in range(len(before)) if index not in excluded and letters(before.texts[index])]
    if not indices:
        return Unscored("not_detected", "no other text is read in the source")
    texts = [before.texts[index] for index in indices]
    rates = [_error_rate_at(before.texts[index], before.boxes[index], after) for index in indices]
    sizes = [len(letters(text)) for text in texts]
    value = 1 - sum(rate * size for rate, size in zip(rates, sizes, strict=True)) / sum(sizes)
    lost = ", ".join(f"“{text}”" for text, rate in zip(texts, rates, strict=True) if rate > MAX_READ_ERROR)
    result = f"no longer read: {lost}." if lost else "all can still be read."
    note = Note(f"{len(indices)} other lines in the source; {result}")
    return Score(min(max(value, 0.0), 1.0), (note, *before.evidence("source"), *after.evidence("edited")))


def _error_rate_at(text: str, box: Box, lines: TextLines) -> float:
    """Return the lowest error rate of the lines that overlap a box, each alone or all joined."""
    indices = [index for index in range(len(lines)) if overlap_fraction(box, lines.boxes[index]) > 0]
    texts = [lines.texts[index] for index in indices]
    return min((error_rate(text, candidate) for candidate in (*texts, " ".join(texts))), default=1.0)


def overlap_fraction(first: Box, second: Box) -> float:
    """Return the area of the intersection as a fraction of the smaller box.

    >>> overlap_fraction([0, 0, 10, 10], [5, 0, 25, 10])
    0.5
    """
    (left1, top1, right1, bottom1), (left2, top2, right2, bottom2) = first, second
    width = min(right1, right2) - max(left1, left2)
    height = min(bottom1, bottom2) - max(top1, top2)
    smaller_area = min((right1 - left1) * (bottom1 - top1), (right2 - left2) * (bottom2 - top2))
    return float(max(width, 0) * max(height, 0) / max(smaller_area, 1e-6))


def _score_words(target: str, passage: Passage | None, before: TextLines, after: TextLines) -> Score:
    """Return 1 minus the error rate of the requested words."""
    result = f"most like it: “{passage.text}”, error rate {passage.error_rate:.2f}" if passage else "no text is read"
    source_passage = best_passage(target, before)
    source_note = f" Before: “{source_passage.text}”, {source_passage.error_rate:.2f}." if source_passage else ""
    value = 1 - passage.error_rate if passage else 0.0
    return Score(value, (Note(f"Asked for “{target}”; {result}.{source_note}"), *after.evidence("edited")))


def _score_removal(old_text: str, new_text: str, source_passage: Passage | None, after: TextLines) -> Score | Unscored:
    """Return how dissimilar the remaining text is to the old words, 1 if nothing like them remains."""
    if not letters(old_text):
        return Unscored("not_applicable", "the edit does not say which words should go")
    if letters(old_text) in letters(new_text):
        return Unscored("not_applicable", f"“{old_text}” is part of the new words")
    if source_passage is None:
        return Unscored("not_detected", f"“{old_text}” is not read in the source")
    passage = best_passage(old_text, after)
    if passage is None:
        return Score(1.0, (Note(f"Most like “{old_text}” now: nothing."),))
    value = min(passage.error_rate / MIN_OTHER_ERROR, 1.0)
    return Score(value, (Note(f"Most like “{old_text}” now: “{passage.text}”."),))


def _mask_box(item: Item) -> Box | None:
    return bounding_box(item.mask) if item.mask is not None and item.mask.any() else None


def _score_position(passage: Passage | None, target_box: Box | None, after: TextLines) -> Score | Unscored:
    """Return the overlap of the new words with the box in which they belong."""
    if target_box is None:
        return Unscored(
            "not_applicable", "nothing says where the words belong: no words that they replace are read, and no mask"
        )
    if passage is None or not passage.is_recognized:
        return Unscored("not_detected", "the new words are not read")
    return Score(min(overlap_fraction(passage.box, target_box), 1.0), after.evidence("edited"))


def _covered_lines(before: TextLines, passage: Passage | None) -> frozenset[int]:
    """Return the indices of the source lines that the new words cover."""
    if passage is None or not passage.is_recognized:
        return frozenset()
    return frozenset(
        index for index, box in enumerate(before.boxes) if overlap_fraction(box, passage.box) > MIN_COVERED_FRACTION
    )


text = TextEdit()
