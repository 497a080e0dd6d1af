"""Where two pictures differ: regions that a person would call changed, not what re-encoding or a shaky frame leaves.

The edited picture is aligned with its source first. Then colors are compared in CIE Lab, forgiving what lies within
a pixel of its place and a slight cast over the whole picture, and structure by how brightness varies together. What
is clearly different grows into what is somewhat different around it; specks are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge._util.images import Pixels, as_lab, cache_latest_images
from editgauge._util.masks import BoolMask
from editgauge._vision.registration import Alignment, align

Map = NDArray[np.float32]

MAX_SIDE_PIXELS = 640
"""Pictures are compared at no more than that many pixels, where a speck of sensor noise is no region."""
CLEAR_COLOR_LAB = 14.0
"""Distance in CIE Lab, smoothed, from which two adjacent colors are clearly different."""
CLEAR_STRUCTURE_DIFFERENCE = 0.75
"""One minus correlation: from there brightness varies in other ways."""
FAINT_TEXTURE_STD = 5.0
"""Standard deviation of lightness, out of 100, about which structure begins to count; re-encoding stays far below."""
FINE_COLOR = 2.0
"""Standard deviation in pixels of the blur over colors before they are compared."""
WEAK_DIFFERENCE_FRACTION = 0.5
"""The part of a clear difference that belongs to a region which is clear elsewhere."""
MAX_IGNORED_CAST_LAB = 8.0
"""A distance in Lab over the whole picture that is forgiven."""
CAST_SUBSAMPLING = 4
"""A cast over the picture is measured on every fourth pixel."""
CAST_TOLERANCE_LAB = 2.5
"""Distance in Lab within which a pixel follows the picture's common cast."""
MIN_REGION_FRACTION = 2e-4
"""The share of the picture under which a region is a speck."""
MAX_HOLE_FRACTION = 0.05
"""Of the region around it."""
CLOSED_GAP_FRACTION = 0.012
"""Of the longer side: gaps so wide within one region are closed."""


@dataclass(frozen=True, slots=True, eq=False)
class ChangedRegion:
    """One connected region that changed."""

    mask: BoolMask
    box: tuple[int, int, int, int]
    """Left, top, right, bottom in pixels of the source; right and bottom excluded."""
    share: float
    """Of the picture, from 0 to 1."""
    strength: float
    """The mean difference in it; 1 is clearly visible."""


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """What changed between two pictures, in the source's frame."""

    alignment: Alignment
    difference: Map
    """How different every pixel is; clearly so at 1 and above."""
    cast: tuple[float, float, float]
    """The shift of lightness, green to red, and blue to yellow that the whole picture underwent, in Lab."""
    mask: BoolMask
    regions: tuple[ChangedRegion, ...]
    """Largest first."""

    @property
    def share(self) -> float:
        """How much of the picture changed, from 0 to 1."""
        return float(self.mask.mean())


def find_changes(source: Pixels, edited: Pixels) -> Changes:
    """Find what changed, how strongly and where, in the frame of the source."""
    alignment = align(source, edited)
    height, width = source.shape[:2]
    scale = min(1.0, MAX_SIDE_PIXELS / max(height, width))
    source_features, edited_lab = _source(source, scale), _lab(alignment.aligned, scale)
    source_lab = source_features.lab
    valid = _scaled(alignment.valid, source_lab.shape[1], source_lab.shape[0])
    cast = (
        _common_cast(*(_colors_inside(lab, valid) for lab in (source_lab, edited_lab)))
        if valid.any()
        else np.zeros(3, np.float32)
    )
    difference = _difference(source_features, edited_lab - _ignored_cast(cast))
    difference[~valid] = 0
    clean = _cleaned(difference)
    mask = _scaled(clean, width, height)
    full = np.asarray(cv2.resize(difference, (width, height), interpolation=cv2.INTER_LINEAR), np.float32)
    lightness, red, yellow = (float(value) for value in cast)
    return Changes(alignment, full, (lightness, red, yellow), mask, _regions(mask, full))


def _difference(source: _Source, edited_lab: Map) -> Map:
    color = np.maximum(
        _distance_to_neighborhood(source.lab, edited_lab), _distance_to_neighborhood(edited_lab, source.lab)
    )
    color = np.asarray(cv2.GaussianBlur(color, (0, 0), 1.5), np.float32)
    structure = _structure_difference(source, np.ascontiguousarray(edited_lab[..., 0]))
    return np.asarray(np.maximum(color / CLEAR_COLOR_LAB, structure / CLEAR_STRUCTURE_DIFFERENCE), np.float32)


def _distance_to_neighborhood(one: Map, other: Map) -> Map:
    """Return the distance of each pixel from the colors of the other image within one pixel of its position."""
    around = np.ones((3, 3), np.uint8)
    above, below = cv2.dilate(other, around), cv2.erode(other, around)
    np.subtract(one, above, out=above)
    np.subtract(below, one, out=below)
    return lengths(np.maximum(np.maximum(above, below, out=above), 0, out=above))


