"""Regions as public sets write them: run lengths, and pictures from which the region was erased."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from editgauge._util.images import alpha_channel, read_image
from editgauge._util.masks import BoolMask, MaskPixels, require_same_shape


@dataclass(frozen=True, slots=True)
class RunLengths:
    """Pairs (start, length) of inside pixels, counted along the rows of a picture of that size."""

    pairs: tuple[tuple[int, int], ...]
    width: int
    height: int
    frame: int = 0
    """Pixels along the border that are inside whatever the runs say."""

    def render(self, width: int, height: int) -> BoolMask:
        """Decoded in its own size, then scaled to the asked one by nearest neighbor."""
        require_same_shape("The mask given as run lengths", (self.width, self.height), (width, height))
        flat = np.zeros(self.width * self.height, dtype=np.bool_)
        for start, length in self.pairs:
            flat[start : start + length] = True
        mask = flat.reshape(self.height, self.width)
        if self.frame:
            mask[: self.frame] = mask[-self.frame :] = True
            mask[:, : self.frame] = mask[:, -self.frame :] = True
        return MaskPixels(mask).render(width, height)

    def describe(self) -> Any:
        """`{runs: [start, length, …], size: [width, height], frame: pixels}`."""
        runs = list(chain.from_iterable(self.pairs))
        return {"runs": runs, "size": [self.width, self.height], "frame": self.frame}


def runs_problem(runs: Any, width: int, height: int) -> str | None:
    """Why a list of numbers cannot be run lengths of a picture of that size, or None when it can.

    >>> runs_problem([0, 4, 9], 4, 4)
    'run lengths are pairs of start and length, got 3 numbers'
    """
    if not isinstance(runs, list) or not all(isinstance(one, int) and not isinstance(one, bool) for one in runs):
        return "run lengths are a list of whole numbers"
    if len(runs) % 2:
        return f"run lengths are pairs of start and length, got {len(runs)} numbers"
    outside = [start for start in runs[0::2] if not 0 <= start < width * height]
    if outside:
        return f"a run starts at {outside[0]}, outside a picture of {width} x {height}"
    if any(length < 0 for length in runs[1::2]):
        return "a run has a length under 0"
    return None


def paired(runs: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """The flat list as pairs of start and length."""
    return tuple(zip(runs[0::2], runs[1::2], strict=True))


@dataclass(frozen=True, slots=True)
class Erased:
    """A picture from which the region was erased: it is transparent there, or pure white if nothing is transparent.

    A file without transparency (as a converter leaves it) also counts what was pure white in the picture itself.
    """

    path: Path
    name: str = ""
    """What the benchmark calls it; the same on every machine."""

    def render(self, width: int, height: int) -> BoolMask:
        """Scaled to the given size by nearest neighbor."""
        pixels = read_image(self.path)  # the one loader: it refuses what is no image, broken or absurdly large
        require_same_shape(f"The mask '{self.path}'", (pixels.shape[1], pixels.shape[0]), (width, height))
        alpha = alpha_channel(self.path)
        inside = (pixels == 255).all(axis=2)
        if alpha is not None and (alpha < 255).any():
            inside = np.asarray(alpha < 255)  # everything that is not fully opaque: erasers have soft edges
        return MaskPixels(inside).render(width, height)

    def describe(self) -> Any:
        """`{erased: its name}`, or else its path."""
        return {"erased": self.name or str(self.path)}
