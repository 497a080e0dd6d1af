"""How much hangs on the chance in a protocol? The same outcomes scored again with other attributes, or another seed.

AugCLIP, section 6: attributes were extracted with five seeds; ROUGE-L (Google's `rouge-score`) says how alike the lists
are, and the variance over the seeds how far the score and its agreement with people move.

The paper does not say how a list becomes a text. Two readings, each by its name: `joined` takes the list as one text,
so that the order counts; `each` lets every attribute find its words anywhere in the other list (ROUGE-Lsum, an
attribute for a sentence).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from editgauge._stats.intervals import Mean, clustered_mean
from editgauge._stats.resampling import all_equal
from editgauge.analysis.evaluators.evaluators import EvaluatorTarget, Scored, label
from editgauge.analysis.people.matching import ScoredOutcomes
from editgauge.benchmarks.attributes import EXTRA, SIDES, Attributes
from editgauge.errors import BadInputError, EditGaugeError
from editgauge.results import Run


@dataclass(frozen=True, slots=True)
class Moved:
    """Agreement with one thing that was asked, run by run."""

    asked: str
    values: tuple[float | None, ...]
    variance: float | None
    """Over the runs (n - 1 below the line); None with fewer than two numbers."""

    @property
    def deviation(self) -> float | None:
        """The standard deviation, in the units of the agreement itself."""
        return None if self.variance is None else self.variance**0.5


@dataclass(frozen=True, slots=True)
class Steadiness:
    """One score over several runs that should agree."""

    score: str
    runs: int
    outcomes: int
    """Outcomes scored in all of them; only those count."""
    variance: Mean | None
    """The variance of an outcome's score over the runs, averaged over outcomes."""
    of_all: float | None
    """How much of all variance is within outcomes: 0 is steady, 1 nothing but chance; None when all are equal."""
    agreement: tuple[Moved, ...]


def steadiness(scores: Sequence[Scored], targets: Sequence[EvaluatorTarget], known: ScoredOutcomes) -> Steadiness:
    """How steady a score is, given once for every run."""
    if len(scores) < 2:
        raise ValueError("steadiness needs the score of at least two runs")
    shared = [key for key in scores[0].values if all(key in each.values for each in scores)]
    table = np.array([[each.values[key] for each in scores] for key in shared], dtype=np.float64)
    moved = tuple(_moved(each, scores) for each in targets)
    if not shared:
        return Steadiness(label(scores[0]), len(scores), 0, None, None, moved)
    return Steadiness(
        label(scores[0]),
        len(scores),
        len(shared),
        clustered_mean(table.var(axis=1, ddof=1), known.sources_of(shared)),
        None if all_equal(table.ravel()) else float(table.var(axis=1).mean() / table.var()),
        moved,
    )


def over_runs(
    runs: Sequence[ScoredOutcomes], scores: Sequence[Scored], targets: Sequence[EvaluatorTarget]
) -> list[Steadiness]:
    """The steadiness of every score of the first run that the others have too."""
    moves = []
    for score in scores:
        name = (score.protocol, score.spec.name)
        again = [Scored(score.protocol, score.spec, run.values[name]) for run in runs[1:] if name in run.values]
        if len(again) == len(runs) - 1:
            moves.append(steadiness([score, *again], targets, runs[0]))
    if not moves:
        raise BadInputError("The runs have no score in common, so stability cannot be measured.")
    return moves


def _moved(target: EvaluatorTarget, scores: Sequence[Scored]) -> Moved:
    values = tuple(target.ask(each).value for each in scores)
    known_values = [value for value in values if value is not None]
    return Moved(target.name, values, float(np.var(known_values, ddof=1)) if len(known_values) > 1 else None)


@dataclass(frozen=True, slots=True)
class Alike:
    """How alike the lists of one side are, averaged over edits and over any two seeds."""

    side: str
    edits: int
    """With at least two lists."""
    joined: Mean
    each: Mean


def rouge_l(one: Sequence[str], two: Sequence[str]) -> tuple[float, float]:
    """ROUGE-L (F1) of two lists: `joined`, and `each` averaged over both directions; 1 is the same words.

    >>> rouge_l(["red cap", "tan shorts"], ["tan shorts", "red cap"])
    (0.5, 1.0)
    """
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError as error:
        raise EditGaugeError("Comparing attributes needs rouge-score: pip install 'editgauge[captions]'") from error
    scorer = RougeScorer(["rougeL", "rougeLsum"], use_stemmer=False)
    texts = "\n".join(one), "\n".join(two)
    there, back = scorer.score(*texts), scorer.score(*reversed(texts))
    each = (there["rougeLsum"].fmeasure + back["rougeLsum"].fmeasure) / 2
    return float(there["rougeL"].fmeasure), float(each)


def lists_alike(extractions: Sequence[Mapping[str, Attributes]]) -> list[Alike]:
    """Compares what several extractions say of each edit, any two of them; empty when no edit is in two of them.

    Args:
        extractions: of every seed, edit to attributes, as `editgauge.benchmarks.attributes.read_attributes` gives them.
    """
    edits = dict.fromkeys(edit for each in extractions for edit in each)
    again = {edit: [each[edit] for each in extractions if edit in each] for edit in edits}
    several = {edit: lists for edit, lists in again.items() if len(lists) > 1}
    return [_alike(side, several) for side in SIDES] if several else []


def attributes_of(run: Run) -> dict[str, Attributes]:
    """Edit to the attributes that a run was given; edits without any are left out."""
    extras = {name: edit.get("extras", {}).get(EXTRA) for name, edit in run.edits.items()}
    return {name: Attributes(tuple(its["source"]), tuple(its["target"])) for name, its in extras.items() if its}


def _alike(side: str, again: Mapping[str, Sequence[Attributes]]) -> Alike:
    alike = [
        (edit, *rouge_l(getattr(one, side), getattr(two, side)))
        for edit, lists in again.items()
        for one, two in combinations(lists, 2)
    ]
    edits, joined, each = zip(*alike, strict=True)
    clusters = np.array(edits, dtype=np.str_)
    return Alike(side, len(again), clustered_mean(np.array(joined), clusters), clustered_mean(np.array(each), clusters))
