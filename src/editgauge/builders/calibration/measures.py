"""How far numbers are from the share of people who say so: by bins, and by what one person's answer costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from editgauge._stats.intervals import Labels, Mean, Numbers, clustered_mean

BINS = 10
FEWEST_IN_A_BIN = 10
SUREST = 1e-3
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
    """How well numbers predict what people say."""

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
    """Both fits on the same outcomes, and the differences of what an answer costs."""
    return CalibrationComparison(
        _fit(before, shares, sources),
        _fit(after, shares, sources),
        clustered_mean(_squares(after, shares) - _squares(before, shares), sources),
        clustered_mean(_losses(after, shares) - _losses(before, shares), sources),
    )


def _fit(numbers: Numbers, shares: Numbers, sources: Labels) -> Fit:
    bins = binned(numbers, shares, sources)
    error = sum(abs(bin.value - bin.share.value) * bin.share.n for bin in bins) / numbers.size
    brier, log_loss = (clustered_mean(cost(numbers, shares), sources) for cost in (_squares, _losses))
    return Fit(error, brier, log_loss, bins)


def binned(numbers: Numbers, shares: Numbers, sources: Labels) -> tuple[ReliabilityBin, ...]:
    """Bins of about as many outcomes each, ten at least and ten of them at most; equal numbers stay together."""
    many = max(1, min(BINS, numbers.size // FEWEST_IN_A_BIN))
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
    """Averaged over the people who rated an outcome."""
    return np.asarray(shares * (1 - numbers) ** 2 + (1 - shares) * numbers**2, dtype=np.float64)


def _losses(numbers: Numbers, shares: Numbers) -> Numbers:
    inside = np.clip(numbers, SUREST, 1 - SUREST)
    return np.asarray(-(xlogy(shares, inside) + xlogy(1 - shares, 1 - inside)), dtype=np.float64)
