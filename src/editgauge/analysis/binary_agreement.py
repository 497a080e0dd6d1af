"""Do yes-or-no scores say what people say? Balanced accuracy and the like, by question (EditInspector, table 3).

Yes is what the score calls 1: for a score where lower is better, such as `artifacts`, it is the fault that is found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import fmean

import numpy as np

from editgauge._stats.agreement import BinaryRates, binary_rates
from editgauge._stats.intervals import Labels, Numbers
from editgauge._stats.pairwise import Complementarity, complementarity
from editgauge._stats.resampling import Estimate, estimate, no_estimate, resampled, safe_divide
from editgauge.analysis._evaluators import Scored, best_first, label, scored
from editgauge.analysis.outcomes import (
    Matched,
    OutcomeKey,
    ScoredOutcomes,
    by_question,
    match,
    scored_outcomes,
    select_scores,
)
from editgauge.analysis.ratings import Rating, read_ratings
from editgauge.results import Run
from editgauge.types import ScoreSpec

VERDICT = "edit"
"""The score that stands for questions without a score of their name."""
GOOD_LEVELS = {"accuracy": 2.0, "artifacts": 1.0}
"""From which level on an answer to these questions of EditInspector is good (section 3.2): what was asked for is there,
be it unexpected; artifacts are mild at most. All other questions count when their answers are 0 and 1."""

PASSES = HALF = 0.5
UNFINISHED = "unfinished"
"""The reason of outcomes that a run has yet to score."""
NO_ACTION = "no action given"
NOTHING = no_estimate("no outcome has both a score and a majority")


@dataclass(frozen=True, slots=True)
class Confusion:
    """How many outcomes people and the score call yes or no."""

    yes_rightly: int
    yes_wrongly: int
    no_wrongly: int
    no_rightly: int


@dataclass(frozen=True, slots=True)
class Dependence:
    """The share of right answers where people find another aspect good, where they do not, and the difference."""

    where_good: Estimate
    where_bad: Estimate
    difference: Estimate


@dataclass(frozen=True, slots=True)
class BinaryScore:
    """One score compared with the majority of people on one question."""

    protocol: str
    spec: ScoreSpec
    question: str
    good_from: float
    """The answer of people from which it counts as good."""
    binary_rates: BinaryRates
    confusion: Confusion
    n: int
    unscored: Mapping[str, int]
    """Outcomes on which people agree and the score has no value, by reason."""
    without_majority: int
    """Outcomes on which people are evenly split: left out."""
    by_action: Mapping[str, BinaryRates]
    """By the action that the benchmark gives, or else by edit type."""
    given: Mapping[str, Dependence]
    """How right the answers are, given what people say to each other question (section 3.3.1)."""


@dataclass(frozen=True, slots=True)
class Together:
    """Two scores on one question: do they err on the same outcomes? (section 4.2)"""

    question: str
    shares: Complementarity
    oracle: BinaryRates
    """Of an oracle that knows each time which of the two is right."""


@dataclass(frozen=True, slots=True)
class BinaryAgreement:
    """All scores that answer a yes-or-no question of people; those of the best balanced accuracy come first."""

    scores: tuple[BinaryScore, ...]
    together: tuple[Together, ...]


def binary_agreement(
    run: str | Path, ratings: str | Path, scores: Sequence[str] = (), levels: Mapping[str, float] | None = None
) -> BinaryAgreement:
    """Says how far the yes and no of scores is that of people.

    Args:
        run: the run folder.
        ratings: a CSV or JSON lines file with edit, method, value and, where there are any, rater, question, seed.
        scores: names such as `edit` or `editinspector[gpt-4o]/artifacts`; without any, all that answer a question.
        levels: for questions with more than two answers, the lowest that is good.
    """
    opened = Run.open(Path(run))
    known = scored_outcomes(opened)
    matched = match(read_ratings(Path(ratings)), known.seeds)
    return binary_scores(matched, scored(select_scores(opened, scores), known), opened, known, levels)


def binary_scores(
    matched: Matched[Rating],
    scores: Sequence[Scored],
    run: Run,
    known: ScoredOutcomes,
    levels: Mapping[str, float] | None = None,
) -> BinaryAgreement:
    """The same for ratings that were matched with a run already; nothing where no question is one of yes or no."""
    people = majorities(matched, {**GOOD_LEVELS, **(levels or {})})
    compared = [
        _Compared.of(score, question, people[question], known)
        for question in people
        for score in _answering(question, scores)
    ]
    actions = _actions(run, known)
    beside = [_beside(each, people, actions) for each in compared]
    beside.sort(key=lambda score: best_first(score.verdicts.balanced_accuracy))
    together = (_together(*pair) for pair in combinations(compared, 2) if pair[0].question == pair[1].question)
    return BinaryAgreement(tuple(beside), tuple(pair for pair in together if pair))


@dataclass(frozen=True, slots=True)
class Majority:
    """What more than half of the raters find good."""

    good_from: float
    good: Mapping[OutcomeKey, bool]
    split: int
    """Outcomes on which they are evenly split."""


def majorities(matched: Matched[Rating], levels: Mapping[str, float]) -> dict[str, Majority]:
    """By question; those with other answers than 0 and 1 only where a level says from which they are good."""
    people = {}
    for question, ratings in by_question(matched).items():
        if question in levels or {one.value for its in ratings.values() for one in its} <= {0.0, 1.0}:
            level = levels.get(question, 1.0)
            shares = {key: fmean(one.value >= level for one in its) for key, its in ratings.items()}
            good = {key: share > HALF for key, share in shares.items() if share != HALF}
            people[question] = Majority(level, good, len(shares) - len(good))
    return people


@dataclass(frozen=True, slots=True)
class _Compared:
    """A score's yes or no on one question compared with that of people, where both have one."""

    score: Scored
    question: str
    keys: tuple[OutcomeKey, ...]
    said: Numbers
    """1 where the score says yes."""
    truth: Numbers
    """1 where people do."""
    sources: Labels
    unscored: Mapping[str, int]

    @classmethod
    def of(cls, score: Scored, question: str, people: Majority, known: ScoredOutcomes) -> _Compared:
        """What has no score is counted by its reason."""
        keys = tuple(key for key in people.good if key in score.values)
        reasons = known.reasons.get((score.protocol, score.spec.name), {})
        return cls(
            score,
            question,
            keys,
            np.array([score.values[key] >= PASSES for key in keys], dtype=np.float64),
            np.array([people.good[key] == score.spec.higher_is_better for key in keys], dtype=np.float64),
            known.sources_of(keys),
            dict(Counter(reasons.get(key, UNFINISHED) for key in people.good if key not in score.values).most_common()),
        )

    @property
    def right(self) -> Numbers:
        """1 where both say the same."""
        return np.equal(self.said, self.truth).astype(np.float64)


