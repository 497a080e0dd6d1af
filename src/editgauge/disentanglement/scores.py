"""How well a model's latents keep attributes apart: PixLens's three scores, and a comparison with edit scores.

Intervals are clustered by attribute within each kind: another list of colors would have given other numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from itertools import combinations, permutations
from typing import Any

import numpy as np
from scipy import stats

from editgauge import __version__
from editgauge._stats.intervals import RESAMPLES, Numbers, cluster_draws
from editgauge._stats.resampling import Estimate, estimate, safe_divide
from editgauge.analysis.summary import ALL, summarize
from editgauge.disentanglement.inter_attribute import Classified, inter_attribute
from editgauge.disentanglement.latents import Latents, Vector
from editgauge.disentanglement.measures import direction_cosines, linearity_error, linearity_error_as_released
from editgauge.disentanglement.released import RowSet
from editgauge.disentanglement.words import Vocabulary
from editgauge.errors import BadInputError
from editgauge.results import Run

FEWEST_TO_CORRELATE = 3
VERDICT = "edit"


@dataclass(frozen=True, slots=True)
class KindScores:
    """The scores of one kind of attribute, or of all kinds."""

    kind: str
    attributes: int
    error: Estimate
    """Intra-sample: how far adding the change of attribute misses, as a share of a latent's length. Lower is better."""
    error_released: Estimate
    """The same with the released code's signs."""
    agreement: Estimate
    """Inter-sample: mean squared cosine of one change of attribute on several objects. Higher is better."""
    cosine_released: Estimate
    """The plain cosine, as released."""


@dataclass(frozen=True, slots=True)
class Disentanglement:
    """Everything table 3 says about one model."""

    model: str
    size: int
    """Numbers in one latent."""
    prompts: int
    latents_sha256: str
    made: Mapping[str, Any]
    """How the latents were made, where that is known."""
    overall: KindScores
    kinds: tuple[KindScores, ...]
    classified: tuple[Classified, ...]
    """Ours first: split by attribute, without the words of more than one kind."""


@dataclass(frozen=True, slots=True)
class Beside:
    """One disentanglement score compared with one edit score, over the models that have both."""

    score: str
    """Of the disentanglement."""
    protocol: str
    benchmark: str
    models: tuple[str, ...]
    disentanglement: tuple[float, ...]
    edit: tuple[float, ...]
    pearson: float | None
    """None with fewer than three models, or when one score is the same for all."""


@dataclass(frozen=True, slots=True)
class _OfPairs:
    """A value for every pair of attributes of one kind, and from how many cases it is."""

    sums: Numbers
    counts: Numbers

    @classmethod
    def of(cls, attributes: int, values: Mapping[tuple[int, int], Numbers]) -> _OfPairs:
        sums, counts = np.zeros((2, attributes, attributes))
        for pair, cases in values.items():
            sums[pair], counts[pair] = cases.sum(), cases.size
        return cls(sums, counts)

    def drawn(self, seed: int) -> tuple[Numbers, Numbers]:
        """Sums and counts when attributes are drawn with replacement."""
        times = np.concatenate([*cluster_draws(len(self.sums), RESAMPLES, seed)]).astype(np.float64)
        return ((times @ self.sums) * times).sum(axis=1), ((times @ self.counts) * times).sum(axis=1)


def disentanglement(
    latents: Latents, vocabulary: Vocabulary, seed: int = 0, row_sets: Sequence[RowSet] = ("figures",)
) -> Disentanglement:
    """The three scores of one model, by kind and overall; the public code's classifier on these sets of rows."""
    tables = {kind: _of_kind(latents.vectors, words, vocabulary.objects) for kind, words in vocabulary.kinds.items()}
    kinds = tuple(_scores(kind, [table], [seed]) for kind, table in tables.items())
    return Disentanglement(
        latents.model,
        latents.size,
        len(vocabulary.prompts),
        latents.sha256,
        latents.made,
        _scores(ALL, list(tables.values()), [seed + number for number in range(len(tables))]),
        kinds,
        inter_attribute(latents, vocabulary, seed, row_sets),
    )


