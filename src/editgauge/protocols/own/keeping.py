"""Features of 'did the rest stay?' and of 'did the edit leave artifacts?', in the source's frame."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge.core.images import as_unit
from editgauge.core.masks import grown
from editgauge.metrics.object_changes import likeness_of_shapes
from editgauge.metrics.pixels import ssim
from editgauge.protocols.own.looks import detail, to_lab
from editgauge.protocols.own.roles import NEW_CONTENT

if TYPE_CHECKING:
    from editgauge.core.masks import BoolMask
    from editgauge.protocols.own.doing import Values
    from editgauge.protocols.own.looks import Lab
    from editgauge.protocols.own.view import View

FLAT = 2.0
"""Mean gradient of lightness, out of 100, that counts as none: ratios of less say nothing."""


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
"""Distance in CIE Lab from which on a pixel has another colour for everyone."""
OF_THE_REST = ("rest_changed", "rest_away", "rest_far", "rest_cast", "rest_unlike", "rest_blurred", "rest_noisier")


def flaws(view: View) -> Values:
    """Each feature of artifacts by name; all None when nothing changed."""
    region = view.expected().mask
    part = view.changes.mask if region is None else view.changes.mask & region
    if not part.any():
        return dict.fromkeys(OF_FLAWS)
    lab, was = to_lab(view.edited), to_lab(view.source)
    beside = grown(part, 3 * view.margin) & ~grown(part, view.margin)
    outline = _outline(view, part)
    return {
        "rim": _ridge(lab, outline, view.margin) - _ridge(was, outline, view.margin),
        "rim_now": _ridge(lab, outline, view.margin),
        "halo": _ring(lab, outline, view.margin),
        "edge": _times(_steep(lab)[_band(part, 2)], _steep(lab)[beside]),
        "soft": -math.log2(detail(lab, part) / detail(was, part)),
        "soft_beside": -math.log2(detail(lab, part) / detail(lab, beside)) if beside.any() else None,
        "off_shade": _off_shade(lab, was, part, beside),
        "darker": float((was[..., 0] - lab[..., 0] > CLEARLY)[part].mean()),
        "shines_through": likeness_of_shapes(view.source, view.edited, part) if view.edit.type in NEW_CONTENT else None,
        "beyond": 1 - float(part.sum() / view.changes.mask.sum()),
        "twice": _twice(view),
        "surest": _surest(view),
        "suffered": view.suffered,
    }


OF_FLAWS = (
    "rim", "rim_now", "halo", "edge", "soft", "soft_beside", "off_shade", "darker", "shines_through", "beyond", "twice",
    "surest", "suffered",
)  # fmt: skip


def _middle(view: View) -> NDArray[np.float64]:
    height, width = view.source.shape[:2]
    return np.array([width / 2, height / 2])


def _outline(view: View, part: BoolMask) -> BoolMask:
    """What stands there now, by its outline where one is seen; else what changed."""
    for role in ("comes", "stays"):
        pair = view.pairs.get(role)
        if pair and pair.after and not (role == "stays" and view.roles.adds):
            there = [thing.mask for thing in pair.after if (thing.mask & part).any()]
            if there:
                return np.asarray(there[0])
    return part


def _band(mask: BoolMask, reach: int) -> BoolMask:
    return np.asarray(grown(mask, reach) & grown(~mask, reach))


def _steep(lab: Lab) -> NDArray[np.float32]:
    light = cv2.GaussianBlur(lab[..., 0], (0, 0), 0.8)
    return np.asarray(cv2.magnitude(cv2.Sobel(light, cv2.CV_32F, 1, 0), cv2.Sobel(light, cv2.CV_32F, 0, 1)), np.float32)


def _times(one: NDArray[np.float32], other: NDArray[np.float32]) -> float | None:
    if not (one.size and other.size):
        return None
    return math.log2((float(one.mean()) + FLAT) / (float(other.mean()) + FLAT))


def _ridge(lab: Lab, outline: BoolMask, margin: int) -> float:
    """How much the lightness along an outline stands out from both of its sides."""
    light = lab[..., 0]
    line = light - cv2.GaussianBlur(light, (0, 0), margin)
    band = grown(outline, max(2, margin // 2)) & ~outline
    return abs(float(line[band].mean())) / 10 if band.any() else 0.0


def _ring(lab: Lab, outline: BoolMask, margin: int) -> float:
    """How far the colour just around an outline is from the colour a little farther away."""
    near = grown(outline, margin) & ~outline
    far = grown(outline, 3 * margin) & ~grown(outline, 2 * margin)
    if not (near.any() and far.any()):
        return 0.0
    return float(np.linalg.norm(lab[near].mean(axis=0) - lab[far].mean(axis=0))) / 10


def _off_shade(lab: Lab, was: Lab, part: BoolMask, beside: BoolMask) -> float | None:
    """How much farther than before the part's lightness is from that of its surroundings."""
    if not beside.any():
        return None
    now, then = (abs(float(each[..., 0][part].mean() - each[..., 0][beside].mean())) for each in (lab, was))
    return (now - then) / 10


def _twice(view: View) -> float | None:
    """How many more of the thing are seen than there should be."""
    pair = view.pairs.get("stays" if not view.roles.comes else "comes")
    if pair is None:
        return None
    before, after = (sum(thing.confidence >= view.point for thing in things) for things in (pair.before, pair.after))
    return float(np.clip(after - before - (1 if view.roles.comes else 0), -1, 2))


def _surest(view: View) -> float | None:
    pair = view.pairs.get("stays" if not view.roles.comes else "comes")
    if pair is None:
        return None
    return max((thing.confidence / (thing.confidence + view.point) for thing in pair.after), default=0.0)
