"""Faces of two pictures: are they alike, and do they express what was asked for?"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from editgauge._util.text import counted
from editgauge.evidence import Evidence, Note
from editgauge.protocols.people.matching import pairs_of_boxes
from editgauge.types import Score, Unscored

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from editgauge.models.answers import Faces

SAME_PERSON = 0.363
"""The cosine from which SFace's authors call two faces one person. Of 2,750 pairs of faces from different photographs
8 reach it (0.3%); of faces in the same photograph after JPEG, noise or darkening 98 to 100%."""
COMPARABLE_SIDE = 32
"""Of a face in pixels; smaller ones have too little detail to be compared."""
FULL_TURN = 25.0
"""Degrees of the head that count as fully turned, raised or lowered."""

Reading = Callable[["Faces"], "NDArray[np.float32]"]


def _least(*movements: Reading) -> Reading:
    return lambda faces: np.minimum.reduce([each(faces) for each in movements])


def _movement(*names: str) -> Reading:
    return lambda faces: faces.expression(*names)


def _not(movement: Reading) -> Reading:
    return lambda faces: np.asarray(1 - movement(faces), np.float32)


def _doubled(movement: Reading) -> Reading:
    """For movements of which MediaPipe hardly ever gives more than a half."""
    return lambda faces: np.asarray(np.clip(2 * movement(faces), 0, 1), np.float32)


_SMILE = _movement("mouthSmileLeft", "mouthSmileRight")
_OPEN_MOUTH = _doubled(_movement("jawOpen"))
_CLOSED_EYES = _movement("eyeBlinkLeft", "eyeBlinkRight")
EXPRESSION_RULES: Mapping[str, tuple[str, Reading]] = {
    r"laugh": ("a smile with open mouth", _least(_SMILE, _OPEN_MOUTH)),
    r"smil|grin|happ(y|ier)|cheerful": ("a smile", _SMILE),
    r"clos\w*.*eyes?|eyes?\b.*(closed|shut)|sleep|asleep": ("closed eyes", _CLOSED_EYES),
    r"open\w*.*eyes?|eyes?\b.*open": ("open eyes", _not(_CLOSED_EYES)),
    r"clos\w*.*mouth|mouth\b.*closed": ("a closed mouth", _not(_OPEN_MOUTH)),
    r"open\w*.*mouth|mouth\b.*open|yawn|scream|shout|sing(ing)?\b": ("an open mouth", _OPEN_MOUTH),
    r"surpris|astonish": (
        "raised brows and an open mouth",
        _least(_OPEN_MOUTH, _doubled(_movement("browInnerUp"))),
    ),
    r"angry|anger|furious|scowl": ("lowered brows", _doubled(_movement("browDownLeft", "browDownRight"))),
    r"kiss|pout|pucker": ("puckered lips", _movement("mouthPucker")),
}
"""What an instruction asks for, as a pattern, and the movements of a face that show it."""
TURN_RULES: Mapping[str, tuple[str, int, int]] = {
    r"(look|turn|fac|gaz|glanc)\w*\b.*\bleft": ("turned to the left of the picture", 0, -1),
    r"(look|turn|fac|gaz|glanc)\w*\b.*\bright": ("turned to the right of the picture", 0, 1),
    r"(look|fac|gaz|glanc)\w*\b.*\bup": ("raised", 1, 1),
    r"(look|fac|gaz|glanc)\w*\b.*\bdown": ("lowered", 1, -1),
}
"""A pattern, what it means for the head, the angle (turned, raised) and its sign."""


def face_similarities(before: Faces, after: Faces) -> tuple[Score | Unscored, Score | Unscored]:
    """The least cosine of a face with the one that took its place; the share of faces that are found and alike."""
    sides = np.minimum(before.boxes[:, 2] - before.boxes[:, 0], before.boxes[:, 3] - before.boxes[:, 1])
    readable = np.flatnonzero(sides >= COMPARABLE_SIDE)
    if not len(readable):
        nobody = Unscored("not_detected", f"no face of at least {COMPARABLE_SIDE} pixels is seen in the source")
        return nobody, nobody
    cosines = before.similarity(after)
    pairs = [(old, new) for old, new in pairs_of_boxes(before.boxes, after.boxes) if old in readable]
    values = [float(cosines[pair]) for pair in pairs]
    evidence: tuple[Evidence, ...] = (*before.evidence("source"), *after.evidence("edited"))
    alike = sum(value >= SAME_PERSON for value in values)
    note = Note(
        f"{counted(len(readable), 'face')} in the source, {len(pairs)} found again at their place, {alike} of them "
        f"alike (cosine of at least {SAME_PERSON})."
    )
    kept = Score(alike / len(readable), (note, *evidence))
    if not values:
        return Unscored("not_detected", "no face is seen where the source has one", evidence), kept
    listed = ", ".join(f"{value:.2f}" for value in values)
    return Score(min(max(min(values), -1.0), 1.0), (Note(f"Cosines of the faces: {listed}."), *evidence)), kept


def expression_as_asked(wish: str, everybody: bool, before: Faces, after: Faces) -> Score | Unscored:
    """How much the face that changed most, or with `everybody` the least of all faces, shows what is asked for."""
    if turn := next((each for pattern, each in TURN_RULES.items() if re.search(pattern, wish.lower())), None):
        return _turned(*turn, everybody, before, after)
    rule = next((each for pattern, each in EXPRESSION_RULES.items() if re.search(pattern, wish.lower())), None)
    if rule is None:
        return Unscored("no_rule", f"no movement of a face is known to show '{wish}'")
    name, reading = rule
    shown_before, shown_after = reading(before), reading(after)
    rows = [
        (float(shown_after[new]), float(shown_before[old]))
        for old, new in pairs_of_boxes(before.boxes, after.boxes)
        if np.isfinite(shown_after[new]) and np.isfinite(shown_before[old])
    ]
    if not rows:
        return _no_face(before, after)
    now, earlier = min(rows) if everybody else max(rows, key=lambda row: row[0] - row[1])
    note = Note(f"{name[0].upper()}{name[1:]}: {earlier:.2f} before, {now:.2f} after.")
    return Score(min(max(now, 0.0), 1.0), (note, *after.evidence("edited")))


def _turned(name: str, angle: int, sign: int, everybody: bool, before: Faces, after: Faces) -> Score | Unscored:
    """Angles of one picture are rough, so the change between the two counts."""
    changes = [
        sign * float(after.angles[new, angle] - before.angles[old, angle])
        for old, new in pairs_of_boxes(before.boxes, after.boxes)
        if np.isfinite(after.angles[new, angle] + before.angles[old, angle])
    ]
    if not changes:
        return _no_face(before, after)
    change = min(changes) if everybody else max(changes)
    note = Note(f"The head is {name} by {change:.0f}° more than before.")
    return Score(min(max(change / FULL_TURN, 0.0), 1.0), (note, *after.evidence("edited")))


def _no_face(before: Faces, after: Faces) -> Unscored:
    evidence = (*before.evidence("source"), *after.evidence("edited"))
    return Unscored("not_detected", "no face is large and clear enough in both pictures", evidence)
