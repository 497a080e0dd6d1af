"""Features about the request: was the requested object, color, position, size, count or text looked for, and seen."""

from __future__ import annotations

import math
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

import numpy as np

from editgauge._util.phrases import read_size
from editgauge._util.text import is_plural, none_detected, plural
from editgauge._vision.geometry import DIRECTIONS, THIRDS, Third, box_overlap, centroid, third, way
from editgauge._vision.object_changes import DetectedObject
from editgauge.edit_types import EDIT_TYPES, UNSPECIFIED
from editgauge.errors import UnscorableError
from editgauge.protocols._rules import requested_position
from editgauge.protocols.editgauge._appearance import color_distance, color_in, color_rank
from editgauge.protocols.editgauge._further import JUDGED, WORDS
from editgauge.protocols.editgauge._tokens import change_in_box
from editgauge.types import Unscored

if TYPE_CHECKING:
    from editgauge._util.masks import BoolMask
    from editgauge._vision.geometry import Point
    from editgauge.protocols.editgauge._tokens import ChangeMap
    from editgauge.protocols.editgauge._view import ClassProbability, ObjectPair, View
    from editgauge.types import Relation

Values = dict[str, float | None]
"""Features by name; None where a feature does not apply or could not be measured."""

REQUEST_FEATURES = (
    "untouched", "asks_presence", "presence", "presence_gain", "new_seen", "new_by_both", "gone", "replaced",
    "count_wrong", "color_gain", "color_rank", "color_rank_gain", "style_fit", "style_gain", "place_fit", "third_fit",
    "size_fit", "text_fit", "text_gain", WORDS, JUDGED,
)  # fmt: skip

MIN_CLASS_PROBABILITY = 0.1
"""Operating point of the classifier."""
MIN_OVERLAP = 0.3
"""Share of a detection inside the expected region from which it counts as there."""
FULL_CHANGE = 0.5
"""Change of most patches of an object from which it may well be new; more says no more."""
MAX_UNTOUCHED_CHANGE = 0.2
"""Greatest change of any patch below which nothing was edited: 36 of 648 rated outcomes, none of them called done."""
MIN_VISIBLE_CHANGE = 0.4
"""Greatest change of any patch from which something was clearly edited."""
FULL_COLOR_GAIN = 0.2
"""Gain of color at which an object was clearly edited: patch tokens hardly change when only a color does."""
FULL_MOVE = 0.1
"""Of the diagonal: a movement from there is as good as any farther one."""
SAME_OBJECT_OVERLAP = 0.5
HELP = "`models='best'` looks for any word, `judge` asks a vision-language model"


def explain_missing_request(view: View) -> Unscored | None:
    """Return why nothing can be said about the request; None if it was looked for or measured."""
    kind = EDIT_TYPES[view.edit.type]
    if JUDGED in view.further.values:
        return None
    if view.edit.type == UNSPECIFIED:
        left = view.edit.reading.left if view.edit.reading else ""
        detail = (
            f"the instruction was not understood{f': {left}' if left else ''}; give `edit_type`, `subject` and `to`"
        )
        return Unscored("not_understood", detail)
    if WORDS in view.further.values:
        return None
    if kind.effect in ("adds", "replaces") or view.edit.type in ("alter_parts", "background"):
        return _not_looked_for(view, "comes")
    if kind.effect == "removes":
        return _not_looked_for(view, "goes") or _not_detected(view, "goes") or _several_remain(view)
    return _no_attribute(view)


def _no_attribute(view: View) -> Unscored | None:
    if any(value is not None for value in attribute_features(view).values()):
        return None
    if view.edit.type == "text" and view.texts is None:
        return Unscored("no_model", "no model reads text; pass `model=text_reader=pp-ocr`")
    if view.edit.type in ("color", "size", "position_replacement"):
        return _not_looked_for(view, "stays") or _not_detected(view, "stays") or _no_rule(view)
    return _no_rule(view)


def _not_looked_for(view: View, role: str) -> Unscored | None:
    label = view.roles.words()[role]
    if label is None:
        return Unscored("not_understood", f"the edit does not say which object {role}; give `subject` or `to`")
    if role in view.pairs or _classified(view, role):
        return None
    if view.edit.type == "background" and any(value is not None for value in attribute_features(view).values()):
        return None
    if role in view.classes:
        detail = f"only the image classifier knows '{label}' and does not see it; it overlooks small objects"
        return Unscored("not_detected", detail, advice=HELP)
    return Unscored("unknown_word", f"no model looked for '{label}': {view.unknown.get(role, 'unknown')}", advice=HELP)


def _classified(view: View, role: str) -> ClassProbability | None:
    """Return the classifier's answer; None where it alone looks for a new object and does not see it.

    People call a quarter of those outcomes done.
    """
    answer = view.classes.get(role)
    overlooked = (
        answer is not None and role == "comes" and role not in view.pairs and answer.after < MIN_CLASS_PROBABILITY
    )
    return None if overlooked else answer


