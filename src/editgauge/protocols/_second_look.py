"""A second look at what changed: does the classifier agree with the detector, what does a nameless change look like,
and which words in the picture can no longer be read, or are new?"""

from __future__ import annotations

from asyncio import gather
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from editgauge._util.images import Pixels
from editgauge._util.masks import BoolMask, Rectangle
from editgauge._vision.change_sentences import place
from editgauge._vision.geometry import box_overlap
from editgauge._vision.object_changes import Change, PicturedThing
from editgauge._vision.redrawn_changes import color_change
from editgauge.errors import UnscorableError
from editgauge.models.answers import ClassScores, TextLines
from editgauge.models.interfaces import Perception
from editgauge.models.vocabulary.coco import is_animal
from editgauge.models.vocabulary.imagenet import class_names, classes_of
from editgauge.protocols._objects import has_model
from editgauge.protocols.people import COMPARABLE_SIDE, SAME_PERSON, pairs_of_boxes
from editgauge.protocols.text import error_rate, letters

SURELY_CAME, SURELY_WENT = 0.6, 0.72
"""Minimum confidence at which a thing is new, or gone, although the classifier does not see it."""
UNCONFIRMED = 0.55
"""Minimum confidence at which a word that the classifier does not know is believed."""
CLEAR = 0.45
"""The same for all of these where the rest of the picture stayed as it was: the detector wavers less there."""
LIKELY, UNLIKELY = 0.1, 0.03
"""The probability that the classifier gives to a word it sees, and to one it does not."""
LOOKS = 0.5
"""The probability from which a nameless change is said to look like something."""
BROAD = (
    "hat", "dog", "cat", "bird", "lizard", "snake", "monkey", "bear", "fish", "frog", "spider", "insect", "butterfly",
    "car", "truck", "bus", "boat", "ship", "ball", "clock", "bottle", "guitar", "computer", "phone", "chair", "bridge",
    "bag", "coat", "shoe", "wolf", "fox", "crab", "parrot", "elephant", "rabbit", "fruit", "bread", "sunglasses",
)  # fmt: skip
"""Everyday words for several classes: a banded gecko is usually called a lizard."""
ANIMALS = 398
"""ImageNet has this many animals, its first classes, in which the classifier is better than a detector of 80 words."""
ANIMAL = "animal"
NAMED, MIN_DETECTOR_CONFIDENCE = 0.3, 0.75
"""The probability that the classifier must give to an animal's word, or the detector's own confidence; else it is just
an animal: detectors take sheep for cows, and rats for birds."""
AN_ANIMAL, NO_ANIMAL = 0.6, 0.2
"""The probability of all animals together in a nameless change that looks like one, and in the other picture."""
EXACTLY = 0.7
"""The probability from which a nameless change is said to look like a single class of the classifier."""
NO_ANIMALS = ("person",)
"""Words that the classifier does not know, and that a detector gives to animals."""
LARGE = 0.35
"""The share of the picture from which a crop shows more than the thing."""
READ_SURELY = 0.9
"""Minimum confidence of a line of text that is reported."""
LETTERS = 3
"""Shorter texts are misread too often."""
OTHER_TEXT = 0.5
"""The share of wrong letters from which a line reads otherwise."""
TEXT_CHANGED = 0.3
"""The share of a line's box that must have changed."""
MOST_TEXTS = 2
FACE_CHANGED = 0.2
"""The share of a face that must have changed."""
MOVED_FACE = 0.4
"""How much a smile, the eyes or the mouth must change, of 1."""


async def confirmed(
    change: Change, source: Pixels, edited: Pixels, perception: Perception, *, clear: float = 1.0
) -> Change | None:
    """What is left of a change when the classifier is asked for a second opinion about each thing.

    A thing of at least the confidence `clear` needs none.
    """
    gone, new = await gather(
        _believed(change.before, (source, edited), perception, min(SURELY_WENT, clear)),
        _believed(change.after, (edited, source), perception, min(SURELY_CAME, clear)),
    )
    before, after = await gather(
        _broadly(change.before, source, perception), _broadly(change.after, edited, perception)
    )
    if gone and new:
        same = before is not None and after is not None and before.word == after.word
        return replace(change, before=before, after=after, kind="altered" if same else change.kind)
    if gone:
        return Change("vanished", before, None)
    return Change("appeared", None, after) if new else None


