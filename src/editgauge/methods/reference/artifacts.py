"""Artifacts at the edited region, and flaws of the whole image, with a severity from 0 (none) to 1 (obvious).

Most stay inside the edit's footprint, so that what else a picture shows is kept; a shift and a duplicate leave it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge._util.masks import BoolMask, bounding_box, dilate_mask
from editgauge.errors import CannotEditError
from editgauge.methods.reference._appearance import to_pixels
from editgauge.methods.reference.operations import blend, cut_out, paste_piece
from editgauge.recipes import MARGIN

if TYPE_CHECKING:
    from editgauge._util.images import Pixels

MIDDLE_GRAY = 128
RIM_CONTRAST = 100
"""Gray levels that a halo or a seam is brighter or darker than it should be, at full severity."""
SHADE_OFFSET = 60
GHOST_OPACITY = 0.4
SHADOW_STRENGTH = 0.65
"""The share of the light that a full shadow takes away."""
MAX_SHIFT_FRACTION = 0.07
"""Of the object's size."""
MIN_SHIFT_PIXELS = 8
"""Pixels, at full severity, however small the object is."""
DIRECTIONS = 8
DUPLICATE_OFFSET = 0.6
"""How far a duplicate lies from its original, in widths of it."""
MIN_VISIBLE_CHANGE = 6.0
"""Gray levels by which a full artifact must change the pixels that it changes, on average, to be called one."""


@dataclass(frozen=True, slots=True, eq=False)
class ArtifactSite:
    """A right outcome, and where in it the artifacts of an editor would be."""

    source: Pixels
    result: Pixels
    subject: BoolMask
    """What the edit brought, kept or took away: its edge is where editors fail."""
    left: BoolMask
    """What was there before and is not there now."""
    footprint: BoolMask
    turn: float
    """Of a full circle: chance's part, where there is a choice of directions."""


Artifact = Callable[[ArtifactSite, float], "Pixels"]


def add_artifact(work: ArtifactSite, artifact: str, severity: float) -> Pixels:
    """Add an artifact to the outcome; severity 0 adds none. Raise `CannotEditError` if it would be invisible."""
    if artifact not in ARTIFACTS:
        raise ValueError(f"there is no artifact called '{artifact}'; there are {', '.join(ARTIFACTS)}")
    if not 0 <= severity <= 1:
        raise ValueError(f"severity must be in [0, 1], got {severity}")
    change = np.abs(ARTIFACTS[artifact](work, 1.0).astype(np.int16) - work.result).max(axis=2)
    if change.sum() <= MIN_VISIBLE_CHANGE * np.count_nonzero(change):
        raise CannotEditError(f"The artifact '{artifact}' could not be seen on this picture, however severe.")
    return work.result if severity == 0 else ARTIFACTS[artifact](work, severity)


def halo(work: ArtifactSite, severity: float) -> Pixels:
    """Draw a bright rim around the object, or a dark one in bright surroundings."""
    rim = dilate_mask(work.subject, MARGIN) & ~work.subject
    return _laid_over(work, _contrasting(work, rim), severity * _softened(rim, 1.5))


def seam(work: ArtifactSite, severity: float) -> Pixels:
    """Draw a crisp line along the object's edge."""
    line = dilate_mask(work.subject, 3) & ~work.subject
    return _laid_over(work, _contrasting(work, line), severity * line.astype(np.float32))


def wrong_shade(work: ArtifactSite, severity: float) -> Pixels:
    """Change the light of the edited part: warmer and brighter, or colder and darker."""
    part = _edited_part(work)
    towards = _away_from_the_end(work.result, part) * SHADE_OFFSET * np.array([1.0, 0.75, 0.4])
    return _laid_over(work, work.result + towards, severity * _softened(part, 1.0))


def blurred(work: ArtifactSite, severity: float) -> Pixels:
    """Blur the edited part."""
    part = _edited_part(work)
    spread = severity * max(3.0, np.sqrt(part.sum()) / 20)
    soft = np.asarray(cv2.GaussianBlur(work.result, (0, 0), max(spread, 0.05)))
    return _laid_over(work, soft, _softened(part, 1.5))


