"""Compute disentanglement measures on latent vectors (PixLens, section 3.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from itertools import combinations, permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from editgauge import __version__
from editgauge._stats.intervals import RESAMPLES, Numbers, cluster_draws
from editgauge._stats.resampling import Estimate, estimate, safe_divide
from editgauge.analysis.summary import ALL, summarize
from editgauge.disentanglement._classifier import Classification, RowSet, inter_attribute
from editgauge.disentanglement._latents import Latents, Vector
from editgauge.disentanglement._vocabulary import Vocabulary
from editgauge.errors import BadInputError
from editgauge.results import Run

LatentRows = NDArray[np.floating]
"""Latents of shape (samples, dimensions)."""


def linearity_error(start: LatentRows, first: LatentRows, second: LatentRows, end: LatentRows) -> NDArray[np.float64]:
    """Return the intra-sample error |z_end - (z_start - z_a1 + z_a2)| / |z_end| of each sample.

    0 means that changing the attribute is vector addition in the latent space.

    >>> linearity_error(*(np.array([[x]]) for x in (3.0, 1.0, 2.0, 4.0)))
    array([0.])
    """
    return _relative_error(start + second - first, end)


def linearity_error_as_released(
    start: LatentRows, first: LatentRows, second: LatentRows, end: LatentRows
) -> NDArray[np.float64]:
    """Return the intra-sample error with the signs of the released code, |z_end - (z_a2 + z_a1 - z_start)| / |z_end|.

    The released `compute_norms` swaps the signs of z_start and z_a1 with respect to the paper.

    >>> linearity_error_as_released(*(np.array([[x]]) for x in (3.0, 1.0, 2.0, 4.0)))
    array([1.])
    """
    return _relative_error(second + first - start, end)


def _relative_error(expected: LatentRows, end: LatentRows) -> NDArray[np.float64]:
    lengths = np.linalg.norm(end, axis=1)
    if not lengths.all():
        raise ValueError("the relative error of a latent of length 0 is undefined")
    return np.asarray(np.linalg.norm(end - expected, axis=1) / lengths, dtype=np.float64)


def direction_cosines(changes: LatentRows) -> NDArray[np.float64]:
    """Return the cosines between all pairs of changes that one pair of attributes causes in several objects.

    A change of length 0 has no direction, so its pairs are excluded.

    >>> direction_cosines(np.array([[1.0, 0.0], [-2.0, 0.0], [0.0, 0.0]]))
    array([-1.])
    """
    lengths = np.linalg.norm(changes, axis=1)
    moved = lengths > 0
    unit = changes[moved] / lengths[moved, None]
    above = np.triu_indices(len(unit), k=1)
    return np.asarray(np.clip((unit @ unit.T)[above], -1, 1), dtype=np.float64)


MIN_MODELS_TO_CORRELATE = 3
EDIT_SCORE = "edit"


@dataclass(frozen=True, slots=True)
class KindScores:
    """The scores of one kind of attribute, or of all kinds."""

    kind: str
    attributes: int
    error: Estimate
    """Intra-sample error relative to the length of the latent; lower is better."""
    error_released: Estimate
    """Intra-sample error with the signs of the released code."""
    agreement: Estimate
    """Inter-sample agreement: mean squared cosine of one attribute change over objects; higher is better."""
    cosine_released: Estimate
    """Mean cosine instead of its square, as released."""


@dataclass(frozen=True, slots=True)
class Disentanglement:
    """The scores of one model, as in table 3."""

    model: str
    size: int
    """Dimensions of a latent."""
    prompts: int
    latents_sha256: str
    made: Mapping[str, Any]
    """Settings that created the latents, if recorded."""
    overall: KindScores
    kinds: tuple[KindScores, ...]
    classified: tuple[Classification, ...]
    """Classifier results; the first is ours: split by attribute, without attributes of several kinds."""


@dataclass(frozen=True, slots=True)
class EditScoreComparison:
    """One disentanglement score against one edit score, over the models that have both."""

    score: str
    """Name of the disentanglement score."""
    protocol: str
    benchmark: str
    models: tuple[str, ...]
    disentanglement: tuple[float, ...]
    edit: tuple[float, ...]
    pearson: float | None
    """None for fewer than three models, or when a score is constant."""


@dataclass(frozen=True, slots=True)
class _PairValues:
    """Sums and counts of a measure over the cases of each pair of attributes of one kind."""

    sums: Numbers
    counts: Numbers

    @classmethod
    def from_cases(cls, attributes: int, values: Mapping[tuple[int, int], Numbers]) -> _PairValues:
        sums, counts = np.zeros((2, attributes, attributes))
        for pair, cases in values.items():
            sums[pair], counts[pair] = cases.sum(), cases.size
        return cls(sums, counts)

    def resample(self, seed: int) -> tuple[Numbers, Numbers]:
        """Return sums and counts of bootstrap samples of the attributes."""
        times = np.concatenate([*cluster_draws(len(self.sums), RESAMPLES, seed)]).astype(np.float64)
        return ((times @ self.sums) * times).sum(axis=1), ((times @ self.counts) * times).sum(axis=1)


def disentanglement(
    latents: Latents, vocabulary: Vocabulary, seed: int = 0, row_sets: Sequence[RowSet] = ("figures",)
) -> Disentanglement:
    """Compute the three scores of one model, by kind and overall.

    Args:
        latents: latents of all prompts.
        vocabulary: objects and attributes.
        seed: seed of splits and resampling.
        row_sets: sets of rows on which the classifier of the released code is fitted as well.

    """
    tables = {
        kind: _measure_kind(latents.vectors, words, vocabulary.objects) for kind, words in vocabulary.kinds.items()
    }
    kinds = tuple(_scores(kind, [table], [seed]) for kind, table in tables.items())
    return Disentanglement(
        latents.model,
        latents.size,
        len(vocabulary.prompts),
        latents.sha256,
        latents.made,
        _scores(ALL, list(tables.values()), [seed + index for index in range(len(tables))]),
        kinds,
        inter_attribute(latents, vocabulary, seed, row_sets),
    )


def _measure_kind(
    vectors: Mapping[str, Vector], words: Sequence[str], objects: Sequence[str]
) -> dict[str, _PairValues]:
    """Compute every measure for every pair of attributes; the error is asymmetric, so both directions count."""
    alone = [vectors[word].astype(np.float64)[None] for word in words]
    with_objects = [np.stack([vectors[f"{word} {name}"] for name in objects]).astype(np.float64) for word in words]
    directions = list(permutations(range(len(words)), 2))
    errors = {(a, b): linearity_error(with_objects[a], alone[a], alone[b], with_objects[b]) for a, b in directions}
    released = {
        (a, b): linearity_error_as_released(with_objects[a], alone[a], alone[b], with_objects[b]) for a, b in directions
    }
    cosines = {
        (a, b): direction_cosines(with_objects[b] - with_objects[a]) for a, b in combinations(range(len(words)), 2)
    }
    squares = {pair: cosine**2 for pair, cosine in cosines.items()}
    measures = {"error": errors, "error_released": released, "agreement": squares, "cosine_released": cosines}
    return {name: _PairValues.from_cases(len(words), values) for name, values in measures.items()}


def _scores(kind: str, tables: Sequence[Mapping[str, _PairValues]], seeds: Sequence[int]) -> KindScores:
    def estimate_of(name: str) -> Estimate:
        return _estimate([table[name] for table in tables], seeds)

    attributes = sum(len(table["error"].sums) for table in tables)
    names = ("error", "error_released", "agreement", "cosine_released")
    return KindScores(kind, attributes, *map(estimate_of, names))


def _estimate(parts: Sequence[_PairValues], seeds: Sequence[int]) -> Estimate:
    n = int(sum(part.counts.sum() for part in parts))
    attributes = sum(len(part.sums) for part in parts)
    if not n:
        return Estimate(None, None, None, 0, attributes, "the latents do not change with the attribute")
    value = float(sum(part.sums.sum() for part in parts)) / n
    drawn = [part.resample(seed) for part, seed in zip(parts, seeds, strict=True)]
    sums, counts = (np.sum(column, axis=0) for column in zip(*drawn, strict=True))
    return estimate(value, safe_divide(sums, counts), n, attributes)


HEADLINES: dict[str, Callable[[Disentanglement], float | None]] = {
    "intra-sample error ↓": lambda model: model.overall.error.value,
    "inter-sample agreement ↑": lambda model: model.overall.agreement.value,
    "balanced accuracy ↑": lambda model: model.classified[0].balanced_accuracy.value,
}


def compare_with_edit_scores(models: Sequence[Disentanglement], runs: Sequence[Run]) -> tuple[EditScoreComparison, ...]:
    """Compare each disentanglement score with mean `edit` scores; methods and models match by name."""
    pairs: list[EditScoreComparison] = []
    for run in runs:
        means = _mean_edit_scores(run)
        if not any(model.model in by_method for by_method in means.values() for model in models):
            raise BadInputError(
                f"Nothing in the run '{run.folder}' matches the latents. Methods must have the names of the "
                f"models ({', '.join(model.model for model in models)}) and have a score 'edit'; "
                f"its methods are {', '.join(run.manifest.methods)}, its protocols {', '.join(run.manifest.protocols)}."
            )
        benchmark = run.manifest.benchmark
        pairs += [
            _compare(score, name, benchmark, models, by_method)
            for name, by_method in means.items()
            for score in HEADLINES
        ]
    return tuple(pairs)


def _mean_edit_scores(run: Run) -> dict[str, dict[str, float]]:
    """Return the mean `edit` score by protocol and method."""
    means: dict[str, dict[str, float]] = {}
    for cell in summarize(run):
        if cell.edit_type == ALL and cell.spec.name == EDIT_SCORE and cell.mean:
            means.setdefault(cell.protocol, {})[cell.method] = cell.mean.value
    return means


def _compare(
    score: str, protocol: str, benchmark: str, models: Sequence[Disentanglement], means: Mapping[str, float]
) -> EditScoreComparison:
    values = {model.model: HEADLINES[score](model) for model in models if model.model in means}
    both = {model: value for model, value in values.items() if value is not None}
    scores, edits = tuple(both.values()), tuple(means[model] for model in both)
    return EditScoreComparison(score, protocol, benchmark, tuple(both), scores, edits, _pearson(scores, edits))


def _pearson(scores: Sequence[float], edits: Sequence[float]) -> float | None:
    if len(scores) < MIN_MODELS_TO_CORRELATE or len(set(scores)) == 1 or len(set(edits)) == 1:
        return None
    return float(stats.pearsonr(scores, edits).statistic)


def to_json(
    models: Sequence[Disentanglement], vocabulary: Vocabulary, comparisons: Sequence[EditScoreComparison], seed: int
) -> dict[str, Any]:
    """Return all results as JSON values, with seed, vocabulary and library versions."""
    libraries = {name: version(name) for name in ("numpy", "scikit-learn", "scipy")}
    return {
        "editgauge": __version__,
        "libraries": libraries,
        "seed": seed,
        "vocabulary": vocabulary.describe(),
        "models": [asdict(model) for model in models],
        "beside": [asdict(comparison) for comparison in comparisons],
    }
