"""Preferences between methods: win shares, Bradley-Terry strengths, and Elo with ties.

Strengths are those of Bradley and Terry (1952), fitted by `choix`: the odds that one method is preferred to another are
the exponential of the difference of their strengths, which average to zero. The model has no ties; one counts as half a
win for each. A method that never lost, never won or was never compared has no finite strength, and none is reported.

Elo follows GEditBench v2 with Davidson's model (1970): the first of two methods is preferred in proportion to exp(a),
the second to exp(b), a tie to 2 * nu * exp((a + b) / 2). A method has one strength over all questions, a question its
own nu, and all questions weigh the same. As in the authors' script, half the sum of squared strengths is added to the
loss, with the last method by name at zero. Elo is 1000 + strength * 400 / ln 10 after centering. Intervals draw source
images with all their answers; the script draws prompts separately for each question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from math import log

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import expit, logsumexp

from editgauge._stats.intervals import RESAMPLES, Labels, Mean, Numbers, clustered_mean
from editgauge._stats.resampling import Estimate, estimate, resampled
from editgauge.analysis.ratings import PreferredOutcome

CREDIT = {"first": 1.0, "tie": 0.5, "second": 0.0}
"""Credit of the first outcome of a pair."""
MAX_STEPS, MAX_STEP, TOLERANCE = 60, 1.5, 1e-8
Indices = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PairwisePreferences:
    """Results of choices between methods, in the order of method names."""

    methods: tuple[str, ...]
    strengths: Mapping[str, Estimate]
    """Bradley-Terry strength, or the reason why a method has none."""
    won: Mapping[str, Mean]
    """The share of its comparisons that each method won."""
    wins: Mapping[tuple[str, str], Mean]
    """Share of comparisons of two methods that the first won; only pairs that were compared."""
    comparisons: int
    ties: int


def pairwise(
    choices: Sequence[PreferredOutcome], sources: Sequence[str], *, resamples: int = RESAMPLES
) -> PairwisePreferences:
    """Summarize choices between methods; `sources` are the source images by which they are resampled."""
    if not choices:
        raise ValueError("choices must not be empty")
    methods = tuple(sorted({name for choice in choices for name in (choice.first, choice.second)}))
    index = {name: position for position, name in enumerate(methods)}
    comparisons = _Comparisons(
        np.array([index[choice.first] for choice in choices], dtype=np.int64),
        np.array([index[choice.second] for choice in choices], dtype=np.int64),
        np.array([CREDIT[choice.choice] for choice in choices]),
        np.asarray(sources, dtype=np.str_),
    )
    met = {frozenset((choice.first, choice.second)) for choice in choices}
    return PairwisePreferences(
        methods,
        _strengths(methods, comparisons, resamples),
        {name: comparisons.share_won(index[name]) for name in methods},
        {
            (method, opponent): comparisons.share_won(index[method], index[opponent])
            for method, opponent in permutations(methods, 2)
            if frozenset((method, opponent)) in met
        },
        comparisons=len(choices),
        ties=int((comparisons.credit == CREDIT["tie"]).sum()),
    )


@dataclass(frozen=True, slots=True)
class _Comparisons:
    """Comparisons of two methods, given by their indices."""

    first: Indices
    second: Indices
    credit: Numbers
    """Of the first method."""
    clusters: Labels

    def share_won(self, method: int, opponent: int | None = None) -> Mean:
        """Return the share of comparisons a method won, against another or against all."""
        ahead = (self.first == method) & ((self.second == opponent) | (opponent is None))
        behind = (self.second == method) & ((self.first == opponent) | (opponent is None))
        credit = np.where(ahead, self.credit, 1 - self.credit)[ahead | behind]
        return clustered_mean(credit, self.clusters[ahead | behind], scale=(0.0, 1.0))


def _strengths(methods: Sequence[str], comparisons: _Comparisons, resamples: int) -> dict[str, Estimate]:
    """Fit every method's strength among those that are connected by wins."""
    first, second, credit = comparisons.first, comparisons.second, comparisons.credit
    clusters = comparisons.clusters
    count, rows = len(methods), np.arange(len(credit))
    cells = np.concatenate([first * count + second, second * count + first])
    earned = csr_array((np.concatenate([credit, 1 - credit]), (cells, np.tile(rows, 2))), (count**2, len(credit)))

    def won_by(weights: Numbers) -> Numbers:
        """Return how often each method beat each other one, in every draw."""
        return np.asarray(earned @ weights).reshape(count, count, -1)

    wins = won_by(np.ones((len(credit), 1)))[:, :, 0]
    core = _comparable(wins)
    strengths: dict[str, Estimate] = {}
    if core.size:
        is_core = np.isin(first, core) & np.isin(second, core)
        import choix  # of the extra `study`; `CREDIT` must import without it

        fitted = choix.ilsr_pairwise_dense(wins[np.ix_(core, core)])

        drawn = resampled(
            lambda weights: fit_together(np.moveaxis(won_by(weights)[np.ix_(core, core)], 2, 0), fitted).T,
            clusters,
            resamples=resamples,
        )
        for row, method in enumerate(core):
            involved = is_core & ((first == method) | (second == method))
            sources = np.unique(clusters[is_core]).size
            strengths[methods[method]] = estimate(float(fitted[row]), drawn[row], int(involved.sum()), sources)
    for number, name in enumerate(methods):
        if name not in strengths:
            met = int(((first == number) | (second == number)).sum())
            sources = np.unique(clusters).size
            strengths[name] = Estimate(None, None, None, met, sources, _reason(number, core, wins))
    return {name: strengths[name] for name in methods}


