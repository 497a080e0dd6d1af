"""Was what the edit asks for really looked for, and what was seen of it: things, colors, places, sizes, counts."""

from __future__ import annotations

import math
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from editgauge._util.phrases import read_size
from editgauge._util.text import is_plural, none_detected, plural
from editgauge._vision.geometry import DIRECTIONS, THIRDS, Third, box_overlap, centroid, third, way
from editgauge._vision.object_changes import DetectedObject
from editgauge.edit_types import EDIT_TYPES, UNSPECIFIED
from editgauge.errors import UnscorableError
from editgauge.protocols._rules import requested_position
from editgauge.protocols.editgauge.appearance import color_distance, color_in, color_rank
from editgauge.protocols.editgauge.further import JUDGED, WORDS
from editgauge.protocols.editgauge.redrawn import changed_in
from editgauge.types import Unscored

if TYPE_CHECKING:
    from editgauge._util.masks import BoolMask
    from editgauge._vision.geometry import Point
    from editgauge.protocols.editgauge.view import Named, Pair, View
    from editgauge.types import Relation

Values = dict[str, float | None]

ASKED = (
    "untouched", "asks_presence", "presence", "presence_gain", "new_seen", "new_by_both", "gone", "replaced",
    "count_wrong", "color_gain", "color_rank", "color_rank_gain", "style_fit", "style_gain", "place_fit", "third_fit",
    "size_fit", "text_fit", "text_gain", WORDS, JUDGED,
)  # fmt: skip
"""The features that are about what was asked for."""

LIKELY = 0.1
"""Probability at which a class counts as seen: the classifier's operating point."""
MEETS = 0.3
"""The share of a thing inside the expected region from which it is there."""
NEW = 0.5
"""Change of most patches of a thing from which it may well be new; more says no more."""
UNTOUCHED = 0.2
"""Greatest change of any patch under which nothing was edited: 36 of 648 rated outcomes, none of them called done."""
VISIBLE = 0.4
"""Greatest change of any patch from which something was clearly edited."""
FAR = 0.1
"""Of the diagonal: a movement from there is as good as any farther one."""
SAME_THING = 0.5
"""Overlap from which a thing of the edited picture was there before."""
HELP = "--models best looks for any word, --judge asks a vision-language model"


def not_judged(view: View) -> Unscored | None:
    """Why nothing can be said about what was asked: it was not understood, not looked for, or cannot be measured."""
    kind = EDIT_TYPES[view.edit.type]
    if JUDGED in view.further.values:
        return None
    if view.edit.type == UNSPECIFIED:
        why = view.edit.reading.left if view.edit.reading else ""
        detail = f"the instruction was not understood{f': {why}' if why else ''}; give --edit-type, --subject and --to"
        return Unscored("not_understood", detail)
    if WORDS in view.further.values:
        return None
    if kind.effect in ("adds", "replaces") or view.edit.type in ("alter_parts", "background"):
        return _not_looked_for(view, "comes")
    if kind.effect == "removes":
        return _not_looked_for(view, "goes") or _not_seen(view, "goes") or _some_stay(view)
    measured = attributes(view)
    if any(value is not None for value in measured.values()):
        return None
    if view.edit.type == "text" and view.read is None:
        return Unscored("no_model", "no model reads text; choose one with --model text_reader=pp-ocr")
    if view.edit.type in ("color", "size", "position_replacement"):
        return _not_looked_for(view, "stays") or _not_seen(view, "stays") or _no_rule(view)
    return _no_rule(view)


def _not_looked_for(view: View, role: str) -> Unscored | None:
    word = view.roles.words()[role]
    if word is None:
        return Unscored("not_understood", f"the edit does not say which thing {role}; give --subject or --to")
    if role in view.pairs or _called(view, role):
        return None
    if view.edit.type == "background" and any(value is not None for value in attributes(view).values()):
        return None
    if role in view.named:
        detail = f"only the image classifier knows '{word}' and does not see it; it overlooks small things"
        return Unscored("not_detected", detail, advice=HELP)
    return Unscored("unknown_word", f"no model looked for '{word}': {view.unknown.get(role, 'unknown')}", advice=HELP)


def _called(view: View, role: str) -> Named | None:
    """What the classifier says; None where it alone looks for a new thing and does not see it: people call a quarter
    of those done.
    """
    named = view.named.get(role)
    overlooked = named is not None and role == "comes" and role not in view.pairs and named.after < LIKELY
    return None if overlooked else named


