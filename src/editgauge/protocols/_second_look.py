"""Check and complete detected changes with a classifier, a face reader and OCR."""

from __future__ import annotations

from asyncio import gather
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from editgauge._util.images import Pixels
from editgauge._util.masks import BoolMask, Rectangle
from editgauge._vision.change_sentences import describe_position
from editgauge._vision.geometry import box_overlap
from editgauge._vision.object_changes import Change, DetectedObject
from editgauge._vision.redrawn_changes import color_change
from editgauge.errors import UnscorableError
from editgauge.models.answers import ClassScores, TextLines
from editgauge.models.perception import Perception
from editgauge.models.vocabulary._words import is_animal
from editgauge.models.vocabulary.imagenet import class_names, classes_of
from editgauge.protocols._objects import has_model, match_boxes
from editgauge.protocols.people import MIN_FACE_SIDE, MIN_SAME_PERSON
from editgauge.protocols.text import error_rate, letters

CERTAIN_APPEARANCE, CERTAIN_DISAPPEARANCE = 0.6, 0.72
"""Detector confidence at which an appearance or a disappearance needs no classifier."""
MIN_UNKNOWN_CONFIDENCE = 0.55
"""Minimum confidence for a label that the classifier does not know."""
MIN_LOCAL_CONFIDENCE = 0.45
"""The same for both where the rest of the image stayed: detectors are steadier there."""
MIN_CONFIRMED, MAX_REJECTED = 0.1, 0.03
"""Class probability of a label that the classifier confirms, and of one that it rejects."""
MIN_LOOK_PROBABILITY = 0.5
"""Minimum class probability to name an unlabeled change."""
GROUP_NAMES = (
    "hat", "dog", "cat", "bird", "lizard", "snake", "monkey", "bear", "fish", "frog", "spider", "insect", "butterfly",
    "car", "truck", "bus", "boat", "ship", "ball", "clock", "bottle", "guitar", "computer", "phone", "chair", "bridge",
    "bag", "coat", "shoe", "wolf", "fox", "crab", "parrot", "elephant", "rabbit", "fruit", "bread", "sunglasses",
)  # fmt: skip
"""Everyday names for groups of classes: a banded gecko is called a lizard."""
ANIMAL_CLASSES = 398
"""Number of animal classes of ImageNet, which come first; the classifier is better at them than a COCO detector."""
ANIMAL = "animal"
MIN_SPECIES_PROBABILITY, MIN_DETECTOR_CONFIDENCE = 0.3, 0.75
"""Class probability or detector confidence needed to name a species; otherwise the label is `animal`: detectors take
sheep for cows, and rats for birds."""
MIN_ANIMAL_PROBABILITY, MAX_OTHER_ANIMAL_PROBABILITY = 0.6, 0.2
"""Total animal probability of an unlabeled change that looks like one, and in the other image."""
MIN_CLASS_PROBABILITY = 0.7
"""Minimum probability to name an unlabeled change by a single class."""
NEVER_ANIMALS = ("person",)
"""Labels outside the classifier's vocabulary that detectors give to animals."""
MAX_CROP_FRACTION = 0.35
"""Fraction of the image from which a crop shows more than the object."""
MIN_TEXT_CONFIDENCE = 0.9
"""Minimum OCR confidence of a reported line."""
MIN_LETTERS = 3
"""Minimum number of letters; shorter texts are misread too often."""
MIN_TEXT_ERROR = 0.5
"""Character error rate from which a line is another text."""
MIN_TEXT_CHANGE = 0.3
"""Minimum changed fraction of a line's box."""
MAX_REMARKS = 2
MIN_FACE_CHANGE = 0.2
"""Minimum changed fraction of a face."""
MIN_EXPRESSION_CHANGE = 0.4
"""Minimum change of smile, eyes or mouth, from 0 to 1."""


async def confirm_change(
    change: Change, source: Pixels, edited: Pixels, perception: Perception, *, clear: float = 1.0
) -> Change | None:
    """Check a change with the classifier; return what is confirmed, or None.

    Objects of at least the confidence `clear` are not checked.
    """
    gone, new = await gather(
        _is_confirmed(change.before, (source, edited), perception, min(CERTAIN_DISAPPEARANCE, clear)),
        _is_confirmed(change.after, (edited, source), perception, min(CERTAIN_APPEARANCE, clear)),
    )
    before, after = await gather(
        _generalize(change.before, source, perception), _generalize(change.after, edited, perception)
    )
    if gone and new:
        same = before is not None and after is not None and before.label == after.label
        return replace(change, before=before, after=after, kind="altered" if same else change.kind)
    if gone:
        return Change("vanished", before, None)
    return Change("appeared", None, after) if new else None