def ghost(work: ArtifactSite, severity: float) -> Pixels:
    """Blend the source back into the edited part."""
    part = _softened(_edited_part(work) | work.left, 1.0)
    return _laid_over(work, work.source, GHOST_OPACITY * severity * part)


def shadow(work: ArtifactSite, severity: float) -> Pixels:
    """Darken a patch at the foot of the object, as an incomplete removal leaves it."""
    where = dilate_mask(work.left if work.left.any() else _edited_part(work), MARGIN)
    top, bottom = np.flatnonzero(where.any(axis=1))[[0, -1]]
    towards_the_foot = np.clip((np.arange(len(where)) - top) / max(bottom - top, 1), 0, 1)
    dark = _softened(where, 3.0) * (0.35 + 0.65 * towards_the_foot[:, None])
    return _laid_over(work, np.zeros_like(work.result), (SHADOW_STRENGTH * severity * dark).astype(np.float32))


def shifted(work: ArtifactSite, severity: float) -> Pixels:
    """All that was edited lies a little aside, and at its edge the old picture is seen."""
    left, top, right, bottom = bounding_box(work.subject)
    farthest = max(MIN_SHIFT_PIXELS, MAX_SHIFT_FRACTION * float(np.hypot(right - left, bottom - top)))
    return _aside(work, severity * farthest, _direction(work, farthest))


def duplicated(work: ArtifactSite, severity: float) -> Pixels:
    """Repeat the object next to itself, with opacity growing with severity."""
    left, top, right, _ = bounding_box(work.subject)
    room_left, room_right = left, work.subject.shape[1] - right
    step = round(DUPLICATE_OFFSET * (right - left)) * (1 if room_right >= room_left else -1)
    with_copy = paste_piece(work.result, cut_out(work.result, work.subject), left + step, top)
    outside = ~work.subject
    return blend(work.result, with_copy, (severity * outside).astype(np.float32))


ARTIFACTS: MappingProxyType[str, Artifact] = MappingProxyType(
    {
        "halo": halo,
        "seam": seam,
        "wrong_shade": wrong_shade,
        "blurred": blurred,
        "ghost": ghost,
        "shadow": shadow,
        "shifted": shifted,
        "duplicated": duplicated,
    }
)


def _direction(work: ArtifactSite, farthest: float) -> float:
    """Return a direction in which a larger shift differs more, starting from a random one.

    Stripes shifted by a whole period would not differ.
    """
    for turn in range(DIRECTIONS):
        angle = 2 * np.pi * (work.turn + turn / DIRECTIONS)
        steps = (_aside(work, share * farthest, angle) for share in (0.25, 0.5, 0.75, 1.0))
        changes = [float(np.abs(step.astype(np.int16) - work.result).mean()) for step in steps]
        if all(nearer < farther for nearer, farther in pairwise([0.0, *changes])):
            return angle
    raise CannotEditError("There is no direction in which this could be shifted farther and look ever worse.")


def _aside(work: ArtifactSite, distance: float, angle: float) -> Pixels:
    matrix = np.array([[1, 0, round(distance * np.cos(angle))], [0, 1, round(distance * np.sin(angle))]], np.float32)
    size = work.result.shape[1::-1]
    moved = cv2.warpAffine(work.result, matrix, size, borderMode=cv2.BORDER_REFLECT)
    shifted_footprint = cv2.warpAffine(work.footprint.astype(np.uint8), matrix, size, borderMode=cv2.BORDER_REPLICATE)
    return np.where(shifted_footprint[..., None] > 0, np.asarray(moved, np.uint8), work.source)


def _edited_part(work: ArtifactSite) -> BoolMask:
    """Return the object's mask, or its close surroundings where the object must not change."""
    inside = work.subject & work.footprint
    if 2 * inside.sum() > work.subject.sum():
        return inside
    left, top, right, bottom = bounding_box(work.subject)
    return dilate_mask(work.subject, max(MARGIN, round(0.15 * np.hypot(right - left, bottom - top)))) & work.footprint


def _laid_over(work: ArtifactSite, over: NDArray[np.generic], alpha: NDArray[np.float32]) -> Pixels:
    """Blend a layer over the outcome, inside the footprint only."""
    return blend(work.result, to_pixels(over), np.where(work.footprint, alpha, 0).astype(np.float32))


