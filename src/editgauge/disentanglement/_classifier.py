"""Classify the kind of attribute that two objects share (PixLens, section 3.2: the inter-attribute score).

A row is |z_ao - z_ao'| for two objects with one attribute in common; its label is the kind of the attribute. Rows of
one attribute are alike, so a random split, as in the released code, rewards recognizing the attribute instead of its
kind. The default split therefore never has an attribute in both parts.

The released classifier is one linear layer fitted by Adam on randomly split rows, of which there are two sets:

- `figures`: one row per pair of objects and attribute, 1,485 with PixLens's vocabulary. The confusion matrices of
  figures 15 to 18 sum to the 446 tests of this set, with the 94 textures and 110 colors that this split gives.
- `code`: the 107,400 rows of the released code, where a pair appears once for every attribute that either side was
  changed from, and an object is also paired with itself, which gives rows of zeros.
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
from editgauge._stats.resampling import Estimate, estimate, safe_divide
from editgauge.disentanglement._latents import Latents
from editgauge.disentanglement._vocabulary import Vocabulary

RowSet = Literal["figures", "code"]
Indices = NDArray[np.int64]
Floats = NDArray[np.float32]

SPLIT_SEED = 42
TEST_FRACTION = 0.3
EPOCHS = 50
BATCH = 32
LEARNING_RATE = 0.001
ADAM_BETAS = (0.9, 0.999)
ADAM_EPSILON = 1e-8


class Pairs(NamedTuple):
    """Rows to classify, as pairs of prompts."""

    left: Indices
    """Index of the prompt in `prompts`."""
    right: Indices
    attribute: Indices
    """Index of the attribute, counted over all kinds in vocabulary order."""
    kind: Indices
    prompts: tuple[str, ...]


class ReleasedPredictions(NamedTuple):
    """Predictions of the released classifier on its test rows."""

    attribute: Indices
    kinds: Indices
    rows: int


def predict_as_released(
    latents: Latents, vocabulary: Vocabulary, row_set: RowSet, seed: int = 0
) -> ReleasedPredictions:
    """Fit the linear layer on 70% of the rows and classify the others."""
    pairs = released_pairs(vocabulary, row_set)
    vectors = np.stack([latents.vectors[prompt] for prompt in pairs.prompts])
    # Deduplicated, because the rows of `code` would take gigabytes.
    sides = np.sort(np.stack([pairs.left, pairs.right], axis=1), axis=1)
    different, row = np.unique(sides, axis=0, return_inverse=True)
    features: Floats = np.abs(vectors[different[:, 0]] - vectors[different[:, 1]])
    row = row.ravel()
    train, test = train_test_split(np.arange(len(row)), test_size=TEST_FRACTION, random_state=SPLIT_SEED)
    with threadpool_limits(1):  # batches are too small for several threads
        weights, offsets = fit_linear_layer(features, row[train], pairs.kind[train], len(vocabulary.kinds), seed)
    predicted = (features[row[test]] @ weights + offsets).argmax(axis=1)
    return ReleasedPredictions(pairs.attribute[test], predicted, len(row))


def released_pairs(vocabulary: Vocabulary, row_set: RowSet) -> Pairs:
    """Return the rows in the order of the released code: by first sample, then by second."""
    samples = _samples(vocabulary, row_set)
    prompts = tuple(dict.fromkeys(f"{word} {name}" for _, _, word, name in samples))
    index = {prompt: i for i, prompt in enumerate(prompts)}
    by_word: dict[str, list[int]] = {}
    for i, (_, _, word, _) in enumerate(samples):
        by_word.setdefault(word, []).append(i)
    groups = [np.array(indices) for indices in by_word.values()]
    pairs = np.concatenate([group[np.stack(np.triu_indices(len(group), k=1), axis=1)] for group in groups])
    first, second = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))].T
    prompt = np.array([index[f"{word} {name}"] for _, _, word, name in samples])
    attribute, kind = (np.array([sample[part] for sample in samples]) for part in (0, 1))
    return Pairs(prompt[first], prompt[second], attribute[first], kind[first], prompts)


def _samples(vocabulary: Vocabulary, row_set: RowSet) -> list[tuple[int, int, str, str]]:
    """Return attribute index, kind index, attribute and object of every latent that is compared."""
    samples = []
    first = 0
    for kind, words in enumerate(vocabulary.kinds.values()):
        numbers = range(len(words)) if row_set == "figures" else [new for _, new in permutations(range(len(words)), 2)]
        samples += [(first + number, kind, words[number], name) for number in numbers for name in vocabulary.objects]
        first += len(words)
    if row_set == "code":
        return samples
    once: dict[tuple[str, str], tuple[int, int, str, str]] = {}
    for sample in samples:  # an attribute of two kinds counts for the first
        once.setdefault(sample[2:], sample)
    return list(once.values())


def fit_linear_layer(
    features: Floats, rows: Indices, kinds: Sequence[int] | Indices, classes: int, seed: int
) -> tuple[Floats, Floats]:
    """Fit a softmax layer with Adam on shuffled batches; return weights and offsets.

    Args:
        features: distinct feature rows.
        rows: index into `features` of each sample.
        kinds: class of each sample.
        classes: number of classes.
        seed: seed of the initial weights and the order of samples; the released code sets none.

    """
    draw = np.random.default_rng(seed)
    bound = 1 / np.sqrt(features.shape[1])
    layer = draw.uniform(-bound, bound, (features.shape[1] + 1, classes)).astype(np.float32)  # the last row: offsets
    means, squares = np.zeros_like(layer), np.zeros_like(layer)
    targets = np.eye(classes, dtype=np.float32)[np.asarray(kinds)]
    step = 0
    for _ in range(EPOCHS):
        order = draw.permutation(len(rows))
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            step += 1
            gradient = _gradient(layer, features[rows[batch]], targets[batch])
            means += (1 - ADAM_BETAS[0]) * (gradient - means)
            squares += (1 - ADAM_BETAS[1]) * (gradient * gradient - squares)
            size = LEARNING_RATE / (1 - ADAM_BETAS[0] ** step)
            layer -= size * means / (np.sqrt(squares / (1 - ADAM_BETAS[1] ** step)) + ADAM_EPSILON)
    return layer[:-1], layer[-1]


def _gradient(layer: Floats, inputs: Floats, targets: Floats) -> Floats:
    """Return the gradient of the mean cross-entropy."""
    scores = inputs @ layer[:-1] + layer[-1]
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    error = (shares - targets) / len(inputs)
    return np.concatenate([inputs.T @ error, error.sum(axis=0, keepdims=True)]).astype(np.float32)


Split = Literal["by_attribute", "by_row"]
"""`by_row` is the split of the released code."""
SPLITS: tuple[Split, ...] = get_args(Split)


ROUNDS = 10
"""Number of pooled splits: one alone tests only two or three attributes of a kind."""
MAX_ROWS_PER_KIND = 500
"""Larger sets are subsampled; PixLens's vocabulary gives at most 450."""
DIMENSIONS_PER_BLOCK = 2_048
MIN_VARIANCE_RATIO = 1e-10
"""Directions with a smaller share of the largest variance are rounding errors."""


