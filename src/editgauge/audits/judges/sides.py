"""Can a model tell left from right? Two captions for a picture with two objects, of which one is true.

EditVal, appendix J and table 4. The pictures are right outcomes of positional additions, and their mirror images,
where the new object lies by construction; or, as in the paper, photographs of MS-COCO, where people annotated it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from editgauge._stats.intervals import Numbers
from editgauge._util.coco import CocoImage, read_coco
from editgauge._util.concurrency import run_async
from editgauge._util.images import Pixels, read_image
from editgauge._vision.geometry import box_area, middle
from editgauge.audits._probe_set import OUTCOMES, RIGHT, Probe
from editgauge.audits.cards.card import share
from editgauge.benchmarks import open_benchmark
from editgauge.errors import BadInputError, UnscorableError
from editgauge.models._cache import cache_dir
from editgauge.models.perception import ModelService

if TYPE_CHECKING:
    from editgauge._stats.resampling import Estimate
    from editgauge.models.perception import Perception

SIDES = ("left", "right")
SHOWN = (RIGHT, "mirrored")
TELLERS = ("detector", "joint_embedder")
"""The roles that can say which caption is true: by boxes, or by the caption that is nearer to the picture."""


@dataclass(frozen=True, slots=True)
class TwoObjects:
    """A picture of two objects side by side."""

    picture: Path
    photo: str
    new: str
    anchor: str
    side: str
    """Where the new object lies, seen from the anchor."""

    def caption(self, side: str) -> str:
        """Return the caption that states a side."""
        return f"{self.new} to the {side} of {self.anchor}"


@dataclass(frozen=True, slots=True)
class SideChoices:
    """How often one model picks the true caption, by what is true; pictures on which it cannot tell are left out."""

    role: str
    left: Estimate
    right: Estimate
    pictures: int
    answered: int


def two_objects(folder: Path, probes: Sequence[Probe]) -> tuple[TwoObjects, ...]:
    """Return the images of a set of probes with two objects side by side."""
    edits = {edit.id: edit for edit in open_benchmark(folder).edits}
    pictures = []
    for probe in probes:
        edit = edits[probe.id]
        where = edit.position
        if probe.kind in SHOWN and where and where.relation in SIDES and where.anchor and edit.to:
            picture = folder / OUTCOMES / f"{probe.id}.png"
            pictures.append(TwoObjects(picture, probe.photo, edit.to, where.anchor, where.relation))
    return tuple(pictures)


def two_objects_of_coco(annotations: Path, images: Path) -> tuple[TwoObjects, ...]:
    """Photographs of COCO with two objects side by side: each alone of its class, and apart from left to right."""
    pairs = [
        pair
        for image in read_coco(annotations).images
        if (images / image.file).is_file() and (pair := _side_by_side(images / image.file, image))
    ]
    if not pairs:
        raise BadInputError(f"No photograph in '{images}' has two objects side by side, each alone of its class.")
    return tuple(pairs)


def _side_by_side(picture: Path, image: CocoImage) -> TwoObjects | None:
    """Return the two largest objects that are unique in their class, if they are separated horizontally."""
    alone = [object_ for object_ in image.objects if image.count(object_.class_) == 1]
    largest = sorted(alone, key=lambda element: (-box_area(element.box), element.class_))[:2]
    if len(largest) < 2:
        return None
    new, anchor = sorted(largest, key=lambda item: item.class_)
    if new.box[2] <= anchor.box[0]:
        return TwoObjects(picture, picture.name, new.class_, anchor.class_, "left")
    is_right = anchor.box[2] <= new.box[0]
    return TwoObjects(picture, picture.name, new.class_, anchor.class_, "right") if is_right else None


def tell_sides(pictures: Sequence[TwoObjects], models: Mapping[str, str]) -> dict[str, SideChoices]:
    """By the name of the model; only models of the roles that can tell."""
    roles = [role for role in TELLERS if role in models]
    if not pictures or not roles:
        return {}

    async def ask() -> dict[str, SideChoices]:
        with ModelService({role: models[role] for role in roles}, cache_dir()) as see:
            return {
                models[role]: _choices(role, pictures, [await _answer(role, image, see) for image in pictures])
                for role in roles
            }

    return run_async(ask())


async def _answer(role: str, objects: TwoObjects, see: Perception) -> str | None:
    pixels = read_image(objects.picture)
    try:
        return await (_by_boxes if role == "detector" else _by_likeness)(pixels, objects, see)
    except UnscorableError:
        return None


async def _by_boxes(pixels: Pixels, objects: TwoObjects, see: Perception) -> str | None:
    new, anchor = await asyncio.gather(see.detect(pixels, objects.new), see.detect(pixels, objects.anchor))
    if not (new.found and anchor.found):
        return None
    across = [middle(tuple(item.boxes[0].tolist()))[0] for item in (new, anchor)]
    return "left" if across[0] < across[1] else "right"


async def _by_likeness(pixels: Pixels, objects: TwoObjects, see: Perception) -> str | None:
    picture, *captions = await asyncio.gather(
        see.joint_image(pixels), *(see.joint_text(objects.caption(side)) for side in SIDES)
    )
    return SIDES[int(np.argmax([float(picture @ caption) for caption in captions]))]


def _choices(role: str, pictures: Sequence[TwoObjects], answers: Sequence[str | None]) -> SideChoices:
    photos = np.array([image.photo for image in pictures], dtype=np.str_)
    right: Numbers = np.array(
        [
            np.nan if answer is None else float(answer == element.side)
            for element, answer in zip(pictures, answers, strict=True)
        ]
    )
    on_left, on_right = (
        share(np.where([item.side == side for item in pictures], right, np.nan), photos) for side in SIDES
    )
    return SideChoices(role, on_left, on_right, len(pictures), sum(answer is not None for answer in answers))