def _not_seen(view: View, role: str) -> Unscored | None:
    pair, named = view.pairs.get(role), view.named.get(role)
    seen = pair is not None and any(thing.confidence >= view.point for thing in pair.before)
    if seen or (named is not None and named.before >= LIKELY):
        return None
    word = view.roles.words()[role]
    detail = f"{none_detected(str(word))} in the source, so its change cannot be measured"
    return Unscored("not_detected", detail, advice=HELP)


def _some_stay(view: View) -> Unscored | None:
    """Where one of several is to go, the rest is seen afterwards whether it went or not."""
    pair = view.pairs.get("goes")
    wanted = view.edit.count or (1 if view.edit.type == "single_instance_removal" else None)
    seen = sum(thing.confidence >= view.point for thing in pair.before) if pair else 0
    if pair is None or wanted is None or seen <= wanted:
        return None
    things = pair.name if is_plural(pair.name) else plural(pair.name)
    detail = f"{seen} {things} are seen in the source and {wanted} should go; the protocol pixlens counts them"
    return Unscored("no_rule", detail)


def _no_rule(view: View) -> Unscored:
    value = view.edit.to or view.edit.type
    return Unscored("no_rule", f"nothing measures '{value}' for the edit type {view.edit.type}; try --judge or a study")


def asked_features(view: View) -> Values:
    """Each feature by name; None where it has no meaning for this edit, or cannot be seen.

    Where what was asked for was neither looked for nor measured, only `untouched` has a value.
    """
    greatest = view.redrawn.get("greatest_changed")
    untouched = None if greatest is None else max(0.0, 1 - greatest / VISIBLE)
    known = _known_features(view) if not_judged(view) is None else dict.fromkeys(ASKED)
    return {**known, "untouched": untouched}


def _known_features(view: View) -> Values:
    region = view.expected.mask
    present = _presence(view, "comes", region)
    absent = _presence(view, "goes", None)
    gone = None
    if absent is not None and _not_seen(view, "goes") is None:
        gone = 1 - min(1.0, absent[1] / max(absent[0], 1e-6))
    return {
        "asks_presence": None if present is None else 1.0,
        "presence": None if present is None else present[1],
        "presence_gain": None if present is None else present[1] - present[0],
        **_new(view),
        "gone": gone if present is None else None,
        "replaced": None if present is None or gone is None else gone * present[1],
        "count_wrong": _count_wrong(view),
        **attributes(view),
        **{name: view.further.values.get(name) for name in (WORDS, JUDGED)},
    }


def _new(view: View) -> Values:
    """How confidently the thing is seen at a changed place where it was not before, alone and with the classifier."""
    pair, named = view.pairs.get("comes"), _called(view, "comes")
    new = None
    if pair is not None and view.change is not None:
        new = max((_newness(view, view.change, pair, thing) for thing in pair.after), default=0.0)
    gain = None if named is None else _sure(named.after, LIKELY) - _sure(named.before, LIKELY)
    both = [value for value in (new, gain) if value is not None]
    return {"new_seen": new, "new_by_both": sum(both) / len(both) if both else None}


def _newness(view: View, change: NDArray[np.float64], pair: Pair, thing: DetectedObject) -> float:
    height, width = view.source.shape[:2]
    changed = min(1.0, changed_in(change, thing.box, width, height) / NEW)
    before = [box_overlap(thing.box, old.box) * min(1.0, old.confidence / view.point) for old in pair.before]
    return _sure(thing.confidence, view.point) * changed * (1 - max(before, default=0.0))


def _presence(view: View, role: str, region: BoolMask | None) -> tuple[float, float] | None:
    """How surely the thing is seen before and after: 0 not at all, 0.5 at a model's operating point, towards 1."""
    pair, named = view.pairs.get(role), _called(view, role)
    seen = [(_surest(pair.before, view, region), _surest(pair.after, view, region))] if pair else []
    called = [(_sure(named.before, LIKELY), _sure(named.after, LIKELY))] if named else []
    both = [*seen, *called]
    if not both:
        return None
    sign = 1 if role == "comes" else -1
    return max(both, key=lambda each: (sign * (each[1] - each[0]), each[1]))


