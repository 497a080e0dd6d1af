"""Features of 'was the edit done?': did the right things come, go, move, grow and change colour, in the right place?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from editgauge.core.errors import CannotTell
from editgauge.core.phrases import read_size
from editgauge.protocols._shared.looking import asked_place
from editgauge.protocols.editgauge.appearance import colour_distance, colour_in, colour_rank, style_fit, to_lab
from editgauge.protocols.editgauge.roles import SAME_CONTENT, has_new_content
from editgauge.vision.object_changes import Thing, likeness_of_shapes
from editgauge.vision.positions import DIRECTIONS, THIRDS, Third, centroid, third, way
from editgauge.vision.regions import box_overlap

if TYPE_CHECKING:
    from editgauge.core.masks import BoolMask
    from editgauge.core.types import Relation
    from editgauge.protocols.editgauge.view import Pair, View
    from editgauge.vision.positions import Point

Values = dict[str, float | None]

LEAST_SHARE = 1e-4
"""Of the picture: smaller changes are told apart from nothing by chance alone."""
MEETS = 0.3
"""The share of a thing inside the expected region from which on it is there."""
FAR = 0.1
"""Of the diagonal: a movement from there on is as good as any farther one."""
SAME_THING = 0.5
"""Overlap from which on a thing of the edited picture was there before."""


def doing(view: View) -> Values:
    """Each feature by name; None where it has no meaning for this edit, or cannot be seen."""
    region = view.expected().mask
    return {
        **_of_change(view, region),
        **_of_things(view, region),
        **_of_looks(view, region),
        "place_fit": _place_fit(view),
        "third_fit": _third_fit(view),
        "size_fit": _size_fit(view),
        "editval": view.verdicts.get("editval"),
        "pixlens": view.verdicts.get("pixlens"),
        "frame": view.changes.alignment.confidence,
    }


def _of_change(view: View, region: BoolMask | None) -> Values:
    changed, share = view.changes.mask, view.changes.share
    where = region if region is not None else np.ones_like(changed)
    counted = where & view.shown
    return {
        "changed": math.log10(max(share, LEAST_SHARE) / LEAST_SHARE) / 4,
        "expected_changed": float(changed[counted].mean()) if counted.any() else None,
        "change_expected": float((changed & where).sum() / changed.sum()) if share and region is not None else None,
        "strength": min(2.0, float(view.changes.difference[changed].mean())) if share else 0.0,
    }


def _of_things(view: View, region: BoolMask | None) -> Values:
    values: Values = {}
    for role, sign in (("comes", 1), ("goes", -1)):
        pair = view.pairs.get(role)
        before, after = (_surest(things, view, region) for things in _both(pair)) if pair else (None, None)
        values[f"{role}_after"] = after
        values[f"{role}_gain"] = None if before is None or after is None else sign * (after - before)
        values[f"{role}_count"] = _count(view, pair, sign) if pair else None
    stays = view.pairs.get("stays")
    values["stays_after"] = _surest(stays.after, view, None) if stays else None
    values["stays_lost"] = _surest(stays.before, view, None) - _surest(stays.after, view, None) if stays else None
    return values


def _both(pair: Pair) -> tuple[tuple[Thing, ...], tuple[Thing, ...]]:
    return pair.before, pair.after


def _surest(things: tuple[Thing, ...], view: View, region: BoolMask | None) -> float:
    """From 0, not seen, over a half at the operating point, towards 1; of things in the region."""
    there = [thing for thing in things if region is None or region[thing.mask].mean() >= MEETS]
    return max((thing.confidence / (thing.confidence + view.point) for thing in there), default=0.0)


def _count(view: View, pair: Pair, sign: int) -> float:
    """How many more, or fewer, are seen surely; at most two either way."""
    before, after = (sum(thing.confidence >= view.point for thing in things) for things in _both(pair))
    return float(np.clip(sign * (after - before), -2, 2))


def _of_looks(view: View, region: BoolMask | None) -> Values:
    where = _object_or_region(view, region)
    before, after = to_lab(view.source), to_lab(view.edited)
    colour = colour_in(view.edit.to) if view.edit.type in ("color", "background") else None
    values: Values = dict.fromkeys(("colour_gain", "colour_rank", "colour_rank_gain", "style_fit", "style_gain"))
    if not where.any():
        return values | {"same_content": None, "new_content": None}
    if colour:
        values["colour_gain"] = (colour_distance(before, where, colour) - colour_distance(after, where, colour)) / 100
        was, now = colour_rank(before, where, colour), colour_rank(after, where, colour)
        values |= {"colour_rank": now, "colour_rank_gain": now - was}
    if view.edit.type in ("style", "background"):
        fit, reverse = (style_fit(view.edit.to, *way, where) for way in ((before, after), (after, before)))
        values["style_fit"] = fit
        values["style_gain"] = fit - reverse if fit is not None and reverse is not None else None
    alike = likeness_of_shapes(view.source, view.edited, where)
    values["same_content"] = alike if view.edit.type in SAME_CONTENT else None
    values["new_content"] = 1 - alike if has_new_content(view.edit) else None
    return values


def _object_or_region(view: View, region: BoolMask | None) -> BoolMask:
    """The object of the edit as it was, inside the region; else the region, else all that is shown."""
    stays = view.pairs.get("stays")
    around = view.shown if region is None else region & view.shown
    if view.edit.type == "color" and stays and stays.before:
        inside = stays.before[0].mask & around
        return np.asarray(inside if inside.any() else around)
    return np.asarray(around)


def _place_fit(view: View) -> float | None:
    """How well the thing lies, or went, in the asked direction: 1 straight and far, -1 the opposite way."""
    ends = _ends(view)
    if ends is None:
        return None
    (x, y), (new_x, new_y), towards = ends
    across, down = DIRECTIONS[towards]
    length = math.hypot(new_x - x, new_y - y)
    if not length:
        return 0.0
    straight = ((new_x - x) * across + (new_y - y) * down) / length
    return straight * min(1.0, length / (FAR * view.diagonal))


def _ends(view: View) -> tuple[Point, Point, Relation] | None:
    """From where to where the asked direction is measured, and which it is."""
    if view.edit.type == "positional_addition":
        anchor, comes = view.pairs.get("anchor"), view.pairs.get("comes")
        position = view.edit.position
        if not (anchor and anchor.before and comes and comes.after and position and position.relation in DIRECTIONS):
            return None
        return centroid(anchor.before[0].mask), centroid(_newest(comes).mask), position.relation
    stays = view.pairs.get("stays")
    if view.edit.type != "position_replacement" or not (stays and stays.before and stays.after):
        return None
    start, end = centroid(stays.before[0].mask), centroid(stays.after[0].mask)
    asked = _asked_third(view)
    towards = way(third(start[0], view.source.shape[1]), asked) if asked else None
    return (start, end, towards) if towards else None


def _newest(pair: Pair) -> Thing:
    """The surest thing that was not there before; the surest of all when every one was."""
    new = [one for one in pair.after if all(box_overlap(one.box, old.box) < SAME_THING for old in pair.before)]
    return (new or list(pair.after))[0]


def _third_fit(view: View) -> float | None:
    """Is the moved thing in the asked third of the width?"""
    stays, asked = view.pairs.get("stays"), _asked_third(view)
    if view.edit.type != "position_replacement" or asked is None or not (stays and stays.after):
        return None
    return float(third(centroid(stays.after[0].mask)[0], view.source.shape[1]) == asked)


def _asked_third(view: View) -> Third | None:
    try:
        relation = asked_place(view.edit).relation
    except CannotTell:
        return None
    return next((name for name in THIRDS if name == relation), None)


def _size_fit(view: View) -> float | None:
    """How many times the thing doubled in area, as asked for; at most once either way."""
    stays = view.pairs.get("stays")
    if view.edit.type != "size" or not (stays and stays.before and stays.after):
        return None
    try:
        wish = read_size(view.edit.to or "")
    except CannotTell:
        return None
    doubled = math.log2(stays.after[0].mask.sum() / stays.before[0].mask.sum())
    return float(np.clip(doubled if wish == "large" else -doubled, -1, 1))
