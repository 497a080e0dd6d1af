"""Propose edits for any photograph, each with a recipe for its correct outcome."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge._util.masks import Polygons, Union, bounding_box
from editgauge._util.phrases import POSITION_PHRASES, instruction
from editgauge._util.text import with_article
from editgauge._vision import geometry
from editgauge._vision.colors import rgb_of
from editgauge._vision.geometry import box_area, box_overlap
from editgauge.models.answers import Detections, Instances, SegmentPrompt
from editgauge.recipes import (
    COLORS,
    MARGIN,
    MATERIALS,
    STYLES,
    Background,
    Cutout,
    Move,
    Paste,
    Recipe,
    Recolor,
    Remove,
    Replace,
    Resize,
    Restyle,
    Texture,
)
from editgauge.types import Edit, Position

if TYPE_CHECKING:
    from editgauge._util.images import ImageFile, Pixels
    from editgauge._util.masks import BoolMask
    from editgauge.models.perception import Perception

Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""

MIN_CANDIDATE_CONFIDENCE = 0.2
"""Minimum confidence at which something may be there: who asks for 'the horse' must mean one thing alone."""
MIN_CLEAR_CONFIDENCE = 0.3
"""Minimum confidence at which something counts as standing in the way."""
MIN_OBJECT_CONFIDENCE = 0.45
"""Minimum confidence at which something is edited."""
OBJECT_SHARE_RANGE = 0.004, 0.25
"""Of the picture, that a thing worth an edit covers."""
SOLIDITY_RANGE = 0.3, 0.97
"""Of its box, that an outline covers: less is a net of scraps, more is the box itself."""
MIN_LARGEST_PIECE = 0.85
"""Of the outlined pixels that hang together."""
MIN_BOX_OVERLAP = 0.75
"""How well the outline's box and the detector's agree."""
CLEARANCE_PIXELS = 4
"""Pixels between a whole thing and the picture's edge."""
MAX_OVERLAP = 0.1
"""Of the smaller of two boxes, that may be in the other while both stand alone."""
OUTLINE_TOLERANCE = 1.0
"""Pixels by which a polygon may depart from the mask."""


class CandidateObject(NamedTuple):
    """Something that the detector saw, however faintly."""

    name: str
    box: Box
    confidence: float