def _not_detected(view: View, role: str) -> Unscored | None:
    pair, answer = view.pairs.get(role), view.classes.get(role)
    detected = pair is not None and any(detection.confidence >= view.point for detection in pair.before)
    if detected or (answer is not None and answer.before >= MIN_CLASS_PROBABILITY):
        return None
    label = view.roles.words()[role]
    detail = f"{none_detected(str(label))} in the source, so its change cannot be measured"
    return Unscored("not_detected", detail, advice=HELP)


def _several_remain(view: View) -> Unscored | None:
    """Explain that several objects of a kind hide the removal of one; None where there are not more than should go."""
    pair = view.pairs.get("goes")
    count = view.edit.count or (1 if view.edit.type == "single_instance_removal" else None)
    detected = sum(detection.confidence >= view.point for detection in pair.before) if pair else 0
    if pair is None or count is None or detected <= count:
        return None
    label = pair.name if is_plural(pair.name) else plural(pair.name)
    detail = f"{detected} {label} are seen in the source and {count} should go; the protocol pixlens counts them"
    return Unscored("no_rule", detail)


def _no_rule(view: View) -> Unscored:
    value = view.edit.to or view.edit.type
    return Unscored("no_rule", f"nothing measures '{value}' for the edit type {view.edit.type}; try `judge` or a study")


def request_features(view: View) -> Values:
    """Return each feature by name; None where it does not apply to this edit, or cannot be measured.

    Where the request was neither looked for nor measured, only `untouched` has a value.
    """
    greatest = view.tokens.get("greatest_changed")
    untouched = None if greatest is None else max(0.0, 1 - greatest / MIN_VISIBLE_CHANGE)
    values = _measured_features(view) if explain_missing_request(view) is None else dict.fromkeys(REQUEST_FEATURES)
    gain = values.get("color_gain")
    if untouched is not None and gain is not None:
        untouched = max(0.0, untouched - max(0.0, gain) / FULL_COLOR_GAIN)
    return {**values, "untouched": untouched}


def _measured_features(view: View) -> Values:
    present = _presence(view, "comes", view.expected.mask)
    absent = _presence(view, "goes", None)
    gone = None
    if absent is not None and _not_detected(view, "goes") is None:
        gone = 1 - min(1.0, absent[1] / max(absent[0], 1e-6))
    return {
        "asks_presence": None if present is None else 1.0,
        "presence": None if present is None else present[1],
        "presence_gain": None if present is None else present[1] - present[0],
        **_novelty_features(view),
        "gone": gone if present is None else None,
        "replaced": None if present is None or gone is None else gone * present[1],
        "count_wrong": _count_wrong(view),
        **attribute_features(view),
        **{name: view.further.values.get(name) for name in (WORDS, JUDGED)},
    }


def _novelty_features(view: View) -> Values:
    """Return how confidently the object is detected in a changed region where it was not before."""
    pair, answer = view.pairs.get("comes"), _classified(view, "comes")
    new = None
    if pair is not None and view.change is not None:
        new = max((_newness(view, view.change, pair, detection) for detection in pair.after), default=0.0)
    gain = None
    if answer is not None:
        gain = _confidence(answer.after, MIN_CLASS_PROBABILITY) - _confidence(answer.before, MIN_CLASS_PROBABILITY)
    both = [value for value in (new, gain) if value is not None]
    return {"new_seen": new, "new_by_both": sum(both) / len(both) if both else None}


def _newness(view: View, change: ChangeMap, pair: ObjectPair, detection: DetectedObject) -> float:
    height, width = view.source.shape[:2]
    changed = min(1.0, change_in_box(change, detection.box, width, height) / FULL_CHANGE)
    before = [box_overlap(detection.box, old.box) * min(1.0, old.confidence / view.point) for old in pair.before]
    return _confidence(detection.confidence, view.point) * changed * (1 - max(before, default=0.0))


def _presence(view: View, role: str, region: BoolMask | None) -> tuple[float, float] | None:
    """Return how confidently the object is seen before and after: 0.5 at a model's operating point, towards 1."""
    pair, answer = view.pairs.get(role), _classified(view, role)
    pairs = []
    if pair:
        pairs.append((_highest(pair.before, view, region), _highest(pair.after, view, region)))
    if answer:
        pairs.append(
            (_confidence(answer.before, MIN_CLASS_PROBABILITY), _confidence(answer.after, MIN_CLASS_PROBABILITY))
        )
    sign = 1 if role == "comes" else -1
    return max(pairs, key=lambda values: (sign * (values[1] - values[0]), values[1]), default=None)


def _highest(detections: tuple[DetectedObject, ...], view: View, region: BoolMask | None) -> float:
    """Return the highest confidence among detections in the region."""
    inside = [detection for detection in detections if region is None or region[detection.mask].mean() >= MIN_OVERLAP]
    return max((_confidence(detection.confidence, view.point) for detection in inside), default=0.0)


