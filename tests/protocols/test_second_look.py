"""The classifier is asked for a second opinion about what a detector calls a new thing."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from editgauge._util.images import Pixels
from editgauge._util.masks import Rectangle
from editgauge._util.text import with_article
from editgauge._vision.change_sentences import sentences
from editgauge._vision.object_changes import Change, DetectedObject
from editgauge.models.answers import EXPRESSIONS, ClassScores, Faces
from editgauge.protocols._second_look import add_details, confirm_change, face_changes

KING_PENGUIN, COWBOY_HAT = 145, 515
PICTURE = np.zeros((40, 60, 3), np.uint8)


class Classifying:
    """A classifier that sees one class everywhere, and does not know people."""

    def __init__(self, seen: int) -> None:
        self._seen = seen

    def card(self, role: str) -> None:
        """There is a model for every role."""

    def knows(self, phrase: str) -> bool:
        return phrase != "person"

    async def classify(self, image: Pixels, box: Any = None) -> ClassScores:
        probabilities = np.full(1000, 0.1 / 999, np.float32)
        probabilities[self._seen] = 0.9
        return ClassScores(probabilities, "imagenet")


@pytest.mark.parametrize(("seen", "believed"), [(KING_PENGUIN, False), (COWBOY_HAT, True)])
def test_a_new_person_in_whom_the_classifier_sees_an_animal_is_not_believed(seen: int, believed: bool) -> None:
    person = DetectedObject("person", (5, 5, 15, 25), Rectangle(5, 5, 15, 25).render(60, 40), 0.77)
    change = Change("appeared", None, person)

    agreed = asyncio.run(confirm_change(change, PICTURE, PICTURE, Classifying(seen)))  # type: ignore[arg-type]

    assert (agreed is not None) == believed


BLACK_GROUSE, OX, SOMBRERO = 80, 345, 808


@pytest.mark.parametrize(
    ("seen", "confidence", "word"), [(BLACK_GROUSE, 0.73, "animal"), (OX, 0.46, "cow"), (BLACK_GROUSE, 0.76, "cow")]
)
def test_an_animal_is_named_where_detector_or_classifier_is_sure_of_it(seen: int, confidence: float, word: str) -> None:
    cow = DetectedObject("cow", (5, 5, 15, 25), Rectangle(5, 5, 15, 25).render(60, 40), confidence)

    class Before(Classifying):
        async def classify(self, image: Pixels, box: Any = None) -> ClassScores:
            if image is PICTURE:
                return await super().classify(image, box)
            return await Classifying(COWBOY_HAT).classify(image, box)

    agreed = asyncio.run(confirm_change(Change("vanished", cow, None), PICTURE, PICTURE.copy(), Before(seen)))  # type: ignore[arg-type]

    assert agreed is not None
    assert agreed.before is not None
    assert agreed.before.label == word


@pytest.mark.parametrize(("seen", "look"), [((KING_PENGUIN, OX), "animal"), ((COWBOY_HAT, SOMBRERO), "hat")])
def test_what_came_without_a_word_looks_like_something_and_has_a_color(seen: tuple[int, int], look: str) -> None:
    after = PICTURE.copy()
    after[5:25, 5:15] = (255, 0, 0)
    place = DetectedObject(None, (5, 5, 15, 25), Rectangle(5, 5, 15, 25).render(60, 40))

    class Both(Classifying):
        async def classify(self, image: Pixels, box: Any = None) -> ClassScores:
            if image is after:
                scores = np.full(1000, 1e-4, np.float32)
                scores[list(seen)] = 0.45  # no single class is certain
                return ClassScores(scores, "imagenet")
            return await super().classify(image, box)

    change = asyncio.run(
        add_details(Change("appeared", None, place), PICTURE, after, place.mask, Both(seen=999))  # type: ignore[arg-type]
    )
    (sentence,) = sentences([change], 60, 40)

    assert (change.looks_like, change.colors) == (look, ("black", "red"))
    assert sentence == f"Something red appeared at the left: 8.3% of the picture; it looks like {with_article(look)}."


def a_face(vector: int, smile: float) -> Faces:
    expressions = np.zeros((1, len(EXPRESSIONS)), np.float32)
    expressions[0, [EXPRESSIONS.index(f"mouthSmile{side}") for side in ("Left", "Right")]] = smile
    return Faces(
        boxes=np.array([[5, 2, 45, 38]], np.float32),
        confidences=np.ones(1, np.float32),
        points=np.zeros((1, 5, 2), np.float32),
        vectors=np.eye(128, dtype=np.float32)[[vector]],
        expressions=expressions,
        angles=np.zeros((1, 3), np.float32),
    )


class SeeingFaces:
    """Sees one face before and another after."""

    def __init__(self, *faces: Faces) -> None:
        self._faces = list(faces)

    async def faces(self, image: Pixels) -> Faces:
        return self._faces.pop(0)


@pytest.mark.parametrize(
    ("after", "changed", "said"),
    [
        (a_face(0, 0.9), True, ["The face at the left smiles."]),
        (a_face(1, 0.9), True, ["The face at the left looks like another person's."]),
        (a_face(1, 0.9), False, []),
        (a_face(0, 0.2), True, []),
    ],
)
def test_what_became_of_a_face_is_told_where_it_changed(after: Faces, changed: bool, said: list[str]) -> None:
    mask = np.full((40, 100), changed)
    wide = np.zeros((40, 100, 3), np.uint8)
    perception: Any = SeeingFaces(a_face(0, 0.0), after)

    assert asyncio.run(face_changes(wide, wide, mask, perception)) == said
