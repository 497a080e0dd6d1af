"""The protocol `people`: what became of the people in a picture: their faces, expressions and poses.

Only the two given pictures are compared. No person is identified, and no vector of a face is stored with
a score. A face or a body is compared with the one that stands at its place in the edited picture.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from editgauge.edit_types import EDIT_TYPES
from editgauge.errors import UnscorableError
from editgauge.instructions.readings import steps_of
from editgauge.models.vocabulary import resolve
from editgauge.protocols import Protocol
from editgauge.protocols.people.bodies import pose_as_asked, pose_change, pose_similarity
from editgauge.protocols.people.faces import SAME_PERSON, expression_as_asked, face_similarities
from editgauge.types import Edit, Item, Score, Scores, ScoreSpec, Unscored

if TYPE_CHECKING:
    from editgauge._util.images import Pixels
    from editgauge.models.interfaces import Perception

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