async def checked(change: Change, source: Pixels, edited: Pixels, perception: Perception) -> Change:
    """The change; without its word where the classifier does not agree that such a thing came or went."""
    if change.kind not in {"appeared", "vanished", "replaced"} or not has_model(perception, "classifier"):
        return change
    agreed = await confirmed(change, source, edited, perception, clear=CLEAR)
    if agreed is not None:
        return agreed
    before, after = (replace(thing, word=None) if thing else None for thing in (change.before, change.after))
    return replace(change, before=before, after=after, kind="altered" if change.kind == "replaced" else change.kind)


async def described(
    change: Change, source: Pixels, edited: Pixels, changed: BoolMask, perception: Perception
) -> Change:
    """The change, with what a nameless one looks like, and with the color that most of it has now."""
    thing = change.after or change.before
    if thing is None or change.kind not in {"appeared", "vanished", "altered"}:
        return change
    if change.kind == "altered":
        where = thing.mask & changed
        change = replace(change, colors=color_change(source, edited, where if where.any() else thing.mask))
    elif thing.word is None:
        first, then = (source, edited) if change.kind == "appeared" else (edited, source)
        change = replace(change, colors=color_change(first, then, thing.mask))
    if thing.word is not None or float(thing.mask.mean()) > LARGE or not has_model(perception, "classifier"):
        return change
    before, after = await gather(perception.classify(source, thing.box), perception.classify(edited, thing.box))
    now, was = _look(after, before), _look(before, after)
    return replace(change, looks_like=was if change.kind == "vanished" else now)


async def text_changes(source: Pixels, edited: Pixels, changed: BoolMask, perception: Perception) -> list[str]:
    """Which words became others, can no longer be read, or are new, one sentence each."""
    try:
        before, after = await gather(perception.read_text(source), perception.read_text(edited))
    except UnscorableError:
        return []
    height, width = changed.shape
    gone = [at for at in _readable(before, changed) if not _stands(before, at, after)]
    new = [at for at in _readable(after, changed) if not _stands(after, at, before)]
    remarks = []
    for at in gone:
        other = next((each for each in new if box_overlap(before.boxes[at], after.boxes[each]) > 0), None)
        if other is None:
            remarks.append(f'The text "{before.texts[at]}" can no longer be read.')
        else:
            new.remove(other)
            remarks.append(f'The text "{before.texts[at]}" became "{after.texts[other]}".')
    remarks += [f'New text {place(after.boxes[at], width, height)}: "{after.texts[at]}".' for at in new]
    return remarks[:MOST_TEXTS]


async def face_changes(source: Pixels, edited: Pixels, changed: BoolMask, perception: Perception) -> list[str]:
    """What became of faces that are still at their place, one sentence each; nothing without a face reader."""
    try:
        before, after = await gather(perception.faces(source), perception.faces(edited))
    except UnscorableError:
        return []
    height, width = changed.shape
    cosines, remarks = before.similarity(after), []
    for old, new in pairs_of_boxes(before.boxes, after.boxes):
        box = after.boxes[new]
        if _share_within(box, changed) < FACE_CHANGED:
            continue
        where = place(box, width, height)
        if cosines[old, new] < SAME_PERSON and min(box[2] - box[0], box[3] - box[1]) >= COMPARABLE_SIDE:
            remarks.append(f"The face {where} looks like another person's.")
            continue
        for was, now, more, less in (
            (before.smile[old], after.smile[new], "smiles", "no longer smiles"),
            (before.closed_eyes[old], after.closed_eyes[new], "closes the eyes", "opens the eyes"),
            (before.open_mouth[old], after.open_mouth[new], "opens the mouth", "closes the mouth"),
        ):
            if abs(now - was) >= MOVED_FACE:  # never where one of them is not known
                remarks.append(f"The face {where} {more if now > was else less}.")
    return remarks[:MOST_TEXTS]


