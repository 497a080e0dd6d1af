"""The protocol `text`: edits of words that can be read in a picture.

Are the requested words there, letter by letter; are the old ones gone; do the new ones stand where the old ones stood;
and can all other text still be read? Letters are compared without case, blanks and punctuation, because readers of
text lose blanks between words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from editgauge._util.masks import box_of
from editgauge.errors import UnscorableError
from editgauge.evidence import Note
from editgauge.instructions.readings import steps_of
from editgauge.instructions.tokens import edit_distance
from editgauge.protocols import Protocol
from editgauge.types import Item, Score, Scores, ScoreSpec, Unscored

if TYPE_CHECKING:
    from editgauge.models.answers import TextLines
    from editgauge.models.interfaces import Perception

READ = 0.25
"""Up to this character error rate words count as read."""
OTHER_WORDS = 0.5
"""From this character error rate on it is another text: unrelated words share letters by chance."""
MOST_LINES = 3
"""This many lines, one below the other, may hold the words together."""
NOT_A_TEXT_EDIT = Unscored("not_applicable", "the edit asks for no words, or for several changes")


@dataclass(frozen=True, slots=True, eq=False)
class Passage:
    """The stretch of text that is most like some words."""

    text: str
    error_rate: float
    box: NDArray[np.float32]
    lines: frozenset[int]


class TextEdit(Protocol):
    """Words asked for, words that should go, and all others."""

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
        """What can be read in both pictures, compared."""
        names = [spec.name for spec in self.scores]
        try:
            before, after = await perception.read_text(item.source), await perception.read_text(item.edited)
        except UnscorableError as unable:
            return dict.fromkeys(names, Unscored(unable.reason, unable.detail))
        steps = steps_of(item.edit)
        nothing: Scores = dict.fromkeys(names, NOT_A_TEXT_EDIT)
        if not any(step.type == "text" for step in steps):
            return {**nothing, "other_text": kept(before, after)}
        if len(steps) > 1 or not letters(steps[0].to or ""):
            return nothing
        new, old = steps[0].to or "", steps[0].from_ or ""
        passage, former = best_passage(new, after), best_passage(old, before) if letters(old) else None
        replaced = former if former and former.error_rate <= READ else None
        return {
            "words": _words(new, passage, before, after),
            "old_words_gone": _gone(old, new, replaced, after),
            "place": _place(passage, replaced.box if replaced else _mask_box(item), after),
            "other_text": kept(before, after, replaced.lines if replaced else _overlapped(before, passage)),
        }


def letters(text: str) -> str:
    """The letters and digits that are compared.

    >>> letters("Open, 24 hours!")
    'open24hours'
    """
    return "".join(sign for sign in text.casefold() if sign.isalnum())


def error_rate(wanted: str, text: str) -> float:
    """The share of the wanted letters that are wrong, missing or too many, at most 1.

    >>> error_rate("OPEN", "0PEN"), error_rate("OPEN", "open.")
    (0.25, 0.0)
    """
    expected, present = letters(wanted), letters(text)
    return min(edit_distance(expected, present) / max(len(expected), 1), 1.0)


def best_passage(wanted: str, lines: TextLines) -> Passage | None:
    """The words of a line, or of lines one below the other, that are most like the wanted ones; None without text."""
    length = len(letters(wanted))
    candidates: list[tuple[str, frozenset[int]]] = []
    for place, line in enumerate(lines.texts):
        words = line.split()
        for start, end in combinations(range(len(words) + 1), 2):
            stretch = " ".join(words[start:end])
            if length <= 2 * len(letters(stretch)) and len(letters(stretch)) <= 2 * length:
                candidates.append((stretch, frozenset({place})))
        for count in range(1, MOST_LINES + 1):
            together = range(place, min(place + count, len(lines)))
            candidates.append((" ".join(lines.texts[each] for each in together), frozenset(together)))
    if not candidates:
        return None
    text, places = min(candidates, key=lambda each: (error_rate(wanted, each[0]), len(each[1]), len(each[0])))
    boxes = lines.boxes[sorted(places)]
    box = np.concatenate([boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)])
    return Passage(text, error_rate(wanted, text), box, places)


def kept(before: TextLines, after: TextLines, apart_from: frozenset[int] = frozenset()) -> Score | Unscored:
    """How many letters of the source's lines can be read at the same place, apart from some lines."""
    others = [place for place in range(len(before)) if place not in apart_from and letters(before.texts[place])]
    if not others:
        return Unscored("not_detected", "no other text is read in the source")
    rates = {place: _rate_at(before.texts[place], before.boxes[place], after) for place in others}
    sizes = {place: len(letters(before.texts[place])) for place in others}
    value = 1 - sum(rates[place] * sizes[place] for place in others) / sum(sizes.values())
    lost = ", ".join(f"“{before.texts[place]}”" for place in others if rates[place] > READ)
    note = f"{len(others)} other lines in the source; " + (
        f"no longer read: {lost}." if lost else "all can still be read."
    )
    return Score(min(max(value, 0.0), 1.0), (Note(note), *before.evidence("source"), *after.evidence("edited")))


