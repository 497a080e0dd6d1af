"""How much of an image was redrawn, by the patch tokens of an image embedder.

Tokens describe what a patch shows, so they stay similar where an editor redrew the same content pixel by pixel.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from editgauge._util.images import Pixels
    from editgauge._util.masks import BoolMask
    from editgauge.models.answers import Patches

BoxSides = tuple[float, float, float, float]
"""Left, top, right, bottom, in pixels."""
ChangeMap = NDArray[np.float64]
"""Change of each patch, rows x columns: 0 for none, up to 2."""

MIN_REGION_CHANGE = 0.25
"""Least change of a patch (1 - cosine) that belongs to a changed region."""
REGION_PERCENTILE = 85
MAX_REGIONS = 2
REGION_MARGIN = 1.25
"""Side of the square around a changed region, in sides of the region."""
MIN_CROP = 96
"""Pixels along the side of the crop in which the changed region is looked at more closely."""
MIN_COLOR_PIXELS = 200
DIGITS = 6


class TokenRegion(NamedTuple):
    """The strongest connected group of changed patches."""

    mask: NDArray[np.bool_]
    """rows x columns; all false when nothing changed."""
    groups: int
    """How many groups there are."""


def token_features(before: Patches, after: Patches, change: ChangeMap) -> dict[str, float]:
    """Describe what changed between two images, patch by patch; `change` is `semantic_change` of their tokens.

    `novelty` compares each patch of the edited image with the most similar patch anywhere in the source: what no patch
    of the source resembles is either new content or an artifact.
    """
    old, new = (unit_tokens(patches) for patches in (before, after))
    nearest = (new @ old.T).max(axis=1)
    lengths = [float(np.linalg.norm(patches.tokens.astype(np.float32), axis=2).mean()) for patches in (before, after)]
    region = strongest_region(change)
    outside = change[~_dilated(region.mask)]
    outside = outside if outside.size else change
    inside = float(change[region.mask].mean()) if region.mask.any() else float(change.max())
    values = {
        "novelty": max(0.0, 1 - float(np.percentile(nearest, 5))),
        "unmatched": max(0.0, 1 - float(nearest.mean())),
        "most_changed": float(np.percentile(change, 97)),
        "greatest_changed": float(change.max()),
        "upper_changed": float(np.percentile(change, 90)),
        "mean_changed": float(change.mean()),
        "median_changed": float(np.median(change)),
        "least_changed": float(np.percentile(change, 25)),
        "token_length": (lengths[1] - lengths[0]) / 10,
        "focus": inside - float(np.median(change)),
        "region_share": float(region.mask.mean()),
        "region_count": float(region.groups),
        "outside_mean": float(outside.mean()),
        "outside_greatest": float(outside.max()),
    }
    return {name: round(value, DIGITS) for name, value in values.items()}  # equal images differ by rounding alone


def strongest_region(change: ChangeMap) -> TokenRegion:
    """Return the connected group of patches that changed most in total."""
    labels, strengths = _groups(change)
    if not strengths:
        return TokenRegion(np.zeros(change.shape, np.bool_), 0)
    strongest = max(strengths, key=lambda label: strengths[label])
    return TokenRegion(labels == strongest, len(strengths))


def changed_boxes(change: ChangeMap, width: int, height: int) -> list[BoxSides]:
    """Return squares around the regions where the tokens changed most, strongest first; none when nothing changed."""
    labels, strengths = _groups(change)
    strongest = sorted(strengths, key=lambda label: -strengths[label])[:MAX_REGIONS]
    return [_square(labels == label, width, height) for label in strongest]


def _groups(change: ChangeMap) -> tuple[NDArray[np.int32], dict[int, float]]:
    """Return connected groups of changed patches as labels, and the total change of each."""
    threshold = max(MIN_REGION_CHANGE, float(np.percentile(change, REGION_PERCENTILE)))
    count, labels = cv2.connectedComponents((change >= threshold).astype(np.uint8), connectivity=4)
    strengths = {label: float(change[labels == label].sum()) for label in range(1, count)}
    return np.asarray(labels, np.int32), strengths


def unit_tokens(patches: Patches) -> NDArray[np.float32]:
    """Return the tokens of all patches, one row each, at length 1."""
    tokens = patches.tokens.reshape(-1, patches.tokens.shape[2]).astype(np.float32)
    return np.asarray(tokens / np.maximum(np.linalg.norm(tokens, axis=1, keepdims=True), 1e-6), np.float32)


def change_in_box(change: ChangeMap, box: BoxSides, width: int, height: int) -> float:
    """Return the upper quartile of the change of the patches under a box."""
    rows, columns = change.shape
    left, top, right, bottom = box
    across = slice(max(0, int(left * columns / width)), max(1, math.ceil(right * columns / width)))
    down = slice(max(0, int(top * rows / height)), max(1, math.ceil(bottom * rows / height)))
    return float(np.percentile(change[down, across], 75)) if change[down, across].size else 0.0


def region_crop(image: Pixels, box: BoxSides) -> tuple[Pixels, BoxSides]:
    """Cut out a changed region, at least `MIN_CROP` pixels wide and high where the image allows it."""
    height, width = image.shape[:2]
    left, top, right, bottom = box
    side = max(right - left, bottom - top, MIN_CROP)
    across, down = min(side, width), min(side, height)
    x = int(min(max(0.0, (left + right - across) / 2), width - across))
    y = int(min(max(0.0, (top + bottom - down) / 2), height - down))
    crop = image[y : int(y + down), x : int(x + across)]
    return np.ascontiguousarray(crop), (float(x), float(y), float(int(x + across)), float(int(y + down)))


def region_token(crop: Patches, change: ChangeMap, box: BoxSides, width: int, height: int) -> NDArray[np.float32]:
    """Return the mean unit token of a crop, each patch weighted by the squared change of the image there."""
    left, top, right, bottom = (int(side) for side in box)
    full = cv2.resize(change.astype(np.float32), (width, height), interpolation=cv2.INTER_LINEAR)
    rows, columns = crop.tokens.shape[:2]
    weights = cv2.resize(full[top:bottom, left:right], (columns, rows), interpolation=cv2.INTER_AREA).ravel() ** 2
    return np.asarray(weights @ unit_tokens(crop) / max(float(weights.sum()), 1e-6), np.float32)


def changed_pixels(change: ChangeMap, mask: BoolMask) -> BoolMask | None:
    """Return the changed pixels inside the strongest changed region; None when there are too few to measure a color."""
    height, width = mask.shape
    region = strongest_region(change).mask.astype(np.uint8)
    pixels = mask & (cv2.resize(region, (width, height), interpolation=cv2.INTER_NEAREST) > 0)
    return pixels if pixels.sum() >= MIN_COLOR_PIXELS else None


def clipped_gain(source: Pixels, edited: Pixels) -> float:
    """Return how much the share of pixels that are black or white without detail rose, as difference of roots."""
    return max(0.0, _clipped(edited) - _clipped(source))


def _clipped(image: Pixels) -> float:
    red, green, blue = (image[..., channel] for channel in range(3))
    brightest = np.maximum(np.maximum(red, green), blue)  # numpy's max along so short an axis takes ten times as long
    return math.sqrt(float(((brightest >= 253) | (brightest <= 3)).mean()))


def _square(region: NDArray[np.bool_], width: int, height: int) -> BoxSides:
    rows, columns = np.flatnonzero(region.any(axis=1)), np.flatnonzero(region.any(axis=0))
    cell_width, cell_height = width / region.shape[1], height / region.shape[0]
    x, y = (columns[0] + columns[-1] + 1) / 2 * cell_width, (rows[0] + rows[-1] + 1) / 2 * cell_height
    side = REGION_MARGIN * max((columns[-1] + 1 - columns[0]) * cell_width, (rows[-1] + 1 - rows[0]) * cell_height)
    across, down = min(side, width), min(side, height)
    left, top = min(max(0.0, x - across / 2), width - across), min(max(0.0, y - down / 2), height - down)
    return float(left), float(top), float(left + across), float(top + down)


def _dilated(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return cv2.dilate(mask.astype(np.uint8), np.ones((3, 3), np.uint8)) > 0
