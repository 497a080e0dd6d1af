"""Select the items of a study: sampled candidates and gold items.

Gold items are a JSON lines file of items of the run with their right answers:
`{"edit": "cat-black", "method": "mine", "answers": {"applied": [2, 3]}}`; a list holds all answers that are right. Of
a pair: `{"edit": "cat-black", "first": "mine", "second": "theirs", "answers": {"better": "first"}}`, of attributes the
same with the attributes as `first` and `second`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from editgauge._util.datasets import read_text
from editgauge._util.documents import Location, read_jsonl
from editgauge._util.fields import format_value
from editgauge.analysis.outcomes import select_scores
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.results import OutcomeKey, Run
from editgauge.studies.assignment import draw
from editgauge.studies.creation.candidates import PageCandidate
from editgauge.studies.design import Design, DesignQuestion
from editgauge.studies.design.fields import Value

SWAPPED = {"first": "second", "second": "first"}
Right = dict[str, list[Value]]


@dataclass(frozen=True, slots=True)
class GoldItem:
    """A candidate with its right answers."""

    candidate: PageCandidate
    right: Right


def read_gold(file: Path, design: Design, candidates: Sequence[PageCandidate]) -> list[GoldItem]:
    """Read gold items from a file; raise `BadInputError` that lists all problems by line."""
    document = read_jsonl(read_text(file), file.name)
    by_names: dict[tuple[str, ...], list[PageCandidate]] = {}
    for candidate in candidates:
        by_names.setdefault((candidate.edit, *_names(candidate)), []).append(candidate)
    gold_items: dict[str, GoldItem] = {}
    for location, values in document.entries():
        item = _gold_item(values, design, by_names, location)
        if item is not None and item.candidate.key in gold_items:
            location.report("this item was given before")
        elif item is not None:
            gold_items[item.candidate.key] = item
    if document.faults:
        raise BadInputError(f"The gold items in '{file}' have problems.", document.problems())
    if not gold_items:
        raise BadInputError(f"'{file}' holds no gold items.")
    return list(gold_items.values())


def _names(candidate: PageCandidate) -> list[str]:
    return [str(item.method if item.attribute is None else item.attribute) for item in candidate.compared]


def _gold_item(
    values: Any, design: Design, by_names: Mapping[tuple[str, ...], list[PageCandidate]], location: Location
) -> GoldItem | None:
    keys = ("edit", "method") if design.unit == "outcome" else ("edit", "first", "second")
    if not isinstance(values, dict) or any(not isinstance(values.get(name), str) for name in keys):
        location.report(
            f"must be a mapping with the texts {', '.join(keys)}, and 'answers', got {format_value(values)}"
        )
        return None
    right = _right_answers(values.get("answers"), design, location)
    names = tuple(values[name] for name in keys)
    swapped = (names[0], *reversed(names[1:]))
    is_swapped = names not in by_names and swapped in by_names
    gold_items = by_names.get(swapped if is_swapped else names, [])
    seed = values.get("seed")
    fitting = [one for one in gold_items if seed is None or any(item.seed == seed for item in one.compared)]
    if len(fitting) != 1:
        listed = ", ".join(map(format_value, names))
        location.report(
            f"the run has {len(fitting) or 'no'} such item{'s: say which seed' if fitting else ''} ({listed})"
        )
        return None
    return GoldItem(fitting[0], _swap(right, design) if is_swapped else right) if right else None


def _swap(right: Right, design: Design) -> Right:
    sided = {question.id for question in design.sided}
    return {
        name: [SWAPPED.get(str(value), value) for value in values] if name in sided else values
        for name, values in right.items()
    }


def _right_answers(answers: Any, design: Design, location: Location) -> Right:
    if not isinstance(answers, dict) or not answers:
        location.report("'answers' must be a mapping of questions to right answers")
        return {}
    right: Right = {}
    for name, answer in answers.items():
        question = design.question(name)
        values = answer if isinstance(answer, list) else [answer]
        if question is None or question.kind == "text":
            names = ", ".join(item.id for item in design.questions if item.kind != "text")
            location.report(f"{format_value(name)} is no question with options; there are: {names}")
        elif not values or any(isinstance(value, bool) or value not in _values(question) for value in values):
            location.report(
                f"{format_value(answer)} does not answer '{name}'; there are: {', '.join(map(str, _values(question)))}"
            )
        else:
            right[name] = values
    return right


def _values(question: DesignQuestion) -> tuple[Value, ...]:
    """Sides are named from the item, not from the page: which one is shown on the left is decided later."""
    if question.kind == "pick_side":
        return ("first", "second", "tie") if question.tie else ("first", "second")
    return question.values


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
    ranks = _ranks(run)
    weights: dict[int, float] = {}
    for index, candidate in enumerate(candidates):
        keys = candidate.outcomes
        opinions = [_opinion(ranked, keys) for ranked in ranks if keys and all(key in ranked for key in keys)]
        if len(opinions) > 1:
            weights[index] = max(opinions) - min(opinions)
    return weights


def _opinion(ranked: dict[OutcomeKey, float], keys: Sequence[OutcomeKey]) -> float:
    return ranked[keys[0]] - (ranked[keys[1]] if len(keys) > 1 else 0.0)


def _ranks(run: Run) -> list[dict[OutcomeKey, float]]:
    """For every score, each outcome's rank from 0 (worst) to 1 (best); equals share the mean of their ranks."""
    from scipy.stats import rankdata  # takes seconds to import, and only this way of sampling needs it

    ranks = []
    for protocol, spec in select_scores(run, ()):
        values = run.score_table.values(protocol, spec.name)
        if len(values) > 1:
            numbers = np.fromiter(values.values(), float) * (1 if spec.higher_is_better else -1)
            ranks.append(dict(zip(values, (rankdata(numbers) - 1) / (len(numbers) - 1), strict=True)))
    return ranks
