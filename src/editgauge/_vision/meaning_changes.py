"""What changed in a picture that was redrawn as a whole: where its meaning changed, where its colors, and how it looks.

Pixels say little there, for all of them differ. How much each patch changed its meaning comes from the tokens of a
vision transformer; it is compared with the picture's own middle, because redrawing alone costs every patch something.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge._util.images import Pixels, as_lab
from editgauge._util.masks import BoolMask, box_of, grown
from editgauge._vision.changed_regions import ChangedRegion, Changes
from editgauge._vision.color_words import color_word, hue_word

Grid = NDArray[np.float32]
"""rows x columns of patches."""
Tokens = NDArray[np.floating[Any]]
"""rows x columns x length."""

REDRAWN = 1.5
"""Levels of gray, out of 255, by which a quarter of the pixels differ outside the changed regions."""
BLUR = 0.7
"""In patches: single patches of a plain wall change their token by chance."""
LEAST_MEANING = 0.25
"""A change of meaning under which no patch counts, however little the others changed."""
FAINT_MEANING = 0.1
"""The same, where nothing else can be determined."""
PEAK = 6
"""This many patches must have changed as much as the peak: fewer are a speck."""
RISE = 0.45
"""How far from the picture's middle to its peak a patch must have changed."""
SMALLEST = 0.01
"""The share of the picture under which a place is a speck."""
MINOR = 0.35
"""Of the largest place: what weighs less is not worth a sentence."""
MOST_PLACES = 3
RELAID = 0.2
"""The picture's middle change of meaning from which all of it was redrawn."""
AROUND, LEAST_AROUND = 2, 4
"""How many patches next to a place lie around it, and how many of them must be left to compare it with."""
CALM = 0.1
"""How much more than the middle such a patch may have changed."""
LOCAL = 0.2
"""The share of the picture up to which a place has surroundings."""
LIKE_AROUND, UNLIKE = 0.72, 0.18
"""The similarity of a plain place with its surroundings, and by how much a thing on it lowers that."""
SAME_THING = 0.4
"""A change of meaning up to which a patch still shows what it showed."""
COLOR_GRID = 32
FINE_GRID = 64
"""Cells along a side: of the picture for its repainted places, and for the color of one region."""
CLEAR_HUE = 10.0
"""Distance in the plane of a and b of CIE Lab from which a color may have become another."""
STANDS_OUT = 3.0
"""Times the picture's middle distance: so much farther must a place have moved."""
TINT, NEARLY_ALL = 8.0, 0.75
"""The distance by which all colors together must have moved before it is told, and the share that must take part."""
ONE_COLOR = 0.5
"""The share of a place that must have one color word after it was repainted."""
NOT_YET = 0.15
"""The share of a place that may have had that color before."""
COLORED = 0.03
"""The share of the picture from which a change of color is reported."""
COLORFUL, GRAY = 8.0, 3.0
"""The mean chroma of a picture in color, and of one in black and white."""
CLEAR_CHROMA, PALER = 6.0, 0.72
"""By how much, and to which part, the mean chroma must fall before people call the colors paler."""
CLEAR_LIGHT = 8.0
"""By how much the mean lightness must change before people call a picture brighter or darker."""
FLATTER = 0.75
"""To which part the spread of lightness must fall before people see less contrast."""
MOST = 0.5
"""The share of the picture from which a change is one of the whole."""


@dataclass(frozen=True, slots=True, eq=False)
class Meaning:
    """How much each patch of a picture changed its meaning."""

    grid: Grid
    """Smoothed, 0 where the pictures do not overlap."""
    middle: float
    """Of the picture: what redrawing alone cost."""
    tokens: tuple[Tokens, Tokens]
    """The meaning of every patch before and after, as unit vectors."""

    def within(self, mask: BoolMask) -> float:
        """The mean change of a region."""
        weights = cv2.resize(mask.astype(np.float32), self.grid.shape[::-1], interpolation=cv2.INTER_AREA)
        return float((self.grid * weights).sum() / max(float(weights.sum()), 1e-6))

    def weight(self, mask: BoolMask) -> float:
        """How much of the change beyond the middle is in a region."""
        return float(mask.mean()) * max(self.within(mask) - self.middle, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Repainted:
    """A region that shows what it showed, in another color."""

    region: ChangedRegion
    colors: tuple[str, str] | None
    """None when the colors before or after have no common name."""


def is_redrawn(source: Pixels, changes: Changes) -> bool:
    """Were also the pixels made again that look unchanged, as generative editors do?"""
    rest = changes.alignment.valid & ~changes.mask
    if not rest.any():
        return True
    before, after = (cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY) for picture in (source, changes.alignment.aligned))
    return float(np.percentile(cv2.absdiff(before, after)[rest], 75)) > REDRAWN


