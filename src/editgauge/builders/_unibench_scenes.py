"""Select photographs and crop them to squares with editable objects."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

import cv2
import numpy as np

from editgauge._util.coco import Coco, CocoImage, CocoObject
from editgauge._util.images import Pixels, read_image, resize_image, write_png
from editgauge._util.masks import BoolMask
from editgauge._util.phrases import SPOKEN_COLORS
from editgauge._util.text import with_article
from editgauge._vision.colors import color_word
from editgauge._vision.geometry import Point, box_area, centroid
from editgauge.benchmarks._unibench_annotations import Instance, mask_of
from editgauge.builders._common import OmittedTask
from editgauge.builders.review.file import ReviewPicture, instance_of
from editgauge.errors import BadInputError, UnscorableError
from editgauge.models.vocabulary import resolve
from editgauge.models.vocabulary._words import english

LONGEST = 3
"""Words in the name of a class: 'baseball bat', 'hair drier'."""
_WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
_COLOR_BEFORE = re.compile(rf"\b(?:{'|'.join(sorted(SPOKEN_COLORS))})\s+$", re.IGNORECASE)
_PREPOSITION = (
    r"(?:on top of|in front of|next to|to the left of|to the right of|on|in|at|by|under|above|below|behind|beside|near|"
    r"inside|against|over)"
)
_PLACED = re.compile(rf"\b{_PREPOSITION}\s+(?:an?|the|his|her|its|their|some)\s+(?:[\w-]+\s+){{0,2}}$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Mention:
    """A span of a caption that names a class."""

    class_: str
    start: int
    end: int
    is_plural: bool


def mentions(caption: str, classes: Sequence[str]) -> tuple[Mention, ...]:
    """Return the mentions of a caption from left to right; longer names win.

    >>> [(each.class_, each.start) for each in mentions("A cat beside two hot dogs", ("cat", "dog", "hot dog"))]
    [('cat', 2), ('hot dog', 17)]
    """
    words = list(_WORD.finditer(caption))
    taken: set[int] = set()
    listed = []
    for length in range(LONGEST, 0, -1):
        for first in range(len(words) - length + 1):
            span = range(first, first + length)
            start, end = words[first].start(), words[first + length - 1].end()
            named = None if taken & set(span) else _named(caption[start:end].casefold(), tuple(classes))
            if named:
                taken |= set(span)
                listed.append(Mention(named[0], start, end, named[1]))
    return tuple(sorted(listed, key=lambda item: item.start))


@cache
def _named(words: str, classes: tuple[str, ...]) -> tuple[str, bool] | None:
    """Return the class that words name exactly, and whether it is plural."""
    if words.split(maxsplit=1)[0] in english().determiners:
        return None
    try:
        class_ = resolve(words, classes)
    except UnscorableError:
        return None
    return None if "head noun" in class_.how else (class_.word, "plural" in class_.how)


def with_slot(caption: str, mention: Mention) -> str:
    """Replace a mention by a class slot."""
    return f"{caption[: mention.start]}{{target}}{caption[mention.end :]}"


def with_color(caption: str, mention: Mention) -> str:
    """Replace the color of a mention by a slot.

    >>> with_color("A black cat on a mat", Mention("cat", 8, 11, False))
    'A {color} cat on a mat'
    """
    before = _COLOR_BEFORE.sub("", caption[: mention.start])
    return f"{before}{{color}} {caption[mention.start :]}"


def with_place(caption: str, mention: Mention, anchors: Sequence[Mention]) -> str | None:
    """Replace the position of a mention by a slot, if the caption states it.

    >>> with_place("A cat sits on an old suitcase.", Mention("cat", 2, 5, False), [Mention("suitcase", 21, 29, False)])
    'A cat sits {position} a {anchor}.'
    """
    for anchor in anchors:
        between = caption[mention.end : anchor.start] if anchor.start > mention.end else ""
        placed = _PLACED.search(between)
        if placed:
            return (
                f"{caption[: mention.end]}{between[: placed.start()]}{{position}} a {{anchor}}{caption[anchor.end :]}"
            )
    return None


def with_addition(caption: str) -> str:
    """Add a slot for a new object to the caption.

    >>> with_addition("A cat on a mat.")
    'A cat on a mat, and a {target} {position} the {anchor}.'
    """
    return f"{caption.rstrip(' .!')}, and a {{target}} {{position}} the {{anchor}}."


def plain_caption(classes: Sequence[str]) -> str:
    """Compose a caption for an image without one.

    >>> plain_caption(["cat", "umbrella"])
    'A photo of a cat and an umbrella'
    """
    return f"A photo of {' and '.join(with_article(class_name) for class_name in classes)}"


def mention_of(caption: str, class_: str, classes: Sequence[str]) -> Mention | None:
    """Return where a caption mentions a class in the singular."""
    single = (mention for mention in mentions(caption, classes) if mention.class_ == class_ and not mention.is_plural)
    return next(single, None)


Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""
MIN_SIDE = 64
"""Pixels: what is smaller has no detail left when it is scaled up again."""
MIN_OBJECTS = 2
"""A picture with fewer objects has no target and anchor."""


@dataclass(frozen=True, slots=True)
class Square:
    """A square part of a picture, in whole pixels."""

    left: int
    top: int
    side: int

    def cut(self, pixels: Pixels, size: int) -> Pixels:
        """Crop an image and scale it (Lanczos)."""
        part = pixels[self.top : self.top + self.side, self.left : self.left + self.side]
        return resize_image(np.ascontiguousarray(part), size, size)

    def cut_mask(self, mask: BoolMask, size: int) -> BoolMask:
        """Crop and scale a mask; a pixel is inside if at least half of its area is."""
        part = mask[self.top : self.top + self.side, self.left : self.left + self.side]
        if part.shape == (size, size):
            return np.ascontiguousarray(part)
        if size < self.side:
            shares = cv2.resize(part.astype(np.float32), (size, size), interpolation=cv2.INTER_AREA)
            return np.asarray(shares >= 0.5)
        indices = ((np.arange(size) + 0.5) * self.side / size).astype(np.intp)
        return part[np.ix_(indices, indices)]

    def share_of(self, box: Box) -> float:
        """Return the share of a box that is inside the square.

        >>> Square(10, 0, 20).share_of((0, 0, 20, 20))
        0.5
        """
        left, top, right, bottom = box
        across = min(right, self.left + self.side) - max(left, self.left)
        down = min(bottom, self.top + self.side) - max(top, self.top)
        area = (right - left) * (bottom - top)
        return max(0.0, across) * max(0.0, down) / area if area > 0 else 0.0


def best_square(width: int, height: int, boxes: Sequence[Box]) -> Square:
    """Return the largest square that keeps the most objects, then the most of the others, then the center.

    >>> best_square(40, 20, [(25, 5, 38, 15)]), best_square(40, 20, [])
    (Square(left=18, top=0, side=20), Square(left=10, top=0, side=20))
    """
    side = min(width, height)
    slack = max(width, height) - side
    is_wide = width > height
    ends = [(box[0], box[2]) if is_wide else (box[1], box[3]) for box in boxes]
    starts = [slack // 2, 0, slack, *(int(low) for low, _ in ends), *(-int(side - high) for _, high in ends)]
    starts_sorted = sorted({min(max(start, 0), slack) for start in starts}, key=lambda start: abs(start - slack // 2))

    def kept(start: int) -> tuple[int, float]:
        square = _at(start, side, is_wide=is_wide)
        shares = [square.share_of(box) for box in boxes]
        return sum(share > 0.999 for share in shares), round(sum(shares), 6)

    return _at(max(starts_sorted, key=kept), side, is_wide=is_wide)


def _at(start: int, side: int, *, is_wide: bool) -> Square:
    return Square(start, 0, side) if is_wide else Square(0, start, side)


def square_of(box: tuple[int, int, int], picture: ReviewPicture) -> Square:
    """Return the square at left, top, side; raise `BadInputError` if it is too small or outside."""
    left, top, side = box
    least = min(MIN_SIDE, picture.width // 2)
    if side < least:
        raise BadInputError(f"a crop of this picture is at least {least} pixels wide, got {side}")
    if left < 0 or top < 0 or left + side > picture.width or top + side > picture.height:
        size = f"{picture.width} x {picture.height}"
        raise BadInputError(f"the square at {left}, {top} with a side of {side} leaves the picture of {size}")
    return Square(left, top, side)


def cropped(picture: ReviewPicture, square: Square, images: Path) -> ReviewPicture:
    """Crop an image to the square at its original width, and write it.

    Raises `BadInputError` when too few objects are left in it.
    """
    size = picture.width
    instances = [cut for instance in picture.instances if (cut := _cut(instance, picture, square)) is not None]
    if len(instances) < MIN_OBJECTS:
        raise BadInputError(f"only {len(instances)} of the {len(picture.instances)} objects are left in that square")
    path = PurePosixPath(picture.file)
    file = path.with_name(f"{path.stem}-crop-{square.left}-{square.top}-{square.side}.png")
    write_png(square.cut(read_image(images / picture.file), size), images / file)
    return picture.model_copy(update={"file": str(file), "width": size, "height": size, "instances": instances})


def _cut(instance: Instance, picture: ReviewPicture, square: Square) -> Instance | None:
    mask = square.cut_mask(mask_of(instance.mask).render(picture.width, picture.height), picture.width)
    return instance_of(instance.id, instance.class_, mask, instance.color) if mask.any() else None


UNPAINTED = ("person",)
"""An edit that gives a person another color is not proposed."""


@dataclass(frozen=True, slots=True)
class Criteria:
    """Thresholds for editable images; the paper names the criteria without numbers.

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


def choose(coco: Coco, criteria: Criteria, seed: int, *, with_captions: bool) -> Iterator[Chosen | OmittedTask]:
    """Yield all images in a reproducible random order, each selected or omitted."""
    for image in sorted(coco.images, key=lambda image: _order(seed, image.number)):
        selected = _chosen(image, tuple(coco.classes), criteria, with_captions=with_captions)
        yield OmittedTask(image.file, selected) if isinstance(selected, str) else selected


def _chosen(image: CocoImage, classes: Sequence[str], criteria: Criteria, *, with_captions: bool) -> Chosen | str:
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
    """Return the share of the square that the box covers; cutting the mask is final."""
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
