"""CLIP-T, CLIP-I and directional CLIP: in closed form, and through a small CLIP that is saved and loaded."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from editgauge._util.images import ImageFile, Pixels
from editgauge.benchmarks.attributes import EXTRA
from editgauge.engine._perception import RunPerception
from editgauge.errors import BadInputError
from editgauge.evidence import Heat, Note, from_json, to_json
from editgauge.metrics.embeddings import cosine_similarity, unit_vectors
from editgauge.protocols.augclip._hyperplane import relative_weights
from editgauge.protocols.clip_family import ClipFamily, clip_family
from editgauge.types import Edit, Item, Outcome, Score, Scores, Unscored
from tests.small_clip import small_clip

CAPTIONS: dict[str, Any] = {"source_caption": "a red cat", "target_caption": "a blue cat"}
ATTRIBUTES = {"source": ["red cat", "small cat", "cat on grass"], "target": ["blue cat", "blue hat"], "by": "rules.v1"}
AUGMENTED = (
    "clip_directional_source_attributes",
    "clip_directional_target_attributes",
    "clip_directional_attributes",
)


def picture(seed: int) -> Pixels:
    random = np.random.default_rng(seed)
    return np.asarray(np.kron(random.integers(0, 256, (4, 4, 3)), np.ones((10, 15, 1))), dtype=np.uint8)


def item(seed: int = 1, attributes: Any = None, **fields: Any) -> Item:
    extras = {} if attributes is None else {EXTRA: attributes}
    told = {"type": "color", "instruction": "make the cat blue", **fields}
    return Item(
        edit=Edit(id="e", source=ImageFile("p", Path("/p")), extras=extras, **told),
        outcome=Outcome(edit_id="e", method="m", image=Path("/o")),
        source=picture(0),
        edited=picture(seed),
    )


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> str:
    return small_clip(tmp_path_factory.mktemp("clip"))


def scored(one: Item, clip: str, protocol: ClipFamily = clip_family) -> Scores:
    async def ask() -> Scores:
        async with RunPerception({"joint_embedder": clip}) as perception:
            return await protocol.score(one, perception)

    return asyncio.run(ask())


class Told:
    """A joint embedder for tests only, which gives the vectors it was told."""

    def __init__(self, edited: Sequence[float], texts: Mapping[str, Sequence[float]]) -> None:
        self._edited = unit_vectors(np.array(edited))
        self._texts = texts

    async def joint_image(self, image: Pixels) -> NDArray[np.float64]:
        return np.array([1.0, 0, 0]) if np.array_equal(image, picture(0)) else self._edited

    async def joint_text(self, text: str) -> NDArray[np.float64]:
        return unit_vectors(np.array(self._texts[text], dtype=float))


def told(protocol: ClipFamily, one: Item, perception: Told) -> dict[str, float]:
    result = asyncio.run(protocol.score(one, perception))  # type: ignore[arg-type]
    return {name: score.value for name, score in result.items() if isinstance(score, Score)}


def notes(score: Score | Unscored) -> str:
    return " ".join(piece.text for piece in score.evidence if isinstance(piece, Note))


def heats(scores: Scores) -> dict[str, Heat]:
    return {name: piece for name, score in scores.items() for piece in score.evidence if isinstance(piece, Heat)}


TEXTS = {"a red cat": (1, 0, 1), "a blue cat": (0, 1, 1), "s1": (1, 0, 0), "s2": (0, 0, 1), "t": (0, 1, 0)}


def test_the_three_cosines_of_the_paper() -> None:
    """From x to y with the texts' z in common: the picture goes the very way of the text."""
    result = told(clip_family, item(**CAPTIONS), Told((0, 1, 0), TEXTS))
    assert result == pytest.approx({"clip_t": 0.5**0.5, "clip_i": 0.0, "clip_directional": 1.0})