@dataclass(frozen=True, slots=True)
class OutlinedObject:
    """Something seen, with an outline that can be cut along."""

    name: str
    outline: Polygons
    confidence: float
    is_complete: bool
    """Does the picture's edge leave all of it in view?"""
    is_isolated: bool
    """Does nothing else that is seen lie over it or against it?"""

    share: float
    """Of the picture, that it covers."""

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in pixels."""
        left, top, right, bottom = self.outline.box()
        return right - left, bottom - top


@dataclass(frozen=True, eq=False)
class Photograph:
    """A picture with what is seen in it."""

    picture: ImageFile
    pixels: Pixels
    objects: tuple[OutlinedObject, ...]
    """Those with a reliable outline, most confident first."""
    candidates: tuple[CandidateObject, ...]
    """All that may be there."""

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        height, width = self.pixels.shape[:2]
        return width, height

    @cached_property
    def names(self) -> Counter[str]:
        """How many of each there may be."""
        return Counter(candidate.name for candidate in self.candidates)

    def unique(self) -> list[OutlinedObject]:
        """Things that can be named without saying which one."""
        return [cutout for cutout in self.objects if self.names[cutout.name] == 1]


async def look_at(picture: ImageFile, pixels: Pixels, see: Perception) -> Photograph:
    """Detect and segment the objects of a photograph."""
    detections = await see.detect_all(pixels, least=MIN_CANDIDATE_CONFIDENCE)
    sure = detections.over(MIN_OBJECT_CONFIDENCE)
    return understood(
        picture, pixels, Instances(sure, await see.segment(pixels, SegmentPrompt(boxes=sure.boxes))), detections
    )


def understood(picture: ImageFile, pixels: Pixels, instances: Instances, faint: Detections | None = None) -> Photograph:
    """Return the photograph with given masks; `faint` are all detections, also weak ones."""
    detections = instances.detections if faint is None else faint
    candidates = _candidates(detections)
    clear = [candidate.box for candidate in candidates if candidate.confidence >= MIN_CLEAR_CONFIDENCE]
    outlined = zip(_candidates(instances.detections), instances.masks, strict=True)
    cutouts = (
        _outlined(candidate, mask, [box for box in clear if box != candidate.box]) for candidate, mask in outlined
    )
    return Photograph(picture, pixels, tuple(cutout for cutout in cutouts if cutout), candidates)


def _candidates(detections: Detections) -> tuple[CandidateObject, ...]:
    rows = zip(detections.words, detections.boxes.tolist(), detections.confidences.tolist(), strict=True)
    return tuple(
        CandidateObject(word, (left, top, right, bottom), sure) for word, (left, top, right, bottom), sure in rows
    )


def _outlined(candidate: CandidateObject, mask: BoolMask, other_boxes: Sequence[Box]) -> OutlinedObject | None:
    piece = _largest_piece(mask)
    if piece is None or not OBJECT_SHARE_RANGE[0] <= piece.mean() <= OBJECT_SHARE_RANGE[1]:
        return None
    left, top, right, bottom = box_found = bounding_box(piece)
    solidity = piece.sum() / ((right - left) * (bottom - top))
    if (
        not SOLIDITY_RANGE[0] <= solidity <= SOLIDITY_RANGE[1]
        or box_overlap(box_found, candidate.box) < MIN_BOX_OVERLAP
    ):
        return None
    height, width = mask.shape
    is_complete = all(
        min(box[0], box[1], width - box[2], height - box[3]) >= CLEARANCE_PIXELS for box in (box_found, candidate.box)
    )
    alone = all(_shared(box_found, other) <= MAX_OVERLAP for other in other_boxes)
    return OutlinedObject(
        candidate.name, _outline(piece), candidate.confidence, is_complete, alone, float(piece.mean())
    )


def _largest_piece(mask: BoolMask) -> BoolMask | None:
    """Return the largest component of a mask with holes closed, or None if it is not dominant."""
    contours, _ = cv2.findContours(mask.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    if not contours:
        return None
    canvas = np.zeros(mask.shape, np.uint8)
    cv2.drawContours(canvas, [max(contours, key=cv2.contourArea)], -1, 1, cv2.FILLED)
    piece = canvas.astype(np.bool_)
    return piece if (piece & mask).sum() >= MIN_LARGEST_PIECE * mask.sum() else None


def _outline(piece: BoolMask) -> Polygons:
    contours, _ = cv2.findContours(piece.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    ring = cv2.approxPolyDP(max(contours, key=cv2.contourArea), OUTLINE_TOLERANCE, closed=True)
    return Polygons((tuple(float(value) for value in ring.ravel()),))


def _shared(one: Box, other: Box) -> float:
    """Return the share of the smaller box that is inside the other."""
    both = box_area((max(one[0], other[0]), max(one[1], other[1]), min(one[2], other[2]), min(one[3], other[3])))
    return both / max(min(box_area(one), box_area(other)), 1.0)


STYLE_PHRASES = MappingProxyType(
    {
        "sketch": "a pencil sketch",
        "grayscale": "a black and white photo",
        "sepia": "a sepia photo",
        "cartoon": "a cartoon",
        "negative": "a photographic negative",
        "oil": "an oil painting",
    }
)
SCENE_PHRASES = MappingProxyType(
    {"brick": "brick wall", "grass": "green lawn", "blur": "blurred background", "white": "plain white wall"}
)
SURFACES = MappingProxyType({"stripes": "striped", "dots": "dotted", "wood": "wooden"})
SIDE_PHRASES = MappingProxyType({"left": "on the left", "center": "in the center", "right": "on the right"})
MIN_COLOR_DISTANCE = 45.0
"""CIELAB distance from which two colors have different names for everyone."""


def captions(
    kind: str, subject: str | None, from_: str | None, to: str | None, position: Position | None
) -> tuple[str, str]:
    """Return captions of the source and target image.

    >>> captions("color", "car", "white", "red", None)
    ('a photo of a white car', 'a photo of a red car')
    """
    subject_phrase = with_article(subject) if subject else "a scene"
    new = with_article(to) if to else ""
    before = f"a photo of {subject_phrase}"
    match kind:
        case "object_removal":
            return before, f"a photo of a place without {subject_phrase}"
        case "single_instance_removal":
            return f"a photo with several of {subject_phrase}", f"a photo with one {subject} fewer"
        case "position_replacement":
            return f"{before} {SIDE_PHRASES[from_ or '']}", f"{before} {SIDE_PHRASES[to or '']}"
        case "size":
            return before, f"a photo of {with_article(f'{to} {subject}')}"
        case "color":
            old, new = (with_article(f"{color} {subject}") for color in (from_, to))
            return f"a photo of {old}", f"a photo of {new}"
        case "texture":
            surface = SURFACES.get(to or "", to)
            return before, f"a photo of {with_article(f'{surface} {subject}')}"
        case "object_replacement":
            return before, f"a photo of {new}"
        case "object_addition":
            return before, f"{before} and {new}"
        case "positional_addition" if position:
            return before, f"{before} with {new} {POSITION_PHRASES[position.relation].format(subject)}"
        case "style":
            return before, f"{to} of {subject_phrase}"
        case _:
            return before, f"{before} before {new}"


def colors(pixels: Pixels, where: BoolMask) -> tuple[str, list[str]]:
    """Return the color of a region and the colors that differ clearly."""
    region_color = np.median(_lab(pixels[where]), axis=0)
    distances = {
        name: float(np.linalg.norm(_lab(np.array([rgb_of(name)], np.uint8))[0] - region_color)) for name in COLORS
    }
    nearest = min(distances, key=lambda name: distances[name])
    return nearest, [name for name, distance in distances.items() if distance > MIN_COLOR_DISTANCE]


def named(outlines: Sequence[tuple[str, Polygons]]) -> dict[str, Polygons]:
    """Outlines by name; where several share one, all but the first are numbered."""
    counts: Counter[str] = Counter()
    result = {}
    for name, outline in outlines:
        counts[name] += 1
        result[name if counts[name] == 1 else f"{name} {counts[name]}"] = outline
    return result


def _lab(colors: NDArray[np.uint8]) -> NDArray[np.float32]:
    unit = colors.astype(np.float32)[np.newaxis] / np.float32(255)
    return np.asarray(cv2.cvtColor(unit, cv2.COLOR_RGB2LAB)[0], np.float32)


FLYING_OBJECTS = {"airplane", "kite", "bird", "frisbee", "sports ball"}
DEFAULT_HEIGHT = 0.28
"""Of the picture's height: how high an added thing is where nothing says otherwise."""
MAX_WIDTH = 0.4
"""Of the picture's width."""
RELATIVE_HEIGHT = 0.9
"""An added thing next to another, in heights of that one."""
MAX_SCALE = 1.6
"""How many times a cut-out thing may be enlarged before its pixels show."""
MAX_TRIES = 40
MIN_MOVE = 0.5
"""Widths of a thing by which it must move to lie elsewhere."""
MIDDLES: dict[geometry.Third, float] = {"left": 1 / 6, "center": 1 / 2, "right": 5 / 6}
ANCHOR_GAP = 0.15
"""Between a thing and what is put next to it, in widths of the new one."""


