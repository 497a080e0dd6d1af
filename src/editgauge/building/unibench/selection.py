"""Which images make good tasks, by the criteria of UniBench (section 3.1), and why the others do not."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from editgauge.building.built import OmittedTask
from editgauge.building.coco import Coco, CocoImage, CocoObject
from editgauge.building.unibench.captions import mentions
from editgauge.building.unibench.squares import Square, best_square
from editgauge.core.errors import BadInput


@dataclass(frozen=True, slots=True)
class Criteria:
    """What makes an image editable. The paper names the criteria and no numbers; these are ours.

    Args:
        least_share: of the square, that an editable object covers.
        most_share: the same, at most; more leaves no room for a change of place.
        fewest: editable objects that an image needs; a change of place needs a second one as anchor.
        most_objects: annotated objects that an image may have, however small: a crowded image leaves no freedom.
        least_kept: of an object, that must lie inside the square for it to be edited.
    """

    least_share: float = 0.01
    most_share: float = 0.5
    fewest: int = 2
    most_objects: int = 12
    least_kept: float = 0.9

    def __post_init__(self) -> None:
        problems = []
        if not 0 <= self.least_share < self.most_share <= 1:
            problems.append(f"0 <= least_share < most_share <= 1, got {self.least_share:g} and {self.most_share:g}")
        if not 1 <= self.fewest <= self.most_objects:
            problems.append(f"1 <= fewest <= most_objects, got {self.fewest} and {self.most_objects}")
        if not 0 < self.least_kept <= 1:
            problems.append(f"0 < least_kept <= 1, got {self.least_kept:g}")
        if problems:
            raise BadInput("No image can meet these criteria. What must hold:", problems)


@dataclass(frozen=True, slots=True)
class Chosen:
    """An image that makes good tasks."""

    image: CocoImage
    caption: str | None
    """The caption that mentions the most editable objects; None when no captions were given."""
    editable: tuple[CocoObject, ...]
    square: Square


def choose(coco: Coco, criteria: Criteria, with_captions: bool, seed: int) -> Iterator[Chosen | OmittedTask]:
    """All images in an order of chance that depends on the seed and their numbers alone, each chosen or left out."""
    for image in sorted(coco.images, key=lambda image: _order(seed, image.number)):
        chosen = _chosen(image, tuple(coco.classes), criteria, with_captions)
        yield OmittedTask(image.file, chosen) if isinstance(chosen, str) else chosen


def _chosen(image: CocoImage, classes: Sequence[str], criteria: Criteria, with_captions: bool) -> Chosen | str:
    """The image as it is chosen, or why it is not."""
    if len(image.objects) > criteria.most_objects:
        return f"has {len(image.objects)} objects, more than {criteria.most_objects}"
    alone = [each for each in image.objects if image.count(each.class_) == 1]
    if len(alone) < criteria.fewest:
        return f"objects that are alone of their class: {len(alone)}, and {criteria.fewest} are needed"
    caption, mentioned = _best_caption(image, alone, classes) if with_captions else (None, alone)
    if len(mentioned) < criteria.fewest:
        return f"no caption mentions {criteria.fewest} of the objects that are alone of their class"
    large = [each for each in mentioned if _share(each, image) >= criteria.least_share]
    square = best_square(image.width, image.height, [each.box for each in large])
    editable = tuple(each for each in large if square.share_of(each.box) >= criteria.least_kept)
    if len(editable) < criteria.fewest:
        return (
            f"objects that are whole and large enough in the square: {len(editable)}, and {criteria.fewest} are needed"
        )
    return Chosen(image, caption, editable, square)


def _best_caption(
    image: CocoImage, alone: Sequence[CocoObject], classes: Sequence[str]
) -> tuple[str | None, list[CocoObject]]:
    """The first of the captions that mention the most objects in the singular, and those objects."""
    best: tuple[str | None, list[CocoObject]] = (None, [])
    for caption in image.captions:
        if "{" in caption or "}" in caption:  # it could not become a template
            continue
        named = {each.class_ for each in mentions(caption, classes) if not each.is_plural}
        mentioned = [each for each in alone if each.class_ in named]
        if len(mentioned) > len(best[1]):
            best = caption, mentioned
    return best


def _share(each: CocoObject, image: CocoImage) -> float:
    """How much of the square its box covers; the mask has the last word when the picture is cut."""
    left, top, right, bottom = each.box
    return (right - left) * (bottom - top) / min(image.width, image.height) ** 2


def _order(seed: int, number: int) -> bytes:
    return hashlib.sha256(f"{seed} {number}".encode()).digest()
