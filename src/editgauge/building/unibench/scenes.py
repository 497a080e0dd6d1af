"""A chosen image made square: its pixels, its objects as they are in it now, and what vanished."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from editgauge.benchmarks.unibench.annotations import Instance
from editgauge.building.built import OmittedTask
from editgauge.building.coco import CocoObject
from editgauge.building.review.file import ReviewPicture, instance_of
from editgauge.building.unibench.selection import Chosen, Criteria
from editgauge.core.errors import BadInput
from editgauge.core.images import Pixels
from editgauge.core.masks import BoolMask
from editgauge.vision.color_words import color_word
from editgauge.vision.positions import Point, centroid

UNPAINTED = ("person",)
"""An edit that gives a person another color is not proposed."""


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
        """The object of that id."""
        return next(each for each in self.picture.instances if each.id == name)

    @property
    def classes(self) -> frozenset[str]:
        """The classes that are in the picture."""
        return frozenset(each.class_ for each in self.picture.instances)


def make_scene(chosen: Chosen, pixels: Pixels, file: str, size: int, criteria: Criteria) -> EditableScene | OmittedTask:
    """The image cut to its square and scaled to `size` with all its objects; or why it is left out after all."""
    image = chosen.image
    if pixels.shape[:2] != (image.height, image.width):
        seen = f"{pixels.shape[1]} x {pixels.shape[0]}"
        return OmittedTask(image.file, f"is {seen}, while its annotations are of {image.width} x {image.height}")
    square = chosen.square.cut(pixels, size)
    instances, editable, gone = [], [], []
    centers: dict[str, Point] = {}
    for name, each in image.named_objects():
        try:
            whole = each.render(image.width, image.height)
        except BadInput as unreadable:
            return OmittedTask(image.file, str(unreadable))
        mask = chosen.square.cut_mask(whole, size)
        if not mask.any():
            gone.append(OmittedTask(f"{image.file}: {name}", "vanished when the picture was cut and scaled"))
            continue
        why = _not_editable(each, whole, mask, chosen, criteria)
        if why is None:
            editable.append(name)
        elif each in chosen.editable:
            gone.append(OmittedTask(f"{image.file}: {name}", why))
        centers[name] = centroid(mask)
        color = None if each.class_ in UNPAINTED else color_word(square, mask)
        instances.append(instance_of(name, each.class_, mask, color))
    if len(editable) < criteria.fewest:
        return OmittedTask(
            image.file, f"objects that can be edited in the square: {len(editable)}, and {criteria.fewest} are needed"
        )
    captions = [chosen.caption] if chosen.caption else []
    others = [caption for caption in image.captions if caption != chosen.caption]
    picture = ReviewPicture(
        file=file,
        width=size,
        height=size,
        number=image.number,
        captions=[*captions, *others],
        license=image.license,
        instances=instances,
    )
    return EditableScene(picture, square, tuple(editable), tuple(gone), centers)


def _not_editable(each: CocoObject, whole: BoolMask, mask: BoolMask, chosen: Chosen, criteria: Criteria) -> str | None:
    if each not in chosen.editable:
        return "was not chosen"
    inside = chosen.square.cut_mask(whole, chosen.square.side).sum() / whole.sum()
    if inside < criteria.least_kept:
        return f"only {inside:.0%} of it is in the square"
    share = float(mask.mean())
    if not criteria.least_share <= share <= criteria.most_share:
        return f"covers {share:.1%} of the square, not {criteria.least_share:.1%} to {criteria.most_share:.1%}"
    return None
