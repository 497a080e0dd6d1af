"""The protocol `people`: are faces the same, do they show the requested expression, did poses stay?"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from editgauge._util.text import format_count
from editgauge.edit_types import EDIT_TYPES
from editgauge.errors import UnscorableError
from editgauge.evidence import Evidence, Note
from editgauge.instructions.parsed import edit_steps
from editgauge.models.answers import JOINTS
from editgauge.models.vocabulary import resolve
from editgauge.protocols import Protocol
from editgauge.protocols._objects import match_boxes
from editgauge.types import Edit, Item, Score, Scores, ScoreSpec, Unscored

if TYPE_CHECKING:
    from editgauge._util.images import Pixels
    from editgauge.models.answers import Faces, Poses
    from editgauge.models.perception import Perception

MIN_SAME_PERSON = 0.363
"""The cosine from which SFace's authors call two faces one person. Of 2,750 pairs of faces from different photographs
8 reach it (0.3%); of faces in the same photograph after JPEG, noise or darkening 98 to 100%."""
MIN_FACE_SIDE = 32
"""Minimum side of a face in pixels; smaller ones have too little detail to compare."""
FULL_TURN_DEGREES = 25.0
"""Degrees of head rotation that count as fully turned, raised or lowered."""

Reading = Callable[["Faces"], "NDArray[np.float32]"]


def _minimum(*movements: Reading) -> Reading:
    return lambda faces: np.minimum.reduce([movement(faces) for movement in movements])


def _movement(*names: str) -> Reading:
    return lambda faces: faces.expression(*names)


def _inverse(movement: Reading) -> Reading:
    return lambda faces: np.asarray(1 - movement(faces), np.float32)


def _doubled(movement: Reading) -> Reading:
    """Double movements for which MediaPipe rarely exceeds one half."""
    return lambda faces: np.asarray(np.clip(2 * movement(faces), 0, 1), np.float32)


_SMILE = _movement("mouthSmileLeft", "mouthSmileRight")
_OPEN_MOUTH = _doubled(_movement("jawOpen"))
_CLOSED_EYES = _movement("eyeBlinkLeft", "eyeBlinkRight")
EXPRESSION_RULES: Mapping[str, tuple[str, Reading]] = {
    r"laugh": ("a smile with open mouth", _minimum(_SMILE, _OPEN_MOUTH)),
    r"smil|grin|happ(y|ier)|cheerful": ("a smile", _SMILE),
    r"clos\w*.*eyes?|eyes?\b.*(closed|shut)|sleep|asleep": ("closed eyes", _CLOSED_EYES),
    r"open\w*.*eyes?|eyes?\b.*open": ("open eyes", _inverse(_CLOSED_EYES)),
    r"clos\w*.*mouth|mouth\b.*closed": ("a closed mouth", _inverse(_OPEN_MOUTH)),
    r"open\w*.*mouth|mouth\b.*open|yawn|scream|shout|sing(ing)?\b": ("an open mouth", _OPEN_MOUTH),
    r"surpris|astonish": (
        "raised brows and an open mouth",
        _minimum(_OPEN_MOUTH, _doubled(_movement("browInnerUp"))),
    ),
    r"angry|anger|furious|scowl": ("lowered brows", _doubled(_movement("browDownLeft", "browDownRight"))),
    r"kiss|pout|pucker": ("puckered lips", _movement("mouthPucker")),
}
"""Pattern of a request, and the facial movements that show it."""
TURN_RULES: Mapping[str, tuple[str, int, int]] = {
    r"(look|turn|fac|gaz|glanc)\w*\b.*\bleft": ("turned to the left of the picture", 0, -1),
    r"(look|turn|fac|gaz|glanc)\w*\b.*\bright": ("turned to the right of the picture", 0, 1),
    r"(look|fac|gaz|glanc)\w*\b.*\bup": ("raised", 1, 1),
    r"(look|fac|gaz|glanc)\w*\b.*\bdown": ("lowered", 1, -1),
}
"""Pattern, meaning, angle index (yaw, pitch) and sign."""


def face_similarities(before: Faces, after: Faces) -> tuple[Score | Unscored, Score | Unscored]:
    """Return the lowest cosine of matched faces, and the fraction of faces that match."""
    sides = np.minimum(before.boxes[:, 2] - before.boxes[:, 0], before.boxes[:, 3] - before.boxes[:, 1])
    comparable = np.flatnonzero(sides >= MIN_FACE_SIDE)
    if not len(comparable):
        unscored = Unscored("not_detected", f"no face of at least {MIN_FACE_SIDE} pixels is seen in the source")
        return unscored, unscored
    cosines = before.similarity(after)
    pairs = [(old, new) for old, new in match_boxes(before.boxes, after.boxes) if old in comparable]
    values = [float(cosines[pair]) for pair in pairs]
    evidence: tuple[Evidence, ...] = (*before.evidence("source"), *after.evidence("edited"))
    same_count = sum(value >= MIN_SAME_PERSON for value in values)
    note = Note(
        f"{format_count(len(comparable), 'face')} in the source, {len(pairs)} found again at their place, "
        f"{same_count} of them alike (cosine of at least {MIN_SAME_PERSON})."
    )
    preserved = Score(same_count / len(comparable), (note, *evidence))
    if not values:
        return Unscored("not_detected", "no face is seen where the source has one", evidence), preserved
    listed = ", ".join(f"{value:.2f}" for value in values)
    return Score(min(max(min(values), -1.0), 1.0), (Note(f"Cosines of the faces: {listed}."), *evidence)), preserved


def score_expression(request: str, before: Faces, after: Faces, *, everybody: bool) -> Score | Unscored:
    """Score the requested expression by the face that changed most, or by the lowest of all faces."""
    if turn := next((rule for pattern, rule in TURN_RULES.items() if re.search(pattern, request.lower())), None):
        return _score_turn(*turn, before, after, everybody=everybody)
    rule = next((rule for pattern, rule in EXPRESSION_RULES.items() if re.search(pattern, request.lower())), None)
    if rule is None:
        return Unscored("no_rule", f"no movement of a face is known to show '{request}'")
    name, reading = rule
    before_values, after_values = reading(before), reading(after)
    rows = [
        (float(after_values[new]), float(before_values[old]))
        for old, new in match_boxes(before.boxes, after.boxes)
        if np.isfinite(after_values[new]) and np.isfinite(before_values[old])
    ]
    if not rows:
        return _no_face(before, after)
    value, old_value = min(rows) if everybody else max(rows, key=lambda row: row[0] - row[1])
    note = Note(f"{name[0].upper()}{name[1:]}: {old_value:.2f} before, {value:.2f} after.")
    return Score(min(max(value, 0.0), 1.0), (note, *after.evidence("edited")))


def _score_turn(name: str, angle: int, sign: int, before: Faces, after: Faces, *, everybody: bool) -> Score | Unscored:
    """Score a head turn by its change: absolute angles of one image are rough."""
    changes = [
        sign * float(after.angles[new, angle] - before.angles[old, angle])
        for old, new in match_boxes(before.boxes, after.boxes)
        if np.isfinite(after.angles[new, angle] + before.angles[old, angle])
    ]
    if not changes:
        return _no_face(before, after)
    change = min(changes) if everybody else max(changes)
    note = Note(f"The head is {name} by {change:.0f}° more than before.")
    return Score(min(max(change / FULL_TURN_DEGREES, 0.0), 1.0), (note, *after.evidence("edited")))


def _no_face(before: Faces, after: Faces) -> Unscored:
    evidence = (*before.evidence("source"), *after.evidence("edited"))
    return Unscored("not_detected", "no face is large and clear enough in both pictures", evidence)


Points = NDArray[np.float64]
JOINT_SIGMAS = np.array([26, 25, 25, 35, 35, 79, 79, 72, 72, 62, 62, 107, 107, 87, 87, 89, 89]) / 1000
"""Standard deviation of human annotations of COCO's 17 joints, in square roots of a person's area."""
MIN_JOINTS = 5
"""Minimum number of joints visible in both images to compare poses."""
NO_PERSON = Unscored("not_detected", "no person is seen in both pictures with enough joints")


class Body:
    """Joints of one person by name; invisible joints are missing."""

    def __init__(self, joints: NDArray[np.float32], visible: NDArray[np.bool_]) -> None:
        self._joints = {
            name: point.astype(np.float64)
            for name, point, is_visible in zip(JOINTS, joints, visible, strict=True)
            if is_visible
        }

    def middle(self, *names: str) -> Points | None:
        """Return the mean position of the visible joints among some, or None."""
        points = [self._joints[name] for name in names if name in self._joints]
        return np.mean(points, axis=0) if points else None

    @property
    def torso(self) -> Points | None:
        """Vector from the hips to the shoulders, or None."""
        shoulders, hips = self.middle("left shoulder", "right shoulder"), self.middle("left hip", "right hip")
        return None if shoulders is None or hips is None else shoulders - hips

    def limb(self, start: str, end: str) -> Points | None:
        """Return the vector from one joint to another, or None."""
        first, last = self.middle(start), self.middle(end)
        return None if first is None or last is None else last - first


def _ramp(value: float, none: float, full: float) -> float:
    """Return 0 at `none`, 1 at `full`, and interpolate linearly between them."""
    return float(np.clip((value - none) / (full - none), 0, 1))


def _lean(body: Body) -> float | None:
    """Return the angle between torso and vertical in degrees, from 0 to 180."""
    torso = body.torso
    return None if torso is None else float(np.degrees(np.arctan2(abs(torso[0]), -torso[1])))


def _depths(body: Body, start: str, end: str) -> list[float]:
    """Return how far one joint lies below another on each visible side, in torso lengths."""
    torso = body.torso
    if torso is None:
        return []
    length = max(float(np.linalg.norm(torso)), 1e-6)
    limbs = [body.limb(f"{side} {start}", f"{side} {end}") for side in ("left", "right")]
    return [float(limb[1]) / length for limb in limbs if limb is not None]


def _knee_depths(body: Body) -> list[float]:
    """Return how far each knee lies below its hip; about 0.8 for a standing person."""
    return _depths(body, "hip", "knee")


def lying(body: Body) -> float | None:
    """Score whether the person lies."""
    lean = _lean(body)
    return None if lean is None else _ramp(lean, 35, 65)


def sitting(body: Body) -> float | None:
    """Score whether the person sits: upright, with knees hardly below the hips."""
    lean, thighs = _lean(body), _knee_depths(body)
    return None if lean is None or not thighs else min(_ramp(lean, 65, 45), _ramp(float(np.mean(thighs)), 0.75, 0.45))


def standing(body: Body) -> float | None:
    """Score whether the person stands: upright, with knees well below the hips."""
    lean, thighs = _lean(body), _knee_depths(body)
    return None if lean is None or not thighs else min(_ramp(lean, 50, 25), _ramp(float(np.mean(thighs)), 0.45, 0.7))


def _arm_heights(body: Body) -> list[float]:
    """Score how far each wrist is above its shoulder."""
    return [_ramp(-below, -0.35, 0.15) for below in _depths(body, "shoulder", "wrist")]


def raises_arm(body: Body) -> float | None:
    """Score whether at least one wrist is above its shoulder."""
    return max(_arm_heights(body), default=None)


def raises_both_arms(body: Body) -> float | None:
    """Score whether both wrists are above their shoulders; None if only one is visible."""
    raised = _arm_heights(body)
    return min(raised) if len(raised) == 2 else None


POSTURE_RULES: Mapping[str, tuple[str, Callable[[Body], float | None]]] = {
    r"\b(sit|sits|sitting|seated)\b": ("sits", sitting),
    r"\b(stand|stands|standing)\b": ("stands", standing),
    r"\b(lie|lies|lying|laying)\b": ("lies", lying),
    r"\b(rais|lift|hold|put|throw)\w*\b.*\b(both|arms|hands)\b": ("raises both arms", raises_both_arms),
    r"\b(rais|lift)\w*\b.*\b(arm|hand)\b|\bwav(e|es|ing)\b": ("raises an arm", raises_arm),
}
"""Pattern of a request, and the rule that scores it; other actions have none."""


def score_pose(request: str, before: Poses, after: Poses, *, everybody: bool) -> Score | Unscored:
    """Score the requested pose by the person who changed most, or by the lowest of all people."""
    rule = next((entry for pattern, entry in POSTURE_RULES.items() if re.search(pattern, request.lower())), None)
    if rule is None:
        return Unscored("no_rule", f"no rule of a body's joints is known for '{request}'")
    name, holds = rule
    bodies = [[Body(*joints) for joints in zip(poses.joints, poses.visible, strict=True)] for poses in (before, after)]
    rows = [
        (value, holds(bodies[0][old]))
        for old, new in match_boxes(before.boxes, after.boxes)
        if (value := holds(bodies[1][new])) is not None
    ]
    if not rows:
        evidence = (*before.evidence("source"), *after.evidence("edited"))
        return Unscored("not_detected", f"the joints by which one sees that someone {name} are not seen", evidence)
    value, old_value = min(rows, key=lambda row: row[0]) if everybody else max(rows, key=_gain)
    old_text = "cannot be determined" if old_value is None else f"{old_value:.2f}"
    return Score(value, (Note(f"Someone {name}: {old_text} before, {value:.2f} after."), *after.evidence("edited")))


def _gain(row: tuple[float, float | None]) -> float:
    return row[0] - (row[1] or 0.0)


def pose_similarity(before: Poses, after: Poses) -> Score | Unscored:
    """Return COCO's mean object keypoint similarity of people matched between the images."""
    similarities = _similarities(before, after)
    evidence = (*before.evidence("source"), *after.evidence("edited"))
    if not similarities:
        return Unscored(NO_PERSON.reason, NO_PERSON.detail, evidence)
    people = format_count(len(before), "person")
    note = Note(f"{people} in the source, {len(similarities)} compared with who stands at their place.")
    return Score(float(np.mean(similarities)), (note, *evidence))


