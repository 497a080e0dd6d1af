"""How far one score beats every other one of an audit on held-back photographs, in AUROC of `edit done`.

    python benchmarks/own_protocol.py AUDIT/run PROBES [editgauge/edit]

Each line compares on the probes that both scores have an answer for, and draws whole photographs for its interval.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from editgauge.analysis.intervals import Numbers
from editgauge.analysis.resampling import Estimate, divided, estimate, resampled
from editgauge.auditing.measured import measured_in
from editgauge.auditing.probes import Probe, read_probes
from editgauge.core.run import Run

OfDraws = Callable[[Numbers], Numbers]


def auroc_of_draws(values: Numbers, good: Numbers) -> OfDraws:
    """The AUROC of weighted probes, one per column of weights; equal values count half."""
    _, level = np.unique(values, return_inverse=True)
    order = np.argsort(level, kind="stable")
    beginnings = np.flatnonzero(np.diff(level[order], prepend=-1))
    good_in_order = good[order][:, None]

    def of_draws(weights: Numbers) -> Numbers:
        goods = np.add.reduceat(weights[order] * good_in_order, beginnings, axis=0)
        bads = np.add.reduceat(weights[order] * (1 - good_in_order), beginnings, axis=0)
        below = np.cumsum(bads, axis=0) - bads / 2
        return divided((goods * below).sum(axis=0), goods.sum(axis=0) * bads.sum(axis=0))

    return of_draws


def difference_of_draws(one: OfDraws, other: OfDraws) -> OfDraws:
    """How much higher one is than the other, on the same draws."""
    return lambda weights: one(weights) - other(weights)


def drawn(of_draws: OfDraws, photos: Numbers) -> Estimate:
    """The value with its interval."""
    value = float(of_draws(np.ones((len(photos), 1)))[0])
    return estimate(value, resampled(of_draws, photos), len(photos), len(np.unique(photos)))


def told(one: Estimate, sign: str = "") -> str:
    """'.958 (.927 to .984)'."""
    return " to ".join(f"{each:{sign}.3f}" for each in (one.low, one.high) if each is not None).join(
        [f"{one.value:{sign}.3f} (", ")"]
    )


def held_back(probes: tuple[Probe, ...]) -> list[Probe]:
    """Probes with a known truth, of photographs that nothing was chosen on."""
    return [probe for probe in probes if probe.split == "held_back" and probe.done is not None]


def main() -> None:
    """One line per score."""
    run, probes = Run.open(Path(sys.argv[1])), held_back(read_probes(sys.argv[2]))
    ours = sys.argv[3] if len(sys.argv) > 3 else "editgauge/edit"
    scores = {
        f"{each.protocol}/{each.spec.name}": each.values * (1 if each.spec.higher_is_better else -1)
        for each in measured_in(run, probes)
    }
    done, photos = np.array([float(bool(probe.done)) for probe in probes]), np.array([probe.photo for probe in probes])
    print(f"{len(probes)} held-back probes of {len(set(photos))} photographs; {ours} against each other score")
    for name, values in scores.items():
        both = ~np.isnan(values) & ~np.isnan(scores[ours])
        if name == ours or len(set(done[both])) < 2:
            continue
        one, other = (auroc_of_draws(each[both], done[both]) for each in (scores[ours], values))
        difference = drawn(difference_of_draws(one, other), photos[both])
        print(
            f"| `{name}` | {both.mean():.0%} | {told(drawn(other, photos[both]))} | {told(drawn(one, photos[both]))} "
            f"| {told(difference, '+')} |"
        )


if __name__ == "__main__":
    main()
