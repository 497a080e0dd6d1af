"""The classifier is asked for a second opinion about what a detector calls a new thing."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from editgauge.core.images import Pixels
from editgauge.core.masks import Rectangle
from editgauge.models.answers import ClassScores
from editgauge.protocols._shared.second_look import confirmed
from editgauge.vision.object_changes import Change, PicturedThing

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
    person = PicturedThing("person", (5, 5, 15, 25), Rectangle(5, 5, 15, 25).render(60, 40), 0.77)
    change = Change("appeared", None, person)

    agreed = asyncio.run(confirmed(change, PICTURE, PICTURE, Classifying(seen)))  # type: ignore[arg-type]

    assert (agreed is not None) == believed