def _comparable(won: Numbers) -> Indices:
    """Return the largest set of methods connected by wins in both directions; empty when it is not unique.

    Empty when there is no such set, or two as large as each other, between which nothing can be determined.
    """
    _, part = connected_components(won > 0, directed=True, connection="strong")
    sizes = np.bincount(part)
    if sizes.max() < 2 or (sizes == sizes.max()).sum() > 1:
        return np.array([], dtype=np.int64)
    return np.flatnonzero(part == sizes.argmax()).astype(np.int64)


def fit_together(tables: Numbers, start: Numbers) -> Numbers:
    """Fit strengths for many tables of wins at once, a row each; NaN where a table is not connected.

    `choix` fits one table at a time, which takes minutes for the draws of an interval. These are Newton steps for all
    draws at once, started from the strengths of all data; a test compares both.
    """
    methods = len(start)
    fitted = np.full((len(tables), methods), np.nan)
    connected = np.flatnonzero(_strongly_connected(tables > 0))
    won = tables[connected]
    met, wins = won + won.swapaxes(1, 2), won.sum(axis=2)
    strengths = np.tile(start - start.mean(), (len(won), 1))
    for _ in range(MAX_STEPS):
        expected = expit(strengths[:, :, None] - strengths[:, None, :])
        gradient = wins - (met * expected).sum(axis=2)
        weights = met * expected * (1 - expected)
        hessian = np.eye(methods) * weights.sum(axis=2)[:, :, None] - weights + 1 / methods  # strengths average to zero
        step = np.clip(np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0], -MAX_STEP, MAX_STEP)
        strengths = strengths + step
        if not step.size or np.abs(step).max() < TOLERANCE:
            break
    fitted[connected] = np.where(np.abs(step).max(axis=1, keepdims=True) < TOLERANCE, strengths, np.nan)
    return fitted


