"""Acceptance thresholds with a guarantee, and reliability curves.

The guarantee (conformal risk control: Angelopoulos et al., arXiv 2208.02814, theorem 1): of the edits of a new source
image that a person would reject, on average at most a share `alpha` scores above the threshold. It holds for any score
and any number of labels when labeled and new source images are exchangeable. It says nothing about how many good edits
pass; `passed` reports that for the labeled ones.

In a sample with unequal probabilities every label is weighted by the inverse of its probability (weighted conformal
prediction: Tibshirani et al. 2019), and the guarantee is about all rejected edits rather than source images.


The guarantee (conformal risk control: Angelopoulos et al., arXiv 2208.02814, theorem 1): of the edits of a new source
image that a person would reject, on average at most a share `alpha` scores above the threshold. It holds for any score
and any number of labels, when the labeled source images and the new one are drawn alike. It says nothing about how
many good edits pass; `passed` shows that for the labeled ones.

Of a sample that took some edits with a larger chance than others, every label counts one over its chance (weighted
conformal prediction: Tibshirani et al. 2019), and the promise is about all rejected edits rather than source images.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from editgauge._stats.intervals import LEVEL, Labels, Numbers

ROUNDING = 1e-9
STAKES = 20


@dataclass(frozen=True, slots=True)
class Threshold:
    """A score threshold beyond which edits pass; None when there are too few labels for the requested share."""

    value: float | None
    alpha: float
    higher_is_better: bool
    rejected: int
    """Labeled edits that people rejected; only they determine the threshold."""
    sources: int
    """Their source images."""
    passed: float | None
    """The share of the accepted labeled edits that pass; None when there are none, or no threshold."""
    note: str = ""

    def passes(self, scores: Numbers) -> NDArray[np.bool_]:
        """Tell which scores pass; none does without a threshold."""
        if self.value is None:
            return np.zeros(scores.shape, dtype=np.bool_)
        return scores > self.value if self.higher_is_better else scores < self.value


@dataclass(frozen=True, slots=True)
class Bin:
    """How often people accepted edits of about this score."""

    score: float
    """The mean score of the bin."""
    n: int
    accepted: float
    low: float
    high: float
    """Wilson's 95% interval, which takes the edits as independent."""
    fitted: float
    """The bin's mean of an isotonic regression over all edits: it never falls as the score gets better."""


