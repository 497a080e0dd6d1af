"""How alike are lists of attributes that were extracted with different seeds? ROUGE-L, by Google's `rouge-score`.

The paper (AugCLIP, section 6) does not say how a list becomes a text. Two readings, each by its name: `joined` takes
the list as one text, so that the order counts; `each` lets every attribute find its words anywhere in the other list
(ROUGE-Lsum, an attribute for a sentence).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from editgauge.benchmarks.attributes import EXTRA, SIDES, Attributes
from editgauge.core.errors import EditGaugeError
from editgauge.core.run import Run
from editgauge.stats.intervals import Mean, clustered_mean


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
