"""Proposed edits in words: captions, and names of colors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge._util.text import with_article
from editgauge._vision.colors import rgb_of
from editgauge.benchmarks.wording import PLACES
from editgauge.recipes import COLORS

if TYPE_CHECKING:
    from editgauge._util.images import Pixels
    from editgauge._util.masks import BoolMask, Polygons
    from editgauge.types import Position

STYLES = MappingProxyType(
    {
        "sketch": "a pencil sketch",
        "grayscale": "a black and white photo",
        "sepia": "a sepia photo",
        "cartoon": "a cartoon",
        "negative": "a photographic negative",
        "oil": "an oil painting",
    }
)
SCENES = MappingProxyType(
    {"brick": "brick wall", "grass": "green lawn", "blur": "blurred background", "white": "plain white wall"}
)
SURFACES = MappingProxyType({"stripes": "striped", "dots": "dotted", "wood": "wooden"})
SIDES = MappingProxyType({"left": "on the left", "center": "in the center", "right": "on the right"})
FAR_APART = 45.0
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
            return f"{before} {SIDES[from_ or '']}", f"{before} {SIDES[to or '']}"
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
            return before, f"{before} with {new} {PLACES[position.relation].format(subject)}"
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
    return nearest, [name for name, distance in distances.items() if distance > FAR_APART]


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