def pose_change(before: Poses, after: Poses) -> Score | Unscored:
    """Return how much the pose changed of the person who changed most, apart from position and size."""
    similarities = _similarities(before, after, moved=True)
    evidence = (*before.evidence("source"), *after.evidence("edited"))
    if not similarities:
        return Unscored(NO_PERSON.reason, NO_PERSON.detail, evidence)
    return Score(
        1 - min(similarities),
        (Note(f"Least similarity of a pose with itself before: {min(similarities):.2f}."), *evidence),
    )


def _similarities(before: Poses, after: Poses, *, moved: bool = False) -> list[float]:
    """Return the keypoint similarity of everyone with enough visible joints in both images."""
    pairs = match_boxes(before.boxes, after.boxes)
    values = [_similarity(before, after, (old, new), moved=moved) for old, new in pairs]
    return [value for value in values if value is not None]


def _similarity(before: Poses, after: Poses, pair: tuple[int, int], *, moved: bool) -> float | None:
    """Return the similarity of shared joints; with `moved`, after alignment of position and size."""
    old, new = pair
    count = len(JOINT_SIGMAS)
    shared = before.visible[old, :count] & after.visible[new, :count]
    if shared.sum() < MIN_JOINTS:
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
    return float(np.mean(np.exp(-distance / (2 * area * (2 * JOINT_SIGMAS[shared]) ** 2))))


