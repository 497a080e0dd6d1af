"""The public code's classifier: its rows, its split, and its layer against torch's."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from sklearn.model_selection import train_test_split

from editgauge.disentanglement._classifier import (
    BATCH,
    EPOCHS,
    LEARNING_RATE,
    SPLIT_SEED,
    fit_linear_layer,
    predict_as_released,
    released_pairs,
)
from editgauge.disentanglement._latents import Latents
from editgauge.disentanglement._vocabulary import Vocabulary, read_vocabulary

SMALL = Vocabulary(("chair", "ball", "cup"), {"color": ("red", "blue", "odd"), "style": ("retro", "odd")})


def test_the_rows_of_the_public_code_come_in_its_order() -> None:
    """A loop over all changes and, for each, over the later ones to the same attribute, as the code does it."""
    changes = [
        (kind, new, thing)
        for kind, words in SMALL.kinds.items()
        for _, new in permutations(words, 2)
        for thing in SMALL.objects
    ]
    expected = [
        (f"{new} {thing}", f"{new} {later_thing}", kind)
        for place, (kind, new, thing) in enumerate(changes)
        for _, later, later_thing in changes[place + 1 :]
        if later == new
    ]

    pairs = released_pairs(SMALL, "code")

    kinds = list(SMALL.kinds)
    rows = zip(pairs.left, pairs.right, pairs.kind, strict=True)
    assert [(pairs.prompts[left], pairs.prompts[right], kinds[kind]) for left, right, kind in rows] == expected


def test_the_figures_have_as_many_tests_as_printed() -> None:
    """Figures 15 to 18: 94 textures, 110 colors, 104 styles and 138 patterns; a style and a pattern share a word."""
    vocabulary = read_vocabulary()
    pairs = released_pairs(vocabulary, "figures")
    _, tested = train_test_split(pairs.kind, test_size=0.3, random_state=SPLIT_SEED)
    texture, color, style, pattern = np.bincount(tested)
    assert list(vocabulary.kinds) == ["texture", "color", "style", "pattern"]
    assert (texture, color, style + pattern) == (94, 110, 104 + 138)
    assert len(released_pairs(vocabulary, "code").kind) == 107_400


def test_noise_is_classified_right_because_rows_of_an_attribute_are_in_both_parts() -> None:
    draw = np.random.default_rng(0)
    vocabulary = read_vocabulary()
    vectors = {prompt: draw.normal(size=600).astype(np.float32) for prompt in vocabulary.prompts}
    released = predict_as_released(Latents("noise", vectors, ""), vocabulary, "figures")
    kind_of = np.repeat(np.arange(4), [len(words) for words in vocabulary.kinds.values()])
    assert released.rows == 1_485
    assert np.mean(kind_of[released.attribute] == released.kinds) > 0.6  # chance: 0.3


def test_the_layer_is_that_of_torch() -> None:
    torch = pytest.importorskip("torch", reason="NOT TEST_FRACTION: torch is not installed")
    draw = np.random.default_rng(1)
    features = draw.normal(size=(40, 5)).astype(np.float32)
    kinds = draw.integers(0, 3, 40)

    weights, offsets = fit_linear_layer(features, np.arange(40), kinds, 3, seed=7)

    again = np.random.default_rng(7)
    bound = 1 / np.sqrt(5)
    first = again.uniform(-bound, bound, (6, 3)).astype(np.float32)
    layer = torch.nn.Linear(5, 3)
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(first[:-1].T.copy()))
        layer.bias.copy_(torch.from_numpy(first[-1]))
    optimizer = torch.optim.Adam(layer.parameters(), lr=LEARNING_RATE)
    for _ in range(EPOCHS):
        order = again.permutation(40)
        for start in range(0, 40, BATCH):
            batch = order[start : start + BATCH]
            optimizer.zero_grad()
            scores = layer(torch.from_numpy(features[batch]))
            torch.nn.functional.cross_entropy(scores, torch.from_numpy(kinds[batch])).backward()
            optimizer.step()
    np.testing.assert_allclose(weights.T, layer.weight.detach().numpy(), atol=1e-5)
    np.testing.assert_allclose(offsets, layer.bias.detach().numpy(), atol=1e-5)