def _surest(things: tuple[DetectedObject, ...], view: View, region: BoolMask | None) -> float:
    """Of things in the region."""
    there = [thing for thing in things if region is None or region[thing.mask].mean() >= MEETS]
    return max((_sure(thing.confidence, view.point) for thing in there), default=0.0)


def _sure(confidence: float, point: float) -> float:
    return confidence / (confidence + point)


def _count_wrong(view: View) -> float | None:
    """1 when fewer are seen than the instruction asks for, or more where none is added; else 0."""
    role = "comes" if view.roles.comes else "stays"
    pair, count = view.pairs.get(role), view.edit.count
    if pair is None or count is None:
        return None
    seen = sum(thing.confidence >= view.point for thing in pair.after)
    return float(seen < count) if view.roles.adds else float(seen != count)


def attributes(view: View) -> Values:
    """What was measured of the color, style, place and size that were asked for."""
    return {
        **_colors(view),
        **_styles(view),
        "place_fit": _place_fit(view),
        "third_fit": _third_fit(view),
        "size_fit": _size_fit(view),
        **_texts(view),
    }


def _texts(view: View) -> Values:
    """How well the requested words can be read, letter by letter, and how much better than before."""
    if view.read is None or not view.edit.to:
        return {"text_fit": None, "text_gain": None}
    before, after = (_legible(view.edit.to, lines) for lines in view.read)
    return {"text_fit": after, "text_gain": after - before}


def _legible(words: str, lines: tuple[str, ...]) -> float:
    """1 when a line, or all lines together, holds the words; less for every letter that differs."""
    wanted = "".join(words.casefold().split())
    read = ["".join(line.casefold().split()) for line in (*lines, " ".join(lines))]
    return max((_held(wanted, line) for line in read), default=0.0)


def _held(wanted: str, line: str) -> float:
    matches = SequenceMatcher(None, wanted, line, autojunk=False).get_matching_blocks()
    spoiled = max(0, len(line) - len(wanted)) if wanted not in line else 0
    return max(0.0, (sum(match.size for match in matches) - 0.5 * spoiled) / max(1, len(wanted)))


def _colors(view: View) -> Values:
    values: Values = dict.fromkeys(("color_gain", "color_rank", "color_rank_gain"))
    color = color_in(view.edit.to) if view.edit.type == "color" else None
    if color is None or view.subject_colors is None:
        return values
    before, after = view.subject_colors
    was, now = color_rank(before, color), color_rank(after, color)
    gain = (color_distance(before, color) - color_distance(after, color)) / 100
    return {"color_gain": gain, "color_rank": now, "color_rank_gain": now - was}


def _styles(view: View) -> Values:
    if view.edit.type not in ("style", "background") or not view.shown.any():
        return {"style_fit": None, "style_gain": None}
    fit, reverse = view.style_fits
    return {"style_fit": fit, "style_gain": fit - reverse if fit is not None and reverse is not None else None}


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
    asked_third = _asked_third(view)
    towards = way(third(start[0], view.source.shape[1]), asked_third) if asked_third else None
    return (start, end, towards) if towards else None


def _newest(pair: Pair) -> DetectedObject:
    """The most confident thing that was not there before; the most confident of all when every one was."""
    new = [one for one in pair.after if all(box_overlap(one.box, old.box) < SAME_THING for old in pair.before)]
    return (new or list(pair.after))[0]


def _third_fit(view: View) -> float | None:
    """Is the moved thing in the asked third of the width?"""
    stays, asked_third = view.pairs.get("stays"), _asked_third(view)
    if view.edit.type != "position_replacement" or asked_third is None or not (stays and stays.after):
        return None
    return float(third(centroid(stays.after[0].mask)[0], view.source.shape[1]) == asked_third)


def _asked_third(view: View) -> Third | None:
    try:
        relation = requested_position(view.edit).relation
    except UnscorableError:
        return None
    return next((name for name in THIRDS if name == relation), None)


def _size_fit(view: View) -> float | None:
    """How many times the thing doubled in area, as asked for; at most once either way."""
    stays = view.pairs.get("stays")
    if view.edit.type != "size" or not (stays and stays.before and stays.after):
        return None
    try:
        wish = read_size(view.edit.to or "")
    except UnscorableError:
        return None
    doubled = math.log2(stays.after[0].mask.sum() / stays.before[0].mask.sum())
    return float(np.clip(doubled if wish == "large" else -doubled, -1, 1))
