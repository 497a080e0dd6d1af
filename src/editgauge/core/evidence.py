"""What can be shown for a score: boxes, regions and arrows on a picture, curves, points, sentences. Stored as JSON."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any, Literal

import cv2
import numpy as np

from editgauge.core.masks import BoolMask

Side = Literal["source", "edited"]


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle on one of the two pictures."""

    on: Side
    left: float
    top: float
    right: float
    bottom: float
    label: str = ""
    confidence: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """A mask on one of the two pictures."""

    on: Side
    mask: BoolMask
    label: str = ""


@dataclass(frozen=True, slots=True)
class Arrow:
    """A way from one point to another on one of the two pictures."""

    on: Side
    from_x: float
    from_y: float
    to_x: float
    to_y: float
    label: str = ""


@dataclass(frozen=True, slots=True)
class Curves:
    """Numbers along an axis, such as histograms, one row per name."""

    label: str
    rows: tuple[tuple[str, tuple[float, ...]], ...]


@dataclass(frozen=True, slots=True)
class ScatterPoint:
    """One point of a scatter: what it is called, and the group by which it is drawn."""

    name: str
    group: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Scatter:
    """Named points in a plane, and perhaps a line through it: x and y of its two ends."""

    label: str
    points: tuple[ScatterPoint, ...]
    line: tuple[float, float, float, float] | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence a person can read."""

    text: str


Evidence = Box | Region | Arrow | Curves | Scatter | Note

_ONE_BIT = (cv2.IMWRITE_PNG_BILEVEL, 1, cv2.IMWRITE_PNG_COMPRESSION, 3)
"""Level 3: a third of the size of OpenCV's own choice in the same time, where 9 takes up to forty times as long."""


def to_json(evidence: Evidence) -> dict[str, Any]:
    """A JSON value; a mask travels as a one-bit PNG (a 512 x 512 mask takes about a kilobyte)."""
    match evidence:
        case Box():
            sides = (evidence.left, evidence.top, evidence.right, evidence.bottom)
            numbers = [round(float(side), 2) for side in sides]
            confidence = {} if evidence.confidence is None else {"confidence": round(float(evidence.confidence), 4)}
            return {"box": numbers, "on": evidence.on, "label": evidence.label, **confidence}
        case Region():
            bits = cv2.imencode(".png", evidence.mask.astype(np.uint8) * 255, _ONE_BIT)[1]
            return {"mask": base64.b64encode(bits.tobytes()).decode(), "on": evidence.on, "label": evidence.label}
        case Arrow():
            ends = (evidence.from_x, evidence.from_y, evidence.to_x, evidence.to_y)
            return {"arrow": [round(float(end), 2) for end in ends], "on": evidence.on, "label": evidence.label}
        case Curves():
            rows = {name: [round(float(value), 5) for value in values] for name, values in evidence.rows}
            return {"curves": rows, "label": evidence.label}
        case Scatter():
            points = [
                [each.name, each.group, round(float(each.x), 4), round(float(each.y), 4)] for each in evidence.points
            ]
            line = {} if evidence.line is None else {"line": [round(float(end), 4) for end in evidence.line]}
            return {"scatter": points, "label": evidence.label, **line}
        case Note():
            return {"note": evidence.text}


def from_json(stored: dict[str, Any]) -> Evidence:
    """The inverse of `to_json`."""
    if "box" in stored:
        left, top, right, bottom = stored["box"]
        return Box(stored["on"], left, top, right, bottom, stored["label"], stored.get("confidence"))
    if "mask" in stored:
        bits = np.frombuffer(base64.b64decode(stored["mask"]), dtype=np.uint8)
        mask = cv2.imdecode(bits, cv2.IMREAD_GRAYSCALE)
        if mask is None:
            raise ValueError("the stored mask is not a PNG")
        return Region(stored["on"], np.asarray(mask >= 128), stored["label"])
    if "arrow" in stored:
        from_x, from_y, to_x, to_y = stored["arrow"]
        return Arrow(stored["on"], from_x, from_y, to_x, to_y, stored["label"])
    if "curves" in stored:
        return Curves(stored["label"], tuple((name, tuple(values)) for name, values in stored["curves"].items()))
    if "scatter" in stored:
        ends = stored.get("line")
        points = tuple(ScatterPoint(name, group, x, y) for name, group, x, y in stored["scatter"])
        return Scatter(stored["label"], points, None if ends is None else (ends[0], ends[1], ends[2], ends[3]))
    return Note(stored["note"])
