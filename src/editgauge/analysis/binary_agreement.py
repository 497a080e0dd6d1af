"""Compare yes-or-no scores with majorities of people, by question (EditInspector, table 3).

Yes is what the score calls 1: for a score where lower is better, such as `artifacts`, yes means a flaw.
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
from editgauge.analysis.outcomes import Matched, by_question, match, select_scores
from editgauge.analysis.ratings import Rating, read_ratings
from editgauge.results import OutcomeKey, Run, RunSource, ScoreColumns
from editgauge.types import ScoreSpec

VERDICT = "edit"
"""The score for questions without a score of their name."""
GOOD_LEVELS = {"accuracy": 2.0, "artifacts": 1.0}
"""Lowest good answer to these questions of EditInspector (section 3.2): the edit was made, even in an unexpected way;
artifacts are mild at most. Other questions count when their answers are 0 and 1."""

PASS_THRESHOLD = MAJORITY = 0.5
UNFINISHED = "unfinished"
"""Reason of outcomes that the run has not scored yet."""
NO_ACTION = "no action given"
UNDEFINED = no_estimate("no outcome has both a score and a majority")
SCORE_NAMES = {"artifacts": ("artifacts", "artifact")}
"""Question to the scores that answer it, where those of other names do: judges call theirs `artifacts`, detectors
`artifact` (EditInspector, section 4.2)."""


@dataclass(frozen=True, slots=True)
class Confusion:
    """Numbers of outcomes by the answers of people and score."""

    yes_rightly: int
    yes_wrongly: int
    no_wrongly: int
    no_rightly: int


@dataclass(frozen=True, slots=True)
class Dependence:
    """The share of correct answers where people find another aspect good, where they do not, and the difference."""

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
    """Lowest human answer that counts as good."""
    rates: BinaryRates
    confusion: Confusion
    n: int
    unscored: Mapping[str, int]
    """Outcomes on which people agree and the score has no value, by reason."""
    without_majority: int
    """Outcomes with an even split of raters: left out."""
    by_action: Mapping[str, BinaryRates]
    """By action in the benchmark, or else by edit type."""
    conditional: Mapping[str, Dependence]
    """Correctness by the majority on each other question (section 3.3.1)."""


@dataclass(frozen=True, slots=True)
class Together:
    """Whether two scores err on the same outcomes of one question (section 4.2)."""

    question: str
    shares: Complementarity
    oracle: BinaryRates
    """Rates of an oracle that always picks the correct one of the two."""


@dataclass(frozen=True, slots=True)
class BinaryAgreement:
    """All scores that answer a yes-or-no question, best balanced accuracy first."""

    scores: tuple[BinaryScore, ...]
    together: tuple[Together, ...]


def binary_agreement(
    run: RunSource, ratings: str | Path, scores: Sequence[str] = (), levels: Mapping[str, float] | None = None
) -> BinaryAgreement:
    """Compare yes-or-no scores of a run with human ratings.

    Args:
        run: the run folder.
        ratings: a CSV or JSON lines file with edit, method, value and, where there are any, rater, question, seed.
        scores: names such as `edit` or `editinspector[gpt-4o]/artifacts`; without any, all that answer a question.
        levels: for questions with more than two answers, the lowest that is good.

    """
    opened = Run.open(run)
    outcomes = opened.score_columns
    matched = match(read_ratings(Path(ratings)), outcomes.seeds)
    return binary_scores(matched, scored(select_scores(opened, scores), outcomes), opened, outcomes, levels)


def binary_scores(
    matched: Matched[Rating],
    scores: Sequence[Scored],
    run: Run,
    outcomes: ScoreColumns,
    levels: Mapping[str, float] | None = None,
) -> BinaryAgreement:
    """Compare scores with ratings already matched to a run; empty without a yes-or-no question."""
    people = majorities(matched, {**GOOD_LEVELS, **(levels or {})})
    compared = [
        _Comparison.of(score, question, people[question], outcomes)
        for question in people
        for score in _answering(question, scores)
    ]
    actions = _actions(run, outcomes)
    results = [_binary_score(comparison, people, actions) for comparison in compared]
    results.sort(key=lambda score: best_first(score.rates.balanced_accuracy))
    pairs = (_complementarity(*pair) for pair in combinations(compared, 2) if pair[0].question == pair[1].question)
    return BinaryAgreement(tuple(results), tuple(pair for pair in pairs if pair))


@dataclass(frozen=True, slots=True)
class Majority:
    """The majority answer of raters by outcome."""

    good_from: float
    good: Mapping[OutcomeKey, bool]
    split: int
    """Outcomes on which they are evenly split."""


def majorities(matched: Matched[Rating], levels: Mapping[str, float]) -> dict[str, Majority]:
    """Return majorities by question; questions with other answers than 0 and 1 need a level."""
    people = {}
    for question, ratings in by_question(matched).items():
        if question in levels or {rating.value for answers in ratings.values() for rating in answers} <= {0.0, 1.0}:
            level = levels.get(question, 1.0)
            shares = {key: fmean(rating.value >= level for rating in answers) for key, answers in ratings.items()}
            good = {key: share > MAJORITY for key, share in shares.items() if share != MAJORITY}
            people[question] = Majority(level, good, len(shares) - len(good))
    return people


@dataclass(frozen=True, slots=True)
class _Comparison:
    """Yes-or-no answers of a score and of people on one question."""

    score: Scored
    question: str
    keys: tuple[OutcomeKey, ...]
    predicted: Numbers
    """1 where the score says yes."""
    actual: Numbers
    """1 where people say yes."""
    sources: Labels
    unscored: Mapping[str, int]

    @classmethod
    def of(cls, score: Scored, question: str, people: Majority, outcomes: ScoreColumns) -> _Comparison:
        """Compare a score with a majority; count unscored outcomes by reason."""
        keys = tuple(key for key in people.good if key in score.values)
        reasons = outcomes.reasons(score.protocol, score.spec.name)
        return cls(
            score,
            question,
            keys,
            np.array([score.values[key] >= PASS_THRESHOLD for key in keys], dtype=np.float64),
            np.array([people.good[key] == score.spec.higher_is_better for key in keys], dtype=np.float64),
            outcomes.sources_of(keys),
            dict(Counter(reasons.get(key, UNFINISHED) for key in people.good if key not in score.values).most_common()),
        )

    @property
    def right(self) -> Numbers:
        """Return 1 where both answers are the same."""
        return np.equal(self.predicted, self.actual).astype(np.float64)


def _actions(run: Run, outcomes: ScoreColumns) -> Mapping[str, str]:
    """Map each edit to its action in the benchmark, or to its edit type where there are no actions."""
    actions = {edit: run.edits[edit].get("extras", {}).get("action") for edit in outcomes.sources}
    return (
        {edit: action or NO_ACTION for edit, action in actions.items()}
        if any(actions.values())
        else outcomes.edit_types
    )


def _answering(question: str, scores: Sequence[Scored]) -> list[Scored]:
    """Return the scores that answer a question, or else the verdicts on the edit."""
    bounded = [score for score in scores if score.spec.range == (0.0, 1.0)]
    names = SCORE_NAMES.get(question, (question,))
    return [score for score in bounded if score.spec.name in names] or [
        score for score in bounded if score.spec.name == VERDICT
    ]


def _binary_score(compared: _Comparison, people: Mapping[str, Majority], actions: Mapping[str, str]) -> BinaryScore:
    majority, predicted, actual = people[compared.question], compared.predicted, compared.actual
    counts = (predicted * actual, predicted * (1 - actual), (1 - predicted) * actual, (1 - predicted) * (1 - actual))
    action_of = np.array([actions[key.edit] for key in compared.keys], dtype=np.str_)
    by_action = {str(name): action_of == name for name in np.unique(action_of)}
    return BinaryScore(
        compared.score.protocol,
        compared.score.spec,
        compared.question,
        majority.good_from,
        _rates(predicted, actual, compared.sources),
        Confusion(*(int(count.sum()) for count in counts)),
        predicted.size,
        compared.unscored,
        majority.split,
        {name: _rates(predicted[rows], actual[rows], compared.sources[rows]) for name, rows in by_action.items()},
        {name: _dependence(compared, people[name]) for name in people if name != compared.question},
    )


def _rates(predicted: Numbers, actual: Numbers, sources: Labels) -> BinaryRates:
    return binary_rates(predicted, actual, sources) if predicted.size else BinaryRates(*[UNDEFINED] * 5)


def _dependence(compared: _Comparison, condition: Majority) -> Dependence:
    """Compare correctness by the majority on another question."""
    rows = np.array([index for index, key in enumerate(compared.keys) if key in condition.good], dtype=np.int64)
    if not rows.size:
        return Dependence(UNDEFINED, UNDEFINED, UNDEFINED)
    right, sources = compared.right[rows], compared.sources[rows]
    good = np.array([condition.good[compared.keys[estimates]] for estimates in rows], dtype=np.float64)

    def shares(weights: Numbers) -> Numbers:
        where_good, where_bad = (safe_divide((right * part) @ weights, part @ weights) for part in (good, 1 - good))
        return np.stack([where_good, where_bad, where_good - where_bad])

    values = shares(np.ones((right.size, 1)))[:, 0]
    drawn, clusters = resampled(shares, sources), np.unique(sources).size
    counts = int(good.sum()), int((1 - good).sum()), right.size
    return Dependence(
        *(
            Estimate(None, None, None, n, clusters, "people rate all outcomes the same")
            if np.isnan(value)
            else estimate(float(value), estimates, n, clusters)
            for value, estimates, n in zip(values, drawn, counts, strict=True)
        )
    )


def _complementarity(first: _Comparison, second: _Comparison) -> Together | None:
    """Compare two scores on the outcomes that both answer; None without any, or when directions differ."""
    index = {key: row for row, key in enumerate(second.keys)}
    rows = [(row, index[key]) for row, key in enumerate(first.keys) if key in index]
    if not rows or first.score.spec.higher_is_better != second.score.spec.higher_is_better:
        return None
    first_rows, second_rows = (np.array(indices) for indices in zip(*rows, strict=True))
    first_right, second_right = first.right[first_rows], second.right[second_rows]
    actual, sources = first.actual[first_rows], first.sources[first_rows]
    oracle = np.where(np.maximum(first_right, second_right) > 0, actual, 1 - actual)
    shares = complementarity(first_right, second_right, sources, names=(label(first.score), label(second.score)))
    return Together(first.question, shares, binary_rates(oracle, actual, sources))
