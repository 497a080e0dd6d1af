"""Scores of whole sets: how many differences a model tells, how often none, and CIDEr, which weighs rare words."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from editgauge.core.types import Score, Scores, ScoreSpec, Unscored
from editgauge.protocols import Part
from editgauge.protocols.difference.caption_metrics import CIDER_SCALE, Rarity, cider

SETS = (
    ScoreSpec("avg_diff", True, (0.0, 1000.0), "Differences per edit (Avg. Diff of table 3); people report about six."),
    ScoreSpec("no_diffs", False, (0.0, 1.0), "Share of edits without any reported difference (No Diffs of table 3)."),
    ScoreSpec("cider", True, (0.0, CIDER_SCALE), "CIDEr-D against people's captions; rarity counted over the set."),
)


def set_scores(parts: Sequence[Part]) -> Scores:
    """All three, of what `part` kept of each outcome."""
    if not parts:
        return {spec.name: Unscored("not_applicable", "a set needs one outcome at least") for spec in SETS}
    counts = [int(number[0]) for number, _, _ in parts]
    return {
        "avg_diff": Score(fmean(counts)),
        "no_diffs": Score(counts.count(0) / len(counts)),
        "cider": _cider([(str(caption[0]), [str(each) for each in people]) for _, caption, people in parts]),
    }


def _cider(captions: Sequence[tuple[str, list[str]]]) -> Score | Unscored:
    compared = [(caption, people) for caption, people in captions if people]
    if len(compared) < 2:
        return Unscored(
            "not_applicable", "CIDEr needs people's captions of two edits at least, to know which words are rare"
        )
    rarity = Rarity.of([people for _, people in compared])
    return Score(fmean(cider(caption, people, rarity) for caption, people in compared))
