"""The inter-attribute score as PixLens's public code computes it: one linear layer, fitted by Adam.

Rows are |z_ao - z_ao'| in the order of that code and are split at random with its own seed, so that rows of one
attribute, and even equal rows, are learned from and tested. There are two sets of rows:

- `figures`: a row for every two objects of a word, 1,485 with PixLens's words. The confusion matrices of figures 15 to
  18 sum to the 446 tests of such a set, with the 94 textures and 110 colors that this split gives.
- `code`: what the public code makes, 107,400 rows: a pair comes once for every attribute that either side was changed
  from, and an object is paired with itself, which gives rows of zeros.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from editgauge._stats.intervals import RESAMPLES, Numbers, cluster_draws
from editgauge._stats.resampling import Estimate, divided, estimate
from editgauge.disentanglement._latents import Latents
from editgauge.disentanglement._vocabulary import Vocabulary

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


Split = Literal["by_attribute", "by_row"]
"""`by_row` is the released one."""
SPLITS: tuple[Split, ...] = get_args(Split)


ROUNDS = 10
"""Splits whose tests are pooled: one alone tests two or three attributes of a kind."""
MOST_ROWS_OF_A_KIND = 500
"""More are sampled with the seed. PixLens's words make 450 at most."""
DIMENSIONS_AT_ONCE = 2_048
NOTHING = 1e-10
"""Share of the largest variance under which a direction is rounding."""


@dataclass(frozen=True, slots=True)
class Classified:
    """How well a linear classifier tells the kinds apart, tested on what it did not learn from."""

    split: Split
    left_out: tuple[str, ...]
    """Attributes of more than one kind that took no part."""
    kinds: tuple[str, ...]
    confusion: tuple[tuple[int, ...], ...]
    """Rows are the true kinds; counts of all rounds."""
    accuracy: Estimate
    balanced_accuracy: Estimate
    chance: float
    """The accuracy of always naming the most frequent kind; the balanced one is 1 / kinds."""
    rows: int
    rounds: int
    released_rows: RowSet | None = None
    """Set when a linear layer was fitted by Adam, as in the public code: on these rows."""


@dataclass(frozen=True, slots=True)
class _Rows:
    """What is classified: one entry per attribute and pair of objects."""

    features: Numbers
    kind: Indices
    attribute: Indices
    """Counts through the attributes of all kinds: one word of two kinds has two numbers."""
    words: tuple[str, ...]
    """Of each attribute."""
    kind_of: Indices
    """Of each attribute."""


def inter_attribute(
    latents: Latents, vocabulary: Vocabulary, seed: int = 0, row_sets: Sequence[RowSet] = ("figures",)
) -> tuple[Classified, ...]:
    """The answers for both splits, without and with the words that belong to more than one kind; ours comes first.

    Last come those of the public code's linear layer, for each of these sets of rows.
    """
    rows = _rows(latents, vocabulary, seed)
    choices = [vocabulary.shared, ()] if vocabulary.shared else [()]
    kinds = tuple(vocabulary.kinds)
    ours = (_classified(rows, kinds, split, left_out, seed) for split in SPLITS for left_out in choices)
    return (*ours, *(_as_released(latents, vocabulary, row_set, seed) for row_set in row_sets))


def _as_released(latents: Latents, vocabulary: Vocabulary, row_set: RowSet, seed: int) -> Classified:
    kinds = tuple(vocabulary.kinds)
    kind_of = np.repeat(np.arange(len(kinds)), [len(words) for words in vocabulary.kinds.values()])
    released = released_answers(latents, vocabulary, row_set, seed)
    counts = np.zeros((len(kind_of), len(kinds)), dtype=np.int64)
    np.add.at(counts, (released.attribute, released.answers), 1)
    by_row = _from_counts(counts, kind_of, kinds, "by_row", released.rows, seed)
    return replace(by_row, rounds=1, released_rows=row_set)


def _classified(rows: _Rows, kinds: tuple[str, ...], split: Split, left_out: tuple[str, ...], seed: int) -> Classified:
    taking_part = ~np.isin(np.array(rows.words), left_out)
    chosen = np.flatnonzero(taking_part[rows.attribute])
    counts = np.zeros((len(rows.words), len(kinds)), dtype=np.int64)
    for is_test in _tests(rows, chosen, split, seed):
        learned, tested = chosen[~is_test], chosen[is_test]
        answers = _answers(rows.features[learned], rows.kind[learned], rows.features[tested])
        np.add.at(counts, (rows.attribute[tested], answers), 1)
    return replace(_from_counts(counts, rows.kind_of, kinds, split, int(chosen.size), seed), left_out=left_out)


def _from_counts(
    counts: Indices, kind_of: Indices, kinds: tuple[str, ...], split: Split, rows: int, seed: int
) -> Classified:
    """From how often each attribute was taken for each kind."""
    confusion = np.stack([counts[kind_of == kind].sum(axis=0) for kind in range(len(kinds))])
    accuracy, balanced = _estimates(counts, kind_of, confusion, seed)
    return Classified(
        split=split,
        left_out=(),
        kinds=kinds,
        confusion=tuple(tuple(map(int, row)) for row in confusion),
        accuracy=accuracy,
        balanced_accuracy=balanced,
        chance=float(confusion.sum(axis=1).max() / confusion.sum()),
        rows=rows,
        rounds=ROUNDS,
    )


