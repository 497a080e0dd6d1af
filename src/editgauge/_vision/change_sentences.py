"""Changes in plain English: one sentence each, without a language model."""

from __future__ import annotations

from collections.abc import Sequence

from editgauge._util.text import is_plural, plural, with_article
from editgauge._vision.geometry import box_overlap
from editgauge._vision.object_changes import BoxSides, Change, DetectedObject

NO_CHANGE = "Nothing changed."
MIN_UNCOUNTED = 4
"""This many things that became others are not counted."""
MIN_TOUCHING_IOU = 0.02
"""Overlap from which two boxes of one word may be parts of one thing."""


def sentences(changes: Sequence[Change], width: int, height: int) -> list[str]:
    """Describe changes in sentences; equal changes of objects with one label share a sentence."""
    groups: dict[object, list[Change]] = {}
    for change in changes:
        words = tuple(detection.label if detection else None for detection in (change.before, change.after))
        alone = change.kind not in {"appeared", "vanished", "replaced"} or words == (None, None)
        groups.setdefault(id(change) if alone else (change.kind, words), []).append(change)
    return [_sentence(group, width, height) for group in groups.values()]


def describe_position(box: Sequence[float], width: int, height: int) -> str:
    """Describe the position of a box in an image.

    >>> [describe_position(box, 90, 90) for box in ((0, 0, 10, 10), (40, 40, 50, 50), (70, 40, 80, 50))]
    ['at the upper left', 'in the middle', 'at the right']
    """
    across, down = (box[0] + box[2]) / 2 / width, (box[1] + box[3]) / 2 / height
    row = "upper" if down < 1 / 3 else "lower" if down > 2 / 3 else ""
    column = "left" if across < 1 / 3 else "right" if across > 2 / 3 else ""
    if row and column:
        return f"at the {row} {column}"
    if column:
        return f"at the {column}"
    return {"upper": "at the top", "lower": "at the bottom", "": "in the middle"}[row]


def _sentence(group: list[Change], width: int, height: int) -> str:
    change = group[0]
    detection = change.before or change.after
    if detection is None:
        raise ValueError("a change happens to something before, or after, or both")
    where = describe_position(detection.box, width, height)
    if change.kind == "moved":
        return f"{_the(detection.label)} moved {_way(change, width, height)}."
    if detection.label is None:
        return _about_something(change, where, float(detection.mask.mean()))
    if len(group) > 1 and change.kind == "replaced" and change.after:
        count = str(len(group)) if len(group) < MIN_UNCOUNTED else "Several"
        return f"{count} {plural(detection.label)} became {plural(str(change.after.label))}."
    if len(group) > 1:
        distinct = _count_distinct([member.before or member.after for member in group])
        objects = f"{distinct} {plural(detection.label)}"
        if distinct == len(group):
            return f"{objects} {change.kind}."
        return f"At least {objects if distinct > 1 else f'one {detection.label}'} {change.kind}."
    return _about_known(change, detection.label, width, height)


def _count_distinct(detections: Sequence[DetectedObject | None]) -> int:
    """Return the minimum number of objects: boxes that touch may be parts of one object."""
    boxes = [detection.box for detection in detections if detection is not None]
    groups: list[list[BoxSides]] = []
    for box in boxes:
        touching = [group for group in groups if any(box_overlap(box, other) > MIN_TOUCHING_IOU for other in group)]
        groups = [group for group in groups if group not in touching]
        groups.append([box, *(member for group in touching for member in group)])
    return len(groups)


def _about_something(change: Change, where: str, share: float) -> str:
    if change.kind == "recolored" and change.colors:
        return f"Something {where} changed from {change.colors[0]} to {change.colors[1]}."
    happened = change.kind if change.kind in {"appeared", "vanished"} else "changed"
    own_color = f" {change.colors[1]}" if change.colors and happened != "changed" else ""
    colors = f" from {change.colors[0]} to {change.colors[1]}" if change.colors and happened == "changed" else ""
    verb = "looked" if happened == "vanished" else "looks"
    look = f"; it {verb} like {with_article(change.looks_like)}" if change.looks_like else ""
    return f"Something{own_color} {happened} {where}{colors}: {share:.1%} of the picture{look}."


def _about_known(change: Change, word: str, width: int, height: int) -> str:
    detection = change.before or change.after
    where = describe_position(detection.box, width, height) if detection else ""
    whose = f"A part of the {word}" if change.part else f"The {word}"
    match change.kind:
        case "appeared":
            return f"{with_article(word).capitalize()} appeared {where}."
        case "vanished":
            return f"The {word} {where} vanished."
        case "recolored" if change.colors:
            return f"{whose} changed from {change.colors[0]} to {change.colors[1]}."
        case "resized":
            return f"The {word} became {'larger' if _area(change.after) > _area(change.before) else 'smaller'}."
        case "replaced" if change.after and change.after.label:
            return f"The {word} became {with_article(change.after.label)}."
        case _:
            looks = "look" if is_plural(word) and not change.part else "looks"
            where = f", {describe_position(change.after.box, width, height)}" if change.part and change.after else ""
            colors = f": it was {change.colors[0]}, now it is {change.colors[1]}" if change.colors else ""
            return f"{whose} {looks} different{where}{colors}."


def _way(change: Change, width: int, height: int) -> str:
    if change.before is None or change.after is None:
        raise ValueError("what moved was somewhere before and is somewhere now")
    start, end = (
        describe_position(detection.box, width, height).partition(" ")[2] for detection in (change.before, change.after)
    )
    if start != end:
        return f"from {start} to {end}"
    across = change.after.box[0] + change.after.box[2] - change.before.box[0] - change.before.box[2]
    down = change.after.box[1] + change.after.box[3] - change.before.box[1] - change.before.box[3]
    if abs(across) >= abs(down):
        return "to the right" if across > 0 else "to the left"
    return "down" if down > 0 else "up"


def _the(word: str | None) -> str:
    return f"The {word}" if word else "Something"


def _area(detection: DetectedObject | None) -> float:
    return 0.0 if detection is None else (detection.box[2] - detection.box[0]) * (detection.box[3] - detection.box[1])