def _rate_at(text: str, box: NDArray[np.float32], lines: TextLines) -> float:
    """The least error rate of a line among those that touch a place, alone and together."""
    touching = [place for place in range(len(lines)) if overlap_share(box, lines.boxes[place]) > 0]
    texts = [lines.texts[place] for place in touching]
    return min((error_rate(text, each) for each in (*texts, " ".join(texts))), default=1.0)


def overlap_share(one: Sequence[float] | NDArray[Any], other: Sequence[float] | NDArray[Any]) -> float:
    """The share of the smaller of two boxes that is in the larger one.

    >>> overlap_share([0, 0, 10, 10], [5, 0, 25, 10])
    0.5
    """
    (left, top, right, bottom), (other_left, other_top, other_right, other_bottom) = map(list, (one, other))
    across = min(right, other_right) - max(left, other_left)
    down = min(bottom, other_bottom) - max(top, other_top)
    areas = (right - left) * (bottom - top), (other_right - other_left) * (other_bottom - other_top)
    return float(max(across, 0) * max(down, 0) / max(min(areas), 1e-6))


def _words(new: str, passage: Passage | None, before: TextLines, after: TextLines) -> Score:
    earlier = best_passage(new, before)
    readable = f"most like it: “{passage.text}”, error rate {passage.error_rate:.2f}" if passage else "no text is read"
    former = f" Before: “{earlier.text}”, {earlier.error_rate:.2f}." if earlier else ""
    value = 1 - passage.error_rate if passage else 0.0
    return Score(value, (Note(f"Asked for “{new}”; {readable}.{former}"), *after.evidence("edited")))


def _gone(old: str, new: str, replaced: Passage | None, after: TextLines) -> Score | Unscored:
    if not letters(old):
        return Unscored("not_applicable", "the edit does not say which words should go")
    if letters(old) in letters(new):
        return Unscored("not_applicable", f"“{old}” is part of the new words")
    if replaced is None:
        return Unscored("not_detected", f"“{old}” is not read in the source")
    left = best_passage(old, after)
    value = min(left.error_rate / OTHER_WORDS, 1.0) if left else 1.0
    return Score(value, (Note(f"Most like “{old}” now: " + (f"“{left.text}”." if left else "nothing.")),))


def _mask_box(item: Item) -> Sequence[float] | None:
    return box_of(item.mask) if item.mask is not None and item.mask.any() else None


def _place(
    passage: Passage | None, wanted: Sequence[float] | NDArray[Any] | None, after: TextLines
) -> Score | Unscored:
    if wanted is None:
        return Unscored(
            "not_applicable", "nothing says where the words belong: no words that they replace are read, and no mask"
        )
    if passage is None or passage.error_rate > READ:
        return Unscored("not_detected", "the new words are not read")
    return Score(min(overlap_share(passage.box, wanted), 1.0), after.evidence("edited"))


def _overlapped(before: TextLines, passage: Passage | None) -> frozenset[int]:
    """The lines of the source that the new words cover, where it is not stated which words are removed."""
    if passage is None or passage.error_rate > READ:
        return frozenset()
    return frozenset(place for place in range(len(before)) if overlap_share(before.boxes[place], passage.box) > 0.5)


text = TextEdit()
