"""Images that make good tasks, by the criteria of UniBench (section 3.1), made square with their objects.

Of every other image, and of every object that vanished, it is told why it was left out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from editgauge._util.coco import Coco, CocoImage, CocoObject
from editgauge._util.images import Pixels
from editgauge._util.masks import BoolMask
from editgauge._vision.colors import color_word
from editgauge._vision.geometry import Point, box_area, centroid
from editgauge.benchmarks.unibench._annotations import Instance
from editgauge.builders.built import OmittedTask
from editgauge.builders.review.file import ReviewPicture, instance_of
from editgauge.builders.unibench.captions import mentions
from editgauge.builders.unibench.squares import Square, best_square
from editgauge.errors import BadInputError

UNPAINTED = ("person",)
"""An edit that gives a person another color is not proposed."""


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
            raise BadInputError("No image can meet these criteria. What must hold:", problems)


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
        selected = _chosen(image, tuple(coco.classes), criteria, with_captions)
        yield OmittedTask(image.file, selected) if isinstance(selected, str) else selected


def _chosen(image: CocoImage, classes: Sequence[str], criteria: Criteria, with_captions: bool) -> Chosen | str:
    """Select an image, or return the reason why not."""
    if len(image.objects) > criteria.most_objects:
        return f"has {len(image.objects)} objects, more than {criteria.most_objects}"
    alone = [object_ for object_ in image.objects if image.count(object_.class_) == 1]
    if len(alone) < criteria.fewest:
        return f"objects that are alone of their class: {len(alone)}, and {criteria.fewest} are needed"
    caption, mentioned = _best_caption(image, alone, classes) if with_captions else (None, alone)
    if len(mentioned) < criteria.fewest:
        return f"no caption mentions {criteria.fewest} of the objects that are alone of their class"
    large = [element for element in mentioned if _share(element, image) >= criteria.least_share]
    square = best_square(image.width, image.height, [item.box for item in large])
    editable = tuple(entry for entry in large if square.share_of(entry.box) >= criteria.least_kept)
    if len(editable) < criteria.fewest:
        return (
            f"objects that are whole and large enough in the square: {len(editable)}, and {criteria.fewest} are needed"
        )
    return Chosen(image, caption, editable, square)


def _best_caption(
    image: CocoImage, alone: Sequence[CocoObject], classes: Sequence[str]
) -> tuple[str | None, list[CocoObject]]:
    """Return the caption that mentions the most single objects, and these objects."""
    best: tuple[str | None, list[CocoObject]] = (None, [])
    for caption in image.captions:
        if "{" in caption or "}" in caption:  # it could not become a template
            continue
        named = {mention.class_ for mention in mentions(caption, classes) if not mention.is_plural}
        mentioned = [item for item in alone if item.class_ in named]
        if len(mentioned) > len(best[1]):
            best = caption, mentioned
    return best


def _share(object_: CocoObject, image: CocoImage) -> float:
    """How much of the square its box covers; the mask has the last word when the picture is cut."""
    return box_area(object_.box) / min(image.width, image.height) ** 2


def _order(seed: int, number: int) -> bytes:
    return hashlib.sha256(f"{seed} {number}".encode()).digest()


@dataclass(frozen=True, eq=False, slots=True)
class EditableScene:
    """A square picture and what may be edited in it."""

    picture: ReviewPicture
    pixels: Pixels
    editable: tuple[str, ...]
    """Ids of instances."""
    left_out: tuple[OmittedTask, ...]
    """Objects that vanished or may not be edited."""
    centers: Mapping[str, Point]
    """The center of mass of every object's outline, by id."""

    @property
    def caption(self) -> str | None:
        """The caption that templates are made from."""
        return self.picture.captions[0] if self.picture.captions else None

    def instance(self, name: str) -> Instance:
        """Return the object of an id."""
        return next(item for item in self.picture.instances if item.id == name)

    @property
    def classes(self) -> frozenset[str]:
        """The classes that are in the picture."""
        return frozenset(item.class_ for item in self.picture.instances)


def make_scene(
    selected: Chosen, pixels: Pixels, file: str, size: int, criteria: Criteria
) -> EditableScene | OmittedTask:
    """Crop an image to its square and scale it with its objects, or return why it is left out."""
    image = selected.image
    if pixels.shape[:2] != (image.height, image.width):
        size_text = f"{pixels.shape[1]} x {pixels.shape[0]}"
        return OmittedTask(image.file, f"is {size_text}, while its annotations are of {image.width} x {image.height}")
    square = selected.square.cut(pixels, size)
    instances, editable, gone = [], [], []
    centers: dict[str, Point] = {}
    for name, item in image.named_objects():
        try:
            full_mask = item.render(image.width, image.height)
        except BadInputError as unreadable:
            return OmittedTask(image.file, str(unreadable))
        mask = selected.square.cut_mask(full_mask, size)
        if not mask.any():
            gone.append(OmittedTask(f"{image.file}: {name}", "vanished when the picture was cut and scaled"))
            continue
        why = _not_editable(item, full_mask, mask, selected, criteria)
        if why is None:
            editable.append(name)
        elif item in selected.editable:
            gone.append(OmittedTask(f"{image.file}: {name}", why))
        centers[name] = centroid(mask)
        color = None if item.class_ in UNPAINTED else color_word(square, mask)
        instances.append(instance_of(name, item.class_, mask, color))
    if len(editable) < criteria.fewest:
        return OmittedTask(
            image.file, f"objects that can be edited in the square: {len(editable)}, and {criteria.fewest} are needed"
        )
    captions = [selected.caption] if selected.caption else []
    further_captions = [caption for caption in image.captions if caption != selected.caption]
    picture = ReviewPicture(
        file=file,
        width=size,
        height=size,
        number=image.number,
        captions=[*captions, *further_captions],
        license=image.license,
        instances=instances,
    )
    return EditableScene(picture, square, tuple(editable), tuple(gone), centers)


def _not_editable(
    object_: CocoObject, full_mask: BoolMask, mask: BoolMask, selected: Chosen, criteria: Criteria
) -> str | None:
    if object_ not in selected.editable:
        return "was not chosen"
    inside = selected.square.cut_mask(full_mask, selected.square.side).sum() / full_mask.sum()
    if inside < criteria.least_kept:
        return f"only {inside:.0%} of it is in the square"
    share = float(mask.mean())
    if not criteria.least_share <= share <= criteria.most_share:
        return f"covers {share:.1%} of the square, not {criteria.least_share:.1%} to {criteria.most_share:.1%}"
    return None