def is_free(box: Box, photo: Photograph, excluded: OutlinedObject | None = None) -> bool:
    """Return whether a box is inside the image and overlaps no other object."""
    width, height = photo.size
    left, top, right, bottom = box
    if (
        left < CLEARANCE_PIXELS
        or top < CLEARANCE_PIXELS
        or right > width - CLEARANCE_PIXELS
        or bottom > height - CLEARANCE_PIXELS
    ):
        return False
    around = left - MARGIN, top - MARGIN, right + MARGIN, bottom + MARGIN
    excluded_box = excluded.outline.box() if excluded else None
    boxes = (
        candidate.box
        for candidate in photo.candidates
        if excluded_box is None or not _same(candidate.box, excluded_box)
    )
    return all(box_overlap(around, other) == 0 for other in boxes)


def third(cutout: OutlinedObject, photo: Photograph) -> geometry.Third:
    """Return the third of the image in which an object lies."""
    return geometry.third(geometry.middle(cutout.outline.box())[0], photo.size[0])


def elsewhere(cutout: OutlinedObject, photo: Photograph) -> list[tuple[geometry.Third, geometry.Point]]:
    """Return the other thirds of the image with enough room, and the new centers."""
    width = photo.size[0]
    x, y = geometry.middle(cutout.outline.box())
    half = cutout.size[0] / 2 + CLEARANCE_PIXELS + 1
    targets = [(side, min(max(share * width, half), width - half)) for side, share in MIDDLES.items()]
    return [
        (side, (to, y))
        for side, to in targets
        if geometry.third(to, width) == side
        and abs(to - x) >= MIN_MOVE * cutout.size[0]
        and is_free(Move(cutout.outline, (to, y)).placed().box(), photo, excluded=cutout)
    ]


