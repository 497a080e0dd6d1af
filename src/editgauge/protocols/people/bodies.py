"""Bodies of two pictures: did poses stay, did they change, and are they what was asked for?"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from editgauge._util.text import counted
from editgauge.evidence import Note
from editgauge.models.answers import JOINTS
from editgauge.protocols.people.matching import pairs_of_boxes
from editgauge.types import Score, Unscored

if TYPE_CHECKING:
    from editgauge.models.answers import Poses

Points = NDArray[np.float64]
SPREADS = np.array([26, 25, 25, 35, 35, 79, 79, 72, 72, 62, 62, 107, 107, 87, 87, 89, 89]) / 1000
"""How far people who label them put the 17 joints of COCO apart, in square roots of a person's area."""
LEAST_JOINTS = 5
"""This many joints must be seen in both pictures before poses are compared."""
NO_PERSON = Unscored("not_detected", "no person is seen in both pictures with enough joints")


class Body:
    """The joints of one person, by name; None where one is not seen."""

    def __init__(self, joints: NDArray[np.float32], seen: NDArray[np.bool_]) -> None:
        self._joints = {
            name: place.astype(np.float64) for name, place, here in zip(JOINTS, joints, seen, strict=True) if here
        }

    def middle(self, *names: str) -> Points | None:
        """The middle of some joints, of those that are seen."""
        places = [self._joints[name] for name in names if name in self._joints]
        return np.mean(places, axis=0) if places else None

    @property
    def torso(self) -> Points | None:
        """From the hips to the shoulders."""
        shoulders, hips = self.middle("left shoulder", "right shoulder"), self.middle("left hip", "right hip")
        return None if shoulders is None or hips is None else shoulders - hips

    def limb(self, start: str, end: str) -> Points | None:
        """From one joint to another."""
        first, last = self.middle(start), self.middle(end)
        return None if first is None or last is None else last - first


def _ramp(value: float, none: float, full: float) -> float:
    """0 at `none`, 1 at `full`, straight between them."""
    return float(np.clip((value - none) / (full - none), 0, 1))


def _lean(body: Body) -> float | None:
    """Degrees between the torso and upright, from 0 to 180."""
    torso = body.torso
    return None if torso is None else float(np.degrees(np.arctan2(abs(torso[0]), -torso[1])))


def _below(body: Body, start: str, end: str) -> list[float]:
    """How far one joint lies below another on either side that is seen, in lengths of the torso."""
    torso = body.torso
    if torso is None:
        return []
    length = max(float(np.linalg.norm(torso)), 1e-6)
    limbs = [body.limb(f"{side} {start}", f"{side} {end}") for side in ("left", "right")]
    return [float(limb[1]) / length for limb in limbs if limb is not None]


def _thighs(body: Body) -> list[float]:
    """How far each knee lies below its hip; about 0.8 for someone who stands."""
    return _below(body, "hip", "knee")


def lies(body: Body) -> float | None:
    """Does the person lie?"""
    lean = _lean(body)
    return None if lean is None else _ramp(lean, 35, 65)


def sits(body: Body) -> float | None:
    """Does the person sit: upright, with the knees hardly below the hips?"""
    lean, thighs = _lean(body), _thighs(body)
    return None if lean is None or not thighs else min(_ramp(lean, 65, 45), _ramp(float(np.mean(thighs)), 0.75, 0.45))


def stands(body: Body) -> float | None:
    """Does the person stand: upright, with the knees well below the hips?"""
    lean, thighs = _lean(body), _thighs(body)
    return None if lean is None or not thighs else min(_ramp(lean, 50, 25), _ramp(float(np.mean(thighs)), 0.45, 0.7))


def _raised(body: Body) -> list[float]:
    """How far each wrist is above its shoulder."""
    return [_ramp(-below, -0.35, 0.15) for below in _below(body, "shoulder", "wrist")]


def raises_an_arm(body: Body) -> float | None:
    """Is at least one wrist above its shoulder?"""
    return max(_raised(body), default=None)


def raises_both_arms(body: Body) -> float | None:
    """Are both wrists above their shoulders? None when only one is seen."""
    raised = _raised(body)
    return min(raised) if len(raised) == 2 else None


