"""Features of 'did the edit leave artifacts?': what a person would notice at the edited part, in the source's frame."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge.core.masks import grown
from editgauge.protocols.editgauge.appearance import blurrier, detail, lengths, residue, uneven
from editgauge.protocols.editgauge.outlines import bump, seen_again, signed_distance, step
from editgauge.protocols.editgauge.roles import removes

if TYPE_CHECKING:
    from editgauge.core.masks import BoolMask
    from editgauge.protocols.editgauge.appearance import Lab
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
    region = view.expected().mask
    part = view.changes.mask if region is None else view.changes.mask & region
    if not part.any():
        return dict.fromkeys(OF_FLAWS)
    before, after = view.labs
    return {
        **_of_the_edge(view, part, before, after),
        **_of_the_inside(view, part, before, after),
        **_of_the_place(view, part, region, after - before),
        "again": None if removes(view.edit) else seen_again(view.source, view.edited, _outline(view, part)),
    }


def _of_the_edge(view: View, part: BoolMask, before: Lab, after: Lab) -> Values:
    """Halos and seams: something along the outline that is on neither of its sides."""
    if part.all():
        return dict.fromkeys(("rim", "rim_gain", "rim_change", "rim_even", "edge", "step"))
    away, change = signed_distance(part), after - before
    shift = change[..., 0][part & (away > -view.margin)]
    rim = bump(after, away, view.margin)
    return {
        "rim": rim,
        "rim_gain": rim - bump(before, away, view.margin),
        "rim_change": bump(change, away, view.margin),
        "rim_even": abs(float(shift.mean())) / (float(shift.std()) + UNTOUCHED),
        "edge": _steep_beside(after, away, view.margin),
        "step": step(after, away, view.margin) if removes(view.edit) else None,
    }


def _of_the_inside(view: View, part: BoolMask, before: Lab, after: Lab) -> Values:
    """Blur, shades, shadows, and what shines through."""
    margin = view.margin
    core = part & ~grown(~part, 2)
    inside = core if core.any() else part
    near = grown(part, margin)
    beside = grown(part, 3 * margin) & ~near
    rest = view.shown & ~near
    structure = detail(view.fine[1], part)
    recolored = view.edit.type in RECOLORED
    return {
        "soft": -math.log2(structure / detail(view.fine[0], part)),
        "soft_beside": -math.log2(structure / detail(view.fine[1], beside)) if beside.any() else None,
        "blurred": blurrier(after, inside, than=rest) if rest.any() else None,
        "off_shade": _off_shade(before, after, part, beside),
        "darker": float((before[..., 0] - after[..., 0] > CLEARLY)[part].mean()),
        "foot": _dark_foot(after, part, beside),
        "shines_through": None if recolored else residue(before, after, part),
        "uneven": uneven(before, after, part, margin) if recolored else None,
    }


def _of_the_place(view: View, part: BoolMask, region: BoolMask | None, change: Lab) -> Values:
    """Shifts and doubles: the change is not quite where it should be, and the old picture is seen at its edge."""
    values: Values = dict.fromkeys(("left_over", "beyond_near", "lopsided", "still", "misfit"))
    changed, reach = view.changes.mask, 2 * view.margin
    untouched = lengths(change) < UNTOUCHED
    goes, stays = view.pairs.get("goes"), view.pairs.get("stays")
    if goes and goes.before:
        values["left_over"] = float(untouched[goes.before[0].mask].mean())
    if stays and stays.before and view.edit.type in COVERED:
        thing = stays.before[0].mask
        values["misfit"] = float((thing ^ (changed & grown(thing, reach))).sum() / thing.sum())
    if region is not None and not region.all():
        around, within = grown(region, reach) & ~region, region & grown(~region, view.margin)
        values["beyond_near"] = float(changed[around].mean()) if around.any() else None
        values["lopsided"] = _apart(changed & grown(region, reach), region)
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


def _steep_beside(lab: Lab, away: NDArray[np.float32], margin: int) -> float | None:
    """How steep the brightness is at the outline relative to its surroundings, in doublings."""
    light = cv2.GaussianBlur(lab[..., 0], (0, 0), 0.8)
    steep = cv2.magnitude(cv2.Sobel(light, cv2.CV_32F, 1, 0), cv2.Sobel(light, cv2.CV_32F, 0, 1))
    here, there = steep[np.abs(away) <= 2], steep[(away > margin) & (away <= 3 * margin)]
    if not (here.size and there.size):
        return None
    return math.log2((float(here.mean()) + FLAT) / (float(there.mean()) + FLAT))


def _off_shade(before: Lab, after: Lab, part: BoolMask, beside: BoolMask) -> float | None:
    """How much farther than before the part's lightness is from that of its surroundings."""
    if not beside.any():
        return None
    now, then = (abs(float(each[..., 0][part].mean() - each[..., 0][beside].mean())) for each in (after, before))
    return (now - then) / 10


def _dark_foot(lab: Lab, part: BoolMask, beside: BoolMask) -> float | None:
    """How much darker the lower half of the part is than what lies next to that half."""
    lower = np.arange(len(part))[:, np.newaxis] > np.median(np.nonzero(part)[0])
    if not ((part & lower).any() and (beside & lower).any()):
        return None
    return float(lab[..., 0][beside & lower].mean() - lab[..., 0][part & lower].mean()) / 10


def _apart(one: BoolMask, other: BoolMask) -> float | None:
    """How far the middles of two masks are apart, in sides of a square as large as the second."""
    if not one.any():
        return None
    middles = [np.array([places.mean() for places in np.nonzero(mask)]) for mask in (one, other)]
    return float(np.linalg.norm(middles[0] - middles[1])) / math.sqrt(float(other.sum()))
