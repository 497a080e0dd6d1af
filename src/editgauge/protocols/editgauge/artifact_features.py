"""Features of 'did the edit leave artifacts?': what a person would notice at the edited part, in the source's frame."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge._util.images import gradient_magnitude
from editgauge._util.masks import dilate_mask
from editgauge.protocols.editgauge.appearance import blurrier, detail, mean_at, residue, uneven
from editgauge.protocols.editgauge.outlines import bump, rings_of_rim, seen_again, signed_distance, step
from editgauge.protocols.editgauge.roles import removes

if TYPE_CHECKING:
    from editgauge._util.images import Lab
    from editgauge._util.masks import BoolMask
    from editgauge.protocols.editgauge.appearance import Lightness
    from editgauge.protocols.editgauge.asked import Values
    from editgauge.protocols.editgauge.view import View

CLEARLY = 10.0
"""Distance in CIE Lab from which a pixel has another color for everyone."""
UNTOUCHED = 3.0
"""Distance in CIE Lab up to which a pixel is as it was."""
FLAT = 2.0
"""Mean gradient of lightness, out of 100, that counts as none: ratios of less say nothing."""
RECOLORED = ("color", "style")
"""After them every brightness of the source has become another, the same one all over."""
COVERED = ("color", "texture")
"""After them the change has the outline that the thing has in the source."""
OF_FLAWS = (
    "rim", "rim_gain", "rim_change", "rim_even", "edge", "step", "soft", "soft_beside", "blurred", "off_shade",
    "darker", "foot", "shines_through", "left_over", "uneven", "beyond", "beyond_near", "lopsided", "still", "misfit",
    "again",
)  # fmt: skip


def flaws(view: View) -> Values:
    """Each feature by name; all None when nothing changed where the edit may change something."""
    region = view.expected.mask
    part = view.changes.mask if region is None else view.changes.mask & region
    if not part.any():
        return dict.fromkeys(OF_FLAWS)
    before, after = view.labs
    return {
        **_of_the_edge(view, part, before, after),
        **_of_the_inside(view, part),
        **_of_the_place(view, part, region),
        "again": None if removes(view.edit) else seen_again(view.source, view.edited, _outline(view, part)),
    }


def _of_the_edge(view: View, part: BoolMask, before: Lab, after: Lab) -> Values:
    """Halos and seams: something along the outline that is on neither of its sides."""
    if part.all():
        return dict.fromkeys(("rim", "rim_gain", "rim_change", "rim_even", "edge", "step"))
    away = signed_distance(part)
    shift = view.shift[..., 0][part & (away > -view.margin)]
    rings = rings_of_rim(away, view.margin)
    now, then = rings.means(after), rings.means(before)
    rim = bump(now, view.margin)
    return {
        "rim": rim,
        "rim_gain": rim - bump(then, view.margin),
        "rim_change": bump(now - then, view.margin),
        "rim_even": abs(float(shift.mean())) / (float(shift.std()) + UNTOUCHED),
        "edge": _steep_beside(view.lights[1], away, view.margin),
        "step": step(after, away, view.margin) if removes(view.edit) else None,
    }


def _of_the_inside(view: View, part: BoolMask) -> Values:
    """Blur, shades, shadows, and what shines through."""
    (before, after), margin = view.lights, view.margin
    core = part & ~dilate_mask(~part, 2)
    inside = core if core.any() else part
    near = dilate_mask(part, margin)
    beside = dilate_mask(part, 3 * margin) & ~near
    rest = view.shown & ~near
    structure = detail(view.fine[1], part)
    recolored = view.edit.type in RECOLORED
    return {
        "soft": -math.log2(structure / detail(view.fine[0], part)),
        "soft_beside": -math.log2(structure / detail(view.fine[1], beside)) if beside.any() else None,
        "blurred": blurrier(after, inside, than=rest) if rest.any() else None,
        "off_shade": _off_shade(before, after, part, beside),
        "darker": float((view.shift[..., 0][part] < -CLEARLY).mean()),
        "foot": _dark_foot(after, part, beside),
        "shines_through": None if recolored else residue(before, after, part),
        "uneven": uneven(before, after, part, margin) if recolored else None,
    }


def _of_the_place(view: View, part: BoolMask, region: BoolMask | None) -> Values:
    """Shifts and doubles: the change is not quite where it should be, and the old picture is seen at its edge."""
    values: Values = dict.fromkeys(("left_over", "beyond_near", "lopsided", "still", "misfit"))
    changed, reach = view.changes.mask, 2 * view.margin
    untouched = view.away < UNTOUCHED
    goes, stays = view.pairs.get("goes"), view.pairs.get("stays")
    if goes and goes.before:
        values["left_over"] = float(untouched[goes.before[0].mask].mean())
    if stays and stays.before and view.edit.type in COVERED:
        thing = stays.before[0].mask
        values["misfit"] = float((thing ^ (changed & dilate_mask(thing, reach))).sum() / thing.sum())
    if region is not None and not region.all():
        reached, within = dilate_mask(region, reach), region & dilate_mask(~region, view.margin)
        around = reached & ~region
        values["beyond_near"] = float(changed[around].mean()) if around.any() else None
        values["lopsided"] = _apart(changed & reached, region)
        values["still"] = float(untouched[within].mean())
    return values | {"beyond": 1 - float(part.sum() / changed.sum())}


def _outline(view: View, part: BoolMask) -> BoolMask:
    """What stands there now, by its outline where one is seen; else what changed."""
    for role in ("comes", "stays"):
        pair = view.pairs.get(role)
        if pair and pair.after and not (role == "stays" and view.roles.adds):
            there = [thing.mask for thing in pair.after if (thing.mask & part).any()]
            if there:
                return np.asarray(there[0])
    return part


def _steep_beside(light: Lightness, away: NDArray[np.float32], margin: int) -> float | None:
    """How steep the brightness is at the outline relative to its surroundings, in doublings."""
    steep = gradient_magnitude(np.asarray(cv2.GaussianBlur(light, (0, 0), 0.8), np.float32))
    here, there = np.abs(away) <= 2, (away > margin) & (away <= 3 * margin)
    if not (here.any() and there.any()):
        return None
    return math.log2((mean_at(steep, here) + FLAT) / (mean_at(steep, there) + FLAT))


def _off_shade(before: Lightness, after: Lightness, part: BoolMask, beside: BoolMask) -> float | None:
    """How much farther than before the part's lightness is from that of its surroundings."""
    if not beside.any():
        return None
    now, then = (abs(mean_at(each, part) - mean_at(each, beside)) for each in (after, before))
    return (now - then) / 10


def _dark_foot(light: Lightness, part: BoolMask, beside: BoolMask) -> float | None:
    """How much darker the lower half of the part is than what lies next to that half."""
    lower = np.arange(len(part))[:, np.newaxis] > np.median(np.nonzero(part)[0])
    if not ((part & lower).any() and (beside & lower).any()):
        return None
    return (mean_at(light, beside & lower) - mean_at(light, part & lower)) / 10


def _apart(one: BoolMask, other: BoolMask) -> float | None:
    """How far the middles of two masks are apart, in sides of a square as large as the second."""
    if not one.any():
        return None
    middles = [np.array([places.mean() for places in np.nonzero(mask)]) for mask in (one, other)]
    return float(np.linalg.norm(middles[0] - middles[1])) / math.sqrt(float(other.sum()))
