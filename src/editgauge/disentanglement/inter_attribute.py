"""Can a line tell which kind of attribute two objects share? (PixLens, section 3.2: the inter-attribute score.)

A row is |z_ao - z_ao'|, what remains of two objects with one attribute in common, and its label the attribute's kind.
Rows of one attribute are alike. When some of them are learned from and others tested, as the released code does, the
classifier may know the attribute again instead of its kind; so ours never has an attribute in both parts.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from editgauge._stats.intervals import RESAMPLES, Numbers, cluster_draws
from editgauge._stats.resampling import Estimate, estimate, safe_divide
from editgauge.disentanglement.latents import Latents
from editgauge.disentanglement.measures import confusion_scores
from editgauge.disentanglement.released import RowSet, released_answers
from editgauge.disentanglement.words import Vocabulary

Split = Literal["by_attribute", "by_row"]
"""`by_row` is the released one."""
SPLITS: tuple[Split, ...] = get_args(Split)
Indices = NDArray[np.int64]

TESTED = 0.3
EPOCHS = 50
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
    of_rows = safe_divide(np.sum(above, axis=0), np.sum(below, axis=0))
    of_kinds = np.mean([safe_divide(*pair) for pair in zip(above, below, strict=True)], axis=0)
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
