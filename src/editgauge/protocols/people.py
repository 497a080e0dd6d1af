"""Which box of the edited picture took the place of which box of the source."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from editgauge._util.text import counted
from editgauge.edit_types import EDIT_TYPES
from editgauge.errors import UnscorableError
from editgauge.evidence import Evidence, Note
from editgauge.instructions.readings import steps_of
from editgauge.models.answers import JOINTS
from editgauge.models.vocabulary import resolve
from editgauge.protocols import Protocol
from editgauge.types import Edit, Item, Score, Scores, ScoreSpec, Unscored

if TYPE_CHECKING:
    from editgauge._util.images import Pixels
    from editgauge.models.answers import Faces, Poses
    from editgauge.models.interfaces import Perception

NEAR = 1.0
"""Boxes are one and the same when their centers are at most this far apart, in sides of the smaller box."""
SIZE_RATIO = 3.0
"""… and neither is more than this many times as large as the other."""


def pairs_of_boxes(before: NDArray[Any], after: NDArray[Any]) -> list[tuple[int, int]]:
    """Places of the boxes that belong together, each at most once, so that the distances add up to the least.

    >>> pairs_of_boxes(np.array([[0, 0, 10, 10], [90, 0, 99, 10]]), np.array([[91, 0, 99, 9], [2, 0, 12, 10]]))
    [(0, 1), (1, 0)]
    """
    if not len(before) or not len(after):
        return []
    centers = [(boxes[:, :2] + boxes[:, 2:]) / 2 for boxes in (before, after)]
    sides = [np.sqrt(np.maximum(np.prod(boxes[:, 2:] - boxes[:, :2], axis=1), 1.0)) for boxes in (before, after)]
    smaller = np.minimum(sides[0][:, np.newaxis], sides[1][np.newaxis])
    larger = np.maximum(sides[0][:, np.newaxis], sides[1][np.newaxis])
    distance = np.linalg.norm(centers[0][:, np.newaxis] - centers[1][np.newaxis], axis=2) / smaller
    allowed = (distance <= NEAR) & (larger / smaller <= SIZE_RATIO)
    rows, columns = linear_sum_assignment(np.where(allowed, distance, 1e3))
    return [(int(row), int(column)) for row, column in zip(rows, columns, strict=True) if allowed[row, column]]


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


Answer = TypeVar("Answer")
PRONOUN = re.compile(r"\b(him|his|her|hers|he|she|they|them|their)\b")
EVERYBODY = re.compile(r"\b(people|everybody|everyone|all|they|them|their|men|women|children|kids|boys|girls|couple)\b")
KEPT, WISHED = ("identity", "faces_kept", "pose_kept"), ("expression", "pose", "pose_changed")
REPLACED = Unscored("not_applicable", "the edit itself removes or replaces people")
SEVERAL = Unscored("not_applicable", "the instruction asks for several changes, and this looks at one")
NOT_AN_ACTION = Unscored("not_applicable", "the edit asks for no other pose or expression")
ANOTHER_POSE = Unscored("not_applicable", "the edit asks for another pose or expression")


class PeopleScores(Protocol):
    """Identity, expression and pose."""

    name = "people"
    about = "People in the picture: is each face still the same, does it show the requested expression, did poses stay?"
    paper = (
        "EditGauge. Faces: YuNet (Wu et al. 2023), SFace (Zhong et al. 2021), MediaPipe blendshapes; poses: RTMPose "
        "(Jiang et al. 2023), compared by COCO's object keypoint similarity."
    )
    version = "2"
    deviations: tuple[str, ...] = (
        "Only the two given pictures are compared: no person is identified, and no face embedding is stored.",
        "Left and right in an instruction are sides of the picture, not of the person.",
        "Faces and bodies that moved further than their own size are not matched with each other.",
    )
    uses = ("face_reader", "pose_reader")
    scores: tuple[ScoreSpec, ...] = (
        ScoreSpec("identity", True, (-1.0, 1.0), "Lowest cosine of a face with the one at the same place (SFace)."),
        ScoreSpec("faces_kept", True, (0.0, 1.0), f"Share of faces found again and alike (cosine >= {SAME_PERSON})."),
        ScoreSpec("pose_kept", True, (0.0, 1.0), "Mean keypoint similarity of people who should not move."),
        ScoreSpec("expression", True, (0.0, 1.0), "How much a face shows the requested expression."),
        ScoreSpec("pose", True, (0.0, 1.0), "How well a body matches the requested pose."),
        ScoreSpec("pose_changed", True, (0.0, 1.0), "How much the pose of a person who should act changed."),
    )

    async def score(self, item: Item, perception: Perception) -> Scores:
        """Faces and bodies each on their own: a missing model leaves the scores of the other."""
        faces, poses = await _both(item, perception.faces), await _both(item, perception.poses)
        identity, kept = (faces, faces) if isinstance(faces, Unscored) else face_similarities(*faces)
        pose_kept = poses if isinstance(poses, Unscored) else pose_similarity(*poses)
        scores: dict[str, Score | Unscored] = {"identity": identity, "faces_kept": kept, "pose_kept": pose_kept}
        steps = steps_of(item.edit)
        if any(_takes_people(step) for step in steps):
            scores = dict.fromkeys(KEPT, REPLACED)
        elif any(step.type == "action" for step in steps):
            scores["pose_kept"] = ANOTHER_POSE
        unscored = SEVERAL if len(steps) > 1 else _not_about_people(steps[0])
        if unscored is not None:
            return scores | dict.fromkeys(WISHED, unscored)
        wish, everybody = steps[0].to or "", bool(EVERYBODY.search(item.edit.instruction.lower()))
        return scores | {
            "expression": faces if isinstance(faces, Unscored) else expression_as_asked(wish, everybody, *faces),
            "pose": poses if isinstance(poses, Unscored) else pose_as_asked(wish, everybody, *poses),
            "pose_changed": poses if isinstance(poses, Unscored) else pose_change(*poses),
        }


async def _both(item: Item, look: Callable[[Pixels], Awaitable[Answer]]) -> tuple[Answer, Answer] | Unscored:
    try:
        return await look(item.source), await look(item.edited)
    except UnscorableError as unable:
        return Unscored(unable.reason, unable.detail)


def _is_person(phrase: str | None) -> bool:
    """Does a phrase name a person, or a part of one, such as "the woman's mouth"?"""
    owner = re.sub(r"'s?\s.*", "", phrase or "")
    try:
        return bool(owner) and bool(resolve(owner, ("person",)))
    except UnscorableError:
        return False


def _takes_people(edit: Edit) -> bool:
    """Are people removed or replaced? Then none of them has to stay."""
    return EDIT_TYPES[edit.type].effect in ("removes", "replaces") and _is_person(edit.from_ or edit.subject)


def _not_about_people(edit: Edit) -> Unscored | None:
    """Why the edit asks for no expression or pose of a person."""
    if edit.type != "action" or not edit.to:
        return NOT_AN_ACTION
    if _is_person(edit.subject) or (not edit.subject and PRONOUN.search(edit.instruction.lower())):
        return None
    return Unscored("not_applicable", f"'{edit.subject or edit.instruction}' names no person")


people = PeopleScores()