async def check_change(change: Change, source: Pixels, edited: Pixels, perception: Perception) -> Change:
    """Drop the label of a change where the classifier does not confirm it."""
    if change.kind not in {"appeared", "vanished", "replaced"} or not has_model(perception, "classifier"):
        return change
    checked_change = await confirm_change(change, source, edited, perception, clear=MIN_LOCAL_CONFIDENCE)
    if checked_change is not None:
        return checked_change
    before, after = (replace(detected, label=None) if detected else None for detected in (change.before, change.after))
    return replace(change, before=before, after=after, kind="altered" if change.kind == "replaced" else change.kind)


async def add_details(
    change: Change, source: Pixels, edited: Pixels, changed: BoolMask, perception: Perception
) -> Change:
    """Add the new color, and what an unlabeled change looks like."""
    detected = change.after or change.before
    if detected is None or change.kind not in {"appeared", "vanished", "altered"}:
        return change
    if change.kind == "altered":
        region = detected.mask & changed
        change = replace(change, colors=color_change(source, edited, region if region.any() else detected.mask))
    elif detected.label is None:
        first, second = (source, edited) if change.kind == "appeared" else (edited, source)
        change = replace(change, colors=color_change(first, second, detected.mask))
    if (
        detected.label is not None
        or float(detected.mask.mean()) > MAX_CROP_FRACTION
        or not has_model(perception, "classifier")
    ):
        return change
    before, after = await gather(perception.classify(source, detected.box), perception.classify(edited, detected.box))
    new_look, old_look = _name_look(after, before), _name_look(before, after)
    return replace(change, looks_like=old_look if change.kind == "vanished" else new_look)


async def text_changes(source: Pixels, edited: Pixels, changed: BoolMask, perception: Perception) -> list[str]:
    """Return one sentence per text that changed, became unreadable or is new."""
    try:
        before, after = await gather(perception.read_text(source), perception.read_text(edited))
    except UnscorableError:
        return []
    height, width = changed.shape
    gone = [line for line in _readable_lines(before, changed) if not _is_readable_in(before, line, after)]
    new = [line for line in _readable_lines(after, changed) if not _is_readable_in(after, line, before)]
    remarks = []
    for line in gone:
        match = next((index for index in new if box_overlap(before.boxes[line], after.boxes[index]) > 0), None)
        if match is None:
            remarks.append(f'The text "{before.texts[line]}" can no longer be read.')
        else:
            new.remove(match)
            remarks.append(f'The text "{before.texts[line]}" became "{after.texts[match]}".')
    remarks += [
        f'New text {describe_position(after.boxes[line], width, height)}: "{after.texts[line]}".' for line in new
    ]
    return remarks[:MAX_REMARKS]


async def face_changes(source: Pixels, edited: Pixels, changed: BoolMask, perception: Perception) -> list[str]:
    """Return one sentence per changed face that is still in its place; none without a face reader."""
    try:
        before, after = await gather(perception.faces(source), perception.faces(edited))
    except UnscorableError:
        return []
    height, width = changed.shape
    cosines, remarks = before.similarity(after), []
    for old, new in match_boxes(before.boxes, after.boxes):
        box = after.boxes[new]
        if _changed_fraction(box, changed) < MIN_FACE_CHANGE:
            continue
        position = describe_position(box, width, height)
        if cosines[old, new] < MIN_SAME_PERSON and min(box[2] - box[0], box[3] - box[1]) >= MIN_FACE_SIDE:
            remarks.append(f"The face {position} looks like another person's.")
            continue
        for old_value, new_value, gained, lost in (
            (before.smile[old], after.smile[new], "smiles", "no longer smiles"),
            (before.closed_eyes[old], after.closed_eyes[new], "closes the eyes", "opens the eyes"),
            (before.open_mouth[old], after.open_mouth[new], "opens the mouth", "closes the mouth"),
        ):
            if abs(new_value - old_value) >= MIN_EXPRESSION_CHANGE:  # never where one of them is not known
                remarks.append(f"The face {position} {gained if new_value > old_value else lost}.")
    return remarks[:MAX_REMARKS]


