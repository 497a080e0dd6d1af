"""Changes of an image as a whole: colors, sharpness, noise, layout.

Medians over a coarse grid describe what happened to most of the image, so an edit of one object hardly moves them,
while a mirrored, gray, blurred or noisy image moves them a lot. `changes`, the score `kept` and the verdict share this
analysis and therefore cannot contradict each other.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge._util.images import Pixels, as_lab
from editgauge._util.masks import BoolMask
from editgauge._vision.registration import Alignment

Grid = NDArray[np.float32]

GRID = 16
"""Cells along each side."""
MIN_CHROMA = 5.0
"""Chroma in CIE Lab below which a cell is gray."""
MIN_FINE = 0.4
"""Mean fine structure, in units of lightness out of 100, below which a cell is smooth."""
MIN_CELLS = 0.05
"""Share of the cells that must be colored (or textured) to measure a change of color (or sharpness)."""
MIN_TEXTURED_CELLS = 0.3
"""The same for sharpness of a whole image: one textured object on a plain background says nothing about the rest."""
FLIP_SIDE = 64
"""Pixels along the side of the thumbnails in which a flip is looked for."""
MIN_CONTRAST = 1.0
"""Standard deviation of lightness below which an image has no orientation."""
MIN_FLIP_CORRELATION, MIN_FLIP_GAIN = 0.9, 0.05
"""Least correlation of a flipped source with the edited image, and how much higher than without a flip."""
MAX_FRAME_SHIFT = 0.03
"""Of the diagonal: a frame that moved no farther is aligned before the comparison."""
MAX_FRAME_DISTORTION = 0.05
"""Largest deviation of the frame's linear part from the identity that is aligned."""

MIN_REPORTED_SEVERITY = 0.5
"""Severity from which a disturbance is put into words."""
MIN_ROTATION = 3.0
"""Degrees from which a turned frame is put into words."""


@dataclass(frozen=True, slots=True)
class DisturbanceLimits:
    """Where each disturbance begins to count and where it counts fully; good local edits stay below the beginning."""

    color: tuple[float, float] = (6.0, 20.0)
    """Median shift of a cell's color in CIE Lab."""
    chroma: tuple[float, float] = (0.25, 0.8)
    """Median relative change of chroma: 1 for a grayscale image."""
    blur: tuple[float, float] = (0.4, 1.3)
    """Median loss of fine structure, natural logarithm."""
    noise: tuple[float, float] = (0.4, 1.2)
    """Median gain of fine structure, natural logarithm."""
    grain: tuple[float, float] = (3.0, 7.0)
    """Fine structure of the difference in the least changed tenth, in units of lightness out of 100."""
    structure: tuple[float, float] = (0.5, 0.8)
    """One minus the mean local correlation of lightness."""
    rotation: tuple[float, float] = (2.0, 10.0)
    """Degrees; a mirrored frame counts fully."""


DEFAULT_LIMITS = DisturbanceLimits()


@dataclass(frozen=True, slots=True)
class Disturbance:
    """What happened to most of an image; 0 throughout for an untouched one."""

    color: float
    chroma: float
    detail: float
    """Logarithm of the ratio of fine structure: negative for a blurred image, positive for a noisy one."""
    structure: float
    is_mirrored: bool = False
    rotation: float = 0.0
    """Degrees by which the frame was turned, from -180 to 180."""
    grain: float = 0.0
    """Fine structure of the difference in the least changed tenth: noise is everywhere, also in textured images."""

    def severities(self, limits: DisturbanceLimits = DEFAULT_LIMITS) -> dict[str, float]:
        """Return the severity of each disturbance, from 0 to 1."""
        return {
            "color": _severity(self.color, limits.color),
            "chroma": _severity(self.chroma, limits.chroma),
            "blur": _severity(-self.detail, limits.blur),
            "noise": _severity(self.detail, limits.noise),
            "grain": _severity(self.grain, limits.grain),
            "structure": _severity(self.structure, limits.structure),
            "frame": 1.0 if self.is_mirrored else _severity(abs(self.rotation), limits.rotation),
        }

    @property
    def severity(self) -> float:
        """The most severe disturbance, from 0 to 1."""
        return max(self.severities().values())

    @property
    def sentences(self) -> tuple[str, ...]:
        """Plain statements about the image as a whole; empty for a local edit."""
        severities = self.severities()
        texts = []
        if self.is_mirrored:
            texts.append("The image was mirrored.")
        elif abs(self.rotation) >= MIN_ROTATION:
            texts.append(f"The image was rotated by {abs(self.rotation):.0f} degrees.")
        if severities["chroma"] > MIN_REPORTED_SEVERITY or severities["color"] > MIN_REPORTED_SEVERITY:
            texts.append("The colors of the whole image changed.")
        if severities["blur"] > MIN_REPORTED_SEVERITY:
            texts.append("The whole image lost fine detail.")
        is_grainy = (
            severities["grain"] > MIN_REPORTED_SEVERITY
            and severities["structure"] <= MIN_REPORTED_SEVERITY
            and not texts
        )
        if severities["noise"] > MIN_REPORTED_SEVERITY or is_grainy:
            texts.append("The whole image became noisier or sharper.")
        if severities["structure"] > MIN_REPORTED_SEVERITY and not texts:
            texts.append("The layout of the whole image changed.")
        return tuple(texts)


def _severity(value: float, limits: tuple[float, float]) -> float:
    start, end = limits
    return min(1.0, max(0.0, (value - start) / (end - start)))