Answer = TypeVar("Answer")
PRONOUN = re.compile(r"\b(him|his|her|hers|he|she|they|them|their)\b")
EVERYBODY = re.compile(r"\b(people|everybody|everyone|all|they|them|their|men|women|children|kids|boys|girls|couple)\b")
PRESERVATION_SCORES, REQUEST_SCORES = ("identity", "faces_kept", "pose_kept"), ("expression", "pose", "pose_changed")
REPLACED = Unscored("not_applicable", "the edit itself removes or replaces people")
SEVERAL_CHANGES = Unscored("not_applicable", "the instruction asks for several changes, and this looks at one")
NOT_AN_ACTION = Unscored("not_applicable", "the edit asks for no other pose or expression")
ANOTHER_POSE = Unscored("not_applicable", "the edit asks for another pose or expression")


class PeopleScores(Protocol):
    """Identity, expression and pose of people."""

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
        ScoreSpec(
            "faces_kept", True, (0.0, 1.0), f"Share of faces found again and alike (cosine >= {MIN_SAME_PERSON})."
        ),
        ScoreSpec("pose_kept", True, (0.0, 1.0), "Mean keypoint similarity of people who should not move."),
        ScoreSpec("expression", True, (0.0, 1.0), "How much a face shows the requested expression."),
        ScoreSpec("pose", True, (0.0, 1.0), "How well a body matches the requested pose."),
        ScoreSpec("pose_changed", True, (0.0, 1.0), "How much the pose of a person who should act changed."),
    )

    async def score(self, item: Item, perception: Perception) -> Scores:
        """Score faces and bodies independently, so that a missing model affects only its own scores."""
        faces, poses = await _both(item, perception.faces), await _both(item, perception.poses)
        identity, faces_kept = (faces, faces) if isinstance(faces, Unscored) else face_similarities(*faces)
        pose_kept = poses if isinstance(poses, Unscored) else pose_similarity(*poses)
        scores: dict[str, Score | Unscored] = {"identity": identity, "faces_kept": faces_kept, "pose_kept": pose_kept}
        steps = edit_steps(item.edit)
        if any(_changes_people(step) for step in steps):
            scores = dict.fromkeys(PRESERVATION_SCORES, REPLACED)
        elif any(step.type == "action" for step in steps):
            scores["pose_kept"] = ANOTHER_POSE
        unscored = SEVERAL_CHANGES if len(steps) > 1 else _no_people_reason(steps[0])
        if unscored is not None:
            return scores | dict.fromkeys(REQUEST_SCORES, unscored)
        request, everybody = steps[0].to or "", bool(EVERYBODY.search(item.edit.instruction.lower()))
        return scores | {
            "expression": faces
            if isinstance(faces, Unscored)
            else score_expression(request, *faces, everybody=everybody),
            "pose": poses if isinstance(poses, Unscored) else score_pose(request, *poses, everybody=everybody),
            "pose_changed": poses if isinstance(poses, Unscored) else pose_change(*poses),
        }


async def _both(item: Item, look: Callable[[Pixels], Awaitable[Answer]]) -> tuple[Answer, Answer] | Unscored:
    try:
        return await look(item.source), await look(item.edited)
    except UnscorableError as error:
        return Unscored(error.reason, error.detail)


def _is_person(phrase: str | None) -> bool:
    """Return whether a phrase names a person or a part of one, such as "the woman's mouth"."""
    owner = re.sub(r"'s?\s.*", "", phrase or "")
    try:
        return bool(owner) and bool(resolve(owner, ("person",)))
    except UnscorableError:
        return False


def _changes_people(edit: Edit) -> bool:
    """Return whether the edit removes or replaces people, so that none has to stay."""
    return EDIT_TYPES[edit.type].effect in ("removes", "replaces") and _is_person(edit.from_ or edit.subject)


def _no_people_reason(edit: Edit) -> Unscored | None:
    """Return why the edit requests no expression or pose of a person, or None."""
    if edit.type != "action" or not edit.to:
        return NOT_AN_ACTION
    if _is_person(edit.subject) or (not edit.subject and PRONOUN.search(edit.instruction.lower())):
        return None
    return Unscored("not_applicable", f"'{edit.subject or edit.instruction}' names no person")


people = PeopleScores()