def _confidence(confidence: float, point: float) -> float:
    return confidence / (confidence + point)


def _count_wrong(view: View) -> float | None:
    """Return 1 when fewer are seen than requested, or more where none is added; else 0."""
    role = "comes" if view.roles.comes else "stays"
    pair, count = view.pairs.get(role), view.edit.count
    if pair is None or count is None:
        return None
    detected = sum(detection.confidence >= view.point for detection in pair.after)
    return float(detected < count) if view.roles.adds else float(detected != count)


def attribute_features(view: View) -> Values:
    """Return what was measured of the requested color, style, position, size and text."""
    return {
        **_color_features(view),
        **_style_features(view),
        "place_fit": _position_fit(view),
        "third_fit": _third_fit(view),
        "size_fit": _size_fit(view),
        **_text_features(view),
    }


def _text_features(view: View) -> Values:
    """Return how well the requested words can be read, letter by letter, and how much better than before."""
    if view.texts is None or not view.edit.to:
        return {"text_fit": None, "text_gain": None}
    before, after = (_legibility(view.edit.to, lines) for lines in view.texts)
    return {"text_fit": after, "text_gain": after - before}


def _legibility(words: str, lines: tuple[str, ...]) -> float:
    """Return 1 when a line, or all lines together, hold the words; less for every letter that differs."""
    target = "".join(words.casefold().split())
    candidates = ["".join(line.casefold().split()) for line in (*lines, " ".join(lines))]
    return max((_matched_share(target, line) for line in candidates), default=0.0)


def _matched_share(target: str, line: str) -> float:
    matches = SequenceMatcher(None, target, line, autojunk=False).get_matching_blocks()
    surplus = max(0, len(line) - len(target)) if target not in line else 0
    return max(0.0, (sum(match.size for match in matches) - 0.5 * surplus) / max(1, len(target)))


def _color_features(view: View) -> Values:
    values: Values = dict.fromkeys(("color_gain", "color_rank", "color_rank_gain"))
    color = color_in(view.edit.to) if view.edit.type == "color" else None
    if color is None or view.subject_colors is None:
        return values
    before, after = view.subject_colors
    rank_before, rank_after = color_rank(before, color), color_rank(after, color)
    gain = (color_distance(before, color) - color_distance(after, color)) / 100
    return {"color_gain": gain, "color_rank": rank_after, "color_rank_gain": rank_after - rank_before}


def _style_features(view: View) -> Values:
    if view.edit.type not in ("style", "background") or not view.valid.any():
        return {"style_fit": None, "style_gain": None}
    fit, reverse = view.style_fits
    return {"style_fit": fit, "style_gain": fit - reverse if fit is not None and reverse is not None else None}


def _position_fit(view: View) -> float | None:
    """Return how well the object lies, or moved, in the requested direction: 1 straight and far, -1 the opposite."""
    ends = _direction_ends(view)
    if ends is None:
        return None
    (x, y), (new_x, new_y), direction = ends
    across, down = DIRECTIONS[direction]
    length = math.hypot(new_x - x, new_y - y)
    if not length:
        return 0.0
    straight = ((new_x - x) * across + (new_y - y) * down) / length
    return straight * min(1.0, length / (FULL_MOVE * view.diagonal))


def _direction_ends(view: View) -> tuple[Point, Point, Relation] | None:
    """Return from where to where the requested direction is measured, and which it is."""
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
    requested = _requested_third(view)
    direction = way(third(start[0], view.source.shape[1]), requested) if requested else None
    return (start, end, direction) if direction else None


def _newest(pair: ObjectPair) -> DetectedObject:
    """Return the most confident detection that was not there before, else the most confident of all."""
    new = [
        detection
        for detection in pair.after
        if all(box_overlap(detection.box, old.box) < SAME_OBJECT_OVERLAP for old in pair.before)
    ]
    return (new or list(pair.after))[0]


def _third_fit(view: View) -> float | None:
    """Return whether the moved object is in the requested third of the width."""
    stays, requested = view.pairs.get("stays"), _requested_third(view)
    if view.edit.type != "position_replacement" or requested is None or not (stays and stays.after):
        return None
    return float(third(centroid(stays.after[0].mask)[0], view.source.shape[1]) == requested)


def _requested_third(view: View) -> Third | None:
    try:
        relation = requested_position(view.edit).relation
    except UnscorableError:
        return None
    return next((name for name in THIRDS if name == relation), None)


def _size_fit(view: View) -> float | None:
    """Return how often the object doubled in area as requested, from -1 to 1."""
    stays = view.pairs.get("stays")
    if view.edit.type != "size" or not (stays and stays.before and stays.after):
        return None
    try:
        size = read_size(view.edit.to or "")
    except UnscorableError:
        return None
    doublings = math.log2(stays.after[0].mask.sum() / stays.before[0].mask.sum())
    return float(np.clip(doublings if size == "large" else -doublings, -1, 1))