def meaning_of(before: Tokens, after: Tokens, valid: BoolMask) -> Meaning:
    """How much the patches of two pictures differ: one minus the cosine of their tokens.

    Args:
        before: tokens of the source
        after: tokens of the edited picture, in the source's frame
        valid: the pixels that both pictures show
    """
    tokens = _units(before), _units(after)
    change = 1 - (tokens[0] * tokens[1]).sum(axis=2)
    rows, columns = change.shape
    shown = cv2.resize(valid.astype(np.float32), (columns, rows), interpolation=cv2.INTER_AREA) > 0.9
    raw = np.where(shown, change, 0).astype(np.float32)
    grid = np.asarray(cv2.GaussianBlur(raw, (0, 0), BLUR, borderType=cv2.BORDER_REPLICATE), np.float32)
    return Meaning(np.where(shown, grid, 0), float(np.median(raw[shown])) if shown.any() else 0.0, tokens)


def places_of_change(
    meaning: Meaning, shape: tuple[int, int], least_meaning: float = LEAST_MEANING
) -> list[ChangedRegion]:
    """The regions that changed their meaning more than the rest, weightiest first, in pixels."""
    peak = float(np.sort(meaning.grid, axis=None)[-PEAK:][0])
    least = max(least_meaning, meaning.middle + RISE * (peak - meaning.middle))
    places = [place for place in _regions(meaning.grid >= least, meaning.grid, shape) if place.share >= SMALLEST]
    weights = {id(place): meaning.weight(place.mask) for place in places}
    places.sort(key=lambda place: -weights[id(place)])
    return [place for place in places if weights[id(place)] >= MINOR * weights[id(places[0])]][:MOST_PLACES]


def tint(source: Pixels, edited: Pixels) -> list[str]:
    """Toward which color nearly all of the picture shifted, as a sentence; none when it did not."""
    shift = np.subtract(*(as_lab(_small(picture))[..., 1:] for picture in (edited, source)))
    red, yellow = middle = np.median(shift, axis=(0, 1))
    length = float(np.linalg.norm(middle))
    if length < TINT or float((shift @ middle / length >= TINT / 2).mean()) < NEARLY_ALL:
        return []
    return [f"All colors shifted toward {hue_word(float(red), float(yellow))}."]


def came_or_went(place: ChangedRegion, meaning: Meaning) -> Literal["appeared", "vanished", "altered"]:
    """Did something appear in a place, or vanish from it? A plain place is like what lies around it; a thing is not."""
    rows, columns = meaning.grid.shape
    cells = cv2.resize(place.mask.astype(np.uint8), (columns, rows), interpolation=cv2.INTER_NEAREST) > 0
    around = grown(cells, AROUND) & ~cells & (meaning.grid < max(LEAST_MEANING, meaning.middle + CALM))
    if around.sum() < LEAST_AROUND or cells.mean() > LOCAL or meaning.middle >= RELAID:
        return "altered"
    before, after = (_likeness(tokens[cells], tokens[around]) for tokens in meaning.tokens)
    if before >= LIKE_AROUND and before - after >= UNLIKE:
        return "appeared"
    return "vanished" if after >= LIKE_AROUND and after - before >= UNLIKE else "altered"


def _likeness(inside: Tokens, around: Tokens) -> float:
    """The mean cosine of each patch with the three patches around that are most like it."""
    return float(np.sort(inside @ around.T, axis=1)[:, -3:].mean())


