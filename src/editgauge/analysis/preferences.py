"""Which of two outcomes people prefer: who beats whom, and how strong each method is.

Strengths are those of Bradley and Terry (1952), fitted by `choix`: the odds that one method is preferred to another are
the exponential of the difference of their strengths, which average to zero. The model knows no ties; one counts as half
a win for each. Where nobody ever beat a method, or nobody compared it, its strength has no end, and none is made up.
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
"""What the first outcome of a pair earns."""
MOST_STEPS, LONGEST_STEP, CLOSE_ENOUGH = 60, 1.5, 1e-8
Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PairwisePreferences:
    """What people's choices between methods say; methods are in the order of their names."""

    methods: tuple[str, ...]
    strengths: Mapping[str, Estimate]
    """Bradley and Terry's, or the reason why a method has none."""
    won: Mapping[str, Mean]
    """The share of its comparisons that each method won."""
    wins: Mapping[tuple[str, str], Mean]
    """The share of the comparisons of two methods that the first won; nothing where they were never compared."""
    comparisons: int
    ties: int


def pairwise(
    choices: Sequence[PreferredOutcome], sources: Sequence[str], *, resamples: int = RESAMPLES
) -> PairwisePreferences:
    """What choices say of the methods; `sources` are their source images, of which whole ones are drawn."""
    if not choices:
        raise ValueError("there are no choices; check for that first")
    methods = tuple(sorted({name for choice in choices for name in (choice.first, choice.second)}))
    place = {name: number for number, name in enumerate(methods)}
    first = np.array([place[choice.first] for choice in choices], dtype=np.int64)
    second = np.array([place[choice.second] for choice in choices], dtype=np.int64)
    credit = np.array([CREDIT[choice.chosen] for choice in choices])
    clusters = np.asarray(sources, dtype=np.str_)
    met = {frozenset((choice.first, choice.second)) for choice in choices}
    return PairwisePreferences(
        methods,
        _strengths(methods, first, second, credit, clusters, resamples),
        {name: _share(place[name], None, first, second, credit, clusters) for name in methods},
        {
            (one, other): _share(place[one], place[other], first, second, credit, clusters)
            for one, other in permutations(methods, 2)
            if frozenset((one, other)) in met
        },
        comparisons=len(choices),
        ties=int((credit == CREDIT["tie"]).sum()),
    )


def _share(
    one: int, other: int | None, first: Places, second: Places, credit: Numbers, clusters: Labels
) -> Mean:  # fmt: skip
    """How much of its comparisons a method won: of those with another, or of all."""
    ahead = (first == one) & ((second == other) | (other is None))
    behind = (second == one) & ((first == other) | (other is None))
    earned = np.where(ahead, credit, 1 - credit)[ahead | behind]
    return clustered_mean(earned, clusters[ahead | behind])


def _strengths(
    methods: Sequence[str], first: Places, second: Places, credit: Numbers, clusters: Labels, resamples: int
) -> dict[str, Estimate]:
    """Every method's strength, among those that can be distinguished from each other."""
    count, rows = len(methods), np.arange(len(credit))
    cells = np.concatenate([first * count + second, second * count + first])
    earned = csr_array((np.concatenate([credit, 1 - credit]), (cells, np.tile(rows, 2))), (count**2, len(credit)))

    def won_by(weights: Numbers) -> Numbers:
        """How often each method beat each other one, in every draw."""
        return np.asarray(earned @ weights).reshape(count, count, -1)

    whole = won_by(np.ones((len(credit), 1)))[:, :, 0]
    core = _comparable(whole)
    strengths: dict[str, Estimate] = {}
    if core.size:
        within = np.isin(first, core) & np.isin(second, core)
        import choix  # of the extra `study`; credits are wanted without it

        fitted = choix.ilsr_pairwise_dense(whole[np.ix_(core, core)])

        drawn = resampled(
            lambda weights: fit_together(np.moveaxis(won_by(weights)[np.ix_(core, core)], 2, 0), fitted).T,
            clusters,
            resamples=resamples,
        )
        for row, method in enumerate(core):
            its_own = within & ((first == method) | (second == method))
            sources = np.unique(clusters[within]).size
            strengths[methods[method]] = estimate(float(fitted[row]), drawn[row], int(its_own.sum()), sources)
    for number, name in enumerate(methods):
        if name not in strengths:
            met = int(((first == number) | (second == number)).sum())
            sources = np.unique(clusters).size
            strengths[name] = Estimate(None, None, None, met, sources, _reason(number, core, whole))
    return {name: strengths[name] for name in methods}


def _comparable(won: Numbers) -> Places:
    """The largest set of methods each of which beats every other, step by step: strengths exist there.

    Empty when there is no such set, or two as large as each other, between which nothing can be determined.
    """
    _, part = connected_components(won > 0, directed=True, connection="strong")
    sizes = np.bincount(part)
    if sizes.max() < 2 or (sizes == sizes.max()).sum() > 1:
        return np.array([], dtype=np.int64)
    return np.flatnonzero(part == sizes.argmax()).astype(np.int64)


