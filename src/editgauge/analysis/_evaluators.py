"""Evaluators of outcomes: scores of a run, blends of two scores, and the stability of a score over reruns.

A blend is gamma * preservation + (1 - gamma) * modification (AugCLIP, section 3.1 and figure 2), after both scores are
oriented so that more is better and scaled to [0, 1] by the run's outcomes that have both; another run scales otherwise,
so a gamma does not carry over.

Stability (AugCLIP, section 6) scores the same outcomes with other attributes or seeds. ROUGE-L (Google's `rouge-score`)
compares the attribute lists in two readings: `joined` takes a list as one text, so order counts; `itemwise` matches
every attribute anywhere in the other list (ROUGE-Lsum, an attribute as a sentence).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol

import numpy as np

from editgauge._render.plots import BlendCurve
from editgauge._stats.intervals import Labels, Mean, Numbers, clustered_mean
from editgauge._stats.resampling import Estimate, all_equal
from editgauge.analysis.outcomes import select_score
from editgauge.benchmarks.attributes import EXTRA, SIDES, Attributes
from editgauge.edit_types import EDIT_TYPES
from editgauge.errors import BadInputError, EditGaugeError
from editgauge.results import OutcomeKey, Run, ScoreColumns
from editgauge.types import ScoreSpec


class Evaluator(Protocol):
    """Anything that can say which of two outcomes is better."""

    @property
    def protocol(self) -> str:
        """Return the protocol it belongs to."""
        ...

    @property
    def spec(self) -> ScoreSpec:
        """Return its name and direction."""
        ...

    def pair(self, first: OutcomeKey, second: OutcomeKey) -> tuple[float, float] | None:
        """Return the worth of both outcomes, more being better; None when one has none."""
        ...


@dataclass(frozen=True, slots=True)
class Scored:
    """A score of a run as an evaluator."""

    protocol: str
    spec: ScoreSpec
    values: Mapping[OutcomeKey, float]

    def worth(self, key: OutcomeKey) -> float | None:
        """Return the score oriented so that more is better; None when unscored."""
        value = self.values.get(key)
        return value if value is None or self.spec.higher_is_better else -value

    def pair(self, first: OutcomeKey, second: OutcomeKey) -> tuple[float, float] | None:
        """Return both scores, more being better."""
        first_worth, second_worth = self.worth(first), self.worth(second)
        return None if first_worth is None or second_worth is None else (first_worth, second_worth)


@dataclass(frozen=True, slots=True)
class EvaluatorTarget:
    """Human answers or known truth that an evaluator is compared with."""

    name: str
    measure: str
    """Name of the measure."""
    chance: float
    """Value that guessing reaches."""
    ask: Callable[[Scored], Estimate]


def scored(scores: Iterable[tuple[str, ScoreSpec]], outcomes: ScoreColumns) -> list[Scored]:
    """Return these scores of a run as evaluators."""
    return [Scored(protocol, spec, outcomes.values(protocol, spec.name)) for protocol, spec in scores]


def read_score(run: Run, name: str | None) -> Scored:
    """Return the score called `name` or `protocol/name`; by default the verdict `edit`, or the only score."""
    return scored([select_score(run, name)], run.score_columns)[0]


def label(evaluator: Evaluator) -> str:
    """Return `protocol/name`."""
    return f"{evaluator.protocol}/{evaluator.spec.name}"


def shares(credit: Numbers, sources: Labels, edit_types: Labels) -> tuple[Mean | None, dict[str, Mean]]:
    """Return the mean credit of an evaluator overall and by edit type; NaN marks no answer."""
    is_answered = ~np.isnan(credit)
    types = {name: is_answered & (edit_types == name) for name in EDIT_TYPES}
    by_type = {
        name: clustered_mean(credit[rows], sources[rows], scale=(0.0, 1.0))
        for name, rows in types.items()
        if rows.any()
    }
    return (
        clustered_mean(credit[is_answered], sources[is_answered], scale=(0.0, 1.0)) if is_answered.any() else None
    ), by_type


def best_first(measured: Mean | Estimate | None) -> float:
    """Return a sort key: the highest value first, undefined last."""
    return math.inf if measured is None or measured.value is None else -measured.value


def margins(evaluator: Evaluator, pairs: Sequence[tuple[OutcomeKey, ...]]) -> Numbers:
    """Return by how much the first of every two outcomes is better; NaN for no answer."""
    worths = (evaluator.pair(first, second) for first, second in pairs)
    return np.array([np.nan if pair is None else pair[0] - pair[1] for pair in worths], dtype=np.float64)


STEPS = 20
GAMMAS = tuple(step / STEPS for step in range(STEPS + 1))


@dataclass(frozen=True, slots=True)
class Interpolation:
    """Agreement along the blend of one score (gamma 0) with another (gamma 1)."""

    preservation: str
    modification: str
    gammas: tuple[float, ...]
    outcomes: int
    """Outcomes with both scores."""
    curves: tuple[BlendCurve, ...]


def interpolate(preservation: Scored, modification: Scored, targets: Sequence[EvaluatorTarget]) -> Interpolation:
    """Measure agreement at every gamma."""
    shared = [key for key in preservation.values if key in modification.values]
    if not shared:
        raise BadInputError(f"No outcome has both {label(preservation)} and {label(modification)}.")
    preserved, modified = _scaled(preservation, shared), _scaled(modification, shared)
    steps = [blended(preserved, modified, gamma) for gamma in GAMMAS]
    curves = (_curve(target, steps) for target in targets)
    return Interpolation(label(preservation), label(modification), GAMMAS, len(shared), tuple(curves))


def blended(preserved: dict[OutcomeKey, float], modified: dict[OutcomeKey, float], gamma: float) -> Scored:
    """Return the blend of two scaled scores as an evaluator."""
    values = {key: gamma * preserved[key] + (1 - gamma) * modified[key] for key in preserved}
    return Scored("blend", ScoreSpec(f"gamma={gamma:g}", higher_is_better=True, range=(0.0, 1.0)), values)


def _curve(target: EvaluatorTarget, steps: Sequence[Scored]) -> BlendCurve:
    points = tuple(target.ask(step) for step in steps)
    heights = [(point.value, -index) for index, point in enumerate(points) if point.value is not None]
    best = GAMMAS[-max(heights)[1]] if heights else None
    return BlendCurve(target.name, target.measure, target.chance, points, best)


def _scaled(score: Scored, keys: Sequence[OutcomeKey]) -> dict[OutcomeKey, float]:
    oriented = {key: score.values[key] * (1 if score.spec.higher_is_better else -1) for key in keys}
    low, high = min(oriented.values()), max(oriented.values())
    if low == high:
        raise BadInputError(
            f"{label(score)} is the same for all {len(keys)} outcomes: it cannot be scaled, nor blended."
        )
    return {key: (value - low) / (high - low) for key, value in oriented.items()}


@dataclass(frozen=True, slots=True)
class AgreementOverRuns:
    """Agreement with one target, run by run."""

    target: str
    values: tuple[float | None, ...]
    variance: float | None
    """Sample variance over the runs; None with fewer than two values."""

    @property
    def deviation(self) -> float | None:
        """Return the standard deviation over runs."""
        return None if self.variance is None else self.variance**0.5


@dataclass(frozen=True, slots=True)
class Stability:
    """Stability of one score over several runs of the same outcomes."""

    score: str
    runs: int
    outcomes: int
    """Outcomes scored in all of them; only those count."""
    variance: Mean | None
    """The variance of an outcome's score over the runs, averaged over outcomes."""
    of_all: float | None
    """Share of the variance within outcomes: 0 is stable, 1 pure chance; None when all values are equal."""
    agreement: tuple[AgreementOverRuns, ...]