def repainted_places(source: Pixels, edited: Pixels, meaning: Meaning) -> list[Repainted]:
    """The regions that show what they showed in another color, largest first."""
    shift = np.subtract(*(as_lab(_small(picture))[..., 1:] for picture in (edited, source)))
    cast = np.median(shift, axis=(0, 1))
    if np.linalg.norm(cast) >= 2 * TINT:
        return []
    distance = np.asarray(np.linalg.norm(shift - cast, axis=2), np.float32)
    clear = max(CLEAR_HUE, STANDS_OUT * float(np.median(distance)))
    change = cv2.resize(meaning.grid, (COLOR_GRID, COLOR_GRID), interpolation=cv2.INTER_LINEAR)
    regions = _regions((distance >= clear) & (change < SAME_THING), distance, (COLOR_GRID, COLOR_GRID))
    places = [
        Repainted(
            _region(region.mask, distance, source.shape[:2]), _new_color(_small(source), _small(edited), region.mask)
        )
        for region in regions
        if region.share >= COLORED
    ]
    return sorted(places, key=lambda place: -place.region.share)


def looks(source: Pixels, edited: Pixels) -> list[str]:
    """How the picture as a whole looks now: its light and its colors, one sentence each; none when it looks alike."""
    before, after = as_lab(source), as_lab(edited)
    remarks = []
    chroma, chroma_now = (float(np.hypot(lab[..., 1], lab[..., 2]).mean()) for lab in (before, after))
    if chroma >= COLORFUL and chroma_now <= GRAY:
        remarks.append("The picture became black and white.")
    elif chroma - chroma_now >= CLEAR_CHROMA and chroma_now <= PALER * chroma:
        remarks.append("The colors became paler.")
    elif chroma_now - chroma >= CLEAR_CHROMA and chroma <= PALER * chroma_now:
        remarks.append("The colors became stronger.")
    lighter = float(after[..., 0].mean() - before[..., 0].mean())
    if abs(lighter) >= CLEAR_LIGHT:
        remarks.append(f"The picture became {'brighter' if lighter > 0 else 'darker'}.")
    if float(after[..., 0].std()) <= FLATTER * float(before[..., 0].std()):
        remarks.append("The picture lost contrast.")
    return remarks


def _small(picture: Pixels) -> Pixels:
    return np.asarray(cv2.resize(picture, (COLOR_GRID, COLOR_GRID), interpolation=cv2.INTER_AREA), np.uint8)


def _units(tokens: Tokens) -> NDArray[np.float32]:
    numbers = np.asarray(tokens, np.float32)
    return np.asarray(numbers / np.maximum(np.linalg.norm(numbers, axis=2, keepdims=True), 1e-6), np.float32)


def color_change(source: Pixels, edited: Pixels, where: BoolMask) -> tuple[str, str] | None:
    """The color words that most of a region had and has; None unless one color is new to most of it."""
    side = (FINE_GRID, FINE_GRID)
    cells = cv2.resize(where.astype(np.float32), side, interpolation=cv2.INTER_AREA) >= 0.5
    if not cells.any():
        return None
    before, after = (cv2.resize(picture, side, interpolation=cv2.INTER_AREA) for picture in (source, edited))
    return _new_color(np.asarray(before, np.uint8), np.asarray(after, np.uint8), cells)


def _new_color(before: Pixels, after: Pixels, where: BoolMask) -> tuple[str, str] | None:
    """The color words that most cells of a region had and have; None unless one color is new to most of it."""
    words, words_now = (
        Counter(color_word(color[np.newaxis, np.newaxis], np.ones((1, 1), np.bool_)) for color in picture[where])
        for picture in (before, after)
    )
    (old, _), (new, count) = words.most_common(1)[0], words_now.most_common(1)[0]
    cells = words.total()
    return (old, new) if old != new and count >= ONE_COLOR * cells and words[new] <= NOT_YET * cells else None


def _regions(mask: NDArray[Any], strength: Grid, shape: tuple[int, int]) -> list[ChangedRegion]:
    count, labels = cv2.connectedComponents(mask.astype(np.uint8), connectivity=8)
    return [_region(labels == label, strength, shape) for label in range(1, count)]


def _region(cells: BoolMask, strength: Grid, shape: tuple[int, int]) -> ChangedRegion:
    height, width = shape
    mask = cv2.resize(cells.astype(np.uint8), (width, height), interpolation=cv2.INTER_NEAREST) > 0
    return ChangedRegion(mask, box_of(mask), float(mask.mean()), float(strength[cells].mean()))
