"""Do yes-or-no scores say what people say? Balanced accuracy and the like, by question (EditInspector, table 3).

Yes is what the score calls 1: for a score where lower is better, such as `artifacts`, it is the fault that is found.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from editgauge.core.run import Run
from editgauge.core.types import ScoreSpec
from editgauge.findings.evaluators.binary_answers import Compared, Majority, Outcomes, majorities
from editgauge.findings.people.matching import Matched, match, scored_outcomes, wanted_scores
from editgauge.findings.people.ratings import Rating, read_ratings
from editgauge.stats.agreement import Verdicts, verdicts
from editgauge.stats.complementarity import Complementarity, complementarity
from editgauge.stats.intervals import Labels, Numbers
from editgauge.stats.resampling import Estimate, divided, estimate, resampled

VERDICT = "edit"
"""The score that stands for questions without a score of their name."""
LEVELS = {"accuracy": 2.0, "artifacts": 1.0}
"""From which level on an answer to these questions of EditInspector is good (section 3.2): what was asked for is there,
be it unexpected; artifacts are mild at most. All other questions count when their answers are 0 and 1."""

NOTHING = Estimate(None, None, None, 0, 0, "no outcome has both a score and a majority")


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
    verdicts: Verdicts
    confusion: Confusion
    n: int
    unscored: Mapping[str, int]
    """Outcomes on which people agree and the score has no value, by reason."""
    without_majority: int
    """Outcomes on which people are evenly split: left out."""
    by_action: Mapping[str, Verdicts]
    """By the action that the benchmark gives, or else by edit type."""
    given: Mapping[str, Dependence]
    """How right the answers are, given what people say to each other question (section 3.3.1)."""


@dataclass(frozen=True, slots=True)
class Together:
    """Two scores on one question: do they err on the same outcomes? (section 4.2)"""

    question: str
    shares: Complementarity
    oracle: Verdicts
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
    matched = match(read_ratings(Path(ratings)), scored_outcomes(opened).seeds)
    return binary_scores(matched, wanted_scores(opened, scores), opened, levels)


def binary_scores(
    matched: Matched[Rating],
    scores: Sequence[tuple[str, ScoreSpec]],
    run: Run,
    levels: Mapping[str, float] | None = None,
) -> BinaryAgreement:
    """The same for ratings that were matched with a run already; nothing where no question is one of yes or no."""
    people = majorities(matched, {**LEVELS, **(levels or {})})
    outcomes = Outcomes.of(run)
    on_questions = [
        _ScoreOnQuestion(protocol, spec, question, Compared.of(protocol, spec, people[question], outcomes))
        for question in people
        for protocol, spec in _answering(question, scores)
    ]
    beside = sorted((_beside(each, people) for each in on_questions), key=_best_first)
    together = (_together(*pair) for pair in combinations(on_questions, 2) if pair[0].question == pair[1].question)
    return BinaryAgreement(tuple(beside), tuple(pair for pair in together if pair))


@dataclass(frozen=True, slots=True)
class _ScoreOnQuestion:
    protocol: str
    spec: ScoreSpec
    question: str
    compared: Compared

    @property
    def name(self) -> str:
        return f"{self.protocol}/{self.spec.name}"


def _answering(question: str, scores: Sequence[tuple[str, ScoreSpec]]) -> list[tuple[str, ScoreSpec]]:
    """The scores that answer a question: those of its name, or else the verdicts on the edit."""
    fit = [each for each in scores if each[1].range == (0.0, 1.0)]
    return [each for each in fit if each[1].name == question] or [each for each in fit if each[1].name == VERDICT]


def _best_first(score: BinaryScore) -> float:
    value = score.verdicts.balanced_accuracy.value
    return math.inf if value is None else -value


def _beside(score: _ScoreOnQuestion, people: Mapping[str, Majority]) -> BinaryScore:
    compared, majority = score.compared, people[score.question]
    said, truth = compared.said, compared.truth
    counts = (said * truth, said * (1 - truth), (1 - said) * truth, (1 - said) * (1 - truth))
    actions = {str(name): compared.actions == name for name in np.unique(compared.actions)}
    return BinaryScore(
        score.protocol,
        score.spec,
        score.question,
        majority.good_from,
        _verdicts(said, truth, compared.sources),
        Confusion(*(int(count.sum()) for count in counts)),
        said.size,
        compared.unscored,
        majority.split,
        {name: _verdicts(said[rows], truth[rows], compared.sources[rows]) for name, rows in actions.items()},
        {name: _dependence(compared, people[name]) for name in people if name != score.question},
    )


def _verdicts(said: Numbers, truth: Numbers, sources: Labels) -> Verdicts:
    return verdicts(said, truth, sources) if said.size else Verdicts(*[NOTHING] * 5)


def _dependence(compared: Compared, condition: Majority) -> Dependence:
    """Only where people agree on the other question too."""
    rows = np.array([place for place, key in enumerate(compared.keys) if key in condition.good], dtype=np.int64)
    if not rows.size:
        return Dependence(NOTHING, NOTHING, NOTHING)
    right, sources = compared.right[rows], compared.sources[rows]
    good = np.array([condition.good[compared.keys[row]] for row in rows], dtype=np.float64)

    def shares(weights: Numbers) -> Numbers:
        here, there = (divided((right * part) @ weights, part @ weights) for part in (good, 1 - good))
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


def _together(first: _ScoreOnQuestion, second: _ScoreOnQuestion) -> Together | None:
    """On the outcomes that both answer; None when there is none, or when both mean another thing by yes."""
    place = {key: row for row, key in enumerate(second.compared.keys)}
    rows = [(row, place[key]) for row, key in enumerate(first.compared.keys) if key in place]
    if not rows or first.spec.higher_is_better != second.spec.higher_is_better:
        return None
    here, there = (np.array(each) for each in zip(*rows, strict=True))
    one, two = first.compared.right[here], second.compared.right[there]
    truth, sources = first.compared.truth[here], first.compared.sources[here]
    oracle = np.where(np.maximum(one, two) > 0, truth, 1 - truth)
    shares = complementarity(one, two, sources, names=(first.name, second.name))
    return Together(first.question, shares, verdicts(oracle, truth, sources))