@dataclass(frozen=True, slots=True)
class Classification:
    """Test results of a linear classifier of attribute kinds."""

    split: Split
    left_out: tuple[str, ...]
    """Attributes of several kinds that were excluded."""
    kinds: tuple[str, ...]
    confusion: tuple[tuple[int, ...], ...]
    """Counts over all rounds; rows are the true kinds."""
    accuracy: Estimate
    balanced_accuracy: Estimate
    chance: float
    """Accuracy of always predicting the most frequent kind; for the balanced accuracy it is 1 / kinds."""
    rows: int
    rounds: int
    released_rows: RowSet | None = None
    """Set of rows if the classifier is that of the released code."""


@dataclass(frozen=True, slots=True)
class _Rows:
    """Feature rows, one per attribute and pair of objects."""

    features: Numbers
    kind: Indices
    attribute: Indices
    """Index of the attribute over all kinds; an attribute of two kinds has two."""
    words: tuple[str, ...]
    """Name of each attribute."""
    kind_of: Indices
    """Kind of each attribute."""


def inter_attribute(
    latents: Latents, vocabulary: Vocabulary, seed: int = 0, row_sets: Sequence[RowSet] = ("figures",)
) -> tuple[Classification, ...]:
    """Classify with both splits, without and with the attributes of several kinds, then as released.

    The first result is the default one: split by attribute, without the attributes of several kinds.
    """
    rows = _rows(latents, vocabulary, seed)
    choices = [vocabulary.shared, ()] if vocabulary.shared else [()]
    kinds = tuple(vocabulary.kinds)
    ours = (_classify(rows, kinds, split, left_out, seed) for split in SPLITS for left_out in choices)
    return (*ours, *(_as_released(latents, vocabulary, row_set, seed) for row_set in row_sets))


def _as_released(latents: Latents, vocabulary: Vocabulary, row_set: RowSet, seed: int) -> Classification:
    kinds = tuple(vocabulary.kinds)
    kind_of = np.repeat(np.arange(len(kinds)), [len(words) for words in vocabulary.kinds.values()])
    released = predict_as_released(latents, vocabulary, row_set, seed)
    counts = np.zeros((len(kind_of), len(kinds)), dtype=np.int64)
    np.add.at(counts, (released.attribute, released.kinds), 1)
    by_row = _from_counts(counts, kind_of, kinds, "by_row", rows=released.rows, seed=seed)
    return replace(by_row, rounds=1, released_rows=row_set)