def acceptance_threshold(
    scores: Numbers,
    accepted: NDArray[np.bool_],
    clusters: Labels,
    *,
    alpha: float = 0.1,
    higher_is_better: bool = True,
    probabilities: Numbers | None = None,
) -> Threshold:
    """Return the most generous threshold beyond which at most a share `alpha` of rejected edits passes.

    `probabilities` are the sampling probabilities of the labeled edits, where these differ.

    >>> scores = np.arange(20.0)
    >>> acceptance_threshold(scores, scores >= 10, np.arange(20), alpha=0.2).value
    8.0
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha is a share between 0 and 1, got {alpha}")
    sign = 1.0 if higher_is_better else -1.0
    bad, sources = sign * scores[~accepted], clusters[~accepted]
    names = np.unique(sources)
    needed = math.ceil(1 / alpha - ROUNDING) - 1
    if names.size < needed:
        note = f"at most {alpha:g} needs rejected edits of {needed} source images; there are {names.size}"
        return Threshold(None, alpha, higher_is_better, bad.size, names.size, None, note)
    counts = None if probabilities is None else 1 / probabilities
    value = _smallest_safe(bad, sources, alpha, None if counts is None else counts[~accepted])
    if value is None:
        note = f"one source image has too much weight among rejected edits to guarantee at most {alpha:g}"
        return Threshold(None, alpha, higher_is_better, bad.size, names.size, None, note)
    return Threshold(
        sign * value, alpha, higher_is_better, bad.size, names.size, _passed(sign * scores, accepted, counts, value)
    )


DELTA = 0.1
"""Probability that the high-probability threshold fails, over the sampling of labels."""


def high_probability_threshold(
    scores: Numbers,
    accepted: NDArray[np.bool_],
    clusters: Labels,
    *,
    alpha: float = 0.1,
    delta: float = DELTA,
    higher_is_better: bool = True,
    probabilities: Numbers | None = None,
) -> Threshold:
    """Return the most generous threshold that keeps the share with probability 1 - delta over the labels.

    Risk-controlling prediction sets (Bates et al. 2021) with the bound of Hoeffding and Bentkus over source images.
    With sampling `probabilities` every label is weighted by their inverse, the share is that of all rejected edits, and
    the bound is one by betting, which suffers less from unequal weights.

    >>> scores = np.arange(80.0)
    >>> high_probability_threshold(scores, scores >= 40, np.arange(80), alpha=0.2).value
    36.0
    """
    sign = 1.0 if higher_is_better else -1.0
    bad, sources = sign * scores[~accepted], clusters[~accepted]
    names, index, edits = np.unique(sources, return_inverse=True, return_counts=True)
    needed = math.ceil(math.log(delta) / math.log1p(-alpha) - ROUNDING)
    if names.size < needed:
        note = f"with probability {1 - delta:.0%} needs rejected edits of {needed} source images, not {names.size}"
        return Threshold(None, alpha, higher_is_better, bad.size, names.size, None, note)
    counts = None if probabilities is None else 1 / probabilities
    mass = 1 / edits[index] if counts is None else counts[~accepted]
    by_source = np.bincount(index, weights=mass).astype(np.float64)
    value = None
    for level in np.unique(bad)[::-1]:
        above = np.bincount(index, weights=mass * (bad > level)).astype(np.float64)
        p = _risk_p(float(above.mean()), names.size, alpha) if counts is None else _bet_p(above, by_source, alpha)
        if p > delta:
            break
        value = float(level)
    if value is None:
        note = f"one source image has too much weight among rejected edits to guarantee at most {alpha:g}"
        return Threshold(None, alpha, higher_is_better, bad.size, names.size, None, note)
    return Threshold(
        sign * value, alpha, higher_is_better, bad.size, names.size, _passed(sign * scores, accepted, counts, value)
    )


def _passed(signed: Numbers, accepted: NDArray[np.bool_], counts: Numbers | None, value: float) -> float | None:
    """Return the weighted share of accepted edits beyond the threshold."""
    if not accepted.any():
        return None
    return float(np.average(signed[accepted] > value, weights=None if counts is None else counts[accepted]))


def _risk_p(risk: float, n: int, alpha: float) -> float:
    """Return the p-value that the true risk exceeds alpha (Hoeffding and Bentkus)."""
    from scipy.special import rel_entr
    from scipy.stats import binom

    clipped = min(risk, alpha)
    hoeffding = math.exp(-n * float(rel_entr(clipped, alpha) + rel_entr(1 - clipped, 1 - alpha)))
    return min(hoeffding, math.e * float(binom.cdf(math.ceil(n * risk - ROUNDING), n, alpha)))


def _bet_p(above: Numbers, masses: Numbers, alpha: float) -> float:
    """Return the p-value that more than a share `alpha` of all mass lies above, by betting.

    If it does, a bettor with a fixed stake per source image gains nothing on average, so large gains are unlikely
    (Waudby-Smith and Ramdas 2024). Gains are averaged over several stakes.
    """
    favorable = (alpha * masses - above) / masses.max()
    stakes = np.arange(1, STAKES + 1)[:, None] / STAKES / (1 - alpha)
    gains = np.prod(1 + stakes * favorable, axis=1)
    return float(min(1.0, 1 / max(gains.mean(), ROUNDING)))


def _smallest_safe(bad: Numbers, sources: Labels, alpha: float, counts: Numbers | None) -> float | None:
    """Return the lowest rejected score t with (1 + sum of shares above t) / (1 + sources) <= alpha.

    With `counts` every rejected edit has that mass, and the new source image the largest mass of any.
    """
    _, index, edits = np.unique(sources, return_inverse=True, return_counts=True)
    mass = 1 / edits[index] if counts is None else counts
    by_source = np.bincount(index, weights=mass).astype(np.float64)
    order = np.argsort(bad)
    ascending = bad[order]
    levels = np.unique(ascending)
    ends = np.searchsorted(ascending, levels, side="right")
    above = by_source.sum() - np.cumsum(mass[order])[ends - 1]
    safe = above + by_source.max() <= alpha * (by_source.sum() + by_source.max()) + ROUNDING * by_source.max()
    return float(levels[np.argmax(safe)]) if safe.any() else None


def reliability(
    scores: Numbers, accepted: NDArray[np.bool_], *, bins: int = 10, higher_is_better: bool = True
) -> list[Bin]:
    """Return how often people accept edits by score, in bins of about equal size; equal scores share a bin."""
    from sklearn.isotonic import IsotonicRegression

    if not scores.size:
        return []
    curve = IsotonicRegression(increasing=higher_is_better, y_min=0, y_max=1, out_of_bounds="clip")
    curve.fit(scores, accepted.astype(np.float64))
    inner = np.quantile(scores, np.arange(1, bins) / bins)
    index = np.searchsorted(np.unique(inner), scores, side="right")
    return [_bin(scores[index == number], accepted[index == number], curve) for number in np.unique(index)]


def _bin(scores: Numbers, accepted: NDArray[np.bool_], curve: object) -> Bin:
    from scipy.stats import binomtest

    center, successes = float(scores.mean()), int(accepted.sum())
    interval = binomtest(successes, scores.size).proportion_ci(LEVEL, method="wilson")
    fitted = float(curve.predict(scores).mean())  # type: ignore[attr-defined]
    return Bin(center, scores.size, successes / scores.size, float(interval.low), float(interval.high), fitted)
