"""Elo of methods from answers to "which of these two is better", ties included (GEditBench v2).

Davidson (1970): of two methods the first is preferred in proportion to exp(a), the second to exp(b), and a tie is named
in proportion to 2 * nu * exp((a + b) / 2). A method has one strength over all questions, a question its own nu, and all
questions weigh the same. As in the authors' script, half the sum of squared strengths is added to the loss, with the
last method by name at zero: so a method that never loses has a strength too, and a few answers move it little.
Strengths then average to zero, and Elo is 1000 + strength * 400 / ln 10. Source images are drawn for the interval, each
with its answers to all questions; the script draws prompts, separately for each question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp

from editgauge._stats.intervals import Numbers
from editgauge._stats.resampling import Estimate, estimate, resampled

MIDDLE, SCALE = 1000.0, 400 / log(10)
RESAMPLES = 200
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


def elo(answers: Sequence[PairAnswer], *, resamples: int = RESAMPLES) -> dict[str, Estimate]:
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
