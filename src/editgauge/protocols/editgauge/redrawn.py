"""How much of a picture was redrawn, by the patch tokens of an image embedder and by its finest pixels.

Tokens describe what a patch shows, so they stay alike where an editor redrew the same things pixel by pixel.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import cv2
import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from editgauge._util.images import Pixels
    from editgauge.models.answers import Patches

BoxSides = tuple[float, float, float, float]
"""Left, top, right, bottom, in pixels."""

CLEARLY_CHANGED = 0.25
"""Least change of a patch (1 - cosine) that belongs to a changed place."""
MOST_PLACES = 2
AROUND = 1.25
"""The side of the square around a changed place, in sides of the place."""


def token_features(before: Patches, after: Patches, change: NDArray[np.float64]) -> dict[str, float]:
    """What changed between two pictures, patch by patch; `change` is `semantic_change` of their tokens.

    `novelty` compares each patch of the edited picture with the most similar patch anywhere in the source: what no
    patch of the source resembles is either new content or an artifact.
    """
    old, new = (_units(each) for each in (before, after))
    nearest = (new @ old.T).max(axis=1)
    lengths = [float(np.linalg.norm(each.tokens.astype(np.float32), axis=2).mean()) for each in (before, after)]
    return {
        "novelty": 1 - float(np.percentile(nearest, 5)),
        "unmatched": 1 - float(nearest.mean()),
        "most_changed": float(np.percentile(change, 97)),
        "greatest_changed": float(change.max()),
        "mean_changed": float(change.mean()),
        "least_changed": float(np.percentile(change, 25)),
        "token_length": (lengths[1] - lengths[0]) / 10,
    }


def _units(picture: Patches) -> NDArray[np.float32]:
    """The tokens of all patches, one below the other, at length 1."""
    tokens = picture.tokens.reshape(-1, picture.tokens.shape[2]).astype(np.float32)
    return np.asarray(tokens / np.maximum(np.linalg.norm(tokens, axis=1, keepdims=True), 1e-6), np.float32)


def changed_places(change: NDArray[np.float64], width: int, height: int) -> list[BoxSides]:
    """Squares around the places where the tokens changed most, strongest first; none when nothing changed."""
    rows, columns = change.shape
    least = max(CLEARLY_CHANGED, float(np.percentile(change, 85)))
    count, labels, boxes, _ = cv2.connectedComponentsWithStats((change >= least).astype(np.uint8), connectivity=4)
    strength = {label: float(change[labels == label].sum()) for label in range(1, count)}
    strongest = sorted(strength, key=lambda label: -strength[label])[:MOST_PLACES]
    return [_square(boxes[label], columns, rows, width, height) for label in strongest]


def changed_in(change: NDArray[np.float64], box: BoxSides, width: int, height: int) -> float:
    """How much most of the patches under a box changed: the upper quartile."""
    rows, columns = change.shape
    left, top, right, bottom = box
    across = slice(max(0, int(left * columns / width)), max(1, math.ceil(right * columns / width)))
    down = slice(max(0, int(top * rows / height)), max(1, math.ceil(bottom * rows / height)))
    return float(np.percentile(change[down, across], 75)) if change[down, across].size else 0.0


def _square(box: NDArray[np.int32], columns: int, rows: int, width: int, height: int) -> BoxSides:
    left, top, wide, high = (float(side) for side in box[:4])
    x, y = (left + wide / 2) * width / columns, (top + high / 2) * height / rows
    side = AROUND * max(wide * width / columns, high * height / rows)
    across, down = min(side, width), min(side, height)
    left, top = min(max(0.0, x - across / 2), width - across), min(max(0.0, y - down / 2), height - down)
    return left, top, left + across, top + down


def pixel_features(before: Pixels, after: Pixels) -> dict[str, float]:
    """Pixels without detail because they are black or white, and how much finest detail came or went."""
    red, green, blue = (after[..., channel] for channel in range(3))
    brightest = np.maximum(np.maximum(red, green), blue)  # numpy's max along so short an axis takes ten times as long
    return {
        "clipped": math.sqrt(float(((brightest >= 253) | (brightest <= 3)).mean())),
        "sharper": _finest(after) - _finest(before),
    }


def _finest(picture: Pixels) -> float:
    gray = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY).astype(np.float32)
    return math.log(float(cv2.Laplacian(gray, cv2.CV_32F).var()) + 1)
