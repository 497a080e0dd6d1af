"""A judge that was asked which of two outcomes is better is one more evaluator: read from what `prefer` wrote.

A line is a choice as people make them, and the same pair shown the other way round:
edit, first, second, chosen, swapped, rater, seed, unanswered. Both `chosen` and `swapped` name the outcome (first,
second or tie), never the place where it was shown, and are null where the judge gave no answer. A file without
`swapped` asked each pair in one order only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from editgauge._stats.intervals import Mean, clustered_mean
from editgauge.analysis.people.matching import Matched, OutcomeKey, ScoredOutcomes, match
from editgauge.analysis.people.ratings import Chosen, JudgePreference, read_verdicts
from editgauge.judges import Choice as Named
from editgauge.judges import settled
from editgauge.types import ScoreSpec

SPEC = ScoreSpec("prefers", True, (-1.0, 1.0))
NAMED: Mapping[Chosen, Named] = {"first": "one", "second": "two", "tie": "tie"}
LEAD: Mapping[Named | None, int] = {"one": 1, "two": -1, "tie": 0, None: 0}
"""By how much the first leads; a judge that follows the order has no preference, as if both were equal."""


@dataclass(frozen=True, slots=True)
class Preferring:
    """A judge as an evaluator."""

    name: str
    leads: Mapping[tuple[OutcomeKey, OutcomeKey], int]
    """Two outcomes to 1 when it prefers the first, -1 for the second, 0 for neither."""

    @property
    def protocol(self) -> str:
        """The judge's name, marked as that of a judge."""
        return f"judge[{self.name}]"

    @property
    def spec(self) -> ScoreSpec:
        """From the second (-1) to the first (1)."""
        return SPEC

    def pair(self, first: OutcomeKey, second: OutcomeKey) -> tuple[float, float] | None:
        """Half its lead for each; None when it was not asked about the two, or gave no answer."""
        lead = self.leads.get((first, second))
        if lead is None and (turned := self.leads.get((second, first))) is not None:
            lead = -turned
        return None if lead is None else (lead / 2, -lead / 2)


@dataclass(frozen=True, slots=True)
class JudgeFindings:
    """How far the order of two outcomes sways a judge."""

    name: str
    pairs: int
    unanswered: int
    """Pairs without an answer in one of the orders it was asked in: left out, never guessed."""
    ties: int
    """Pairs that it finds alike."""
    consistent: Mean | None
    """The share of pairs with one verdict in both orders; None when no pair was asked in both."""
    towards_first: Mean | None
    """From -1 (always the one shown second) to 1 (always the one shown first); 0 for one that looks at the edits."""


def read_judges(files: Iterable[Path], known: ScoredOutcomes) -> tuple[list[Preferring], list[JudgeFindings]]:
    """The judges of these files, as evaluators and with what is known about them."""
    answers = [verdict for file in files for verdict in read_verdicts(file)]
    if not answers:
        return [], []
    by_judge: dict[str, list[tuple[tuple[OutcomeKey, ...], JudgePreference]]] = defaultdict(list)
    matched: Matched[JudgePreference] = match(answers, known.seeds)
    for keys, verdict in matched.pairs:
        by_judge[verdict.rater or "judge"].append((keys, verdict))
    evaluators = [Preferring(name, _leads(verdicts)) for name, verdicts in by_judge.items()]
    return evaluators, [_findings(name, verdicts, known) for name, verdicts in by_judge.items()]


def _leads(
    verdicts: Sequence[tuple[tuple[OutcomeKey, ...], JudgePreference]],
) -> dict[tuple[OutcomeKey, OutcomeKey], int]:
    leads = {}
    for (first, second), verdict in verdicts:
        if verdict.is_answered:
            leads[first, second] = LEAD[_settled(verdict)]
    return leads


def _settled(verdict: JudgePreference) -> Named | None:
    if verdict.chosen is None:
        return None
    choice = NAMED[verdict.chosen]
    return choice if verdict.swapped is None else settled(choice, NAMED[verdict.swapped])


def _findings(
    name: str, verdicts: Sequence[tuple[tuple[OutcomeKey, ...], JudgePreference]], known: ScoredOutcomes
) -> JudgeFindings:
    answered = [(keys, verdict) for keys, verdict in verdicts if verdict.is_answered]
    twice = [(keys[0], each.chosen, each.swapped) for keys, each in answered if each.chosen and each.swapped]
    sources = known.sources_of(key for key, *_ in twice)
    same = np.array([choice == swapped for _, choice, swapped in twice], dtype=np.float64)
    # shown first is the first outcome in the given order, and the second one in the swapped order
    drawn = [(LEAD[NAMED[choice]] - LEAD[NAMED[swapped]]) / 2 for _, choice, swapped in twice]
    return JudgeFindings(
        name,
        len(verdicts),
        unanswered=len(verdicts) - len(answered),
        ties=sum(_settled(verdict) == "tie" for _, verdict in answered),
        consistent=clustered_mean(same, sources) if twice else None,
        towards_first=clustered_mean(np.array(drawn, dtype=np.float64), sources) if twice else None,
    )