def _of_kind(vectors: Mapping[str, Vector], words: Sequence[str], objects: Sequence[str]) -> dict[str, _OfPairs]:
    """Every measure for every pair of attributes. The error is not the same both ways, so both count."""
    alone = [vectors[word].astype(np.float64)[None] for word in words]
    with_objects = [np.stack([vectors[f"{word} {thing}"] for thing in objects]).astype(np.float64) for word in words]
    ways = list(permutations(range(len(words)), 2))
    errors = {(a, b): linearity_error(with_objects[a], alone[a], alone[b], with_objects[b]) for a, b in ways}
    released = {
        (a, b): linearity_error_as_released(with_objects[a], alone[a], alone[b], with_objects[b]) for a, b in ways
    }
    cosines = {
        (a, b): direction_cosines(with_objects[b] - with_objects[a]) for a, b in combinations(range(len(words)), 2)
    }
    squares = {pair: cosine**2 for pair, cosine in cosines.items()}
    measures = {"error": errors, "error_released": released, "agreement": squares, "cosine_released": cosines}
    return {name: _OfPairs.of(len(words), values) for name, values in measures.items()}


def _scores(kind: str, tables: Sequence[Mapping[str, _OfPairs]], seeds: Sequence[int]) -> KindScores:
    def measured(name: str) -> Estimate:
        return _estimate([table[name] for table in tables], seeds)

    attributes = sum(len(table["error"].sums) for table in tables)
    names = ("error", "error_released", "agreement", "cosine_released")
    return KindScores(kind, attributes, *map(measured, names))


def _estimate(parts: Sequence[_OfPairs], seeds: Sequence[int]) -> Estimate:
    n = int(sum(part.counts.sum() for part in parts))
    attributes = sum(len(part.sums) for part in parts)
    if not n:
        return Estimate(None, None, None, 0, attributes, "the latents do not change with the attribute")
    value = float(sum(part.sums.sum() for part in parts)) / n
    drawn = [part.drawn(seed) for part, seed in zip(parts, seeds, strict=True)]
    sums, counts = (np.sum(each, axis=0) for each in zip(*drawn, strict=True))
    return estimate(value, safe_divide(sums, counts), n, attributes)


HEADLINES: dict[str, Callable[[Disentanglement], float | None]] = {
    "intra-sample error ↓": lambda model: model.overall.error.value,
    "inter-sample agreement ↑": lambda model: model.overall.agreement.value,
    "balanced accuracy ↑": lambda model: model.classified[0].balanced_accuracy.value,
}


def beside_edit_scores(models: Sequence[Disentanglement], runs: Sequence[Run]) -> tuple[Beside, ...]:
    """Each disentanglement score and the mean verdict `edit` of each protocol, for methods named like the models."""
    pairs: list[Beside] = []
    for run in runs:
        means = _verdicts(run)
        if not any(model.model in by_method for by_method in means.values() for model in models):
            raise BadInputError(
                f"Nothing in the run '{run.folder}' matches the latents. Methods must have the names of the "
                f"models ({', '.join(model.model for model in models)}) and have a score 'edit'; "
                f"its methods are {', '.join(run.manifest.methods)}, its protocols {', '.join(run.manifest.protocols)}."
            )
        benchmark = run.manifest.benchmark
        pairs += [
            _beside(score, name, benchmark, models, by_method)
            for name, by_method in means.items()
            for score in HEADLINES
        ]
    return tuple(pairs)


def _verdicts(run: Run) -> dict[str, dict[str, float]]:
    """The mean of `edit` by protocol and method."""
    means: dict[str, dict[str, float]] = {}
    for cell in summarize(run):
        if cell.edit_type == ALL and cell.spec.name == VERDICT and cell.mean:
            means.setdefault(cell.protocol, {})[cell.method] = cell.mean.value
    return means


def _beside(
    score: str, protocol: str, benchmark: str, models: Sequence[Disentanglement], means: Mapping[str, float]
) -> Beside:
    values = {model.model: HEADLINES[score](model) for model in models if model.model in means}
    both = {model: value for model, value in values.items() if value is not None}
    scores, edits = tuple(both.values()), tuple(means[model] for model in both)
    return Beside(score, protocol, benchmark, tuple(both), scores, edits, _pearson(scores, edits))


def _pearson(scores: Sequence[float], edits: Sequence[float]) -> float | None:
    if len(scores) < FEWEST_TO_CORRELATE or len(set(scores)) == 1 or len(set(edits)) == 1:
        return None
    return float(stats.pearsonr(scores, edits).statistic)


def described(
    models: Sequence[Disentanglement], vocabulary: Vocabulary, beside: Sequence[Beside], seed: int
) -> dict[str, Any]:
    """Everything for other programs, with what is needed to trace and repeat it."""
    libraries = {name: version(name) for name in ("numpy", "scikit-learn", "scipy")}
    return {
        "editgauge": __version__,
        "libraries": libraries,
        "seed": seed,
        "vocabulary": vocabulary.describe(),
        "models": [asdict(model) for model in models],
        "beside": [asdict(each) for each in beside],
    }