def _actions(run: Run, known: ScoredOutcomes) -> Mapping[str, str]:
    """Edit to the action that the benchmark gives it; to its edit type where the benchmark knows no actions."""
    actions = {edit: run.edits[edit].get("extras", {}).get("action") for edit in known.sources}
    return (
        {edit: action or NO_ACTION for edit, action in actions.items()} if any(actions.values()) else known.edit_types
    )


def _answering(question: str, scores: Sequence[Scored]) -> list[Scored]:
    """The scores that answer a question: those of its name, or else the verdicts on the edit."""
    fit = [each for each in scores if each.spec.range == (0.0, 1.0)]
    return [each for each in fit if each.spec.name == question] or [each for each in fit if each.spec.name == VERDICT]


def _beside(compared: _Compared, people: Mapping[str, Majority], actions: Mapping[str, str]) -> BinaryScore:
    majority, said, truth = people[compared.question], compared.said, compared.truth
    counts = (said * truth, said * (1 - truth), (1 - said) * truth, (1 - said) * (1 - truth))
    action_of = np.array([actions[key.edit] for key in compared.keys], dtype=np.str_)
    by_action = {str(name): action_of == name for name in np.unique(action_of)}
    return BinaryScore(
        compared.score.protocol,
        compared.score.spec,
        compared.question,
        majority.good_from,
        _verdicts(said, truth, compared.sources),
        Confusion(*(int(count.sum()) for count in counts)),
        said.size,
        compared.unscored,
        majority.split,
        {name: _verdicts(said[rows], truth[rows], compared.sources[rows]) for name, rows in by_action.items()},
        {name: _dependence(compared, people[name]) for name in people if name != compared.question},
    )


def _verdicts(said: Numbers, truth: Numbers, sources: Labels) -> BinaryRates:
    return binary_rates(said, truth, sources) if said.size else BinaryRates(*[NOTHING] * 5)


def _dependence(compared: _Compared, condition: Majority) -> Dependence:
    """Only where people agree on the other question too."""
    rows = np.array([place for place, key in enumerate(compared.keys) if key in condition.good], dtype=np.int64)
    if not rows.size:
        return Dependence(NOTHING, NOTHING, NOTHING)
    right, sources = compared.right[rows], compared.sources[rows]
    good = np.array([condition.good[compared.keys[row]] for row in rows], dtype=np.float64)

    def shares(weights: Numbers) -> Numbers:
        here, there = (safe_divide((right * part) @ weights, part @ weights) for part in (good, 1 - good))
        return np.stack([here, there, here - there])

    values = shares(np.ones((right.size, 1)))[:, 0]
    drawn, clusters = resampled(shares, sources), np.unique(sources).size
    counts = int(good.sum()), int((1 - good).sum()), right.size
    return Dependence(
        *(
            Estimate(None, None, None, n, clusters, "people find all alike")
            if np.isnan(value)
            else estimate(float(value), row, n, clusters)
            for value, row, n in zip(values, drawn, counts, strict=True)
        )
    )


def _together(first: _Compared, second: _Compared) -> Together | None:
    """On the outcomes that both answer; None when there is none, or when both mean another thing by yes."""
    place = {key: row for row, key in enumerate(second.keys)}
    rows = [(row, place[key]) for row, key in enumerate(first.keys) if key in place]
    if not rows or first.score.spec.higher_is_better != second.score.spec.higher_is_better:
        return None
    here, there = (np.array(each) for each in zip(*rows, strict=True))
    one, two = first.right[here], second.right[there]
    truth, sources = first.truth[here], first.sources[here]
    oracle = np.where(np.maximum(one, two) > 0, truth, 1 - truth)
    shares = complementarity(one, two, sources, names=(label(first.score), label(second.score)))
    return Together(first.question, shares, binary_rates(oracle, truth, sources))
