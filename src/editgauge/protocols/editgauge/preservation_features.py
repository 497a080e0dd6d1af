"""Features of 'did the rest stay?', in the source's frame."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from editgauge.core.images import as_unit
from editgauge.metrics.pixels import ssim
from editgauge.protocols.editgauge.appearance import detail, to_lab

if TYPE_CHECKING:
    from editgauge.protocols.editgauge.asked import Values
    from editgauge.protocols.editgauge.view import View


def keeping(view: View) -> Values:
    """Each feature by name; those of the rest are None when the edit may change everything."""
    alignment = view.changes.alignment
    moved = alignment.matrix[:, :2] @ _middle(view) + alignment.matrix[:, 2] - _middle(view)
    frame: Values = {
        "frame_lost": 1 - alignment.confidence,
        "frame_moved": min(1.0, 20 * float(np.hypot(*moved)) / view.diagonal) if alignment.found else 1.0,
    }
    region = view.expected().mask
    rest = view.shown if region is None else view.shown & ~region
    if region is None or not rest.any():
        return frame | dict.fromkeys(OF_THE_REST)
    before, after = to_lab(view.source), to_lab(view.edited)
    put_back = np.where(rest[..., np.newaxis], view.edited, view.source)
    gained = math.log2(detail(after, rest) / detail(before, rest))
    away = np.linalg.norm(after - before, axis=2)[rest]
    return frame | {
        "rest_changed": math.sqrt(float(view.changes.mask[rest].mean())),
        "rest_away": math.log1p(float(away.mean())),
        "rest_far": float((away > CLEARLY).mean()),
        "rest_cast": math.log1p(float(np.linalg.norm(np.median(after[rest] - before[rest], axis=0)))),
        "rest_unlike": 1 - ssim(as_unit(view.source), as_unit(put_back), rest),
        "rest_blurred": float(np.clip(-gained, 0, 3)),
        "rest_noisier": float(np.clip(gained, 0, 3)),
    }


CLEARLY = 10.0
"""Distance in CIE Lab from which a pixel has another color for everyone."""
OF_THE_REST = ("rest_changed", "rest_away", "rest_far", "rest_cast", "rest_unlike", "rest_blurred", "rest_noisier")


def _middle(view: View) -> NDArray[np.float64]:
    height, width = view.source.shape[:2]
    return np.array([width / 2, height / 2])