def _readable(lines: TextLines, changed: BoolMask) -> list[int]:
    """The lines that are read without doubt and lie where something changed, the largest first."""
    places = [
        at
        for at, (text, sure) in enumerate(zip(lines.texts, lines.confidences.tolist(), strict=True))
        if sure >= READ_SURELY and len(letters(text)) >= LETTERS
        and _share_within(lines.boxes[at], changed) >= TEXT_CHANGED
    ]  # fmt: skip
    return sorted(places, key=lambda at: float(lines.boxes[at, 1] - lines.boxes[at, 3]))


def _share_within(box: NDArray[np.float32], changed: BoolMask) -> float:
    """How much of a box changed."""
    height, width = changed.shape
    return float(changed[Rectangle(*map(float, box)).render(width, height)].mean())


def _stands(lines: TextLines, at: int, others: TextLines) -> bool:
    """Can the line, or most of it, be read in the other picture, wherever it stands?"""
    text = letters(lines.texts[at])
    return any(
        error_rate(text, other) < OTHER_TEXT or (len(letters(other)) >= LETTERS and letters(other) in text)
        for other in (*others.texts, "".join(others.texts))
    )


def _look(here: ClassScores, there: ClassScores) -> str | None:
    """What one picture shows for certain and the other does not, in an everyday word."""
    best = int(np.argmax(here.probabilities))
    broad = [word for word in BROAD if best in classes_of(word)]
    word = min(broad, key=lambda each: len(classes_of(each)), default=None)
    classes = sorted(classes_of(word)) if word else [best]
    now, then = (float(scores.probabilities[classes].sum()) for scores in (here, there))
    if now >= (LOOKS if word else EXACTLY) and then < LIKELY:
        return word or class_names()[best]
    now, then = (float(scores.probabilities[:ANIMALS].sum()) for scores in (here, there))
    return ANIMAL if now >= AN_ANIMAL and then < NO_ANIMAL else None


async def _believed(
    thing: PicturedThing | None, pictures: tuple[Pixels, Pixels], perception: Perception, doubtless: float
) -> bool:
    """Is the thing in the first picture, and not at the same place of the second?"""
    if thing is None or thing.word is None:
        return False
    if not perception.knows(thing.word):
        return thing.confidence >= min(UNCONFIRMED, doubtless) and not await _is_an_animal(
            thing, pictures[0], perception
        )
    here, there = [
        answer.share(thing.word)
        for answer in await gather(*(perception.classify(picture, thing.box) for picture in pictures))
    ]
    return there < max(LIKELY, here) and (here >= UNLIKELY or thing.confidence >= doubtless)


async def _broadly(thing: PicturedThing | None, picture: Pixels, perception: Perception) -> PicturedThing | None:
    """The thing; called just an animal where neither the detector nor the classifier is sure of which one."""
    if thing is None or not is_animal(str(thing.word)) or thing.confidence >= MIN_DETECTOR_CONFIDENCE:
        return thing
    if not perception.knows(str(thing.word)):
        return thing
    sure = (await perception.classify(picture, thing.box)).share(str(thing.word)) >= NAMED
    return thing if sure else replace(thing, word=ANIMAL)


async def _is_an_animal(thing: PicturedThing, picture: Pixels, perception: Perception) -> bool:
    """Does the classifier see an animal where the detector sees something else, such as a person in a penguin?"""
    if thing.word not in NO_ANIMALS or float(thing.mask.mean()) > LARGE or not has_model(perception, "classifier"):
        return False
    return float((await perception.classify(picture, thing.box)).probabilities[:ANIMALS].sum()) >= LOOKS