def outermost(cutout: OutlinedObject, photo: Photograph) -> Literal["leftmost", "rightmost"] | None:
    """Return whether an object is clearly the first or last of its class from left to right."""
    left, _, right, _ = box = cutout.outline.box()
    boxes = [
        candidate.box
        for candidate in photo.candidates
        if candidate.name == cutout.name and not _same(candidate.box, box)
    ]
    centers = [geometry.middle(other)[0] for other in boxes]
    if all(right <= center for center in centers):
        return "leftmost"
    return "rightmost" if all(left >= center for center in centers) else None


def anywhere(new: OutlinedObject, cutout: Cutout, photo: Photograph, chance: np.random.Generator) -> Paste | None:
    """Paste the new object at a free position: flying objects above, others on the ground."""
    width, height = photo.size
    tall = _height(new, DEFAULT_HEIGHT * height, MAX_WIDTH * width)
    low, high = (0.15, 0.4) if new.name in FLYING_OBJECTS else (0.75, 0.96)
    for across, down in chance.random((MAX_TRIES, 2)):
        paste = Paste(cutout, (round(across * width), round((low + (high - low) * down) * height)), tall)
        if is_free(paste.placed().box(), photo):
            return paste
    return None


def beside(
    new: OutlinedObject, cutout: Cutout, anchor: OutlinedObject, side: Literal["left", "right"], photo: Photograph
) -> Paste | None:
    """Paste the new object next to the anchor on the same ground, or return None without room."""
    left, _, right, bottom = anchor.outline.box()
    tall = _height(new, RELATIVE_HEIGHT * anchor.size[1], MAX_WIDTH * photo.size[0])
    half = new.size[0] / new.size[1] * tall / 2
    gap = max(2 * MARGIN + 2, 2 * ANCHOR_GAP * half)
    foot = (left - gap - half if side == "left" else right + gap + half, bottom)
    paste = Paste(cutout, foot, tall)
    return paste if is_free(paste.placed().box(), photo) else None


def _height(new: OutlinedObject, target_height: float, widest: float) -> float:
    """Return the target height, reduced where the object would be too wide or too enlarged."""
    width, height = new.size
    return round(min(target_height, widest * height / width, MAX_SCALE * height), 1)


def _same(one: Box, other: Box) -> bool:
    """Are these boxes of the same thing, one by the detector and one by the outline?"""
    return box_overlap(one, other) >= 0.5


T = TypeVar("T")
UNPAINTED_CLASSES = {"person"}
"""An edit that gives a person another material is not proposed."""
SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")
SIZES = MappingProxyType({"small": 0.6, "large": 1.35})
MAX_HOLE_SHARE = 0.1
"""Of the picture: what is left behind by something larger can hardly be painted by anyone."""
MIN_CUTOUT_HEIGHT = 60
"""Pixels in height of a thing worth pasting elsewhere."""
MAX_ASPECT_RATIO = 1.7
"""How many times wider, at the same height, a replacement may be than what it replaces, or narrower."""
SCENES = ("brick", "grass", "blur", "white")
MIN_FOREGROUND_SHARE = 0.04
"""Of the picture, that what is kept before another background covers."""


@dataclass(frozen=True, slots=True)
class Draft:
    """What makes an edit of a type, before it is put into words."""

    recipe: Recipe
    subject: str | None = None
    from_: str | None = None
    to: str | None = None
    position: Position | None = None
    which: str | None = None
    """Which of several: leftmost, rightmost."""