def stability(scores: Sequence[Scored], targets: Sequence[EvaluatorTarget], outcomes: ScoreColumns) -> Stability:
    """Measure the stability of a score, given once per run."""
    if len(scores) < 2:
        raise ValueError("stability needs the score of at least two runs")
    shared = [key for key in scores[0].values if all(key in score.values for score in scores)]
    table = np.array([[score.values[key] for score in scores] for key in shared], dtype=np.float64)
    agreement = tuple(_agreement_over_runs(score, scores) for score in targets)
    if not shared:
        return Stability(label(scores[0]), len(scores), 0, None, None, agreement)
    return Stability(
        label(scores[0]),
        len(scores),
        len(shared),
        clustered_mean(table.var(axis=1, ddof=1), outcomes.sources_of(shared), scale=(0.0, np.inf)),
        None if all_equal(table.ravel()) else float(table.var(axis=1).mean() / table.var()),
        agreement,
    )


def stability_over_runs(
    runs: Sequence[ScoreColumns], scores: Sequence[Scored], targets: Sequence[EvaluatorTarget]
) -> list[Stability]:
    """Measure the stability of every score of the first run that all runs have."""
    results = []
    for score in scores:
        reruns = [evaluator for run in runs[1:] for evaluator in scored([(score.protocol, score.spec)], run)]
        if all(evaluator.values for evaluator in reruns):
            results.append(stability([score, *reruns], targets, runs[0]))
    if not results:
        raise BadInputError("The runs have no score in common, so stability cannot be measured.")
    return results


