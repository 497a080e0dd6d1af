"""Yes and no of people and of scores, outcome by outcome."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from editgauge.core.run import Run
from editgauge.core.types import ScoreSpec
from editgauge.findings.people.matching import Matched, OutcomeKey
from editgauge.findings.people.ratings import Rating
from editgauge.stats.intervals import Labels, Numbers

PASSES = 0.5
HALF = 0.5
UNFINISHED = "unfinished"
"""The reason of outcomes that a run has yet to score."""
NO_ACTION = "no action given"


@dataclass(frozen=True, slots=True)
class Majority:
    """What more than half of the raters find good."""

    good_from: float
    good: Mapping[OutcomeKey, bool]
    split: int
    """Outcomes on which they are evenly split."""

    def yes(self, spec: ScoreSpec) -> dict[OutcomeKey, bool]:
        """What a score would say that agrees with people on everything."""
        return {key: good == spec.higher_is_better for key, good in self.good.items()}


def majorities(matched: Matched[Rating], levels: Mapping[str, float]) -> dict[str, Majority]:
    """By question; those with other answers than 0 and 1 only where a level says from which they are good."""
    answers: dict[str, dict[OutcomeKey, list[float]]] = defaultdict(lambda: defaultdict(list))
    for (key,), rating in matched.pairs:
        answers[rating.question][key].append(rating.value)
    by_question = {}
    for question, by_outcome in answers.items():
        if question in levels or {value for values in by_outcome.values() for value in values} <= {0.0, 1.0}:
            level = levels.get(question, 1.0)
            shares = {key: fmean(value >= level for value in values) for key, values in by_outcome.items()}
            good = {key: share > HALF for key, share in shares.items() if share != HALF}
            by_question[question] = Majority(level, good, len(shares) - len(good))
    return by_question


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What a run says about its outcomes: a value or the reason for none, by protocol and score; source and action."""

    answers: Mapping[tuple[str, str], Mapping[OutcomeKey, float | str]]
    sources: Mapping[str, str]
    actions: Mapping[str, str]
    """As the benchmark has them in the extras of its edits; edit types where it has none."""

    @classmethod
    def of(cls, run: Run) -> Outcomes:
        """Reads all of it in one pass."""
        answers: dict[tuple[str, str], dict[OutcomeKey, float | str]] = defaultdict(dict)
        sources: dict[str, str] = {}
        edit_types: dict[str, str] = {}
        columns = ("edit", "method", "seed", "edit_type", "source", "protocol", "name", "value", "reason")
        rows = zip(*(run.scores[column].to_pylist() for column in columns), strict=True)
        for edit, method, seed, edit_type, source, protocol, name, value, reason in rows:
            answers[protocol, name][OutcomeKey(edit, method, seed)] = reason if value is None else value
            sources[edit], edit_types[edit] = source, edit_type
        actions = {edit: run.edits[edit].get("extras", {}).get("action") for edit in sources}
        named = {edit: action or NO_ACTION for edit, action in actions.items()}
        return cls(answers, sources, named if any(actions.values()) else edit_types)


@dataclass(frozen=True, slots=True)
class Compared:
    """A score's yes or no compared with that of people, where both have one."""

    keys: tuple[OutcomeKey, ...]
    said: Numbers
    """1 where the score says yes."""
    truth: Numbers
    """1 where people do."""
    sources: Labels
    actions: Labels
    unscored: Mapping[str, int]

    @classmethod
    def of(cls, protocol: str, spec: ScoreSpec, people: Majority, outcomes: Outcomes) -> Compared:
        """What has no score is counted by its reason."""
        yes, answers = people.yes(spec), outcomes.answers.get((protocol, spec.name), {})
        said = {key: answers.get(key, UNFINISHED) for key in yes}
        values = {key: value for key, value in said.items() if not isinstance(value, str)}
        return cls(
            tuple(values),
            np.array([value >= PASSES for value in values.values()], dtype=np.float64),
            np.array([yes[key] for key in values], dtype=np.float64),
            _labels(tuple(values), outcomes.sources),
            _labels(tuple(values), outcomes.actions),
            dict(Counter(reason for reason in said.values() if isinstance(reason, str)).most_common()),
        )

    @property
    def right(self) -> Numbers:
        """1 where both say the same."""
        return np.equal(self.said, self.truth).astype(np.float64)


def _labels(keys: Sequence[OutcomeKey], of: Mapping[str, str]) -> Labels:
    return np.array([of[key.edit] for key in keys], dtype=np.str_)
