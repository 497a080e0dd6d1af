"""From which score on would a person accept an edit? A threshold with a guarantee, and a curve to look at.

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
    """Edits that score beyond it pass; None when there are too few labels for the wanted share."""

    value: float | None
    alpha: float
    higher_is_better: bool
    rejected: int
    """Labeled edits that a person rejected: the threshold comes from them alone."""
    sources: int
    """Source images they belong to."""
    passed: float | None
    """The share of the accepted labeled edits that pass; None when there are none, or no threshold."""
    note: str = ""

    def passes(self, scores: Numbers) -> NDArray[np.bool_]:
        """Which of these scores pass; without a threshold none does."""
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
    """The most generous threshold beyond which at most a share `alpha` of what people reject passes.

    `probabilities` are the chances with which the labeled edits were picked, where these differ.

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
        note = f"the rejected edits of one source image stand for too many others to promise at most {alpha:g}"
        return Threshold(None, alpha, higher_is_better, bad.size, names.size, None, note)
    return Threshold(
        sign * value, alpha, higher_is_better, bad.size, names.size, _passed(sign * scores, accepted, counts, value)
    )


DELTA = 0.1
"""How often the high-probability threshold may fail, over the labels one might have got."""


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
    """The most generous threshold that keeps the share with probability 1 - delta over the labels, not on average.

    Risk-controlling prediction sets (Bates et al. 2021) with the bound of Hoeffding and Bentkus over source images.
    `probabilities` are the chances with which the labeled edits were picked, where these differ: every label then
    counts one over its chance, the share is that of all rejected edits, and the bound is one by betting, which suffers
    less from masses of different size.

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
        note = f"the rejected edits of one source image stand for too many others to promise at most {alpha:g}"
        return Threshold(None, alpha, higher_is_better, bad.size, names.size, None, note)
    return Threshold(
        sign * value, alpha, higher_is_better, bad.size, names.size, _passed(sign * scores, accepted, counts, value)
    )


def _passed(signed: Numbers, accepted: NDArray[np.bool_], counts: Numbers | None, value: float) -> float | None:
    """The share of the accepted edits beyond the threshold, each counting as often as it stands for others."""
    if not accepted.any():
        return None
    return float(np.average(signed[accepted] > value, weights=None if counts is None else counts[accepted]))


def _risk_p(risk: float, n: int, alpha: float) -> float:
    """The p-value that the true risk exceeds alpha (Hoeffding and Bentkus)."""
    from scipy.special import rel_entr
    from scipy.stats import binom

    below = min(risk, alpha)
    hoeffding = math.exp(-n * float(rel_entr(below, alpha) + rel_entr(1 - below, 1 - alpha)))
    return min(hoeffding, math.e * float(binom.cdf(math.ceil(n * risk - ROUNDING), n, alpha)))


def _bet_p(above: Numbers, masses: Numbers, alpha: float) -> float:
    """The p-value that more than a share `alpha` of all mass lies above, from what source images have of either.

    If it does, a gambler who stakes a fixed part on every source image gains nothing on average, so large gains are
    unlikely (Waudby-Smith and Ramdas 2024). Gains are averaged over several stakes.
    """
    favorable = (alpha * masses - above) / masses.max()
    stakes = np.arange(1, STAKES + 1)[:, None] / STAKES / (1 - alpha)
    gains = np.prod(1 + stakes * favorable, axis=1)
    return float(min(1.0, 1 / max(gains.mean(), ROUNDING)))


def _smallest_safe(bad: Numbers, sources: Labels, alpha: float, counts: Numbers | None) -> float | None:
    """The lowest rejected score t with (1 + sum over sources of the share above t) / (1 + sources) <= alpha.

    With `counts` every rejected edit has that mass, and the new source image the largest mass of any.
    """
    _, index, edits = np.unique(sources, return_inverse=True, return_counts=True)
    mass = 1 / edits[index] if counts is None else counts
    by_source = np.bincount(index, weights=mass).astype(np.float64)
    order = np.argsort(bad)
    risen = bad[order]
    highest = np.unique(risen)
    last = np.searchsorted(risen, highest, side="right")
    above = by_source.sum() - np.cumsum(mass[order])[last - 1]
    safe = above + by_source.max() <= alpha * (by_source.sum() + by_source.max()) + ROUNDING * by_source.max()
    return float(highest[np.argmax(safe)]) if safe.any() else None


def reliability(
    scores: Numbers, accepted: NDArray[np.bool_], *, bins: int = 10, higher_is_better: bool = True
) -> list[Bin]:
    """How often people accept edits by their score, in bins of about as many edits each; equal scores stay together."""
    from sklearn.isotonic import IsotonicRegression

    if not scores.size:
        return []
    curve = IsotonicRegression(increasing=higher_is_better, y_min=0, y_max=1, out_of_bounds="clip")
    curve.fit(scores, accepted.astype(np.float64))
    inner = np.quantile(scores, np.arange(1, bins) / bins)
    place = np.searchsorted(np.unique(inner), scores, side="right")
    return [_bin(scores[place == each], accepted[place == each], curve) for each in np.unique(place)]


def _bin(scores: Numbers, accepted: NDArray[np.bool_], curve: object) -> Bin:
    from scipy.stats import binomtest

    middle, yes = float(scores.mean()), int(accepted.sum())
    interval = binomtest(yes, scores.size).proportion_ci(LEVEL, method="wilson")
    fitted = float(curve.predict(scores).mean())  # type: ignore[attr-defined]
    return Bin(middle, scores.size, yes / scores.size, float(interval.low), float(interval.high), fitted)
