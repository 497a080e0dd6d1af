"""The inter-attribute score as PixLens's public code computes it: one linear layer, fitted by Adam.

Rows are |z_ao - z_ao'| in the order of that code and are split at random with its own seed, so that rows of one
attribute, and even equal rows, are learned from and tested. There are two sets of rows:

- `figures`: a row for every two objects of a word, 1,485 with PixLens's words. The confusion matrices of figures 15 to
  18 sum to the 446 tests of such a set, with the 94 textures and 110 colors that this split gives.
- `code`: what the public code makes, 107,400 rows: a pair comes once for every attribute that either side was changed
  from, and an object is paired with itself, which gives rows of zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from editgauge.disentanglement.latents import Latents
from editgauge.disentanglement.words import Vocabulary

RowSet = Literal["figures", "code"]
Indices = NDArray[np.int64]
Floats = NDArray[np.float32]

SPLIT_SEED = 42
TESTED = 0.3
EPOCHS = 50
BATCH = 32
LEARNING_RATE = 0.001
DECAY = (0.9, 0.999)
TINY = 1e-8


class Pairs(NamedTuple):
    """The rows to classify, as pairs of prompts."""

    left: Indices
    """Place of the prompt in `prompts`."""
    right: Indices
    attribute: Indices
    """Counts through the attributes of all kinds, as they come in the vocabulary."""
    kind: Indices
    prompts: tuple[str, ...]


class ReleasedAnswers(NamedTuple):
    """What the layer says about the tested rows."""

    attribute: Indices
    answers: Indices
    rows: int


def released_answers(latents: Latents, vocabulary: Vocabulary, row_set: RowSet, seed: int = 0) -> ReleasedAnswers:
    """Fits the layer on 70% of the rows and asks it about the others."""
    pairs = released_pairs(vocabulary, row_set)
    vectors = np.stack([latents.vectors[prompt] for prompt in pairs.prompts])
    # Equal rows are kept once: the code's set would need gigabytes.
    sides = np.sort(np.stack([pairs.left, pairs.right], axis=1), axis=1)
    different, row = np.unique(sides, axis=0, return_inverse=True)
    features: Floats = np.abs(vectors[different[:, 0]] - vectors[different[:, 1]])
    row = row.ravel()
    learned, tested = train_test_split(np.arange(len(row)), test_size=TESTED, random_state=SPLIT_SEED)
    with threadpool_limits(1):  # batches are small: several threads would wait for each other
        weights, offsets = fit_linear_layer(features, row[learned], pairs.kind[learned], len(vocabulary.kinds), seed)
    answers = (features[row[tested]] @ weights + offsets).argmax(axis=1)
    return ReleasedAnswers(pairs.attribute[tested], answers, len(row))


def released_pairs(vocabulary: Vocabulary, row_set: RowSet) -> Pairs:
    """The rows in the order of the public code: by the first sample, then by the second."""
    samples = _samples(vocabulary, row_set)
    prompts = tuple(dict.fromkeys(f"{word} {thing}" for _, _, word, thing in samples))
    place = {prompt: number for number, prompt in enumerate(prompts)}
    by_word: dict[str, list[int]] = {}
    for number, (_, _, word, _) in enumerate(samples):
        by_word.setdefault(word, []).append(number)
    several = [np.array(numbers) for numbers in by_word.values()]
    pairs = np.concatenate([numbers[np.stack(np.triu_indices(len(numbers), k=1), axis=1)] for numbers in several])
    first, second = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))].T
    prompt = np.array([place[f"{word} {thing}"] for _, _, word, thing in samples])
    attribute, kind = (np.array([sample[part] for sample in samples]) for part in (0, 1))
    return Pairs(prompt[first], prompt[second], attribute[first], kind[first], prompts)


def _samples(vocabulary: Vocabulary, row_set: RowSet) -> list[tuple[int, int, str, str]]:
    """Number of the attribute, number of its kind, its word and the object, one for every latent that is compared."""
    samples = []
    first = 0
    for kind, words in enumerate(vocabulary.kinds.values()):
        numbers = range(len(words)) if row_set == "figures" else [new for _, new in permutations(range(len(words)), 2)]
        samples += [(first + number, kind, words[number], thing) for number in numbers for thing in vocabulary.objects]
        first += len(words)
    if row_set == "code":
        return samples
    once: dict[tuple[str, str], tuple[int, int, str, str]] = {}
    for sample in samples:  # a word of two kinds counts for the first
        once.setdefault(sample[2:], sample)
    return list(once.values())


def fit_linear_layer(
    features: Floats, rows: Indices, kinds: Sequence[int] | Indices, classes: int, seed: int
) -> tuple[Floats, Floats]:
    """Weights and offsets of a linear layer with softmax, fitted by Adam in shuffled batches.

    `rows` says which of the features each sample has, `kinds` its class. The seed is of the first weights and of the
    order of samples; the public code has none.
    """
    draw = np.random.default_rng(seed)
    bound = 1 / np.sqrt(features.shape[1])
    layer = draw.uniform(-bound, bound, (features.shape[1] + 1, classes)).astype(np.float32)  # the last row: offsets
    means, squares = np.zeros_like(layer), np.zeros_like(layer)
    wanted = np.eye(classes, dtype=np.float32)[np.asarray(kinds)]
    step = 0
    for _ in range(EPOCHS):
        order = draw.permutation(len(rows))
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            step += 1
            gradient = _gradient(layer, features[rows[batch]], wanted[batch])
            means += (1 - DECAY[0]) * (gradient - means)
            squares += (1 - DECAY[1]) * (gradient * gradient - squares)
            size = LEARNING_RATE / (1 - DECAY[0] ** step)
            layer -= size * means / (np.sqrt(squares / (1 - DECAY[1] ** step)) + TINY)
    return layer[:-1], layer[-1]


def _gradient(layer: Floats, inputs: Floats, wanted: Floats) -> Floats:
    """Of the mean cross-entropy."""
    scores = inputs @ layer[:-1] + layer[-1]
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    error = (shares - wanted) / len(inputs)
    return np.concatenate([inputs.T @ error, error.sum(axis=0, keepdims=True)]).astype(np.float32)