class Drawing:
    """Chance for one type of edit on one photograph, and the things of other photographs."""

    def __init__(self, photo: Photograph, other_photos: Sequence[Photograph], seed: int, kind: str) -> None:
        self.photo = photo
        self.chance = np.random.default_rng([seed, zlib.crc32(f"{photo.picture.name} {kind}".encode())])
        self._others = [other for other in other_photos if other.picture.name != photo.picture.name]

    def one(self, candidates: Sequence[T]) -> T | None:
        """Return a random item; None when there is none."""
        return candidates[int(self.chance.integers(len(candidates)))] if candidates else None

    def shuffled(self, candidates: Sequence[T]) -> list[T]:
        """Return the items in random order."""
        return [candidates[index] for index in self.chance.permutation(len(candidates))]

    def cutouts(self) -> list[tuple[OutlinedObject, Cutout]]:
        """Things of other photographs that are not in this one, whole and large enough to be pasted."""
        candidates = [(cutout, other.picture) for other in self._others for cutout in other.objects]
        fit = [
            candidate
            for candidate in candidates
            if _can_be_cut(candidate[0]) and not self.photo.names[candidate[0].name]
        ]
        return self.shuffled([(cutout, Cutout(picture, cutout.outline)) for cutout, picture in fit])


Proposal = Callable[[Drawing], Draft | None]
PROPOSALS: dict[str, Proposal] = {}
"""By edit type."""


def proposes(edit_type: str) -> Callable[[Proposal], Proposal]:
    """Register a function that drafts an edit of a type."""

    def register(function: Proposal) -> Proposal:
        PROPOSALS[edit_type] = function
        return function

    return register


@proposes("object_removal")
def _removal(drawing: Drawing) -> Draft | None:
    cutout = drawing.one([cutout for cutout in drawing.photo.unique() if _can_go(cutout)])
    return Draft(Remove(cutout.outline), cutout.name) if cutout else None


@proposes("single_instance_removal")
def _single_removal(drawing: Drawing) -> Draft | None:
    photo = drawing.photo
    several = [cutout for cutout in photo.objects if _can_go(cutout) and photo.names[cutout.name] > 1]
    sides = [(cutout, side) for cutout in several if (side := outermost(cutout, photo)) is not None]
    choice = drawing.one(sides)
    return Draft(Remove(choice[0].outline), choice[0].name, which=choice[1]) if choice else None


@proposes("position_replacement")
def _move(drawing: Drawing) -> Draft | None:
    photo = drawing.photo
    targets = [(cutout, to, center) for cutout in _free_standing(photo) for to, center in elsewhere(cutout, photo)]
    choice = drawing.one(targets)
    if choice is None:
        return None
    cutout, to, center = choice
    return Draft(Move(cutout.outline, center), cutout.name, third(cutout, photo), to)


@proposes("size")
def _resize(drawing: Drawing) -> Draft | None:
    photo = drawing.photo
    variants = [
        (cutout, to, Resize(cutout.outline, by)) for cutout in _free_standing(photo) for to, by in SIZES.items()
    ]
    fitting = [variant for variant in variants if is_free(variant[2].placed().box(), photo, excluded=variant[0])]
    choice = drawing.one(fitting)
    return Draft(choice[2], choice[0].name, to=choice[1]) if choice else None


@proposes("color")
def _recolor(drawing: Drawing) -> Draft | None:
    photo = drawing.photo
    cutout = drawing.one(_paintable(photo))
    if cutout is None:
        return None
    current, far = colors(photo.pixels, cutout.outline.render(*photo.size))
    color = str(drawing.chance.choice(far))
    return Draft(Recolor(cutout.outline, color), cutout.name, current, color)


@proposes("texture")
def _texture(drawing: Drawing) -> Draft | None:
    cutout = drawing.one(_paintable(drawing.photo))
    if cutout is None:
        return None
    material = str(drawing.chance.choice(MATERIALS))
    return Draft(Texture(cutout.outline, material), cutout.name, to=material)


