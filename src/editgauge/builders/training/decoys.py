"""The wrong goal of a change, chosen so that it is surely wrong: what a negative edit names (section 5.1)."""

from __future__ import annotations

from asyncio import gather
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import NDArray

from editgauge._util.images import Pixels
from editgauge._util.masks import BoolMask, bounding_box
from editgauge._vision.object_changes import HALF_SURE
from editgauge.builders.training.change import DescribedChange
from editgauge.builders.training.likeness import are_other_attributes, may_be_the_same, other_attributes, similar_things
from editgauge.errors import UnscorableError
from editgauge.models.answers import Detections
from editgauge.models.interfaces import Perception
from editgauge.protocols._objects import detect_everything, operating_point

NEAR = 10
"""Of the things that are near by WordNet, this many are compared by what their names mean."""
NEAREST = 3
"""A random one of this many is chosen, so that a thing does not always have the same decoy."""
AS_LARGE = 4.0
"""Two things are of similar size up to this ratio of their boxes."""
SAME_PLACE = 0.5
"""Intersection over union from which a thing is still where it was."""


@dataclass(frozen=True, slots=True, eq=False)
class ChangeScene:
    """Both pictures of a change, in one size, and who looks at them."""

    before: Pixels
    after: Pixels
    see: Perception
    mask: BoolMask | None = None
    is_accurate: bool = False
    """Is it known that what was asked for did happen?"""

    def swapped(self) -> ChangeScene:
        """Return the scene of the reverse change."""
        return ChangeScene(self.after, self.before, self.see, self.mask, self.is_accurate)


async def decoy(change: DescribedChange, scene: ChangeScene, chance: Random) -> str:
    """Return another goal that was certainly not reached; raise `UnscorableError` if there is none."""
    if change.action == "Remove":
        return chance.choice((await standing(change, scene))[:NEAREST])
    if change.action == "Change Attribute":
        _check_known(change, scene)
        alternatives = other_attributes(change.goal, change.before) or other_attributes(change.goal)
        if not alternatives:
            raise UnscorableError("not_applicable", f"nothing else than '{change.goal}' is left in its table")
        return chance.choice(alternatives)
    candidates = similar_things(change.goal, tuple(scene.see.vocabulary() or ()))
    sure = await gather(*(is_absent(candidate, change, scene) for candidate in candidates))
    absent = [item for item, is_sure in zip(candidates, sure, strict=True) if is_sure]
    if not absent:
        raise UnscorableError(
            "unknown_word", f"nothing similar to '{change.goal}' is known to be absent from both pictures"
        )
    return chance.choice((await _most_alike(change.goal, absent[:NEAR], scene.see))[:NEAREST])


async def _most_alike(name: str, names: Sequence[str], see: Perception) -> list[str]:
    """Names by how alike they are in meaning."""
    similarities = await gather(*(see.similarity(name, other) for other in names))
    return [other for _, other in sorted(zip((-item for item in similarities), names, strict=True))]


async def check(goal: str, change: DescribedChange, scene: ChangeScene) -> None:
    """Raise `UnscorableError` unless the change towards this goal certainly did not happen."""
    if change.action == "Remove":
        wrong = goal not in await standing(change, scene)
    elif change.action == "Change Attribute":
        _check_known(change, scene)
        wrong = not are_other_attributes(goal, change.goal)
    else:
        wrong = not await is_absent(goal, change, scene)
    if wrong:
        raise UnscorableError("not_applicable", f"it is not sure that '{goal}' is wrong where '{change.goal}' is right")


async def standing(change: DescribedChange, scene: ChangeScene) -> list[str]:
    """Things that stayed where they were, the most alike in size to what was taken away first.

    Raises `UnscorableError` when there is none, or when it is not known how large the thing was.
    """
    taken = await _size(change.goal, scene)
    before, after = await gather(
        *(detect_everything(scene.see, item, (), None) for item in (scene.before, scene.after))
    )
    ratios: dict[str, float] = {}
    for word, box in zip(before.words, before.boxes, strict=True):
        ratio = abs(float(np.log(_area(box) / taken)))
        stayed = any(_overlap(box, other) >= SAME_PLACE for other in _of(after, word))
        if stayed and ratio <= np.log(AS_LARGE) and not may_be_the_same(word, change.goal):
            ratios[word] = min(ratio, ratios.get(word, ratio))
    if not ratios:
        raise UnscorableError("not_detected", f"nothing of the size of '{change.goal}' is seen in both pictures")
    return sorted(ratios, key=lambda word: (ratios[word], word))


async def is_absent(name: str, change: DescribedChange, scene: ChangeScene) -> bool:
    """Is it a thing of another kind, and surely in neither picture? What the detector cannot know is not sure."""
    if any(may_be_the_same(name, true) for true in (change.before, change.after) if true):
        return False
    least = HALF_SURE * operating_point(scene.see)
    try:
        detections_found = await gather(
            *(scene.see.detect(element, name, least=least) for element in (scene.before, scene.after))
        )
    except UnscorableError:
        return False
    return not any(item.found for item in detections_found)


def _check_known(change: DescribedChange, scene: ChangeScene) -> None:
    """No detector sees attributes, so another one is wrong only where the right one is known to be there."""
    if not scene.is_accurate:
        raise UnscorableError("not_applicable", f"it is unknown whether the {change.thing} became {change.goal}")


async def _size(name: str, scene: ChangeScene) -> float:
    """Return the area of an object's box, by detection or mask."""
    try:
        detections = (await scene.see.detect(scene.before, name)).best
    except UnscorableError:
        detections = Detections.none()
    if detections.found:
        return _area(detections.boxes[0])
    around = bounding_box(scene.mask) if scene.mask is not None and scene.mask.any() else None
    if around is None:
        raise UnscorableError(
            "not_detected", f"how large '{name}' was is not known: it is not seen, and there is no mask"
        )
    return _area(np.asarray(around, np.float32))


def _of(detections: Detections, word: str) -> NDArray[np.float32]:
    return detections.boxes[[index for index, label in enumerate(detections.words) if label == word]]


def _area(box: NDArray[np.float32]) -> float:
    return float(max((box[2] - box[0]) * (box[3] - box[1]), 1.0))


def _overlap(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    size = np.clip(np.minimum(one[2:], other[2:]) - np.maximum(one[:2], other[:2]), 0, None)
    shared = float(size[0] * size[1])
    return shared / (_area(one) + _area(other) - shared)
