"""Fit calibration curves and measure the calibration error."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit, xlogy

from editgauge._stats.intervals import Labels, Mean, Numbers, clustered_mean
from editgauge._stats.resampling import Estimate, estimate, resampled
from editgauge.protocols.editgauge._calibration import NEAREST, CalibrationCurve, Point

BINS = 10
MIN_BIN_SIZE = 10
MIN_LOG_LOSS_PROBABILITY = 1e-3
"""Log loss takes no number as more confident than this, or one answer could make it endless."""


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Outcomes of about the same number, and what people say of them."""

    value: float
    """The mean of the numbers."""
    share: Mean
    """Of people who say so; its interval is clustered by source image."""


@dataclass(frozen=True, slots=True)
class Fit:
    """Calibration of scores against human answers."""

    expected_error: float
    """Expected calibration error: how far numbers and shares are apart in a bin, on average. Chance alone makes it
    larger than 0, the more so the fewer the ratings."""
    brier: Mean
    """The mean square of how far a number is from one person's answer, which is 0 or 1."""
    log_loss: Mean
    bins: tuple[ReliabilityBin, ...]


@dataclass(frozen=True, slots=True)
class CalibrationComparison:
    """Numbers as they were and as the curve makes them, each outcome by a curve fitted without its source image."""

    before: Fit
    after: Fit
    brier_change: Mean
    """After - before; below 0 the curve helps."""
    log_loss_change: Mean


def compare(before: Numbers, after: Numbers, shares: Numbers, sources: Labels) -> CalibrationComparison:
    """Compare the calibration before and after on the same outcomes."""
    return CalibrationComparison(
        _fit(before, shares, sources),
        _fit(after, shares, sources),
        clustered_mean(_squares(after, shares) - _squares(before, shares), sources),
        clustered_mean(_losses(after, shares) - _losses(before, shares), sources),
    )


def _fit(numbers: Numbers, shares: Numbers, sources: Labels) -> Fit:
    bins = binned(numbers, shares, sources)
    error = sum(abs(bin_.value - bin_.share.value) * bin_.share.n for bin_ in bins) / numbers.size
    brier, log_loss = (clustered_mean(cost(numbers, shares), sources) for cost in (_squares, _losses))
    return Fit(error, brier, log_loss, bins)