def measure_disturbance(
    source: Pixels,
    edited: Pixels,
    alignment: Alignment,
    editable: BoolMask | None = None,
    *,
    min_textured_cells: float | None = None,
) -> Disturbance:
    """Measure what happened to an image outside the region that may change.

    Args:
        source: image before the edit, height x width x 3.
        edited: image after the edit, same size.
        alignment: how the edited image lies over its source; only slight movements of the frame are undone.
        editable: region that may change; None compares the whole image.
        min_textured_cells: share of the compared cells that must be textured to measure sharpness; by default
            `MIN_TEXTURED_CELLS` for the whole image and `MIN_CELLS` outside a region.
    """
    if min_textured_cells is None:
        min_textured_cells = MIN_TEXTURED_CELLS if editable is None else MIN_CELLS
    image = alignment.aligned if _is_slight(alignment) else edited
    lab, edited_lab = as_lab(source), as_lab(image)
    cells = _cells_to_compare(editable)
    colors, edited_colors = _cells(lab), _cells(edited_lab)
    shift = edited_colors - colors
    chroma = np.maximum(*(np.linalg.norm(values[..., 1:], axis=2) for values in (colors, edited_colors)))
    chroma_shift = np.linalg.norm(shift[..., 1:], axis=2) / np.maximum(chroma, MIN_CHROMA)
    light, edited_light = (np.ascontiguousarray(values[..., 0]) for values in (lab, edited_lab))
    is_mirrored, rotation = _flip(light, edited_light) or _frame_change(alignment)
    fine, edited_fine = _fine(light), _fine(edited_light)
    return Disturbance(
        color=float(np.median(np.linalg.norm(shift, axis=2)[cells])),
        chroma=_median_of(chroma_shift, cells & (chroma > MIN_CHROMA), cells),
        detail=_median_of(
            np.log((edited_fine + MIN_FINE / 4) / (fine + MIN_FINE / 4)),
            cells & (np.maximum(fine, edited_fine) > MIN_FINE),
            cells,
            min_textured_cells,
        ),
        structure=float(np.clip(1 - _cells(_local_correlation(light, edited_light))[cells].mean(), 0, 1)),
        is_mirrored=is_mirrored,
        rotation=rotation,
        grain=float(np.percentile(_fine(edited_light - light)[cells], 10)),
    )


def _cells_to_compare(editable: BoolMask | None) -> NDArray[np.bool_]:
    """Return the cells mostly outside the editable region; all cells when that leaves too few."""
    everything = np.ones((GRID, GRID), np.bool_)
    if editable is None:
        return everything
    outside = _cells(editable.astype(np.float32)) < 0.5
    return outside if outside.mean() >= MIN_CELLS else everything


def _cells(values: NDArray[np.float32]) -> Grid:
    return np.asarray(cv2.resize(values, (GRID, GRID), interpolation=cv2.INTER_AREA), np.float32)


def _fine(light: NDArray[np.float32]) -> Grid:
    return _cells(np.asarray(cv2.absdiff(light, cv2.GaussianBlur(light, (0, 0), 1.2)), np.float32))


def _median_of(values: Grid, where: NDArray[np.bool_], cells: NDArray[np.bool_], min_share: float = MIN_CELLS) -> float:
    """Return the median where there is enough to measure, else 0."""
    return float(np.median(values[where])) if where.sum() >= min_share * cells.sum() else 0.0


def _local_correlation(first: NDArray[np.float32], second: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the contrast and structure term of SSIM on lightness, Gaussian windows of 4 pixels."""
    smooth = [np.asarray(cv2.GaussianBlur(values, (0, 0), 4.0), np.float32) for values in (first, second)]
    variances = [
        np.maximum(cv2.GaussianBlur(values * values, (0, 0), 4.0) - mean**2, 0)
        for values, mean in zip((first, second), smooth, strict=True)
    ]
    covariance = cv2.GaussianBlur(first * second, (0, 0), 4.0) - smooth[0] * smooth[1]
    return np.asarray((2 * covariance + 9) / (variances[0] + variances[1] + 9), np.float32)


def _is_slight(alignment: Alignment) -> bool:
    if not alignment.found:
        return False
    height, width = alignment.valid.shape
    center = np.array([width / 2, height / 2])
    moved = alignment.matrix[:, :2] @ center + alignment.matrix[:, 2] - center
    distortion = float(np.abs(alignment.matrix[:, :2] - np.eye(2)).max())
    return distortion < MAX_FRAME_DISTORTION and float(np.hypot(*moved)) < MAX_FRAME_SHIFT * np.hypot(height, width)


def _flip(light: NDArray[np.float32], edited_light: NDArray[np.float32]) -> tuple[bool, float] | None:
    """Return whether the frame is mirrored, and its rotation, where a flip explains the image better than no change."""
    before, after = (
        np.asarray(cv2.resize(values, (FLIP_SIDE, FLIP_SIDE), interpolation=cv2.INTER_AREA), np.float32)
        for values in (light, edited_light)
    )
    if min(before.std(), after.std()) < MIN_CONTRAST:
        return None
    flips = {(True, 0.0): (before[:, ::-1], before[::-1]), (False, 180.0): (before[::-1, ::-1],)}
    least = max(MIN_FLIP_CORRELATION, _correlation(before, after) + MIN_FLIP_GAIN)
    return next(
        (frame for frame, images in flips.items() if any(_correlation(image, after) > least for image in images)), None
    )


def _correlation(first: NDArray[np.float32], second: NDArray[np.float32]) -> float:
    return float(np.corrcoef(first.ravel(), second.ravel())[0, 1])


def _frame_change(alignment: Alignment) -> tuple[bool, float]:
    """Return whether the frame is mirrored, and by how many degrees it is turned."""
    if not alignment.found:
        return False, 0.0
    linear = alignment.matrix[:, :2]
    if float(np.linalg.det(linear)) < 0:
        return True, 0.0
    return False, float(np.degrees(np.arctan2(linear[1, 0], linear[0, 0])))