def _softened(mask: BoolMask, by: float) -> NDArray[np.float32]:
    return np.asarray(cv2.GaussianBlur(mask.astype(np.float32), (0, 0), by), np.float32)


def _contrasting(work: ArtifactSite, where: BoolMask) -> NDArray[np.float32]:
    """Return the outcome brightened or darkened, whichever contrasts more."""
    return work.result + _away_from_the_end(work.result, where) * np.float32(RIM_CONTRAST)


def _away_from_the_end(pixels: Pixels, where: BoolMask) -> np.float32:
    """1 where pixels are dark and can become brighter, -1 where they are bright."""
    return np.float32(1 if not where.any() or np.mean(pixels[where]) < MIDDLE_GRAY else -1)


Flaw = Callable[["Pixels", float, np.random.Generator], "Pixels"]


def add_flaw(pixels: Pixels, flaw: str, severity: float, seed: int, spared: BoolMask | None = None) -> Pixels:
    """Add a flaw everywhere outside the spared region; severity 0 changes nothing."""
    if flaw not in FLAWS:
        raise ValueError(f"there is no flaw called '{flaw}'; there are {', '.join(FLAWS)}")
    if not 0 <= severity <= 1:
        raise ValueError(f"severity must be in [0, 1], got {severity}")
    if severity == 0:
        return pixels
    result = FLAWS[flaw](pixels, severity, np.random.default_rng(seed))
    return result if spared is None else np.where(spared[..., None], pixels, result)


def color_cast(pixels: Pixels, severity: float, rng: np.random.Generator) -> Pixels:
    """Light of another color: one channel up, another down."""
    cast = rng.permutation([1.0, -1.0, 0.0])
    return to_pixels(pixels + 70 * severity * cast)


def underexposure(pixels: Pixels, severity: float, rng: np.random.Generator) -> Pixels:
    """Too little light."""
    del rng  # darkness has no color to choose
    return to_pixels(pixels * (1 - 0.6 * severity))


def blur(pixels: Pixels, severity: float, rng: np.random.Generator) -> Pixels:
    """Out of focus."""
    del rng  # blur is blur
    return np.asarray(cv2.GaussianBlur(pixels, (0, 0), max(0.01, severity * max(pixels.shape[:2]) / 80)))


def noise(pixels: Pixels, severity: float, rng: np.random.Generator) -> Pixels:
    """Grain of a sensor in the dark."""
    return to_pixels(pixels + 60 * severity * rng.standard_normal(pixels.shape))


def recompression(pixels: Pixels, severity: float, rng: np.random.Generator) -> Pixels:
    """JPEG at ever lower quality."""
    del rng  # the codec has no chance in it
    return compress_jpeg(pixels, round(95 - 92 * severity))


def compress_jpeg(pixels: Pixels, quality: int) -> Pixels:
    """Compress the image once as JPEG."""
    _, file = cv2.imencode(".jpg", pixels[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, quality])
    return np.ascontiguousarray(np.asarray(cv2.imdecode(file, cv2.IMREAD_COLOR), np.uint8)[..., ::-1])


def drift(pixels: Pixels, severity: float, rng: np.random.Generator) -> Pixels:
    """Zoom and shift the frame by up to a fortieth of its width."""
    height, width = pixels.shape[:2]
    angle = rng.uniform(0, 2 * np.pi)
    scale = 1 + 0.03 * severity
    shift = severity * width / 40 * np.array([np.cos(angle), np.sin(angle)])
    about_middle = (1 - scale) * np.array([width, height]) / 2
    matrix = np.column_stack([np.eye(2) * scale, about_middle + shift])
    return np.asarray(cv2.warpAffine(pixels, matrix, (width, height), borderMode=cv2.BORDER_REFLECT))


FLAWS: MappingProxyType[str, Flaw] = MappingProxyType(
    {
        "color_cast": color_cast,
        "underexposure": underexposure,
        "blur": blur,
        "noise": noise,
        "recompression": recompression,
        "drift": drift,
    }
)