def _strongly_connected(beats: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Tell for each table whether every method beats every other through a chain of wins."""
    reached = beats | np.eye(beats.shape[1], dtype=np.bool_)
    for _ in range(int(np.ceil(np.log2(max(beats.shape[1], 2))))):
        reached = (reached.astype(np.float64) @ reached.astype(np.float64)) > 0
    return np.asarray(reached.all(axis=(1, 2)))


def _reason(method: int, core: Indices, won: Numbers) -> str:
    opponents = core if core.size else np.delete(np.arange(len(won)), method)
    group = "the others" if not core.size or core.size == len(won) - 1 else "those that have one"
    wins, losses = won[method, opponents].sum(), won[opponents, method].sum()
    if not wins and not losses:
        return f"never compared with {group}"
    if not losses:
        return f"never lost to {group}: its strength has no upper end"
    if not wins:
        return f"never won against {group}: its strength has no lower end"
    return "too few upsets: the methods fall into groups that always beat each other, or never met"


ELO_CENTER, ELO_SCALE = 1000.0, 400 / log(10)
ELO_RESAMPLES = 200
LOG_NU_BOUNDS = (-12.0, 8.0)
"""As in the authors' script: without ties nu would go to zero."""
SIDES = ("first", "second", "tie")


@dataclass(frozen=True, slots=True)
class PairAnswer:
    """One answer to one question about two outcomes."""

    question: str
    source: str
    first: str
    second: str
    choice: str
    """`first`, `second` or `tie`."""


def elo(answers: Sequence[PairAnswer], *, resamples: int = ELO_RESAMPLES) -> dict[str, Estimate]:
    """Return the Elo of every method, best first; `n` counts the answers about it."""
    methods = sorted({name for answer in answers for name in (answer.first, answer.second)})
    questions = sorted({answer.question for answer in answers})
    indices = np.array(
        [
            [questions.index(answer.question), methods.index(answer.first), methods.index(answer.second)]
            for answer in answers
        ]
    )
    shape = (len(questions), len(methods), len(methods), len(SIDES))
    cells = np.ravel_multi_index((*indices.T, [SIDES.index(answer.choice) for answer in answers]), shape)
    clusters = np.array([answer.source for answer in answers])

    def fitted(weights: Numbers, start: Numbers | None = None) -> Numbers:
        counts = np.bincount(cells, weights, int(np.prod(shape))).astype(np.float64)
        return _fit(counts.reshape(shape), start)

    parameters = fitted(np.ones(len(answers)))
    drawn = resampled(
        lambda weights: np.stack([_as_elo(fitted(column, parameters), len(methods)) for column in weights.T], axis=-1),
        clusters,
        resamples=resamples,
    )
    values, sources = _as_elo(parameters, len(methods)), np.unique(clusters).size
    estimates = {
        name: estimate(float(values[row]), drawn[row], int((indices[:, 1:] == row).sum()), sources)
        for row, name in enumerate(methods)
    }
    return dict(sorted(estimates.items(), key=lambda item: -(item[1].value or 0.0)))


def _as_elo(parameters: Numbers, methods: int) -> Numbers:
    strengths = np.append(parameters[: methods - 1], 0.0)
    return np.asarray(ELO_CENTER + ELO_SCALE * (strengths - strengths.mean()))


def _fit(counts: NDArray[np.float64], start: Numbers | None) -> Numbers:
    """Fit strengths of all methods but the last, then the logarithm of every question's nu."""
    questions, methods = counts.shape[:2]
    answers = counts.sum(axis=(1, 2, 3))
    weights = np.divide(answers[answers > 0].mean(), answers, out=np.zeros(questions), where=answers > 0)
    weighted = counts * weights[:, None, None, None]

    def loss(parameters: Numbers) -> tuple[float, Numbers]:
        strengths = np.append(parameters[: methods - 1], 0.0)
        first, second = np.meshgrid(strengths, strengths, indexing="ij")
        ties = parameters[methods - 1 :, None, None] + (first + second) / 2 + log(2)
        logits = np.stack([np.broadcast_to(first, ties.shape), np.broadcast_to(second, ties.shape), ties], axis=-1)
        logs = logits - logsumexp(logits, axis=-1, keepdims=True)
        slope = weighted.sum(axis=-1, keepdims=True) * np.exp(logs) - weighted
        by_first, by_second, by_tie = (slope[..., index] for index in range(len(SIDES)))
        of_methods = (by_first + by_tie / 2).sum(axis=(0, 2)) + (by_second + by_tie / 2).sum(axis=(0, 1)) + strengths
        value = 0.5 * strengths @ strengths - (weighted * logs).sum()
        return float(value), np.append(of_methods[:-1], by_tie.sum(axis=(1, 2)))

    bounds = [(None, None)] * (methods - 1) + [LOG_NU_BOUNDS] * questions
    start = np.zeros(methods - 1 + questions) if start is None else start
    return np.asarray(minimize(loss, start, method="L-BFGS-B", jac=True, bounds=bounds).x)
