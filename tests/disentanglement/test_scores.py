"""Disentanglement of latents whose truth is known, and folders that cannot be used."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from editgauge.disentanglement._classifier import Classification, Split, confusion_scores, inter_attribute
from editgauge.disentanglement._latents import Latents, model_names, read_latents
from editgauge.disentanglement._scores import (
    Disentanglement,
    compare_with_edit_scores,
    direction_cosines,
    disentanglement,
    linearity_error,
    linearity_error_as_released,
)
from editgauge.disentanglement._vocabulary import Vocabulary, read_vocabulary
from editgauge.errors import BadInputError
from editgauge.results import JournalEntry, Run
from editgauge.results.manifest import ProtocolEntry
from editgauge.types import ScoreSpec

KINDS = ("texture", "color", "style")
OBJECTS = tuple(f"object{number}" for number in range(6))
WORDS = Vocabulary(OBJECTS, {kind: tuple(f"{kind}{number}" for number in range(6)) for kind in KINDS})
WIDTH = 30
"""Numbers for each kind in a latent."""

VERDICT = ProtocolEntry("For tests.", "none", "1", (), (ScoreSpec("edit", True, (0.0, 1.0)),))

Vectors = Mapping[str, Any]


def latents(vectors: Vectors) -> Latents:
    return Latents("model", {prompt: np.asarray(z, dtype=np.float32) for prompt, z in vectors.items()}, "hash")


def factored(seed: int = 0) -> dict[str, Any]:
    """A kind owns its part of the latent: an attribute sets it, an object fills the other parts."""
    draw = np.random.default_rng(seed)
    things = {thing: draw.normal(size=WIDTH * len(KINDS)) for thing in OBJECTS}
    made = {}
    for place, words in enumerate(WORDS.kinds.values()):
        its = slice(place * WIDTH, (place + 1) * WIDTH)
        for word in words:
            made[word] = np.zeros(WIDTH * len(KINDS))
            made[word][its] = draw.normal(size=WIDTH)
            for thing in OBJECTS:
                made[f"{word} {thing}"] = things[thing].copy()
                made[f"{word} {thing}"][its] = made[word][its]
    return made


def noise(seed: int = 0) -> dict[str, Any]:
    draw = np.random.default_rng(seed)
    return {prompt: draw.normal(size=600) for prompt in WORDS.prompts}


def by(result: Disentanglement | tuple[Classification, ...], split: Split) -> Classification:
    entry = result.classified if isinstance(result, Disentanglement) else result
    return next(its for its in entry if its.split == split)


def test_latents_in_which_every_kind_has_its_own_part_are_perfect() -> None:
    result = disentanglement(latents(factored()), WORDS)
    assert result.overall.error.value == pytest.approx(0, abs=1e-6)
    assert result.overall.agreement.value == pytest.approx(1)
    assert result.overall.error_released.value is not None
    assert result.overall.error_released.value > 0.5
    assert [its.error.value for its in result.kinds] == pytest.approx([0, 0, 0], abs=1e-6)
    ours = by(result, "by_attribute")
    assert (ours.accuracy.value, ours.balanced_accuracy.value) == (1, 1)
    assert (ours.accuracy.low, ours.accuracy.high) == (1, 1)
    assert np.array_equal(np.diag(np.diag(ours.confusion)), ours.confusion)


def test_addition_alone_does_not_tell_kinds_apart() -> None:
    """z_a + z_o is linear, but of two objects with one attribute nothing remains of the attribute."""
    draw = np.random.default_rng(0)
    parts = {word: draw.normal(size=40) for words in (OBJECTS, *WORDS.kinds.values()) for word in words}
    made = {prompt: sum(parts[word] for word in prompt.split()) for prompt in WORDS.prompts}
    result = disentanglement(latents(made), WORDS)
    assert result.overall.error.value == pytest.approx(0, abs=1e-5)
    assert result.overall.agreement.value == pytest.approx(1, abs=1e-5)
    assert by(result, "by_attribute").balanced_accuracy.value == pytest.approx(1 / 3, abs=0.05)


def test_noise_is_at_chance_by_attribute_and_leaks_by_row() -> None:
    result = disentanglement(latents(noise()), WORDS)
    assert result.overall.error.value == pytest.approx(2, abs=0.05)
    assert result.overall.agreement.value == pytest.approx(0, abs=0.01)
    ours, released = by(result, "by_attribute").balanced_accuracy, by(result, "by_row").balanced_accuracy
    assert ours.value == pytest.approx(1 / 3, abs=0.1)
    assert released.value is not None
    assert released.value > 0.7


@pytest.mark.slow
def test_noise_in_the_size_of_the_paper_looks_perfect_by_row() -> None:
    """The numbers of docs/how-to/disentangle.md: PixLens's words, latents of 4 x 64 x 64."""
    words = read_vocabulary()
    draw = np.random.default_rng(1)
    result = disentanglement(latents({prompt: draw.normal(size=16_384) for prompt in words.prompts}), words)
    assert by(result, "by_row").balanced_accuracy.value == pytest.approx(1.0, abs=0.005)
    assert by(result, "by_attribute").balanced_accuracy.value == pytest.approx(0.22, abs=0.01)