def binned(numbers: Numbers, shares: Numbers, sources: Labels) -> tuple[ReliabilityBin, ...]:
    """Split outcomes into at most ten equally filled bins of ten or more; equal values share a bin."""
    many = max(1, min(BINS, numbers.size // MIN_BIN_SIZE))
    cuts = np.unique(np.quantile(numbers, np.arange(1, many) / many))
    bin_index = np.searchsorted(cuts, numbers, side="right")
    return tuple(
        ReliabilityBin(
            float(numbers[bin_index == item].mean()),
            clustered_mean(shares[bin_index == item], sources[bin_index == item]),
        )
        for item in np.unique(bin_index)
    )


def _squares(numbers: Numbers, shares: Numbers) -> Numbers:
    """Return the Brier score of each outcome, averaged over its raters."""
    return np.asarray(shares * (1 - numbers) ** 2 + (1 - shares) * numbers**2, dtype=np.float64)


def _losses(numbers: Numbers, shares: Numbers) -> Numbers:
    inside = np.clip(numbers, MIN_LOG_LOSS_PROBABILITY, 1 - MIN_LOG_LOSS_PROBABILITY)
    return np.asarray(-(xlogy(shares, inside) + xlogy(1 - shares, 1 - inside)), dtype=np.float64)


PRIOR = 2.0
"""This many outcomes are added on which people say what the number says: without them the fit is endless where a number
parts all yes from all no. Platt's smoothing adds two as well, but they pull numbers that are right towards one half."""
MIN_RARE_ANSWERS = 60.0
"""Of the rarer answer, in outcomes: twenty for each of the three numbers of a bent curve; with fewer it is a line."""
STEPS = 60
HALVINGS = 20
RIDGE = 1e-9
WEIGHT_RIDGE = 0.5
"""Of weights of further evidence."""
TOLERANCE = 1e-8
ROUNDING = 1e-12
RESAMPLES = 1_000
"""Of source images: chance then moves the ends of an interval by a twentieth of its half-width."""
LOWER = (0.0, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, *(step / 20 for step in range(2, 10)))
GRID = np.array([*LOWER, 0.5, *(1 - item for item in reversed(LOWER))])
"""Closer towards both ends, where curves are steep."""


def is_bent(shares: Numbers) -> bool:
    """Return whether both answers are frequent enough for a curve with two slopes."""
    return float(min(shares.sum(), (1 - shares).sum())) >= MIN_RARE_ANSWERS


def features(values: Numbers, *, bent: bool) -> Numbers:
    """Return the design matrix: one row per value, one column per feature."""
    inside = np.clip(values, NEAREST, 1 - NEAREST)
    if bent:
        return np.stack([np.log(inside), -np.log1p(-inside)], axis=1)
    return np.asarray(logit(inside)[:, None], dtype=np.float64)


def fit(values: Numbers, shares: Numbers, weights: Numbers, *, bent: bool) -> Numbers:
    """`low`, `high` and `shift` in a column for each column of weights, which say how often an outcome counts."""
    inputs = features(values, bent=bent)
    total = weights.sum(axis=0)
    added = PRIOR * weights / total
    targets = (weights * shares[:, None] + added * np.clip(values, NEAREST, 1 - NEAREST)[:, None]) / np.where(
        weights > 0, weights + added, 1
    )
    slopes, shift = _monotone(inputs, targets, weights + added)
    return np.stack([slopes[0], slopes[-1], shift])


def calibrated(values: Numbers, parameters: Numbers) -> Numbers:
    """Apply curves to values: one row per value, one column per curve."""
    low, high, shift = parameters
    inside = np.clip(values, NEAREST, 1 - NEAREST)[:, None]
    return np.asarray(expit(low * np.log(inside) - high * np.log1p(-inside) + shift), dtype=np.float64)


def fitted_curve(question: str, values: Numbers, shares: Numbers, sources: Labels) -> tuple[CalibrationCurve, Estimate]:
    """Fit a curve with its intervals; return it with its mean slope."""
    bent = is_bent(shares)
    parameters = fit(values, shares, np.ones((values.size, 1)), bent=bent)
    draws = resampled(lambda weights: fit(values, shares, weights, bent=bent), sources, resamples=RESAMPLES)
    clusters = np.unique(sources).size
    lines = zip(GRID, calibrated(GRID, parameters)[:, 0], calibrated(GRID, draws), strict=True)
    ranges = [(at, estimate(float(made), drawn, values.size, clusters)) for at, made, drawn in lines]
    points = tuple(Point(round(float(at), 6), float(one.value or 0), one.low, one.high) for at, one in ranges)
    low, high, shift = (float(parameter) for parameter in parameters[:, 0])
    slope = estimate((low + high) / 2, draws[:2].mean(axis=0), values.size, clusters)
    return CalibrationCurve(question, low, high, shift, values.size, points), slope


def left_out(values: Numbers, shares: Numbers, sources: Labels, folds: int = 10, seed: int = 0) -> Numbers:
    """Return out-of-fold predictions by source image."""
    names, index = np.unique(sources, return_inverse=True)
    fold = np.random.default_rng(seed).permutation(names.size) % min(folds, names.size)
    without = (fold[index][:, None] != np.arange(min(folds, names.size))).astype(np.float64)
    curves = fit(values, shares, without, bent=is_bent(shares))
    return calibrated(values, curves)[np.arange(values.size), fold[index]]


def fit_weights(chances: Numbers, evidence: Numbers, shares: Numbers) -> Numbers:
    """Fit non-negative weights of further evidence on the log-odds.

    A small ridge keeps a weight finite where the evidence parts all yes from all no.
    """
    offset = logit(np.clip(chances, NEAREST, 1 - NEAREST))

    def loss(weights: Numbers) -> float:
        odds = offset + evidence @ weights
        return float((np.logaddexp(0, odds) - shares * odds).sum() + WEIGHT_RIDGE * (weights**2).sum())

    start = np.zeros(evidence.shape[1])
    return np.asarray(minimize(loss, start, method="L-BFGS-B", bounds=[(0.0, None)] * start.size).x, np.float64)


def _monotone(inputs: Numbers, targets: Numbers, weights: Numbers) -> tuple[Numbers, Numbers]:
    """Fit non-negative slopes and a shift for each column.

    The loss is convex: where the best slopes of all are negative, the best allowed ones lie on an edge, where some of
    them are zero. There are few edges, so all are tried.
    """
    count, columns = inputs.shape[1], weights.shape[1]
    slopes, shift, open_ = np.zeros((count, columns)), np.zeros(columns), np.arange(columns)
    best = np.full(columns, np.inf)
    for size in range(count, -1, -1):
        if not open_.size:
            break
        for subset in combinations(range(count), size):
            fitted = _newton(inputs[:, subset], targets[:, open_], weights[:, open_])
            allowed = (fitted[:-1] >= 0).all(axis=0)
            losses = np.where(allowed, _loss(inputs[:, subset], targets[:, open_], weights[:, open_], fitted), np.inf)
            better = losses < best[open_]
            these = open_[better]
            best[these], shift[these] = losses[better], fitted[-1, better]
            slopes[:, these] = 0.0
            slopes[np.array(subset, dtype=np.int64)[:, None], these] = fitted[:-1, better]
        if size == count:
            open_ = np.flatnonzero(np.isinf(best))
    return slopes, shift


def _newton(inputs: Numbers, targets: Numbers, weights: Numbers) -> Numbers:
    """Logistic regressions by Newton's method from the identity on; a column that is at its end rests."""
    design = np.column_stack([inputs, np.ones(inputs.shape[0])])
    now = np.ones((design.shape[1], weights.shape[1]))
    now[-1] = 0.0
    going = np.arange(weights.shape[1])
    for _ in range(STEPS):
        chance = expit(design @ now[:, going])
        some = weights[:, going]
        slope = design.T @ (some * (targets[:, going] - chance))
        far = np.abs(slope).max(axis=0) > TOLERANCE * some.sum(axis=0)
        going, slope = going[far], slope[:, far]
        if not going.size:
            break
        bend = _bend(design, (some * chance * (1 - chance))[:, far])
        step = np.linalg.solve(bend, slope.T[..., None])[..., 0].T
        now[:, going] += step * _length(inputs, targets[:, going], weights[:, going], now[:, going], step)
    return now


def _bend(design: Numbers, weights: Numbers) -> Numbers:
    """Return the Hessian of the loss for each column, regularized."""
    products = np.einsum("ni,nj->ijn", design, design) @ weights
    trace = np.trace(products)
    return np.asarray(np.moveaxis(products + RIDGE * trace * np.eye(design.shape[1])[..., None], -1, 0))


def _length(inputs: Numbers, targets: Numbers, weights: Numbers, start: Numbers, step: Numbers) -> Numbers:
    """Return the largest step length, halved as often as needed, that does not increase the loss."""
    before = _loss(inputs, targets, weights, start)
    length = np.ones(start.shape[1])
    open_ = np.arange(start.shape[1])
    for _ in range(HALVINGS):
        after = _loss(inputs, targets[:, open_], weights[:, open_], (start + length * step)[:, open_])
        open_ = open_[~(after <= before[open_] * (1 + ROUNDING))]
        if not open_.size:
            break
        length[open_] /= 2
    return length


def _loss(inputs: Numbers, targets: Numbers, weights: Numbers, parameters: Numbers) -> Numbers:
    """Return the cross-entropy of each column."""
    odds = inputs @ parameters[:-1] + parameters[-1]
    return np.asarray((weights * (np.logaddexp(0.0, odds) - targets * odds)).sum(axis=0), dtype=np.float64)
