"""The protocol `people`: faces and bodies that stand where the test puts them, then the real small models."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import skimage.data

from editgauge._util.images import ImageFile, Pixels
from editgauge.errors import UnscorableError
from editgauge.models.answers import EXPRESSIONS, JOINTS, Faces, Poses
from editgauge.models.perception import ModelService
from editgauge.models.weights import available
from editgauge.protocols.people import people
from editgauge.types import Edit, Item, Outcome, Score, Scores, Unscored

photographs: Any = skimage.data
BEFORE, AFTER = np.zeros((100, 100, 3), np.uint8), np.ones((100, 100, 3), np.uint8)


def edit(instruction: str = "Make it rain.", kind: str = "background", **fields: Any) -> Edit:
    return Edit(id="e", source=ImageFile("p", Path("/p")), type=kind, instruction=instruction, **fields)


def item(request: Edit, source: Pixels = BEFORE, edited: Pixels = AFTER) -> Item:
    outcome = Outcome(edit_id="e", method="m", image=Path("/o"))
    return Item(edit=request, outcome=outcome, source=source, edited=edited)


def face(
    left: float = 20, *, vector: int = 0, angle: float = 0.0, movements: Mapping[str, float] | None = None
) -> Faces:
    """One face of 40 pixels; of two faces with different vectors the cosine is 0."""
    expressions = np.zeros((1, len(EXPRESSIONS)), np.float32)
    for name, value in (movements or {}).items():
        expressions[0, EXPRESSIONS.index(name)] = value
    return Faces(
        boxes=np.array([[left, 20, left + 40, 60]], np.float32),
        confidences=np.array([0.9], np.float32),
        points=np.zeros((1, 5, 2), np.float32),
        vectors=np.eye(128, dtype=np.float32)[[vector]],
        expressions=expressions,
        angles=np.array([[angle, 0, 0]], np.float32),
    )


NO_FACES = Faces(
    boxes=np.zeros((0, 4), np.float32),
    confidences=np.zeros(0, np.float32),
    points=np.zeros((0, 5, 2), np.float32),
    vectors=np.zeros((0, 128), np.float32),
    expressions=np.zeros((0, len(EXPRESSIONS)), np.float32),
    angles=np.zeros((0, 3), np.float32),
)
STANDING = {
    "nose": (50, 10), "left shoulder": (60, 25), "right shoulder": (40, 25), "left elbow": (64, 37),
    "right elbow": (36, 37), "left wrist": (64, 50), "right wrist": (36, 50), "left hip": (57, 50),
    "right hip": (43, 50), "left knee": (57, 72), "right knee": (43, 72), "left ankle": (57, 93),
    "right ankle": (43, 93),
}  # fmt: skip
SITTING = STANDING | {"left knee": (65, 55), "right knee": (35, 55), "left ankle": (65, 75), "right ankle": (35, 75)}
ARM_RAISED = STANDING | {"left elbow": (70, 20), "left wrist": (72, 5)}
LYING = {name: (y, 100 - x) for name, (x, y) in STANDING.items()}


def body(places: dict[str, tuple[int, int]]) -> Poses:
    joints, sure = np.zeros((1, len(JOINTS), 2), np.float32), np.zeros((1, len(JOINTS)), np.float32)
    for name, place in places.items():
        joints[0, JOINTS.index(name)], sure[0, JOINTS.index(name)] = place, 0.8
    boxes = np.array([[10, 5, 90, 95]], np.float32)
    return Poses(boxes=boxes, confidences=np.array([0.9], np.float32), joints=joints, joint_confidences=sure)


class Eyes:
    """A perception for tests only, which sees what it was given; None stands for no model."""

    def __init__(self, faces: tuple[Faces, Faces] | None = None, poses: tuple[Poses, Poses] | None = None) -> None:
        self._answers: dict[str, Any] = {"face_reader": faces, "pose_reader": poses}

    async def faces(self, image: Pixels) -> Any:
        return self._answer("face_reader", image)

    async def poses(self, image: Pixels) -> Any:
        return self._answer("pose_reader", image)

    def _answer(self, role: str, image: Pixels) -> Any:
        if self._answers[role] is None:
            raise UnscorableError("no_model", f"no model plays the role '{role}'")
        return self._answers[role][image is AFTER]


def scores(request: Edit, **result: Any) -> Scores:
    return asyncio.run(people.score(item(request), Eyes(**result)))  # type: ignore[arg-type]


def value(score: Score | Unscored) -> float:
    assert isinstance(score, Score), score
    return score.value


def test_a_face_that_stayed_and_one_that_became_another() -> None:
    same = scores(edit(), faces=(face(), face(22)))
    other = scores(edit(), faces=(face(), face(22, vector=1)))
    assert (value(same["identity"]), value(same["faces_kept"])) == (1, 1)
    assert (value(other["identity"]), value(other["faces_kept"])) == (0, 0)


def test_a_face_that_is_gone_is_not_kept_and_has_no_identity() -> None:
    gone = scores(edit(), faces=(face(), NO_FACES))
    assert value(gone["faces_kept"]) == 0
    assert isinstance(gone["identity"], Unscored)
    nobody = scores(edit(), faces=(NO_FACES, face()))
    assert isinstance(nobody["faces_kept"], Unscored)
    assert nobody["faces_kept"].reason == "not_detected"


def test_every_score_is_unscored_without_models() -> None:
    answers = scores(edit("Make the man smile.", "action", subject="man", to="smiling"))
    reasons = {name: entry.reason for name, entry in answers.items() if isinstance(entry, Unscored)}
    assert reasons.pop("pose_kept") == "not_applicable"
    assert set(reasons) == {spec.name for spec in people.scores} - {"pose_kept"}
    assert set(reasons.values()) == {"no_model"}


@pytest.mark.parametrize(
    ("wish", "movements"),
    [
        ("smiling", {"mouthSmileLeft": 0.9, "mouthSmileRight": 0.9}),
        ("closing her eyes", {"eyeBlinkLeft": 0.9, "eyeBlinkRight": 0.9}),
        ("opening his mouth", {"jawOpen": 0.6}),
        ("angry", {"browDownLeft": 0.6, "browDownRight": 0.6}),
    ],
)
def test_an_expression_passes_when_it_is_shown_and_only_then(wish: str, movements: dict[str, float]) -> None:
    request = edit(f"Make the woman {wish}.", "action", subject="woman", to=wish)
    assert value(scores(request, faces=(face(), face(movements=movements)))["expression"]) > 0.8
    assert value(scores(request, faces=(face(), face()))["expression"]) < 0.2


def test_a_head_turned_to_the_left_of_the_picture() -> None:
    request = edit("Make the woman look to the left.", "action", subject="woman", to="looking to the left")
    assert value(scores(request, faces=(face(), face(angle=-30)))["expression"]) == 1
    assert value(scores(request, faces=(face(), face(angle=30)))["expression"]) == 0


@pytest.mark.parametrize(
    ("wish", "right", "wrong"),
    [
        ("sitting down", SITTING, STANDING),
        ("standing up", STANDING, SITTING),
        ("lying on the floor", LYING, STANDING),
        ("raising his arm", ARM_RAISED, STANDING),
        ("waving", ARM_RAISED, STANDING),
    ],
)
def test_a_pose_passes_when_it_is_held_and_only_then(
    wish: str, right: dict[str, tuple[int, int]], wrong: dict[str, tuple[int, int]]
) -> None:
    request = edit(f"Let the man be {wish}.", "action", subject="man", to=wish)
    held = scores(request, poses=(body(wrong), body(right)))
    assert value(held["pose"]) > 0.8
    assert value(held["pose_changed"]) > 0.1
    left_alone = scores(request, poses=(body(wrong), body(wrong)))
    assert value(left_alone["pose"]) < 0.2
    assert value(left_alone["pose_changed"]) == pytest.approx(0, abs=1e-6)


def test_both_arms_are_more_than_one() -> None:
    request = edit("Let the man raise his arms.", "action", subject="man", to="raising his arms")
    assert value(scores(request, poses=(body(STANDING), body(ARM_RAISED)))["pose"]) < 0.2


def test_an_action_without_a_rule_is_unscored() -> None:
    request = edit("Let the man jump.", "action", subject="man", to="jumping")
    answer = scores(request, faces=(face(), face()), poses=(body(STANDING), body(STANDING)))
    assert isinstance(answer["pose"], Unscored)
    assert answer["pose"].reason == "no_rule"


def test_an_action_of_an_animal_says_nothing_about_the_people_beside_it() -> None:
    request = edit("Make the dog sit.", "action", subject="dog", to="sitting")
    answer = scores(request, faces=(face(), face()), poses=(body(STANDING), body(SITTING)))
    assert {entry.reason for name in ("pose", "expression") if isinstance(entry := answer[name], Unscored)} == {
        "not_applicable"
    }


def test_who_is_to_go_does_not_have_to_stay() -> None:
    request = edit("Remove the woman.", "object_removal", subject="woman")
    answer = scores(request, faces=(face(), NO_FACES), poses=(body(STANDING), body(STANDING)))
    assert isinstance(answer["faces_kept"], Unscored)
    assert answer["faces_kept"].reason == "not_applicable"


def test_a_pose_that_stayed_and_one_that_changed() -> None:
    kept = scores(edit(), poses=(body(STANDING), body(STANDING)))["pose_kept"]
    changed = scores(edit(), poses=(body(STANDING), body(SITTING)))["pose_kept"]
    assert value(kept) == pytest.approx(1)
    assert value(changed) < 0.9


@pytest.mark.skipif(
    not all(map(available, ("yunet-sface", "face-landmarker", "rtmpose-s"))),
    reason="NOT TESTED: run `editgauge models pull lite-plus`",
)
def test_a_portrait_that_stays_and_one_whose_face_is_another() -> None:
    """The real models: a darker portrait is kept; one with another person's eyes, nose and mouth is not."""
    portrait: Pixels = photographs.astronaut()
    dark = (portrait * 0.7).astype(np.uint8)
    other = portrait.copy()
    flipped = cv2.flip(portrait[95:165, 185:262], 0)
    other[95:165, 185:262] = cv2.addWeighted(flipped, 0.7, portrait[95:165, 185:262], 0.3, 0)
    request = edit("Make the background darker.")
    with ModelService({"face_reader": "faces", "pose_reader": "rtmpose-s"}) as perception:
        kept, lost = (
            asyncio.run(people.score(replace(item(request), source=portrait, edited=edited), perception))
            for edited in (dark, other)
        )
    assert value(kept["faces_kept"]) == 1
    assert value(kept["identity"]) > 0.8
    assert value(kept["pose_kept"]) > 0.95
    assert value(lost["faces_kept"]) < 1 or value(lost["identity"]) < 0.8