def test_marks_of_single_attributes_are_no_marks_of_kinds() -> None:
    """Every attribute spreads its objects along axes of its own: known by row, unknown when the attribute is new."""
    draw = np.random.default_rng(0)
    made: dict[str, Any] = {}
    for words in WORDS.kinds.values():
        for word in words:
            spread = draw.permutation(np.repeat([0.0, 1.0], 300))
            made |= {word: draw.normal(size=600)} | {f"{word} {o}": spread * draw.normal(size=600) for o in OBJECTS}
    result = inter_attribute(latents(made), WORDS)
    assert by(result, "by_row").accuracy.value == pytest.approx(1, abs=0.02)
    ours = by(result, "by_attribute").balanced_accuracy.value
    assert ours is not None
    assert ours < 0.55


def test_attributes_are_tested_as_a_whole() -> None:
    result = by(inter_attribute(latents(factored()), WORDS), "by_attribute")
    tested = np.sum(result.confusion, axis=1)
    pairs = len(OBJECTS) * (len(OBJECTS) - 1) // 2
    assert (tested % pairs == 0).all()
    assert result.rows == pairs * 18


def test_order_of_words_and_turn_of_the_latent_space_do_not_matter() -> None:
    made = noise()
    usual = disentanglement(latents(made), WORDS)
    turned_kinds = {kind: words[::-1] for kind, words in reversed([*WORDS.kinds.items()])}
    other = disentanglement(latents(made), Vocabulary(OBJECTS[::-1], turned_kinds))
    for mine, theirs in zip(usual.kinds, reversed(other.kinds), strict=True):
        assert mine.error.value == pytest.approx(theirs.error.value)
        assert mine.agreement.value == pytest.approx(theirs.agreement.value)
    order = np.random.default_rng(1).permutation(600)
    shuffled = disentanglement(latents({prompt: z[order] for prompt, z in made.items()}), WORDS)
    confusions = [
        [its.confusion for its in entry.classified if its.released_rows is None] for entry in (shuffled, usual)
    ]
    assert confusions[0] == confusions[1]


def test_a_model_that_ignores_its_prompt_has_no_directions() -> None:
    result = disentanglement(latents(dict.fromkeys(WORDS.prompts, np.ones(12))), WORDS)
    assert result.overall.error.value == 0
    assert result.overall.agreement.value is None
    assert result.overall.agreement.reason == "the latents do not change with the attribute"
    assert by(result, "by_row").balanced_accuracy.value == pytest.approx(1 / 3, abs=0.05)


def test_a_word_of_two_kinds_is_reported_with_and_without() -> None:
    both = Vocabulary(OBJECTS, {**WORDS.kinds, "style": (*WORDS.kinds["style"], "color0")})
    result = inter_attribute(latents(factored()), both)
    assert [(its.split, its.left_out) for its in result if its.released_rows is None] == [
        ("by_attribute", ("color0",)),
        ("by_attribute", ()),
        ("by_row", ("color0",)),
        ("by_row", ()),
    ]
    without, with_it = (its.accuracy.value for its in result[:2])
    assert without == 1
    assert with_it is not None
    assert with_it < 1  # one row, two names


def test_the_same_seed_gives_the_same_answer() -> None:
    once, again = (inter_attribute(latents(noise()), WORDS, seed=3) for _ in range(2))
    assert once == again


def test_a_folder_gives_its_latents(tmp_path: Path) -> None:
    for prompt, z in factored().items():
        np.save(tmp_path / f"{prompt}.npy", z.reshape(2, -1))
    result = read_latents(tmp_path, WORDS)
    assert (result.model, result.size) == (tmp_path.name, WIDTH * 3)
    assert disentanglement(result, WORDS).overall.error.value == pytest.approx(0, abs=1e-6)
    first = result.sha256
    np.save(tmp_path / "color0.npy", np.ones(WIDTH * 3))
    assert read_latents(tmp_path, WORDS).sha256 != first


def test_all_that_is_wrong_with_a_folder_is_told_at_once(tmp_path: Path) -> None:
    for prompt, z in factored().items():
        np.save(tmp_path / f"{prompt}.npy", z)
    for missing in ("color0", "style1 object2"):
        (tmp_path / f"{missing}.npy").unlink()
    np.save(tmp_path / "color1.npy", np.full(WIDTH * 3, np.nan))
    np.save(tmp_path / "color2.npy", np.ones(7))
    np.save(tmp_path / "color3.npy", np.array(["a"]))
    np.save(tmp_path / "color4.npy", np.zeros(WIDTH * 3))
    (tmp_path / "color5.npy").write_bytes(b"not numpy")
    with pytest.raises(BadInputError) as caught:
        read_latents(tmp_path, WORDS)
    first, *others = caught.value.problems
    assert first == "2 of 126 prompts have no .npy: 'color0', 'style1 object2'"
    assert [problem.split("'")[1] for problem in others] == [
        "color1.npy",
        "color3.npy",
        "color4.npy",
        "color5.npy",
        "color2",
    ]
    assert "NaN" in others[0]
    assert "real numbers" in others[1]
    assert "zeros" in others[2]
    assert others[-1] == "'color2': 7 numbers, where 119 have 90"
    with pytest.raises(BadInputError, match="There is no folder"):
        read_latents(tmp_path / "nowhere", WORDS)