def _readable_lines(lines: TextLines, changed: BoolMask) -> list[int]:
    """Return the indices of confident lines where the image changed, largest first."""
    indices = [
        index
        for index, (text, confidence) in enumerate(zip(lines.texts, lines.confidences.tolist(), strict=True))
        if confidence >= MIN_TEXT_CONFIDENCE and len(letters(text)) >= MIN_LETTERS
        and _changed_fraction(lines.boxes[index], changed) >= MIN_TEXT_CHANGE
    ]  # fmt: skip
    return sorted(indices, key=lambda index: float(lines.boxes[index, 1] - lines.boxes[index, 3]))


def _changed_fraction(box: NDArray[np.float32], changed: BoolMask) -> float:
    """Return the changed fraction of a box."""
    height, width = changed.shape
    return float(changed[Rectangle(*map(float, box)).render(width, height)].mean())


def _is_readable_in(lines: TextLines, index: int, candidates: TextLines) -> bool:
    """Return whether most of a line can be read anywhere in the other image."""
    text = letters(lines.texts[index])
    return any(
        error_rate(text, candidate) < MIN_TEXT_ERROR
        or (len(letters(candidate)) >= MIN_LETTERS and letters(candidate) in text)
        for candidate in (*candidates.texts, "".join(candidates.texts))
    )


def _name_look(scores: ClassScores, other_scores: ClassScores) -> str | None:
    """Name what one image clearly shows and the other does not."""
    best = int(np.argmax(scores.probabilities))
    groups = [name for name in GROUP_NAMES if best in classes_of(name)]
    group = min(groups, key=lambda name: len(classes_of(name)), default=None)
    classes = sorted(classes_of(group)) if group else [best]
    probability, other_probability = (float(answer.probabilities[classes].sum()) for answer in (scores, other_scores))
    if probability >= (MIN_LOOK_PROBABILITY if group else MIN_CLASS_PROBABILITY) and other_probability < MIN_CONFIRMED:
        return group or class_names()[best]
    probability, other_probability = (
        float(answer.probabilities[:ANIMAL_CLASSES].sum()) for answer in (scores, other_scores)
    )
    return (
        ANIMAL if probability >= MIN_ANIMAL_PROBABILITY and other_probability < MAX_OTHER_ANIMAL_PROBABILITY else None
    )


async def _is_confirmed(
    detected: DetectedObject | None, images: tuple[Pixels, Pixels], perception: Perception, certain: float
) -> bool:
    """Return whether the object is in the first image and not in the same position of the second."""
    if detected is None or detected.label is None:
        return False
    if not perception.knows(detected.label):
        return detected.confidence >= min(MIN_UNKNOWN_CONFIDENCE, certain) and not await _looks_like_animal(
            detected, images[0], perception
        )
    probability, other_probability = [
        answer.share(detected.label)
        for answer in await gather(*(perception.classify(image, detected.box) for image in images))
    ]
    return other_probability < max(MIN_CONFIRMED, probability) and (
        probability >= MAX_REJECTED or detected.confidence >= certain
    )


async def _generalize(detected: DetectedObject | None, image: Pixels, perception: Perception) -> DetectedObject | None:
    """Replace the species by `animal` where neither detector nor classifier is sure of it."""
    if detected is None or not is_animal(str(detected.label)) or detected.confidence >= MIN_DETECTOR_CONFIDENCE:
        return detected
    if not perception.knows(str(detected.label)):
        return detected
    is_sure = (await perception.classify(image, detected.box)).share(str(detected.label)) >= MIN_SPECIES_PROBABILITY
    return detected if is_sure else replace(detected, label=ANIMAL)


async def _looks_like_animal(detected: DetectedObject, image: Pixels, perception: Perception) -> bool:
    """Return whether the classifier sees an animal where the detector does not, as with penguins and people."""
    if (
        detected.label not in NEVER_ANIMALS
        or float(detected.mask.mean()) > MAX_CROP_FRACTION
        or not has_model(perception, "classifier")
    ):
        return False
    return (
        float((await perception.classify(image, detected.box)).probabilities[:ANIMAL_CLASSES].sum())
        >= MIN_LOOK_PROBABILITY
    )
