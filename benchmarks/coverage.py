"""How often intervals hold the truth, equal methods seem different, thresholds keep their promise: simulated.

    python benchmarks/coverage.py [--worlds 10000] [--out docs/explanation/intervals-table.md]

Every cell draws that many worlds: source images with one to five edits each, which correlate by 0.3. Shares of single
edits are computed exactly, those of several from twice as many worlds, and AUROC from a fifth.
Printed as the Markdown tables of docs/explanation/intervals.md. Takes minutes on one core.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from editgauge._stats.agreement import clustered_auroc
from editgauge._stats.conformal import Threshold, acceptance_threshold, high_probability_threshold
from editgauge._stats.intervals import LEVEL, Labels, Mean, Numbers, clustered_mean, share_interval
from editgauge._stats.pairwise import differences
from editgauge._stats.resampling import Estimate

Random = np.random.Generator
SOURCES = (10, 20, 50, 100)
EDITS = (1, 2, 5)
SHARED = 0.3
"""The correlation of the edits of one source image."""


def _yes(chance: float) -> Callable[[Numbers], Numbers]:
    return lambda shares: np.less(shares, chance).astype(np.float64)


def _steps(shares: Numbers) -> Numbers:
    return np.digitize(shares, (0.05, 0.10, 0.30, 0.60)).astype(np.float64)


MEANS: dict[str, tuple[Callable[[Numbers], Numbers], float]] = {
    "normal": (ndtri, 0.0),
    "ties: five levels": (_steps, 2.95),
    "skewed: exponential": (lambda shares: -np.log1p(-shares), 1.0),
    "very skewed: lognormal": (lambda shares: np.exp(ndtri(shares)), float(np.exp(0.5))),
    "yes or no, 0.5": (_yes(0.5), 0.5),
    "yes or no, 0.1": (_yes(0.1), 0.1),
    "yes or no, 0.05": (_yes(0.05), 0.05),
    "yes or no, 0.02": (_yes(0.02), 0.02),
}
"""How a score spreads, from shares spread evenly; and its mean."""
AREAS = (0.7, 0.9, 0.98)
EQUAL: dict[str, Callable[[Numbers], Numbers]] = {
    "normal": ndtri,
    "skewed: exponential": lambda shares: -np.log1p(-shares),
    "yes or no, 0.1": _yes(0.1),
}


def clustered(random: Random, sources: int, edits: int) -> tuple[Numbers, Labels]:
    """Draw normal numbers that correlate within a source image."""
    shared = np.repeat(random.standard_normal(sources), edits)
    own = random.standard_normal(sources * edits)
    return np.sqrt(SHARED) * shared + np.sqrt(1 - SHARED) * own, np.repeat(np.arange(sources), edits)


def mean_coverage(kind: str, sources: int, edits: int, worlds: int) -> float:
    """How often the interval of a mean holds it."""
    make, truth = MEANS[kind]
    if kind.startswith("yes or no"):
        return exact_coverage(truth, sources) if edits == 1 else counted_coverage(truth, sources, edits, 2 * worlds)
    random, held = np.random.default_rng(1), 0
    for _ in range(worlds):
        normals, clusters = clustered(random, sources, edits)
        held += holds(clustered_mean(make(ndtr(normals)), clusters), truth)
    return held / worlds


def holds(interval: Mean | Estimate, truth: float) -> bool:
    """Whether there is one, and the truth lies in it."""
    return interval.low is not None and interval.high is not None and interval.low <= truth <= interval.high


def counted_coverage(share: float, sources: int, edits: int, worlds: int) -> float:
    """Estimate the coverage for binary scores; samples with equal counts per source image share an interval."""
    random = np.random.default_rng(1)
    clusters = np.repeat(np.arange(sources), edits)
    passed = np.stack([ndtr(clustered(random, sources, edits)[0]) < share for _ in range(worlds)])
    counts = np.sort(passed.reshape(worlds, sources, edits).sum(axis=2), axis=1)
    worlds_like, often = np.unique(counts, axis=0, return_counts=True)
    held = [
        holds(clustered_mean((np.arange(edits) < yes[:, None]).astype(np.float64).ravel(), clusters), share)
        for yes in worlds_like
    ]
    return float(often[held].sum() / worlds)


def exact_coverage(share: float, n: int) -> float:
    """Compute the exact coverage for independent binary scores from the probabilities of all counts."""
    ends = [share_interval(yes / n, n, LEVEL) for yes in range(n + 1)]
    held = [low <= share <= high for low, high in ends]
    return float(binom.pmf(np.arange(n + 1), n, share)[held].sum())


def area_coverage(area: float, sources: int, edits: int, worlds: int) -> float:
    """How often the interval of an AUROC holds it; every second source image is a good one."""
    random, held = np.random.default_rng(2), 0
    apart = np.sqrt(2) * float(ndtri(area))
    for _ in range(worlds):
        normals, clusters = clustered(random, sources, edits)
        good = (clusters % 2).astype(np.float64)
        held += holds(clustered_auroc(normals + apart * good, good, clusters), area)
    return held / worlds


def false_alarms(kind: str, methods: int, sources: int, worlds: int) -> float:
    """How often any two of so many equal methods seem different."""
    random, alarms = np.random.default_rng(3), 0
    for _ in range(worlds):
        values = EQUAL[kind](random.random((methods, sources)))
        alarms += any(each.significant for each in differences(values, np.arange(sources)))
    return alarms / worlds


def kept_promises(sources: int, alpha: float, worlds: int, *, weighted: bool) -> tuple[float, float]:
    """Of `accept`: the mean share of rejected edits that pass, and how often the strict threshold keeps the share.

    Source images have one to five edits. Weighted: 30 of 100 edits with a score below the median are labeled, and 80 of
    those above; then the share is that of all rejected edits, else that of a source image.
    """
    random, means, kept = np.random.default_rng(4), [], []
    new = _edits_to_accept(random, 20_000)
    for _ in range(worlds):
        scores, accepted, clusters = _edits_to_accept(random, sources)
        chances = np.where(scores > 0, 0.8, 0.3) if weighted else np.ones(scores.size)
        taken = random.random(scores.size) < chances
        labeled = scores[taken], accepted[taken], clusters[taken]
        probabilities = chances[taken] if weighted else None
        average = acceptance_threshold(*labeled, alpha=alpha, probabilities=probabilities)
        strict = high_probability_threshold(*labeled, alpha=alpha, probabilities=probabilities)
        means.append(_false_share(average, *new, by_edit=weighted))
        kept.append(_false_share(strict, *new, by_edit=weighted) <= alpha)
    return float(np.mean(means)), float(np.mean(kept))


def _edits_to_accept(random: Random, sources: int) -> tuple[Numbers, NDArray[np.bool_], Labels]:
    """Scores that see dimly what people accept."""
    clusters = np.repeat(np.arange(sources), random.integers(1, 6, size=sources))
    goodness, mood = random.standard_normal(clusters.size), random.standard_normal(sources)[clusters]
    return goodness + mood + random.standard_normal(clusters.size), goodness + 0.5 * mood > 0, clusters


def _false_share(
    threshold: Threshold, scores: Numbers, accepted: NDArray[np.bool_], clusters: Labels, *, by_edit: bool
) -> float:
    passed = threshold.passes(scores[~accepted])
    if by_edit:
        return float(passed.mean())
    _, index, edits = np.unique(clusters[~accepted], return_inverse=True, return_counts=True)
    return float((np.bincount(index, weights=passed) / edits).mean())


def tables(worlds: int) -> Iterator[str]:
    """All of it, line by line."""
    head = [f"{sources} × {edits}" for sources in SOURCES for edits in EDITS]
    yield f"Share of {worlds:,} worlds in which the 95% interval holds the truth; columns: source images × edits each."
    yield ""
    yield f"| | {' | '.join(head)} |"
    yield f"|---|{'---|' * len(head)}"
    for kind in MEANS:
        yield _row(f"mean, {kind}", (mean_coverage(kind, s, e, worlds) for s in SOURCES for e in EDITS))
    for area in AREAS:
        yield _row(f"AUROC {area}", (area_coverage(area, s, e, worlds // 5) for s in SOURCES for e in EDITS))
    counts = (2, 3, 5, 8)
    fewer = max(200, worlds // 20)
    promises = max(100, worlds // 50)
    yield ""
    yield f"Share of {fewer:,} worlds in which any two of several equal methods differ significantly; 30 source images."
    yield ""
    yield f"| methods | {' | '.join(map(str, counts))} |"
    yield f"|---|{'---|' * len(counts)}"
    for kind in EQUAL:
        yield _row(kind, (false_alarms(kind, methods, 30, fewer) for methods in counts))
    yield ""
    yield f"`accept` in {promises:,} worlds: what passes of the edits that people reject."
    yield ""
    yield "| source images, share | mean share that passes | the strict threshold keeps the share |"
    yield "|---|---|---|"
    for weighted in (False, True):
        for sources, alpha in ((60, 0.1), (200, 0.1), (60, 0.2), (200, 0.2)):
            name = f"{sources}, {alpha}, {'labeled with unequal chances' if weighted else 'all labeled'}"
            yield _row(name, iter(kept_promises(sources, alpha, promises, weighted=weighted)))


def _row(name: str, shares: Iterator[float]) -> str:
    return f"| {name} | {' | '.join(f'{share:.3f}' for share in shares)} |"


def main() -> None:
    """Print the tables and write them to a file if one is named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=10_000)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    lines = []
    for line in tables(options.worlds):
        print(line, flush=True)
        lines.append(line)
    if options.out:
        options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