def test_folders_name_their_models(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="Two folders are called 'mine'"):
        model_names([tmp_path / "a" / "mine", tmp_path / "b" / "mine"])
    with pytest.raises(BadInputError, match="Give one folder of latents; got 2"):
        model_names([tmp_path / "a", tmp_path / "b"], needs_one=True)


def test_a_vocabulary_in_the_published_form(tmp_path: Path) -> None:
    file = tmp_path / "words.json"
    file.write_text(json.dumps(read_vocabulary().describe()))
    assert read_vocabulary(file) == read_vocabulary()
    file.write_text(json.dumps({"objects": ["chair"], "color": ["red", "red", "a/b", "blue"]}))
    with pytest.raises(BadInputError) as caught:
        read_vocabulary(file)
    assert list(caught.value.problems) == [
        "'objects' has 1 words; 2 are needed",
        "'color': id 'a/b' holds a path separator",
        "'color' has 'red' twice",
        "it has 1 kinds of attributes; 2 are needed to distinguish kinds",
    ]
    same = ["red", "blue", "green", "pink"]
    file.write_text(json.dumps({"objects": ["chair", "ball"], "color": same, "style": [*same, "retro"]}))
    with pytest.raises(BadInputError) as caught:
        read_vocabulary(file)
    assert list(caught.value.problems) == [
        "'color' has 0 words that no other kind has; 3 are needed",
        "'style' has 1 words that no other kind has; 3 are needed",
    ]
    file.write_text("{")
    with pytest.raises(BadInputError, match="neither JSON nor YAML"):
        read_vocabulary(file)


def test_beside_edit_scores_over_models(
    make_run: Callable[..., Path], make_record: Callable[..., JournalEntry]
) -> None:
    verdicts = {"good": 0.9, "fair": 0.5, "bad": 0.2}
    models = [
        disentanglement(Latents(name, latents(vectors).vectors, name), WORDS)
        for name, vectors in (("good", factored()), ("bad", noise()), ("unseen", noise(1)))
    ]
    records = [make_record("a", {"edit": value}, method=method) for method, value in verdicts.items()]
    run = Run.open(make_run(*records, protocols={"toy": VERDICT}))
    error, agreement, accuracy = compare_with_edit_scores(models, [run])
    assert error.models == ("good", "bad")
    assert (error.edit, error.pearson) == ((0.9, 0.2), None)  # two models are no correlation
    assert accuracy.disentanglement[0] == 1
    assert agreement.score.startswith("inter-sample")
    with pytest.raises(BadInputError, match="Methods must have the names of the models"):
        compare_with_edit_scores(models[2:], [run])


numbers = st.floats(-10, 10).map(lambda value: round(value, 3))
matrices = arrays(np.float64, (4, 5), elements=numbers)


def test_the_error_is_a_share_of_the_end_s_length() -> None:
    """(3, 4) is missed by (0, 1) - (0, 0) = 1 of 5 in length."""
    start, first, second = np.array([[3.0, 3.0]]), np.array([[1.0, 0.0]]), np.array([[1.0, 0.0]])
    assert linearity_error(start, first, second, np.array([[3.0, 4.0]])) == pytest.approx([0.2])


def test_unrelated_latents_miss_by_twice_their_length() -> None:
    start, first, second, end = np.random.default_rng(0).normal(size=(4, 50, 4_000))
    assert linearity_error(start, first, second, end).mean() == pytest.approx(2, abs=0.02)


def test_a_latent_of_no_length_has_no_error() -> None:
    with pytest.raises(ValueError, match="length 0"):
        linearity_error(*np.zeros((4, 1, 3)))


@given(matrices, st.floats(0.1, 10))
def test_scale_and_order_of_objects_do_not_matter(changes: np.ndarray[tuple[int, int]], scale: float) -> None:
    usual = np.sort(direction_cosines(changes))
    assert np.sort(direction_cosines(changes[::-1] * scale)) == pytest.approx(usual, abs=1e-6)
    assert ((usual >= -1) & (usual <= 1)).all()


def test_no_change_has_no_direction() -> None:
    assert direction_cosines(np.zeros((3, 2))).size == 0


def test_a_kind_that_was_not_tested_has_no_say() -> None:
    assert confusion_scores(np.array([[3, 1], [0, 0]])) == (0.75, 0.75)
    with pytest.raises(ValueError, match="empty"):
        confusion_scores(np.zeros((2, 2), dtype=int))


def test_the_released_error_adds_both_attributes_and_takes_the_start_away() -> None:
    draw = np.random.default_rng(0)
    start, first, second, end = draw.normal(size=(4, 3, 7))
    expected = [
        np.linalg.norm(end[row] - (second[row] + first[row] - start[row])) / np.linalg.norm(end[row])
        for row in range(3)
    ]

    assert linearity_error_as_released(start, first, second, end) == pytest.approx(expected)