POSTURE_RULES: Mapping[str, tuple[str, Callable[[Body], float | None]]] = {
    r"\b(sit|sits|sitting|seated)\b": ("sits", sits),
    r"\b(stand|stands|standing)\b": ("stands", stands),
    r"\b(lie|lies|lying|laying)\b": ("lies", lies),
    r"\b(rais|lift|hold|put|throw)\w*\b.*\b(both|arms|hands)\b": ("raises both arms", raises_both_arms),
    r"\b(rais|lift)\w*\b.*\b(arm|hand)\b|\bwav(e|es|ing)\b": ("raises an arm", raises_an_arm),
}
"""What an instruction asks for, as a pattern, and the rule that looks for it; every other action has none."""


def pose_as_asked(wish: str, everybody: bool, before: Poses, after: Poses) -> Score | Unscored:
    """How well the person that changed most, or with `everybody` the least of all, holds the pose that is asked for."""
    rule = next((each for pattern, each in POSTURE_RULES.items() if re.search(pattern, wish.lower())), None)
    if rule is None:
        return Unscored("no_rule", f"no rule of a body's joints is known for '{wish}'")
    name, holds = rule
    bodies = [[Body(*each) for each in zip(poses.joints, poses.seen, strict=True)] for poses in (before, after)]
    rows = [
        (now, holds(bodies[0][old]))
        for old, new in pairs_of_boxes(before.boxes, after.boxes)
        if (now := holds(bodies[1][new])) is not None
    ]
    if not rows:
        evidence = (*before.evidence("source"), *after.evidence("edited"))
        return Unscored("not_detected", f"the joints by which one sees that someone {name} are not seen", evidence)
    now, earlier = min(rows, key=lambda row: row[0]) if everybody else max(rows, key=_gain)
    shown = "cannot be determined" if earlier is None else f"{earlier:.2f}"
    return Score(now, (Note(f"Someone {name}: {shown} before, {now:.2f} after."), *after.evidence("edited")))


def _gain(row: tuple[float, float | None]) -> float:
    return row[0] - (row[1] or 0.0)


def pose_similarity(before: Poses, after: Poses) -> Score | Unscored:
    """The mean object keypoint similarity (COCO) of the people of the source with those at their place."""
    known = _similarities(before, after)
    evidence = (*before.evidence("source"), *after.evidence("edited"))
    if not known:
        return Unscored(NO_PERSON.reason, NO_PERSON.detail, evidence)
    people = counted(len(before), "person")
    note = Note(f"{people} in the source, {len(known)} compared with who stands at their place.")
    return Score(float(np.mean(known)), (note, *evidence))


def pose_change(before: Poses, after: Poses) -> Score | Unscored:
    """How much the pose of the person that changed most changed, apart from place and size."""
    known = _similarities(before, after, moved=True)
    evidence = (*before.evidence("source"), *after.evidence("edited"))
    if not known:
        return Unscored(NO_PERSON.reason, NO_PERSON.detail, evidence)
    return Score(1 - min(known), (Note(f"Least similarity of a pose with itself before: {min(known):.2f}."), *evidence))


def _similarities(before: Poses, after: Poses, *, moved: bool = False) -> list[float]:
    """Of everybody who is seen in both pictures with enough joints."""
    pairs = pairs_of_boxes(before.boxes, after.boxes)
    values = [_similarity(before, after, old, new, moved) for old, new in pairs]
    return [value for value in values if value is not None]


def _similarity(before: Poses, after: Poses, old: int, new: int, moved: bool) -> float | None:
    """Of the joints that are seen in both; with `moved`, after the other body is shifted and scaled onto the first."""
    count = len(SPREADS)
    shared = before.seen[old, :count] & after.seen[new, :count]
    if shared.sum() < LEAST_JOINTS:
        return None
    first, second = before.joints[old, :count][shared], after.joints[new, :count][shared]
    first, second = first.astype(np.float64), second.astype(np.float64)
    if moved:
        centers = first.mean(axis=0), second.mean(axis=0)
        size = np.sqrt(((first - centers[0]) ** 2).sum() / max(((second - centers[1]) ** 2).sum(), 1e-6))
        second = (second - centers[1]) * size + centers[0]
    left, top, right, bottom = before.boxes[old].tolist()
    area = max((right - left) * (bottom - top), 1.0)
    distance = ((first - second) ** 2).sum(axis=1)
    return float(np.mean(np.exp(-distance / (2 * area * (2 * SPREADS[shared]) ** 2))))
