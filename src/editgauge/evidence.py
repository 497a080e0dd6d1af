"""What can be shown for a score: boxes, regions, arrows and maps on a picture, curves, points, sentences; as JSON."""

from __future__ import annotations

import base64
import math
from dataclasses import dataclass
from typing import Any, Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge._util.masks import BoolMask

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


@dataclass(frozen=True, slots=True, eq=False)
class Heat:
    """A heat map over one of the two pictures, from 0 to 1, or from -1 to 1 if signed.

    A map may be coarser than the picture it lies on; stored it has at most 64 numbers along its longer side.
    """

    on: Side
    map: NDArray[np.float32]
    """height x width."""
    label: str = ""
    signed: bool = False


@dataclass(frozen=True, slots=True)
class Arrow:
    """An arrow from one point to another on one of the two images."""

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
    """One point of a scatter plot, with its name and group."""

    name: str
    group: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Scatter:
    """Named points in a plane, and optionally a line: x and y of its two ends."""

    label: str
    points: tuple[ScatterPoint, ...]
    line: tuple[float, float, float, float] | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence for people."""

    text: str


@dataclass(frozen=True, slots=True)
class ImageNote(Note):
    """How an image was read, such as a conversion of its colors; stored as a note."""


WEIGHTS_OF_ATTRIBUTES = "weights of attributes"
"""End of the label of a scatter plot of attribute weights."""

Evidence = Box | Region | Heat | Arrow | Curves | Scatter | Note

_ONE_BIT = (cv2.IMWRITE_PNG_BILEVEL, 1, cv2.IMWRITE_PNG_COMPRESSION, 3)
"""Level 3 gives a third of the default's size in the same time; 9 takes up to forty times as long."""
_MAX_MAP_SIDE = 64


def check_evidence(evidence: Evidence) -> None:
    """Check that a piece of evidence can be stored.

    Raises:
        TypeError: a text is no text, or a number no number.
        ValueError: a number is not finite, or a map is not two-dimensional or leaves its range.

    """
    texts: tuple[str, ...]
    numbers: tuple[float, ...] = ()
    match evidence:
        case Box():
            texts = evidence.on, evidence.label
            numbers = (evidence.left, evidence.top, evidence.right, evidence.bottom, evidence.confidence or 0.0)
        case Region():
            texts = evidence.on, evidence.label
        case Heat():
            texts = evidence.on, evidence.label
            _check_map(evidence)
        case Arrow():
            texts = evidence.on, evidence.label
            numbers = (evidence.from_x, evidence.from_y, evidence.to_x, evidence.to_y)
        case Curves():
            texts = evidence.label, *(name for name, _ in evidence.rows)
            numbers = tuple(value for _, values in evidence.rows for value in values)
        case Scatter():
            texts = evidence.label, *(text for point in evidence.points for text in (point.name, point.group))
            numbers = (*(number for point in evidence.points for number in (point.x, point.y)), *(evidence.line or ()))
        case Note():
            texts = (evidence.text,)
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"{type(evidence).__name__} holds {type(text).__name__} instead of a text")
    if not all(map(math.isfinite, numbers)):
        raise ValueError(f"{type(evidence).__name__} holds a number that is not finite")


def _check_map(heat: Heat) -> None:
    low = -1.0 if heat.signed else 0.0
    if heat.map.ndim != 2 or not heat.map.size or not (heat.map.min() >= low and heat.map.max() <= 1):
        raise ValueError(f"a map holds height x width numbers from {low:g} to 1; '{heat.label}' does not")


def to_json(evidence: Evidence) -> dict[str, Any]:
    """Return evidence as a JSON value; a mask becomes a one-bit PNG (about a kilobyte for 512 x 512)."""
    match evidence:
        case Box():
            sides = (evidence.left, evidence.top, evidence.right, evidence.bottom)
            numbers = [round(float(side), 2) for side in sides]
            confidence = {} if evidence.confidence is None else {"confidence": round(float(evidence.confidence), 4)}
            return {"box": numbers, "on": evidence.on, "label": evidence.label, **confidence}
        case Region():
            bits = cv2.imencode(".png", evidence.mask.astype(np.uint8) * 255, _ONE_BIT)[1]
            return {"mask": base64.b64encode(bits.tobytes()).decode(), "on": evidence.on, "label": evidence.label}
        case Heat():
            signed = {"signed": True} if evidence.signed else {}
            return {"heat": _packed(evidence), "on": evidence.on, "label": evidence.label, **signed}
        case Arrow():
            ends = (evidence.from_x, evidence.from_y, evidence.to_x, evidence.to_y)
            return {"arrow": [round(float(end), 2) for end in ends], "on": evidence.on, "label": evidence.label}
        case Curves():
            rows = {name: [round(float(value), 5) for value in values] for name, values in evidence.rows}
            return {"curves": rows, "label": evidence.label}
        case Scatter():
            points = [
                [point.name, point.group, round(float(point.x), 4), round(float(point.y), 4)]
                for point in evidence.points
            ]
            line = {} if evidence.line is None else {"line": [round(float(end), 4) for end in evidence.line]}
            return {"scatter": points, "label": evidence.label, **line}
        case Note():
            return {"note": evidence.text}


def from_json(stored: dict[str, Any]) -> Evidence:
    """Restore evidence from the JSON value of `to_json`."""
    if "box" in stored:
        left, top, right, bottom = stored["box"]
        return Box(stored["on"], left, top, right, bottom, stored["label"], stored.get("confidence"))
    if "mask" in stored:
        return Region(stored["on"], _gray(stored["mask"]) >= 128, stored["label"])
    if "heat" in stored:
        return _unpacked(stored)
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


def _packed(heat: Heat) -> str:
    """Encode a map as 8-bit PNG: 0 to 255 for 0 to 1; signed 1 to 255 for -1 to 1, so that 128 is exactly 0."""
    _check_map(heat)
    height, width = heat.map.shape
    scale = min(1.0, _MAX_MAP_SIDE / max(height, width))
    size = max(1, round(width * scale)), max(1, round(height * scale))
    small = cv2.resize(heat.map.astype(np.float32), size, interpolation=cv2.INTER_AREA)
    levels = np.rint(128 + 127 * small if heat.signed else 255 * small).clip(0, 255).astype(np.uint8)
    return base64.b64encode(cv2.imencode(".png", levels)[1].tobytes()).decode()


def _unpacked(stored: dict[str, Any]) -> Heat:
    levels, signed = _gray(stored["heat"]).astype(np.float32), bool(stored.get("signed", False))
    numbers = np.maximum((levels - 128) / 127, -1) if signed else levels / 255
    return Heat(stored["on"], numbers.astype(np.float32), stored["label"], signed)


def _gray(stored: str) -> NDArray[np.uint8]:
    bits = np.frombuffer(base64.b64decode(stored), dtype=np.uint8)
    read = cv2.imdecode(bits, cv2.IMREAD_GRAYSCALE)
    if read is None:
        raise ValueError("the stored mask or map is not a PNG")
    return np.asarray(read, dtype=np.uint8)