def test_attributes_take_the_place_of_either_text_or_both() -> None:
    """Eq. 13: the mean of s1 and s2 is (½, 0, ½), and the picture goes (-1, 1, 0)."""
    one = item(attributes={"source": ["s1", "s2"], "target": ["t"]}, **CAPTIONS)
    result = told(clip_family, one, Told((0, 1, 0), TEXTS))
    way, root = np.array([-1.0, 1, 0]), 0.5**0.5
    ends = {
        AUGMENTED[0]: np.array([0, root, root]) - (0.5, 0, 0.5),
        AUGMENTED[1]: np.array([0, 1, 0]) - (root, 0, root),
        AUGMENTED[2]: np.array([0, 1, 0]) - (0.5, 0, 0.5),
    }
    assert {name: result[name] for name in AUGMENTED} == pytest.approx(
        {n: cosine_similarity(way, end) for n, end in ends.items()}
    )


def test_weights_move_the_mean_towards_what_tells_the_sets_apart() -> None:
    """Eq. 14, worked out from the weights of eq. 6 with the mean 1."""
    texts = {"s1": (1, 0, 0.2), "s2": (1, 0.4, 0), "t1": (0, 1, 0), "t2": (0.3, 1, 0.5)}
    one = item(attributes={"source": ["s1", "s2"], "target": ["t1", "t2"]})
    weighted = told(clip_family.variant({"weighted": ""}), one, Told((0, 1, 0), texts))[AUGMENTED[2]]
    source, target = (unit_vectors(np.array([texts[f"{side}{n}"] for n in (1, 2)])) for side in "st")
    weights = relative_weights(source, target).scaled()
    ends = [(entry * by[:, None]).mean(axis=0) for entry, by in ((target, weights.target), (source, weights.source))]
    assert weighted == pytest.approx(cosine_similarity(np.array([-1.0, 1, 0]), ends[0] - ends[1]))
    assert weighted != pytest.approx(told(clip_family, one, Told((0, 1, 0), texts))[AUGMENTED[2]])


def test_a_whole_set_without_positive_weights_is_said() -> None:
    one = item(attributes={"source": ["s1"], "target": ["t"]})
    result = asyncio.run(clip_family.variant({"weighted": ""}).score(one, Told((0, 1, 0), TEXTS)))  # type: ignore[arg-type]
    assert "all attributes weigh the same" in notes(result[AUGMENTED[2]])


def test_every_score_bears_the_encoder_and_every_declared_one_is_given(clip: str) -> None:
    protocol = clip_family.variant({"weighted": ""}).with_models({"joint_embedder": "clip-b16", "detector": "other"})
    result = scored(item(attributes=ATTRIBUTES, **CAPTIONS), clip, protocol)
    assert protocol.name == "clip-family[weighted]"
    assert list(result) == [spec.name for spec in protocol.scores]
    assert all(name.endswith("[clip-b16]") for name in result)
    assert all(isinstance(score, Score) and -1 <= score.value <= 1 for score in result.values())
    assert "Attributes by rules.v1." in notes(result[f"{AUGMENTED[2]}[clip-b16]"])


def test_doing_nothing_keeps_everything_and_goes_nowhere(clip: str) -> None:
    result = scored(item(seed=0, attributes=ATTRIBUTES, **CAPTIONS), clip)
    kept = result["clip_i"]
    assert isinstance(kept, Score)
    assert kept.value == pytest.approx(1.0)
    for name in ("clip_directional", *AUGMENTED):
        nowhere = result[name]
        assert isinstance(nowhere, Unscored)
        assert nowhere.reason == "not_applicable"
        assert "no direction" in nowhere.detail