def _classify(
    rows: _Rows, kinds: tuple[str, ...], split: Split, left_out: tuple[str, ...], seed: int
) -> Classification:
    is_included = ~np.isin(np.array(rows.words), left_out)
    included = np.flatnonzero(is_included[rows.attribute])
    counts = np.zeros((len(rows.words), len(kinds)), dtype=np.int64)
    for is_test in _splits(rows, included, split, seed):
        train, test = included[~is_test], included[is_test]
        predicted = _predict(rows.features[train], rows.kind[train], rows.features[test])
        np.add.at(counts, (rows.attribute[test], predicted), 1)
    result = _from_counts(counts, rows.kind_of, kinds, split, rows=int(included.size), seed=seed)
    return replace(result, left_out=left_out)


def _from_counts(
    counts: Indices, kind_of: Indices, kinds: tuple[str, ...], split: Split, *, rows: int, seed: int
) -> Classification:
    """Build the result from counts of predicted kinds per attribute."""
    confusion = np.stack([counts[kind_of == kind].sum(axis=0) for kind in range(len(kinds))])
    accuracy, balanced = _estimates(counts, kind_of, confusion, seed)
    return Classification(
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


def _predict(train: Numbers, kinds: Indices, test: Numbers) -> Indices:
    classifier: Any = LogisticRegression(max_iter=EPOCHS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the paper trains fifty epochs, converged or not
        classifier.fit(train, kinds)
    predicted: Indices = classifier.predict(test)
    return predicted


def _splits(rows: _Rows, included: Indices, split: Split, seed: int) -> Iterator[NDArray[np.bool_]]:
    """Yield which of the included rows are test rows, for each round."""
    draw = np.random.default_rng(seed)
    if split == "by_row":
        for _ in range(ROUNDS):
            yield draw.permutation(included.size) < np.ceil(TEST_FRACTION * included.size)
        return
    attribute, words = rows.attribute[included], np.array(rows.words)
    present = np.unique(attribute)
    orders = [draw.permutation(present[rows.kind_of[present] == kind]) for kind in np.unique(rows.kind_of)]
    for turn in range(ROUNDS):
        sizes = [max(1, round(TEST_FRACTION * order.size)) for order in orders]
        picked = [np.roll(order, -turn * size)[:size] for order, size in zip(orders, sizes, strict=True)]
        yield np.isin(words[attribute], words[np.concatenate(picked)])  # by name, for attributes of two kinds


def _estimates(counts: Indices, kind_of: Indices, confusion: Indices, seed: int) -> tuple[Estimate, Estimate]:
    """Estimate both accuracies with intervals clustered by attribute within each kind."""
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
    of_rows = safe_divide(np.sum(above, axis=0), np.sum(below, axis=0))
    of_kinds = np.mean([safe_divide(*pair) for pair in zip(above, below, strict=True)], axis=0)
    return estimate(plain, of_rows, n, clusters), estimate(balanced, of_kinds, n, clusters)


def _rows(latents: Latents, vocabulary: Vocabulary, seed: int) -> _Rows:
    draw = np.random.default_rng(seed)
    index = {prompt: i for i, prompt in enumerate(latents.vectors)}
    attributes = [(kind, word) for kind, words in vocabulary.kinds.items() for word in words]
    kind_of = np.array([list(vocabulary.kinds).index(kind) for kind, _ in attributes])
    pairs = [
        (index[f"{word} {first}"], index[f"{word} {second}"], i)
        for i, (_, word) in enumerate(attributes)
        for first, second in combinations(vocabulary.objects, 2)
    ]
    left, right, attribute = np.array(pairs).T
    sampled = [
        np.sort(draw.permutation(np.flatnonzero(kind_of[attribute] == kind))[:MAX_ROWS_PER_KIND])
        for kind in range(len(vocabulary.kinds))
    ]
    rows = np.concatenate(sampled)
    features = _project(np.stack([*latents.vectors.values()]), left[rows], right[rows])
    words = tuple(word for _, word in attributes)
    return _Rows(features, kind_of[attribute[rows]], attribute[rows], words, kind_of)


def _project(vectors: NDArray[np.float32], left: Indices, right: Indices) -> Numbers:
    """Project the rows |left - right| onto the axes that they span.

    The classifier has an L2 penalty and a free offset, so rotating and shifting all rows does not change its
    predictions, and 16,384 dimensions shrink to the number of rows. Dimensions are processed in blocks to save memory.
    """
    products = np.zeros((left.size, left.size))
    for start in range(0, vectors.shape[1], DIMENSIONS_PER_BLOCK):
        slice_ = vectors[:, start : start + DIMENSIONS_PER_BLOCK].astype(np.float64)
        rows = np.abs(slice_[left] - slice_[right])
        rows -= rows.mean(axis=0)
        products += rows @ rows.T
    variances, axes = np.linalg.eigh(products)
    real = variances > MIN_VARIANCE_RATIO * max(variances[-1], np.finfo(np.float64).tiny)
    if not real.any():
        return np.zeros((left.size, 1))
    unit = np.sqrt(np.trace(products) / (left.size * vectors.shape[1]))
    projected: Numbers = axes[:, real] * np.sqrt(variances[real]) / unit
    return projected


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
