"""How long the whole inference of a report takes: means, intervals, verdicts and places by edit type.

    python benchmarks/inference.py [--methods 8] [--scores 20] [--edits 1000]

One process, one core. Seconds of processor time, so that other work on the machine does not count.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from editgauge._stats.intervals import clustered_mean
from editgauge._stats.pairwise import differences, ranks
from editgauge.types import ScoreSpec

EDIT_TYPES = 10
MISSING = 0.05


def main() -> None:
    """Print the seconds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("--methods", 8), ("--scores", 20), ("--edits", 1_000)):
        parser.add_argument(name, type=int, default=value)
    options = parser.parse_args()
    random = np.random.default_rng(0)
    sources = random.integers(0, options.edits // 3, size=options.edits)
    types = random.integers(0, EDIT_TYPES, size=options.edits)
    started = time.process_time()
    tests = means = 0
    for place in range(options.scores):
        spec = ScoreSpec(f"score{place}", True, (0.0, 1.0))
        values = random.random((options.methods, options.edits))
        values = np.less(values, 0.3).astype(np.float64) if place % 3 == 0 else values
        values[random.random(values.shape) < MISSING] = np.nan
        for chosen in (np.ones(options.edits, bool), *(types == kind for kind in range(EDIT_TYPES))):
            part = values[:, chosen]
            found = differences(part, sources[chosen], spec.range)
            ranks(len(part), found)
            tests += len(found)
            for row in part:
                scored = ~np.isnan(row)
                clustered_mean(row[scored], sources[chosen][scored], scale=spec.range)
                means += 1
    taken = time.process_time() - started
    print(f"{tests:,} paired tests and {means:,} means with intervals: {taken:.1f} s")


if __name__ == "__main__":
    main()