def test_scores_are_those_of_the_network_itself(clip: str) -> None:
    from editgauge.models.hub.embedders import ClipEmbedder

    embedder = ClipEmbedder(Path(clip.removeprefix("clip:")), device="cpu")
    images, texts = embedder.embed_images([picture(0), picture(1)]), embedder.embed_texts(list(CAPTIONS.values()))
    expected = {
        "clip_t": images[1] @ texts[1],
        "clip_i": images[0] @ images[1],
        "clip_directional": cosine_similarity(images[1] - images[0], texts[1] - texts[0]),
    }
    result = scored(item(**CAPTIONS), clip)
    assert {n: s.value for n, s in result.items() if isinstance(s, Score)} == pytest.approx(expected, abs=1e-5)


def test_the_evidence_says_which_text_was_used(clip: str) -> None:
    own = scored(item(**CAPTIONS), clip)
    assert notes(own["clip_t"]) == 'Target text: "a blue cat" (the edit\'s own caption).'
    made = scored(item(subject="cat", from_="red", to="blue"), clip)
    assert 'Source text: "a red cat" (from the edit\'s parts, by the template ' in notes(made["clip_directional"])
    assert 'Target text: "a blue cat" (from the edit\'s parts, by the template ' in notes(made["clip_directional"])


def test_without_texts_or_attributes_pictures_are_compared_all_the_same(clip: str) -> None:
    result = dict(scored(item(type="action", instruction="let it jump"), clip))
    assert isinstance(result.pop("clip_i"), Score)
    for score in result.values():
        assert isinstance(score, Unscored)
        assert score.reason == "not_applicable"
    details = {name: score.detail for name, score in result.items() if isinstance(score, Unscored)}
    assert "target_caption" in details["clip_t"]
    assert "source_caption" in details["clip_directional"]
    assert "--attributes" in details[AUGMENTED[0]]


def test_maps_cover_the_picture_within_their_range_and_differ_by_text(clip: str) -> None:
    mapping = clip_family.variant({"maps": ""})
    assert heats(scored(item(**CAPTIONS), clip)) == {}
    first = heats(scored(item(**CAPTIONS), clip, mapping))
    other = heats(scored(item(**{**CAPTIONS, "target_caption": "a small black dog"}), clip, mapping))
    assert list(first) == ["clip_t", "clip_directional"]
    assert {name: (heat.signed, heat.on) for name, heat in first.items()} == {
        "clip_t": (False, "edited"),
        "clip_directional": (True, "edited"),
    }
    for name, heat in first.items():
        assert heat.map.shape == (40, 60)
        assert np.abs(heat.map).max() <= 1
        assert np.ptp(heat.map) > 0.1
        assert np.abs(heat.map - other[name].map).max() > 0.01
        back = from_json(to_json(heat))
        assert isinstance(back, Heat)
        assert back.label == heat.label
    assert '"a blue cat"' in first["clip_t"].label
    assert "below 0 less" in first["clip_directional"].label
    assert first["clip_t"].map.min() >= 0
    assert first["clip_directional"].map.min() < 0 < first["clip_directional"].map.max()


def test_the_map_of_a_direction_is_the_difference_of_two(clip: str) -> None:
    from editgauge.models.hub.embedders import ClipEmbedder

    embedder = ClipEmbedder(Path(clip.removeprefix("clip:")), device="cpu")
    before, after = embedder.embed_texts(list(CAPTIONS.values()))
    was, seen = embedder.explain([(picture(0), after - before), (picture(1), after - before)])
    result = heats(scored(item(**CAPTIONS), clip, clip_family.variant({"maps": ""})))["clip_directional"]
    change = seen - was
    np.testing.assert_allclose(result.map, change / np.abs(change).max(), atol=1e-4)


@pytest.mark.parametrize(("options", "problem"), [({"map": ""}, "no option 'map'"), ({"maps": "2"}, "takes no value")])
def test_an_option_that_is_none_is_refused_with_those_that_are(options: dict[str, str], problem: str) -> None:
    with pytest.raises(BadInputError, match=r"maps \(relevancy maps") as refused:
        clip_family.variant(options)
    assert problem in str(refused.value)