@proposes("object_replacement")
def _replacement(drawing: Drawing) -> Draft | None:
    for old in drawing.shuffled(_free_standing(drawing.photo)):
        width, height = old.size
        for new, cutout in drawing.cutouts():
            new_width, new_height = new.size
            ratio = (new_width / new_height) / (width / height)
            recipe = Replace(old.outline, cutout)
            fits = 1 / MAX_ASPECT_RATIO <= ratio <= MAX_ASPECT_RATIO and height <= MAX_SCALE * new_height
            if fits and is_free(recipe.pasted().placed().box(), drawing.photo, excluded=old):
                return Draft(recipe, old.name, old.name, new.name)
    return None


@proposes("object_addition")
def _addition(drawing: Drawing) -> Draft | None:
    for new, cutout in drawing.cutouts():
        paste = anywhere(new, cutout, drawing.photo, drawing.chance)
        if paste is not None:
            subject = drawing.photo.objects[0].name if drawing.photo.objects else None
            return Draft(paste, subject, to=new.name)
    return None


@proposes("positional_addition")
def _positional_addition(drawing: Drawing) -> Draft | None:
    for anchor in drawing.shuffled(drawing.photo.unique()):
        for new, cutout in drawing.cutouts():
            for relation in drawing.shuffled(SIDES):
                paste = beside(new, cutout, anchor, relation, drawing.photo)
                if paste is not None:
                    return Draft(paste, anchor.name, to=new.name, position=Position(relation, anchor.name))
    return None


@proposes("style")
def _restyle(drawing: Drawing) -> Draft | None:
    style = str(drawing.chance.choice(STYLES))
    cutouts = drawing.photo.objects
    return Draft(Restyle(style), cutouts[0].name if cutouts else None, to=STYLE_PHRASES[style])


@proposes("background")
def _background(drawing: Drawing) -> Draft | None:
    photo = drawing.photo
    outlines = tuple(cutout.outline for cutout in photo.objects)
    clear = [candidate for candidate in photo.candidates if candidate.confidence >= MIN_CLEAR_CONFIDENCE]
    if not outlines or len(outlines) != len(clear) or Union(outlines).render(*photo.size).mean() < MIN_FOREGROUND_SHARE:
        return None
    scene = str(drawing.chance.choice(SCENES))
    return Draft(Background(outlines, scene), photo.objects[0].name, to=SCENE_PHRASES[scene])


def _free_standing(photo: Photograph) -> list[OutlinedObject]:
    return [cutout for cutout in photo.unique() if cutout.is_complete and _can_go(cutout)]


def _can_go(cutout: OutlinedObject) -> bool:
    return cutout.is_isolated and cutout.share <= MAX_HOLE_SHARE


def _paintable(photo: Photograph) -> list[OutlinedObject]:
    return [cutout for cutout in photo.unique() if cutout.is_isolated and cutout.name not in UNPAINTED_CLASSES]


def _can_be_cut(cutout: OutlinedObject) -> bool:
    return cutout.is_complete and cutout.is_isolated and cutout.size[1] >= MIN_CUTOUT_HEIGHT


def propose(photo: Photograph, other_photos: Sequence[Photograph] = (), seed: int = 0) -> list[Edit]:
    """Return one edit of every type that the photograph allows; objects to add come from other photographs.

    What is drawn by chance is the same for the same seed.
    """
    edits = []
    for kind, draw in PROPOSALS.items():
        draft = draw(Drawing(photo, other_photos, seed, kind))
        if draft is not None:
            edits.append(_edit(photo, kind, draft))
    return edits


def _edit(photo: Photograph, kind: str, draft: Draft) -> Edit:
    before, after = captions(kind, draft.subject, draft.from_, draft.to, draft.position)
    text = f"Remove the {draft.which} {draft.subject}."
    if draft.which is None:
        text = instruction(kind, draft.subject or "picture", draft.from_, draft.to or "", draft.position)
    stem = re.sub(r"[^\w-]", "-", PurePosixPath(photo.picture.name).stem)
    return Edit(
        id=f"{stem}-{kind}",
        source=photo.picture,
        type=kind,
        instruction=text,
        subject=draft.subject,
        from_=draft.from_,
        to=draft.to,
        position=draft.position,
        source_caption=before,
        target_caption=after,
        mask=draft.recipe.footprint(),
        objects=named([(cutout.name, cutout.outline) for cutout in photo.objects]),
        recipe=draft.recipe,
    )
