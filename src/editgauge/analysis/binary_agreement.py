"""Compare yes-or-no scores with the majority of human raters, by question (EditInspector, table 3).

"Yes" is a score of 1: for a score where lower is better, such as `artifacts`, "yes" means a flaw.
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

DEFAULT_SCORE_NAME = "edit"
"""Name of the scores that are compared if no score has the name of the question."""
SCORE_NAMES = {"artifacts": ("artifacts", "artifact")}
"""Names of scores by question, where they differ from the question: judges return `artifacts`, detectors `artifact`
(EditInspector, section 4.2)."""
GOOD_LEVELS = {"accuracy": 2.0, "artifacts": 1.0}
"""Lowest good answer to questions of EditInspector (section 3.2): the edit was made, even in an unexpected way;
artifacts are mild at most. Other questions are compared only if their answers are 0 and 1."""
PASS_THRESHOLD = 0.5
"""Lowest score that counts as "yes"."""
MAJORITY_SHARE = 0.5
"""Share of raters above which they are a majority."""
UNFINISHED = "unfinished"
"""Reason of outcomes that the run has not scored yet."""
NO_ACTION = "no action given"
UNDEFINED = no_estimate("no outcome has both a score and a majority")


@dataclass(frozen=True, slots=True)
class Confusion:
    """Confusion matrix: numbers of outcomes by the answer of the score and whether it is correct."""

    yes_rightly: int
    yes_wrongly: int
    no_wrongly: int
    no_rightly: int


@dataclass(frozen=True, slots=True)
class Dependence:
    """The share of correct answers where raters find another aspect good, where they do not, and the difference."""

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
    """Number of outcomes with a majority but without a score, by reason."""
    without_majority: int
    """Number of outcomes on which raters are evenly split; they are left out."""
    by_action: Mapping[str, BinaryRates]
    """Rates by action in the benchmark, or by edit type if it has no actions."""
    conditional: Mapping[str, Dependence]
    """Correctness by the majority on each other question (section 3.3.1)."""


@dataclass(frozen=True, slots=True)
class Together:
    """How far two scores err on the same outcomes of one question (section 4.2)."""

    question: str
    shares: Complementarity
    oracle: BinaryRates
    """Rates of an oracle that is correct whenever one of the two scores is."""


@dataclass(frozen=True, slots=True)
class BinaryAgreement:
    """Comparisons of all scores that answer a yes-or-no question, highest balanced accuracy first."""

    scores: tuple[BinaryScore, ...]
    together: tuple[Together, ...]


def binary_agreement(
    run: RunSource, ratings: str | Path, scores: Sequence[str] = (), levels: Mapping[str, float] | None = None
) -> BinaryAgreement:
    """Compare yes-or-no scores of a run with human ratings.

    Args:
        run: the run folder.
        ratings: a CSV or JSON lines file with the columns edit, method, value and, optionally, rater, question, seed.
        scores: names such as `edit` or `editinspector[gpt-4o]/artifacts`; if empty, all that answer a question.
        levels: the lowest good answer of questions with more than two answers.

    """
    opened_run = Run.open(run)
    outcomes = opened_run.score_columns
    matched = match(read_ratings(Path(ratings)), outcomes.seeds)
    return binary_scores(matched, scored(select_scores(opened_run, scores), outcomes), opened_run, outcomes, levels)


def binary_scores(
    matched: Matched[Rating],
    scores: Sequence[Scored],
    run: Run,
    outcomes: ScoreColumns,
    levels: Mapping[str, float] | None = None,
) -> BinaryAgreement:
    """Compare scores with ratings already matched to a run; empty without a yes-or-no question."""
    majority_of = majorities(matched, {**GOOD_LEVELS, **(levels or {})})
    comparisons = [
        _Comparison.of(score, question, majority, outcomes)
        for question, majority in majority_of.items()
        for score in _scores_for(question, scores)
    ]
    actions = _actions(run, outcomes)
    results = [_binary_score(comparison, majority_of, actions) for comparison in comparisons]
    results.sort(key=lambda result: best_first(result.rates.balanced_accuracy))
    pairs = (
        _complementarity(first, second)
        for first, second in combinations(comparisons, 2)
        if first.question == second.question
    )
    return BinaryAgreement(tuple(results), tuple(pair for pair in pairs if pair is not None))


@dataclass(frozen=True, slots=True)
class Majority:
    """The majority answer of raters by outcome."""

    good_from: float
    """Lowest answer that counts as good."""
    good: Mapping[OutcomeKey, bool]
    """Whether the majority finds the outcome good."""
    split: int
    """Number of outcomes on which raters are evenly split."""


def majorities(matched: Matched[Rating], levels: Mapping[str, float]) -> dict[str, Majority]:
    """Return majorities by question; questions with answers other than 0 and 1 need a level."""
    majority_of = {}
    for question, ratings in by_question(matched).items():
        answers = {rating.value for outcome_ratings in ratings.values() for rating in outcome_ratings}
        if question not in levels and not answers <= {0.0, 1.0}:
            continue
        level = levels.get(question, 1.0)
        shares = {
            key: fmean(rating.value >= level for rating in outcome_ratings) for key, outcome_ratings in ratings.items()
        }
        good = {key: share > MAJORITY_SHARE for key, share in shares.items() if share != MAJORITY_SHARE}
        majority_of[question] = Majority(level, good, split=len(shares) - len(good))
    return majority_of


@dataclass(frozen=True, slots=True)
class _Comparison:
    """Yes-or-no answers of a score and of the majority to one question."""

    score: Scored
    question: str
    keys: tuple[OutcomeKey, ...]
    predicted: Numbers
    """1 where the score says yes."""
    actual: Numbers
    """1 where the majority says yes."""
    sources: Labels
    unscored: Mapping[str, int]

    @classmethod
    def of(cls, score: Scored, question: str, majority: Majority, outcomes: ScoreColumns) -> _Comparison:
        """Align a score with a majority; count unscored outcomes by reason."""
        keys = tuple(key for key in majority.good if key in score.values)
        reasons = outcomes.reasons(score.protocol, score.spec.name)
        unscored = Counter(reasons.get(key, UNFINISHED) for key in majority.good if key not in score.values)
        return cls(
            score,
            question,
            keys,
            predicted=np.array([score.values[key] >= PASS_THRESHOLD for key in keys], dtype=np.float64),
            actual=np.array([majority.good[key] == score.spec.higher_is_better for key in keys], dtype=np.float64),
            sources=outcomes.sources_of(keys),
            unscored=dict(unscored.most_common()),
        )

    @property
    def is_correct(self) -> Numbers:
        """1 where both answers are the same, else 0."""
        return np.equal(self.predicted, self.actual).astype(np.float64)


def _actions(run: Run, outcomes: ScoreColumns) -> Mapping[str, str]:
    """Map each edit to its action in the benchmark, or to its edit type where there are no actions."""
    actions = {edit: run.edits[edit].get("extras", {}).get("action") for edit in outcomes.sources}
    if not any(actions.values()):
        return outcomes.edit_types
    return {edit: action or NO_ACTION for edit, action in actions.items()}


def _scores_for(question: str, scores: Sequence[Scored]) -> list[Scored]:
    """Return the scores in [0, 1] that answer a question; those called `edit` if there are none."""
    bounded = [score for score in scores if score.spec.range == (0.0, 1.0)]
    names = SCORE_NAMES.get(question, (question,))
    return [score for score in bounded if score.spec.name in names] or [
        score for score in bounded if score.spec.name == DEFAULT_SCORE_NAME
    ]


def _binary_score(
    comparison: _Comparison, majority_of: Mapping[str, Majority], actions: Mapping[str, str]
) -> BinaryScore:
    predicted, actual, sources = comparison.predicted, comparison.actual, comparison.sources
    majority = majority_of[comparison.question]
    action_of = np.array([actions[key.edit] for key in comparison.keys], dtype=np.str_)
    action_rows = {str(action): action_of == action for action in np.unique(action_of)}
    return BinaryScore(
        protocol=comparison.score.protocol,
        spec=comparison.score.spec,
        question=comparison.question,
        good_from=majority.good_from,
        rates=_rates(predicted, actual, sources),
        confusion=Confusion(
            yes_rightly=int((predicted * actual).sum()),
            yes_wrongly=int((predicted * (1 - actual)).sum()),
            no_wrongly=int(((1 - predicted) * actual).sum()),
            no_rightly=int(((1 - predicted) * (1 - actual)).sum()),
        ),
        n=predicted.size,
        unscored=comparison.unscored,
        without_majority=majority.split,
        by_action={
            action: _rates(predicted[rows], actual[rows], sources[rows]) for action, rows in action_rows.items()
        },
        conditional={
            question: _dependence(comparison, condition)
            for question, condition in majority_of.items()
            if question != comparison.question
        },
    )


def _rates(predicted: Numbers, actual: Numbers, sources: Labels) -> BinaryRates:
    """Return the rates, all undefined without outcomes."""
    return binary_rates(predicted, actual, sources) if predicted.size else BinaryRates(*[UNDEFINED] * 5)


def _dependence(comparison: _Comparison, condition: Majority) -> Dependence:
    """Compare correctness between outcomes that the majority finds good and bad on another question."""
    rows = [row for row, key in enumerate(comparison.keys) if key in condition.good]
    if not rows:
        return Dependence(UNDEFINED, UNDEFINED, UNDEFINED)
    is_correct, sources = comparison.is_correct[rows], comparison.sources[rows]
    is_good = np.array([condition.good[comparison.keys[row]] for row in rows], dtype=np.float64)
    is_bad = 1 - is_good

    def shares(weights: Numbers) -> Numbers:
        where_good = safe_divide((is_correct * is_good) @ weights, is_good @ weights)
        where_bad = safe_divide((is_correct * is_bad) @ weights, is_bad @ weights)
        return np.stack([where_good, where_bad, where_good - where_bad])

    clusters = np.unique(sources).size

    def estimate_share(value: float, resamples: Numbers, n: int) -> Estimate:
        if np.isnan(value):
            return Estimate(None, None, None, n, clusters, "people rate all outcomes the same")
        return estimate(value, resamples, n, clusters)

    where_good, where_bad, difference = shares(np.ones((len(rows), 1)))[:, 0].tolist()
    good_resamples, bad_resamples, difference_resamples = resampled(shares, sources)
    return Dependence(
        where_good=estimate_share(where_good, good_resamples, int(is_good.sum())),
        where_bad=estimate_share(where_bad, bad_resamples, int(is_bad.sum())),
        difference=estimate_share(difference, difference_resamples, len(rows)),
    )


def _complementarity(first: _Comparison, second: _Comparison) -> Together | None:
    """Compare two scores on the outcomes that both answer; None without any, or when directions differ."""
    second_row_of = {key: row for row, key in enumerate(second.keys)}
    row_pairs = [(row, second_row_of[key]) for row, key in enumerate(first.keys) if key in second_row_of]
    if not row_pairs or first.score.spec.higher_is_better != second.score.spec.higher_is_better:
        return None
    first_rows, second_rows = np.array(row_pairs).T
    first_correct, second_correct = first.is_correct[first_rows], second.is_correct[second_rows]
    actual, sources = first.actual[first_rows], first.sources[first_rows]
    oracle = np.where(np.maximum(first_correct, second_correct) > 0, actual, 1 - actual)
    shares = complementarity(first_correct, second_correct, sources, names=(label(first.score), label(second.score)))
    return Together(first.question, shares, binary_rates(oracle, actual, sources))