def _answers(learned: Numbers, kinds: Indices, tested: Numbers) -> Indices:
    classifier: Any = LogisticRegression(max_iter=EPOCHS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the paper gives it fifty passes, converged or not
        classifier.fit(learned, kinds)
    answers: Indices = classifier.predict(tested)
    return answers


def _tests(rows: _Rows, chosen: Indices, split: Split, seed: int) -> Iterator[NDArray[np.bool_]]:
    """Which of the chosen rows are tested, in each round."""
    draw = np.random.default_rng(seed)
    if split == "by_row":
        for _ in range(ROUNDS):
            yield draw.permutation(chosen.size) < np.ceil(TESTED * chosen.size)
        return
    attribute, words = rows.attribute[chosen], np.array(rows.words)
    there = np.unique(attribute)
    orders = [draw.permutation(there[rows.kind_of[there] == kind]) for kind in np.unique(rows.kind_of)]
    for turn in range(ROUNDS):
        sizes = [max(1, round(TESTED * order.size)) for order in orders]
        picked = [np.roll(order, -turn * size)[:size] for order, size in zip(orders, sizes, strict=True)]
        yield np.isin(words[attribute], words[np.concatenate(picked)])  # by word: one of two kinds is tested as both


def _estimates(counts: Indices, kind_of: Indices, confusion: Indices, seed: int) -> tuple[Estimate, Estimate]:
    """Both accuracies, with intervals clustered by attribute within each kind."""
    right = counts[np.arange(len(counts)), kind_of].astype(np.float64)
    tested = counts.sum(axis=1).astype(np.float64)
    above: list[Numbers] = []
    below: list[Numbers] = []
    for kind in range(len(confusion)):
        attributes = np.flatnonzero((kind_of == kind) & (tested > 0))
        if not attributes.size:
            continue
        drawn = np.concatenate([*cluster_draws(attributes.size, RESAMPLES, seed + kind)]).astype(np.float64)
        above.append(drawn @ right[attributes])
        below.append(drawn @ tested[attributes])
    plain, balanced = confusion_scores(confusion)
    n, clusters = int(tested.sum()), int((tested > 0).sum())
    of_rows = divided(np.sum(above, axis=0), np.sum(below, axis=0))
    of_kinds = np.mean([divided(*pair) for pair in zip(above, below, strict=True)], axis=0)
    return estimate(plain, of_rows, n, clusters), estimate(balanced, of_kinds, n, clusters)


def _rows(latents: Latents, vocabulary: Vocabulary, seed: int) -> _Rows:
    draw = np.random.default_rng(seed)
    place = {prompt: number for number, prompt in enumerate(latents.vectors)}
    attributes = [(kind, word) for kind, words in vocabulary.kinds.items() for word in words]
    kind_of = np.array([list(vocabulary.kinds).index(kind) for kind, _ in attributes])
    pairs = [
        (place[f"{word} {one}"], place[f"{word} {other}"], number)
        for number, (_, word) in enumerate(attributes)
        for one, other in combinations(vocabulary.objects, 2)
    ]
    left, right, attribute = np.array(pairs).T
    sampled = [
        np.sort(draw.permutation(np.flatnonzero(kind_of[attribute] == kind))[:MOST_ROWS_OF_A_KIND])
        for kind in range(len(vocabulary.kinds))
    ]
    kept = np.concatenate(sampled)
    features = _turned(np.stack([*latents.vectors.values()]), left[kept], right[kept])
    words = tuple(word for _, word in attributes)
    return _Rows(features, kind_of[attribute[kept]], attribute[kept], words, kind_of)


def _turned(vectors: NDArray[np.float32], left: Indices, right: Indices) -> Numbers:
    """The rows |left - right| in as few axes as they span.

    The classifier has an L2 penalty and a free offset, so turning and shifting all rows alike changes none of its
    answers; and 16,384 axes become as many as there are rows. Only a slice of the axes is in memory at a time.
    """
    products = np.zeros((left.size, left.size))
    for start in range(0, vectors.shape[1], DIMENSIONS_AT_ONCE):
        slice_ = vectors[:, start : start + DIMENSIONS_AT_ONCE].astype(np.float64)
        rows = np.abs(slice_[left] - slice_[right])
        rows -= rows.mean(axis=0)
        products += rows @ rows.T
    variances, axes = np.linalg.eigh(products)
    real = variances > NOTHING * max(variances[-1], np.finfo(np.float64).tiny)
    if not real.any():
        return np.zeros((left.size, 1))
    unit = np.sqrt(np.trace(products) / (left.size * vectors.shape[1]))
    turned: Numbers = axes[:, real] * np.sqrt(variances[real]) / unit
    return turned


def confusion_scores(confusion: NDArray[np.integer]) -> tuple[float, float]:
    """Return accuracy and balanced accuracy of a confusion matrix whose rows are the true classes.

    Classes without test rows are excluded from the balanced accuracy.

    >>> confusion_scores(np.array([[8, 2], [0, 90]]))
    (0.98, 0.9)
    """
    tested = confusion.sum(axis=1)
    right = np.diag(confusion)
    if not tested.any():
        raise ValueError("an empty confusion matrix has no accuracy")
    return float(right.sum() / tested.sum()), float(np.mean(right[tested > 0] / tested[tested > 0]))