def _agreement_over_runs(target: EvaluatorTarget, scores: Sequence[Scored]) -> AgreementOverRuns:
    values = tuple(target.ask(score).value for score in scores)
    defined = [value for value in values if value is not None]
    return AgreementOverRuns(target.name, values, float(np.var(defined, ddof=1)) if len(defined) > 1 else None)


@dataclass(frozen=True, slots=True)
class ListSimilarity:
    """Similarity of the attribute lists of one side, averaged over edits and pairs of seeds."""

    side: str
    edits: int
    """Edits with at least two lists."""
    joined: Mean
    itemwise: Mean


def rouge_l(first: Sequence[str], second: Sequence[str]) -> tuple[float, float]:
    """Return ROUGE-L (F1) of two lists, `joined` and `itemwise`, averaged over both directions.

    >>> rouge_l(["red cap", "tan shorts"], ["tan shorts", "red cap"])
    (0.5, 1.0)
    """
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError as error:
        raise EditGaugeError("Comparing attributes needs rouge-score: pip install 'editgauge[captions]'") from error
    scorer = RougeScorer(["rougeL", "rougeLsum"], use_stemmer=False)
    texts = "\n".join(first), "\n".join(second)
    forward, backward = scorer.score(*texts), scorer.score(*reversed(texts))
    itemwise = (forward["rougeLsum"].fmeasure + backward["rougeLsum"].fmeasure) / 2
    return float(forward["rougeL"].fmeasure), float(itemwise)


def list_similarity(extractions: Sequence[Mapping[str, Attributes]]) -> list[ListSimilarity]:
    """Compare the attributes of several extractions, pair by pair; empty when no edit is in two of them.

    Args:
        extractions: of every seed, edit to attributes, as `editgauge.benchmarks.attributes.read_attributes` gives them.

    """
    edits = dict.fromkeys(edit for extraction in extractions for edit in extraction)
    lists_by_edit = {edit: [extraction[edit] for extraction in extractions if edit in extraction] for edit in edits}
    several = {edit: lists for edit, lists in lists_by_edit.items() if len(lists) > 1}
    return [_similarity(side, several) for side in SIDES] if several else []


def attributes_of(run: Run) -> dict[str, Attributes]:
    """Return the attributes of each edit of a run; edits without any are left out."""
    extras = {name: edit.get("extras", {}).get(EXTRA) for name, edit in run.edits.items()}
    return {name: Attributes(tuple(lists["source"]), tuple(lists["target"])) for name, lists in extras.items() if lists}


def _similarity(side: str, lists_by_edit: Mapping[str, Sequence[Attributes]]) -> ListSimilarity:
    similarities = [
        (edit, *rouge_l(getattr(first, side), getattr(second, side)))
        for edit, lists in lists_by_edit.items()
        for first, second in combinations(lists, 2)
    ]
    edits, joined, itemwise = zip(*similarities, strict=True)
    clusters = np.array(edits, dtype=np.str_)
    return ListSimilarity(
        side,
        len(lists_by_edit),
        clustered_mean(np.array(joined), clusters),
        clustered_mean(np.array(itemwise), clusters),
    )
