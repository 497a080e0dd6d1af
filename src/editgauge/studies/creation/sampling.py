"""Which candidates are rated: all, as many of every cell, or those on which automatic scores disagree most."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from editgauge.analysis.outcomes import OutcomeKey, ScoredOutcomes, scored_outcomes, select_scores
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.results import Run
from editgauge.studies.assignment import draw
from editgauge.studies.creation.candidates import PageCandidate

Sample = Literal["all", "stratified", "disagreement"]
MAX_DRAW = 2**62


def sample_candidates(
    candidates: Sequence[PageCandidate], sample: str, items: int | None, run: Run, seed: int
) -> list[PageCandidate]:
    """Return the sampled candidates in the run's order, with inclusion probabilities for a stratified sample."""
    if sample not in get_args(Sample):
        raise UnknownNameError("way of sampling", sample, get_args(Sample))
    if sample == "all":
        if items is not None and items < len(candidates):
            raise BadInputError(
                f"There are {len(candidates)} items, and {items} are wanted: choose them with `sample='stratified'` "
                "or `sample='disagreement'`, or leave out `items`."
            )
        return list(candidates)
    if items is None:
        raise BadInputError(f"`sample='{sample}'` chooses among {len(candidates)} items: pass their number as `items`.")
    if sample == "stratified":
        sample_items = [candidates[index] for index in sorted(_stratified(candidates, items, seed))]
        chances = _chances(Counter(candidate.cell for candidate in candidates), items)
        return [replace(item, probability=chances[item.cell]) for item in sample_items]
    spread = disagreement(candidates, run)
    ranked = sorted(spread, key=lambda index: (-spread[index], draw(MAX_DRAW, seed, "sample", candidates[index].key)))
    if len(ranked) < items:
        raise BadInputError(f"Only {len(ranked)} items have two scores that could disagree; {items} are wanted.")
    return [candidates[index] for index in sorted(ranked[:items])]


def _stratified(candidates: Sequence[PageCandidate], items: int, seed: int) -> list[int]:
    """As many of every cell as there are, taken in turn, at random within the cell."""
    cells: dict[str, list[int]] = defaultdict(list)
    for index, candidate in enumerate(candidates):
        cells[candidate.cell].append(index)
    ranked = [
        (rank, draw(MAX_DRAW, seed, "cell", cell), index)
        for cell, indices in cells.items()
        for rank, index in enumerate(sorted(indices, key=lambda p: draw(MAX_DRAW, seed, "sample", candidates[p].key)))
    ]
    return [index for _, _, index in sorted(ranked)[:items]]


def _chances(sizes: Mapping[str, int], items: int) -> dict[str, float]:
    """Cell to the chance of each of its candidates: cells take turns, in the last one some of them, at random."""
    turns, left = 0, items
    while (open_cells := sum(size > turns for size in sizes.values())) and left >= open_cells:
        turns, left = turns + 1, left - open_cells
    last = left / open_cells if open_cells else 0.0
    return {cell: (min(size, turns) + (last if size > turns else 0.0)) / size for cell, size in sizes.items()}


def disagreement(candidates: Sequence[PageCandidate], run: Run) -> dict[int, float]:
    """How far the scores' opinions of a candidate lie apart, from 0 to 1 (of a pair: to 2), by its index.

    Each score ranks all outcomes of the run from worst (0) to best (1). The opinion of an outcome is its rank, of a
    pair the difference of ranks; the spread is the largest opinion minus the smallest. Candidates with fewer than two
    opinions are left out.
    """
    ranks = _ranks(run, scored_outcomes(run))
    weights: dict[int, float] = {}
    for index, candidate in enumerate(candidates):
        keys = candidate.outcomes
        opinions = [_opinion(ranked, keys) for ranked in ranks if keys and all(key in ranked for key in keys)]
        if len(opinions) > 1:
            weights[index] = max(opinions) - min(opinions)
    return weights


def _opinion(ranked: dict[OutcomeKey, float], keys: Sequence[OutcomeKey]) -> float:
    return ranked[keys[0]] - (ranked[keys[1]] if len(keys) > 1 else 0.0)


def _ranks(run: Run, scored: ScoredOutcomes) -> list[dict[OutcomeKey, float]]:
    """For every score, each outcome's rank from 0 (worst) to 1 (best); equals share the mean of their ranks."""
    from scipy.stats import rankdata  # takes seconds to import, and only this way of sampling needs it

    ranks = []
    for protocol, spec in select_scores(run, ()):
        values = scored.values.get((protocol, spec.name), {})
        if len(values) > 1:
            numbers = np.fromiter(values.values(), float) * (1 if spec.higher_is_better else -1)
            ranks.append(dict(zip(values, (rankdata(numbers) - 1) / (len(numbers) - 1), strict=True)))
    return ranks
