"""Phrases for surroundings: the scenes and attributes of Places365 that stand for them."""

from __future__ import annotations

import numpy as np
import pytest

from editgauge.errors import UnscorableError
from editgauge.models.answers import MIN_ATTRIBUTE_MARGIN, MIN_SCENE_SHARE, SceneScores
from editgauge.models.vocabulary.places import attribute_names, attributes_of, indoor_scenes, scene_names, scenes_of


def scores(share: dict[str, float], margins: dict[str, float]) -> SceneScores:
    """Return scores with these values and nothing else."""
    probabilities = np.zeros(len(scene_names()), np.float32)
    for name, value in share.items():
        probabilities[scene_names().index(name)] = value
    attributes = np.full(len(attribute_names()), -2.0, np.float32)
    for name, value in margins.items():
        attributes[attribute_names().index(name)] = value
    return SceneScores(probabilities, attributes)


def test_the_lists_are_those_of_the_network() -> None:
    assert (len(scene_names()), len(set(scene_names()))) == (365, 365)
    assert len(set(attribute_names())) == 102
    assert len(indoor_scenes()) == 160
    assert scene_names()[0] == "airfield"
    assert scene_names()[364] == "zen garden"


@pytest.mark.parametrize(
    ("phrase", "scene"),
    [
        ("a dense forest", "forest/broadleaf"),
        ("the woods", "rainforest"),
        ("sandy beaches", "beach"),
        ("a busy city street at night", "crosswalk"),
        ("kitchen", "kitchen"),
        ("churches", "church/indoor"),
        ("the Lighthouse", "lighthouse"),
        ("top of a mountain", "mountain"),
    ],
)
def test_phrases_cover_scenes(phrase: str, scene: str) -> None:
    assert scene in {scene_names()[index] for index in scenes_of(phrase)}


@pytest.mark.parametrize(("phrase", "attribute"), [("green grass", "grass"), ("Trees", "trees"), ("water", "ocean")])
def test_phrases_cover_attributes(phrase: str, attribute: str) -> None:
    assert attribute in {attribute_names()[index] for index in attributes_of(phrase)}


@pytest.mark.parametrize("phrase", ["", "a zebra", "happiness", "42"])
def test_other_phrases_cover_nothing(phrase: str) -> None:
    assert not scenes_of(phrase)
    assert not attributes_of(phrase)
    for ask in (scores({}, {}).share, scores({}, {}).margin, scores({}, {}).shows):
        with pytest.raises(UnscorableError, match="Places365"):
            ask(phrase)


def test_a_word_is_shown_by_a_scene_or_by_an_attribute() -> None:
    assert scores({"snowfield": MIN_SCENE_SHARE}, {}).shows("snow")
    assert scores({}, {"snow": MIN_ATTRIBUTE_MARGIN}).shows("snow")
    assert not scores({"beach": 0.9}, {"grass": 1.0}).shows("snow")


def test_shares_add_up_and_indoor_scenes_are_not_outdoors() -> None:
    mixed = scores({"kitchen": 0.5, "galley": 0.25, "beach": 0.25}, {})
    assert mixed.share("kitchen") == pytest.approx(0.75)
    assert mixed.outdoor == pytest.approx(0.25)
    assert mixed.top(1) == [("kitchen", 0.5)]
