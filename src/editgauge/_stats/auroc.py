"""The area under the ROC curve of clustered values, with an interval that never has zero width."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata
from scipy.stats import t as student

from editgauge._stats.intervals import LEVEL, Labels, Numbers
from editgauge._stats.resampling import Estimate, no_estimate

AUROC = "score interval of the AUROC (Newcombe 2006) with the design effect of source images (Obuchowski 1997)"
BISECTIONS = 40
FEW = 0.75
"""How much of Student's t fully dependent values need; more would hold too often (benchmarks/coverage.py)."""
DOUBTED = 10
"""Source images from which a variance below that of the formula is believed more than not."""


def clustered_auroc(values: Numbers, good: Numbers, clusters: Labels, *, level: float = LEVEL) -> Estimate:
    """The chance that a good one has a higher value than a bad one, equal values counting half.

    >>> area = clustered_auroc(np.arange(20.0), (np.arange(20) >= 10) * 1.0, np.arange(20))
    >>> area.value, round(area.low, 2), area.high
    (1.0, 0.8, 1.0)
    """
    is_good = good > 0
    goods, bads = int(is_good.sum()), int((~is_good).sum())
    names, index = np.unique(clusters, return_inverse=True)
    if not goods or not bads:
        return no_estimate("good ones or bad ones are missing", clusters)
    below, above = _placements(values, is_good)
    area = float(below.mean())
    if names.size < 2:
        return Estimate(area, None, None, values.size, names.size)
    pulls = np.zeros(values.size)
    pulls[is_good], pulls[~is_good] = (below - area) / goods, (above - area) / bads
    by_cluster = np.bincount(index, weights=pulls, minlength=names.size)
    clustered = float((by_cluster**2).sum()) * names.size / (names.size - 1)
    alone = _variance(area, goods, bads)
    effect = clustered / alone if alone > 0 and clustered > 0 else values.size / names.size
    if effect < 1:  # the formula asks for more than the values show: many source images are believed, few are not
        effect = 1 + (effect - 1) * names.size / (names.size + DOUBTED)
    quantile, dependent = (1 + level) / 2, FEW * (1 - names.size / values.size)
    normal, few = float(ndtri(quantile)), float(student.ppf(quantile, names.size - 1))
    reach = (normal + dependent * (few - normal)) * np.sqrt(effect)
    low, high = (_end(area, reach, goods, bads, towards) for towards in (0.0, 1.0))
    return Estimate(area, low, high, values.size, names.size, method=AUROC)


def _placements(values: Numbers, is_good: Labels) -> tuple[Numbers, Numbers]:
    """For every good one the share of bad ones below it, for every bad one the share of good ones above it."""
    ranks = rankdata(values)
    goods, bads = int(is_good.sum()), int((~is_good).sum())
    below = (ranks[is_good] - rankdata(values[is_good])) / bads
    above = 1 - (ranks[~is_good] - rankdata(values[~is_good])) / goods
    return below, above


def _variance(area: float, goods: int, bads: int) -> float:
    """Of an AUROC of independent values (Hanley and McNeil 1982, in Newcombe's symmetric form)."""
    others = (goods + bads) / 2 - 1
    spread = 1 + others * ((1 - area) / (2 - area) + area / (1 + area))
    return area * (1 - area) * spread / (goods * bads)


def _end(area: float, reach: float, goods: int, bads: int, towards: float) -> float:
    """The AUROC furthest in this direction of which the measured one is not too far."""
    inside, outside = area, towards
    for _ in range(BISECTIONS):
        middle = (inside + outside) / 2
        if abs(middle - area) <= reach * np.sqrt(_variance(middle, goods, bads)):
            inside = middle
        else:
            outside = middle
    return towards if abs(inside - towards) < 1e-9 else inside