def fit_together(tables: Numbers, begin: Numbers) -> Numbers:
    """Strengths for many tables of wins, a row each; NaN where a table does not decide them.

    `choix` fits one table at a time, which takes minutes for the draws of an interval; these are Newton's steps for all
    draws at once, from the strengths of the whole, and a test holds them against it.
    """
    methods = len(begin)
    fitted = np.full((len(tables), methods), np.nan)
    decided = np.flatnonzero(_strongly_connected(tables > 0))
    won = tables[decided]
    met, wins = won + won.swapaxes(1, 2), won.sum(axis=2)
    strengths = np.tile(begin - begin.mean(), (len(won), 1))
    for _ in range(MOST_STEPS):
        expected = expit(strengths[:, :, None] - strengths[:, None, :])
        slope = wins - (met * expected).sum(axis=2)
        bend = met * expected * (1 - expected)
        curvature = np.eye(methods) * bend.sum(axis=2)[:, :, None] - bend + 1 / methods  # strengths average to zero
        step = np.clip(np.linalg.solve(curvature, slope[:, :, None])[:, :, 0], -LONGEST_STEP, LONGEST_STEP)
        strengths = strengths + step
        if not step.size or np.abs(step).max() < CLOSE_ENOUGH:
            break
    fitted[decided] = np.where(np.abs(step).max(axis=1, keepdims=True) < CLOSE_ENOUGH, strengths, np.nan)
    return fitted


def _strongly_connected(beats: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether in each table every method beats every other, step by step."""
    reached = beats | np.eye(beats.shape[1], dtype=np.bool_)
    for _ in range(int(np.ceil(np.log2(max(beats.shape[1], 2))))):
        reached = (reached.astype(np.float64) @ reached.astype(np.float64)) > 0
    return np.asarray(reached.all(axis=(1, 2)))


def _reason(method: int, core: Places, won: Numbers) -> str:
    others = core if core.size else np.delete(np.arange(len(won)), method)
    among = "the others" if not core.size or core.size == len(won) - 1 else "those that have one"
    wins, losses = won[method, others].sum(), won[others, method].sum()
    if not wins and not losses:
        return f"never compared with {among}"
    if not losses:
        return f"never lost to {among}: its strength has no upper end"
    if not wins:
        return f"never won against {among}: its strength has no lower end"
    return "too few upsets: the methods fall into groups that always beat each other, or never met"


MIDDLE, SCALE = 1000.0, 400 / log(10)
ELO_RESAMPLES = 200
MOST_LOG_NU = (-12.0, 8.0)
"""Between these, as in the authors' script: without any tie nu would go to zero."""
CHOSEN = ("first", "second", "tie")


@dataclass(frozen=True, slots=True)
class PairAnswer:
    """One answer to one question about two outcomes."""

    question: str
    source: str
    first: str
    second: str
    chosen: str
    """`first`, `second` or `tie`."""


def elo(answers: Sequence[PairAnswer], *, resamples: int = ELO_RESAMPLES) -> dict[str, Estimate]:
    """The Elo of every method, best first; `n` counts the answers about it."""
    methods = sorted({name for each in answers for name in (each.first, each.second)})
    questions = sorted({each.question for each in answers})
    places = np.array(
        [[questions.index(each.question), methods.index(each.first), methods.index(each.second)] for each in answers]
    )
    shape = (len(questions), len(methods), len(methods), len(CHOSEN))
    cells = np.ravel_multi_index((*places.T, [CHOSEN.index(each.chosen) for each in answers]), shape)
    clusters = np.array([each.source for each in answers])

    def fitted(weights: Numbers, begin: Numbers | None = None) -> Numbers:
        counts = np.bincount(cells, weights, int(np.prod(shape))).astype(np.float64)
        return _fit(counts.reshape(shape), begin)

    whole = fitted(np.ones(len(answers)))
    drawn = resampled(
        lambda weights: np.stack([_as_elo(fitted(column, whole), len(methods)) for column in weights.T], axis=-1),
        clusters,
        resamples=resamples,
    )
    values, sources = _as_elo(whole, len(methods)), np.unique(clusters).size
    estimates = {
        name: estimate(float(values[row]), drawn[row], int((places[:, 1:] == row).sum()), sources)
        for row, name in enumerate(methods)
    }
    return dict(sorted(estimates.items(), key=lambda item: -(item[1].value or 0.0)))


def _as_elo(parameters: Numbers, methods: int) -> Numbers:
    strengths = np.append(parameters[: methods - 1], 0.0)
    return np.asarray(MIDDLE + SCALE * (strengths - strengths.mean()))


def _fit(counts: NDArray[np.float64], begin: Numbers | None) -> Numbers:
    """Strengths of all methods but the last, then the logarithm of every question's nu."""
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
        by_first, by_second, by_tie = (slope[..., place] for place in range(len(CHOSEN)))
        of_methods = (by_first + by_tie / 2).sum(axis=(0, 2)) + (by_second + by_tie / 2).sum(axis=(0, 1)) + strengths
        value = 0.5 * strengths @ strengths - (weighted * logs).sum()
        return float(value), np.append(of_methods[:-1], by_tie.sum(axis=(1, 2)))

    bounds = [(None, None)] * (methods - 1) + [MOST_LOG_NU] * questions
    start = np.zeros(methods - 1 + questions) if begin is None else begin
    return np.asarray(minimize(loss, start, method="L-BFGS-B", jac=True, bounds=bounds).x)