def _structure_difference(source: _Source, other: Map) -> Map:
    """Return one minus the local correlation of brightness, weighted down where both images have little texture."""
    mean, varies = _mean_and_variance(other)
    together = _around(source.light * other) - source.mean * mean
    larger = np.maximum(source.varies, varies)
    # With the larger variance below, texture that vanished counts like texture that became another.
    likeness = together / np.maximum(larger, 1e-6)
    return np.asarray((1 - np.clip(likeness, 0, 1)) * larger / (larger + FAINT_TEXTURE_STD**2), np.float32)


def _mean_and_variance(light: Map) -> tuple[Map, Map]:
    """Return mean and variance of brightness around each pixel."""
    mean = _around(light)
    return mean, np.maximum(_around(light * light) - mean**2, 0)


def _around(values: Map) -> Map:
    return np.asarray(cv2.GaussianBlur(values, (0, 0), 3.0), np.float32)


def _colors_inside(colors: Map, where: BoolMask) -> NDArray[np.float32]:
    """Select the colors inside a mask, one row each; without a copy if all are inside."""
    return colors.reshape(-1, 3) if where.all() else colors[where]


def _common_cast(before: NDArray[np.float32], after: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the color shift in Lab of most of the image; zero when more of it stayed the same."""
    shift = after[::CAST_SUBSAMPLING] - before[::CAST_SUBSAMPLING]
    middle = np.median(shift, axis=0)
    followed, stayed = lengths(shift - middle) < CAST_TOLERANCE_LAB, lengths(shift) < CAST_TOLERANCE_LAB
    return np.asarray(middle if followed.mean() > stayed.mean() else np.zeros(3), np.float32)


def lengths(colors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the lengths of color vectors; many times faster than numpy's norm for short vectors."""
    squares = (colors * colors).reshape(-1, 1, 3)
    sums = np.asarray(cv2.transform(squares, np.ones((1, 3), np.float32)), np.float32)
    return np.asarray(np.sqrt(sums).reshape(colors.shape[:-1]))


def _ignored_cast(cast: NDArray[np.float32]) -> NDArray[np.float32]:
    return cast * min(1.0, MAX_IGNORED_CAST_LAB / max(float(np.linalg.norm(cast)), 1e-6))


def _cleaned(difference: Map) -> BoolMask:
    """Return regions with a clear difference, closed and filled, without specks."""
    gap = max(1, round(CLOSED_GAP_FRACTION * max(difference.shape)))
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * gap + 1, 2 * gap + 1))
    weak = (difference >= WEAK_DIFFERENCE_FRACTION).astype(np.uint8)
    # The border is continued, or closing would lose what touches the picture's edge.
    padded = cv2.copyMakeBorder(weak, gap, gap, gap, gap, cv2.BORDER_REPLICATE)
    closed = np.asarray(cv2.morphologyEx(padded, cv2.MORPH_CLOSE, disc), np.uint8)[gap:-gap, gap:-gap]
    cleaned = np.zeros(difference.shape, np.bool_)
    for part in _parts(_filled(closed)):
        clear = (difference >= 1) & part
        if clear.sum() >= MIN_REGION_FRACTION * part.size:
            cleaned |= part
    return cleaned


def _filled(mask: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Fill small holes of regions; a large hole is an unchanged part."""
    outlines, kinds = cv2.findContours(mask, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    result = mask.copy()
    if kinds is None:
        return result
    for outline, (_, _, _, outer) in zip(outlines, kinds[0], strict=True):
        if outer >= 0 and cv2.contourArea(outline) < MAX_HOLE_FRACTION * cv2.contourArea(outlines[outer]):
            cv2.drawContours(result, [outline], -1, 1, cv2.FILLED)
    return result


def _regions(mask: BoolMask, difference: Map) -> tuple[ChangedRegion, ...]:
    regions = [
        ChangedRegion(part, _box(part), float(part.mean()), float(difference[part].mean())) for part in _parts(mask)
    ]
    return tuple(sorted(regions, key=lambda region: -region.share))


def _parts(mask: NDArray[Any]) -> list[BoolMask]:
    count, labels = cv2.connectedComponents(mask.astype(np.uint8))
    return [labels == part for part in range(1, count)]


def _box(mask: BoolMask) -> tuple[int, int, int, int]:
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1


class _Source(NamedTuple):
    """What is known of a source before any of its outcomes is seen."""

    lab: Map
    light: Map
    mean: Map
    """Of the light around each pixel."""
    varies: Map


@cache_latest_images
def _source(picture: Pixels, scale: float) -> _Source:
    lab = _lab(picture, scale)
    light = np.ascontiguousarray(lab[..., 0])
    source = _Source(lab, light, *_mean_and_variance(light))
    for array in source:
        array.setflags(write=False)
    return source


def _lab(picture: Pixels, scale: float) -> Map:
    if scale < 1:
        picture = np.asarray(cv2.resize(picture, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA))
    lab = as_lab(picture)
    # Encoders keep color at half the resolution, as eyes do: its finest grain says nothing.
    lab[..., 1:] = cv2.GaussianBlur(lab[..., 1:], (0, 0), FINE_COLOR)
    return lab


def _scaled(mask: BoolMask, width: int, height: int) -> BoolMask:
    if mask.shape == (height, width):
        return mask
    return cv2.resize(mask.astype(np.uint8), (width, height), interpolation=cv2.INTER_NEAREST) > 0
