"""The verb `changes`: describe and outline the differences between two images."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from editgauge._util.batching import run_async
from editgauge._util.drawing import draw
from editgauge._util.images import (
    ImageLike,
    Pixels,
    read_image,
    require_measurable,
    resize_image,
    to_working_size,
    write_png,
)
from editgauge._util.masks import dilate_mask
from editgauge._vision.change_sentences import sentences
from editgauge._vision.object_changes import Change, DetectedObject
from editgauge.engine._options import pairs
from editgauge.errors import BadInputError
from editgauge.evidence import Box, Evidence, Region, Side
from editgauge.models.perception import ModelService
from editgauge.models.profiles import choose_models, describe, models_of
from editgauge.options import Pairs, document_options
from editgauge.protocols._changes import Differences, Extent, differences

ROLES = ("detector", "segmenter", "image_embedder", "classifier", "text_reader")
GAP = 16
"""White pixels between the two images."""


@dataclass(frozen=True, slots=True)
class ChangedObject:
    """An object in one of the images."""

    word: str | None
    """None when nothing was recognized."""
    box: tuple[float, float, float, float]
    """Left, top, right, bottom in pixels of the picture before."""
    confidence: float


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """A change of one object or region."""

    kind: str
    """appeared, vanished, moved, recolored, resized, replaced or altered."""
    before: ChangedObject | None
    after: ChangedObject | None
    colors: tuple[str, str] | None
    looks_like: str | None
    """What an unrecognized object looks like: now, or before it vanished."""
    sentence: str


@dataclass(frozen=True, slots=True)
class DescribedRegion:
    """A region that changed, recognized or not."""

    box: tuple[int, int, int, int]
    share: float
    """Of the picture."""
    strength: float
    """The mean difference; 1 is clearly visible."""


@dataclass(frozen=True, slots=True)
class ImageChanges:
    """The differences between two images."""

    sentences: tuple[str, ...]
    extent: Extent
    share: float
    """How much of the picture changed."""
    changes: tuple[ObjectChange, ...]
    regions: tuple[DescribedRegion, ...]
    frame: tuple[tuple[float, ...], ...]
    """2 x 3: where a point of the picture before is in the one after."""
    models: dict[str, dict[str, Any]]
    remarks: tuple[str, ...]


@document_options
def changes(
    before: ImageLike,
    after: ImageLike,
    *,
    out: str | Path | None = None,
    models: str = "lite",
    model: Pairs = (),
) -> ImageChanges:
    """Describe what changed between two images, one sentence per change, without a language model.

    Small shifts of the frame, re-encoding and slight changes of light are ignored.

    Example:
        $ editgauge changes before.png after.png --out changes.png
        >>> editgauge.changes("before.png", "after.png").sentences

    Args:
        before: image before the edit.
        after: image after the edit; of another size, pixels are compared at the size of the first.
        out: PNG file to draw both images into, with the changes outlined.

    """
    named = pairs(model, "model", "ROLE=NAME")
    faces = ["face_reader"] if "face_reader" in models_of(models) else []  # few profiles have one, and none needs it
    models_by_role = choose_models(models, named, [*ROLES, *faces])
    if "detector" not in models_by_role.models:
        raise BadInputError("What changed cannot be named without a detector.", models_by_role.remarks)
    source, original = read_image(before, "image before"), read_image(after, "image after")
    require_measurable(source, "image before")
    require_measurable(original, "image after")
    edited = resize_image(original, source.shape[1], source.shape[0])
    own_size = None if original.shape == source.shape else to_working_size(original)
    with ModelService(models_by_role.models) as service:
        differing = run_async(differences(source, edited, service, original=own_size))
    if out is not None:
        write_png(_draw_both(source, differing), Path(out))
    return ImageChanges(
        sentences=differing.sentences,
        extent=differing.extent,
        share=round(differing.pixels.share, 4),
        changes=tuple(_one_change(change, source) for change in differing.changes),
        regions=tuple(
            DescribedRegion(region.box, round(region.share, 4), round(region.strength, 2))
            for region in differing.pixels.regions
        ),
        frame=tuple(tuple(round(float(value), 4) for value in row) for row in differing.pixels.alignment.matrix),
        models=describe(models_by_role.models),
        remarks=(*_about_frames(source, original, differing), *models_by_role.remarks),
    )


def _about_frames(source: Pixels, original: Pixels, differing: Differences) -> list[str]:
    remarks = []
    if original.shape != source.shape:
        sizes = [f"{picture.shape[1]} x {picture.shape[0]}" for picture in (original, source)]
        remarks.append(
            f"The image after is {sizes[0]}: it was looked at in its own size, and compared by pixels at {sizes[1]}."
        )
    if differing.pixels.alignment.moved:
        remarks.append("The frame moved a little: the image after was aligned with the one before.")
    return remarks


def _one_change(change: Change, picture: Pixels) -> ObjectChange:
    height, width = picture.shape[:2]
    (sentence,) = sentences([change], width, height)
    objects = _seen_object(change.before), _seen_object(change.after)
    return ObjectChange(change.kind, *objects, change.colors, change.looks_like, sentence)


def _seen_object(detected: DetectedObject | None) -> ChangedObject | None:
    if detected is None:
        return None
    left, top, right, bottom = (round(side, 1) for side in detected.box)
    return ChangedObject(detected.label, (left, top, right, bottom), round(detected.confidence, 4))


def _draw_both(source: Pixels, differing: Differences) -> Pixels:
    """Draw both images side by side."""
    left = draw(source, _evidence(differing, "source"))
    right = draw(differing.pixels.alignment.aligned, _evidence(differing, "edited"))
    return np.hstack([left, np.full((left.shape[0], GAP, 3), 255, np.uint8), right])


def _evidence(differing: Differences, on: Side) -> list[Evidence]:
    mask = differing.pixels.mask
    # The rim alone: a tint would hide the very colors that changed.
    # Where all changed, it would run around the few places that did not.
    rim = mask.any() and differing.extent != "whole"
    pieces: list[Evidence] = [Region(on, mask & dilate_mask(~mask, 1), "changed")] if rim else []
    for change in differing.changes:
        detected = change.before if on == "source" else change.after
        if detected is not None:
            label = detected.label or "something"
            pieces.append(Box(on, *detected.box, f"{label}: {change.kind}", detected.confidence or None))
    return pieces
