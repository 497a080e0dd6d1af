"""Compare evaluators with choices: of people between two outcomes, of triplets with known truth, and of judges.

Triplets are AugCLIP's ground truth selection (section 5.2): of three outcomes of an edit one is well edited, one keeps
everything (a negligible change of the source), one ignores the source (made from the target text alone). Acc_both is
the share of triplets in which the well edited one wins.

A judge that was asked which of two outcomes is better is read from the file that `prefer` writes: edit, first, second,
chosen, swapped, rater, seed, unanswered. Both `chosen` and `swapped` name the outcome (first, second or tie), never the
position, and are null without an answer. A file without `swapped` asked each pair in one order only.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from editgauge._stats.agreement import choice_agreement, choice_credit
from editgauge._stats.intervals import Labels, Mean, Numbers, clustered_mean
from editgauge._stats.pairwise import Complementarity, Paired, compare_with_first, complementarity
from editgauge._stats.resampling import Estimate, as_estimate, no_estimate
from editgauge.analysis._evaluators import Evaluator, EvaluatorTarget, Scored, best_first, label, margins, shares
from editgauge.analysis.outcomes import Matched, Seeds, match
from editgauge.analysis.ratings import Choice, JudgePreference, PreferredOutcome, read_preferences
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.judges import Choice as SideName
from editgauge.judges import combine_orders
from editgauge.results import OutcomeKey, ScoreColumns
from editgauge.types import ScoreSpec

MAX_PAIRED = 4
"""Number of best evaluators that are compared in pairs."""


@dataclass(frozen=True, slots=True)
class ChoiceScore:
    """One evaluator compared with people's choices."""

    protocol: str
    spec: ScoreSpec
    share: Mean | None
    """Share of choices it agrees with (s_2AFC); None when no choice has both scores."""
    by_type: dict[str, Mean]
    equal: int
    """Choices between outcomes with equal scores; each counts half."""
    unscored: int
    """Choices with an unscored outcome: left out, never imputed."""


@dataclass(frozen=True, slots=True)
class ChoiceScores:
    """All evaluators compared with people's choices, best agreement first."""

    scores: tuple[ChoiceScore, ...]
    ties: int
    """Choices in which people preferred neither: left out."""
    behind: tuple[Paired, ...]
    """The best evaluator against every other one, on the choices that both can answer."""
    pairs: tuple[Complementarity, ...]
    """Pairs of the best four, on the choices that both can answer."""


def choice_scores(
    matched: Matched[PreferredOutcome], evaluators: Sequence[Evaluator], outcomes: ScoreColumns
) -> ChoiceScores:
    """Compare every evaluator with the choices."""
    answers = _Answers.of(matched, outcomes)
    earned = [_Credits.of(evaluator, answers) for evaluator in evaluators]
    summaries = [_summary(evaluator, answers) for evaluator in earned]
    order = sorted(range(len(summaries)), key=lambda index: best_first(summaries[index].share))
    pairs = (
        _complementarity(earned[first], earned[second], answers)
        for first, second in combinations(order[:MAX_PAIRED], 2)
    )
    return ChoiceScores(
        tuple(summaries[index] for index in order),
        len(matched.pairs) - len(answers.outcomes),
        compare_with_first([(label(evaluators[index]), earned[index].credit) for index in order], answers.sources),
        tuple(pair for pair in pairs if pair),
    )


def choices_target(matched: Matched[PreferredOutcome], outcomes: ScoreColumns) -> EvaluatorTarget:
    """Return people's choices as a target for evaluators."""
    answers = _Answers.of(matched, outcomes)

    def ask(evaluator: Scored) -> Estimate:
        margin = margins(evaluator, answers.outcomes)
        is_scored = ~np.isnan(margin)
        return choice_agreement(
            margin[is_scored], 0 * margin[is_scored], answers.chose_first[is_scored], answers.sources[is_scored]
        )

    return EvaluatorTarget("choices", "share agreed with", 0.5, ask)


@dataclass(frozen=True, slots=True)
class _Answers:
    """The choices that are not ties."""

    outcomes: list[tuple[OutcomeKey, ...]]
    chose_first: NDArray[np.bool_]
    sources: Labels
    edit_types: Labels

    @classmethod
    def of(cls, matched: Matched[PreferredOutcome], outcomes: ScoreColumns) -> _Answers:
        decided = [(keys, choice.choice == "first") for keys, choice in matched.pairs if choice.choice != "tie"]
        return cls(
            [keys for keys, _ in decided],
            np.array([first for _, first in decided], dtype=np.bool_),
            outcomes.sources_of(keys[0] for keys, _ in decided),
            outcomes.edit_types_of(keys[0] for keys, _ in decided),
        )


@dataclass(frozen=True, slots=True)
class _Credits:
    """Margins and earned of an evaluator; NaN where an outcome has no score."""

    evaluator: Evaluator
    margin: Numbers
    """By how much the first outcome of every choice is better."""
    credit: Numbers
    """Credit of the evaluator on every choice."""

    @classmethod
    def of(cls, evaluator: Evaluator, answers: _Answers) -> _Credits:
        margin = margins(evaluator, answers.outcomes)
        return cls(evaluator, margin, choice_credit(margin, 0, answers.chose_first))


def _summary(earned: _Credits, answers: _Answers) -> ChoiceScore:
    return ChoiceScore(
        earned.evaluator.protocol,
        earned.evaluator.spec,
        *shares(earned.credit, answers.sources, answers.edit_types),
        equal=int((earned.credit == 0.5).sum()),
        unscored=int(np.isnan(earned.credit).sum()),
    )


def _complementarity(first: _Credits, second: _Credits, answers: _Answers) -> Complementarity | None:
    both = ~np.isnan(first.credit) & ~np.isnan(second.credit)
    if not both.any():
        return None
    scaled = (earned.margin[both] / (earned.margin[both].std() or 1.0) for earned in (first, second))
    return complementarity(
        first.credit[both],
        second.credit[both],
        answers.sources[both],
        average=choice_credit(sum(scaled), 0, answers.chose_first[both]),
        names=(label(first.evaluator), label(second.evaluator)),
    )


TRIPLET_ROLES = ("good", "preserved", "modified")
ROLE_FORMAT = "good=METHOD,preserved=METHOD,modified=METHOD"
_ROLE = re.compile(rf"(?:^|,)\s*({'|'.join(TRIPLET_ROLES)})=")


@dataclass(frozen=True, slots=True)
class Triplets:
    """Edits with outcomes in all three roles."""

    methods: Mapping[str, str]
    """Role to method."""
    outcomes: tuple[tuple[OutcomeKey, OutcomeKey, OutcomeKey], ...]
    """In the order of the roles."""
    incomplete: int
    """Outcomes of the good method without a unique partner in each other role: left out."""

    @property
    def good(self) -> list[OutcomeKey]:
        """Return the well edited outcome of each triplet."""
        return [good for good, *_ in self.outcomes]


@dataclass(frozen=True, slots=True)
class SelectedScore:
    """One evaluator compared with the triplets; shares are None when no triplet has all three scores."""

    protocol: str
    spec: ScoreSpec
    both: Mean | None
    """Acc_both: the good one is above both others."""
    over_preserved: Mean | None
    """The good one is above the one that keeps everything."""
    over_modified: Mean | None
    """The good one is above the one that forgets the source."""
    by_type: Mapping[str, Mean]
    """Acc_both by edit type."""
    equal: int
    """Triplets in which the good one shares the highest score; they count as guessing."""
    unscored: int
    """Triplets with an unscored outcome: left out, never imputed."""


@dataclass(frozen=True, slots=True)
class SelectedScores:
    """All evaluators compared with the triplets, the best selector first."""

    methods: Mapping[str, str]
    triplets: int
    incomplete: int
    scores: tuple[SelectedScore, ...]
    behind: tuple[Paired, ...]
    """The best evaluator against every other one, on the triplets that both can answer."""


def read_roles(text: str) -> dict[str, str]:
    """Parse the methods of the three roles; commas and equals signs inside a method name are allowed.

    >>> read_roles("good=ours[a=1,b=2],preserved=negligible,modified=text-to-image")
    {'good': 'ours[a=1,b=2]', 'preserved': 'negligible', 'modified': 'text-to-image'}
    """
    prefix, *parts = _ROLE.split(text)
    names, methods = parts[::2], [method.strip() for method in parts[1::2]]
    if prefix.strip() or sorted(names) != sorted(TRIPLET_ROLES) or not all(methods):
        raise BadInputError(f"`triplets` has the form {ROLE_FORMAT}; got '{text}'.")
    if len(set(methods)) < len(TRIPLET_ROLES):
        raise BadInputError(f"The three outcomes of a triplet come from three methods, got '{text}'.")
    roles = dict(zip(names, methods, strict=True))
    return {role: roles[role] for role in TRIPLET_ROLES}


def find_triplets(methods: Mapping[str, str], seeds: Seeds) -> Triplets:
    """Find the triplets of a run: outcomes of one edit and seed; a method with a single seed is used for all."""
    available = {method for _, method in seeds}
    for method in methods.values():
        if method not in available:
            raise UnknownNameError("method in this run", method, available)
    complete: list[tuple[OutcomeKey, OutcomeKey, OutcomeKey]] = []
    incomplete = 0
    for edit in dict.fromkeys(edit for edit, _ in seeds):
        for seed in seeds.get((edit, methods["good"]), ()):
            preserved, modified = (_partner(edit, methods[role], seed, seeds) for role in TRIPLET_ROLES[1:])
            if preserved is None or modified is None:
                incomplete += 1
            else:
                complete.append((OutcomeKey(edit, methods["good"], seed), preserved, modified))
    if not complete:
        raise BadInputError(f"No edit of the run has outcomes of all three: {', '.join(methods.values())}.")
    return Triplets(methods, tuple(complete), incomplete)


def _partner(edit: str, method: str, seed: int, seeds: Seeds) -> OutcomeKey | None:
    candidates = seeds.get((edit, method), ())
    matches = [candidate for candidate in candidates if candidate == seed] or candidates
    return OutcomeKey(edit, method, matches[0]) if len(matches) == 1 else None


def selected_scores(triplets: Triplets, evaluators: Sequence[Evaluator], outcomes: ScoreColumns) -> SelectedScores:
    """Compare every evaluator with the triplets."""
    sources, edit_types = outcomes.sources_of(triplets.good), outcomes.edit_types_of(triplets.good)
    credits_by_evaluator = [_triplet_credits(evaluator, triplets) for evaluator in evaluators]
    summaries = [
        _selected_score(evaluator, earned, sources, edit_types)
        for evaluator, earned in zip(evaluators, credits_by_evaluator, strict=True)
    ]
    order = sorted(range(len(summaries)), key=lambda index: best_first(summaries[index].both))
    both = [(label(evaluators[index]), credits_by_evaluator[index][0]) for index in order]
    return SelectedScores(
        triplets.methods,
        len(triplets.outcomes),
        triplets.incomplete,
        tuple(summaries[index] for index in order),
        compare_with_first(both, sources),
    )


def triplets_target(triplets: Triplets, outcomes: ScoreColumns) -> EvaluatorTarget:
    """Return the triplets as a target for evaluators."""
    sources = outcomes.sources_of(triplets.good)

    def ask(evaluator: Scored) -> Estimate:
        both = _triplet_credits(evaluator, triplets)[0]
        is_scored = ~np.isnan(both)
        if not is_scored.any():
            return no_estimate("no triplet has all three scores")
        return as_estimate(clustered_mean(both[is_scored], sources[is_scored], scale=(0.0, 1.0)))

    return EvaluatorTarget("triplets", "share won by the good one", 1 / 3, ask)


def selection_credit(over_preserved: Numbers, over_modified: Numbers) -> Numbers:
    """Return the probability that the good outcome is picked among those with the highest score.

    >>> selection_credit(np.array([1.0, 1.0, 0.0, 0.0, 1.0]), np.array([2.0, 0.0, 0.0, -1.0, np.nan])).round(2)
    array([1.  , 0.5 , 0.33, 0.  ,  nan])
    """
    leads = np.stack([over_preserved, over_modified])
    credit = np.where((leads < 0).any(axis=0), 0.0, 1 / (1 + (leads == 0).sum(axis=0)))
    return np.where(np.isnan(leads).any(axis=0), np.nan, credit)


def _triplet_credits(evaluator: Evaluator, triplets: Triplets) -> tuple[Numbers, Numbers, Numbers]:
    """Return the credit for every triplet: for both, and against each other outcome."""
    over_preserved = margins(evaluator, [(good, preserved) for good, preserved, _ in triplets.outcomes])
    over_modified = margins(evaluator, [(good, modified) for good, _, modified in triplets.outcomes])
    both = selection_credit(over_preserved, over_modified)
    preserved, modified = (
        np.where(np.isnan(both), np.nan, (np.sign(lead) + 1) / 2) for lead in (over_preserved, over_modified)
    )
    return both, preserved, modified


def _selected_score(
    evaluator: Evaluator, earned: Sequence[Numbers], sources: Labels, edit_types: Labels
) -> SelectedScore:
    (overall, by_type), (over_preserved, _), (over_modified, _) = (
        shares(credit, sources, edit_types) for credit in earned
    )
    both = earned[0]
    return SelectedScore(
        evaluator.protocol,
        evaluator.spec,
        overall,
        over_preserved,
        over_modified,
        by_type,
        equal=int(((both > 0) & (both < 1)).sum()),
        unscored=int(np.isnan(both).sum()),
    )


JUDGE_SPEC = ScoreSpec("prefers", higher_is_better=True, range=(-1.0, 1.0))
SIDE_NAMES: Mapping[Choice, SideName] = {"first": "one", "second": "two", "tie": "tie"}
LEAD: Mapping[SideName | None, int] = {"one": 1, "two": -1, "tie": 0, None: 0}
"""Lead of the first outcome; a judge that follows the order has no preference."""


@dataclass(frozen=True, slots=True)
class JudgeEvaluator:
    """A judge as an evaluator."""

    name: str
    leads: Mapping[tuple[OutcomeKey, OutcomeKey], int]
    """Two outcomes to 1 when it prefers the first, -1 for the second, 0 for neither."""

    @property
    def protocol(self) -> str:
        """Return the judge's name, marked as a judge."""
        return f"judge[{self.name}]"

    @property
    def spec(self) -> ScoreSpec:
        """Return the range from the second (-1) to the first (1)."""
        return JUDGE_SPEC

    def pair(self, first: OutcomeKey, second: OutcomeKey) -> tuple[float, float] | None:
        """Return half the lead for each; None when the judge was not asked or gave no answer."""
        lead = self.leads.get((first, second))
        if lead is None and (swapped := self.leads.get((second, first))) is not None:
            lead = -swapped
        return None if lead is None else (lead / 2, -lead / 2)


@dataclass(frozen=True, slots=True)
class JudgeFindings:
    """How the presentation order sways a judge."""

    name: str
    pairs: int
    unanswered: int
    """Pairs without an answer in a requested order: left out, never imputed."""
    ties: int
    """Pairs in which it prefers neither."""
    consistent: Mean | None
    """The share of pairs with one verdict in both orders; None when no pair was asked in both."""
    towards_first: Mean | None
    """From -1 (always the second position) to 1 (always the first); 0 without position bias."""


def read_judges(files: Iterable[Path], outcomes: ScoreColumns) -> tuple[list[JudgeEvaluator], list[JudgeFindings]]:
    """Read the judges of these files as evaluators, with statistics of their consistency."""
    answers = [preference for file in files for preference in read_preferences(file)]
    if not answers:
        return [], []
    by_judge: dict[str, list[tuple[tuple[OutcomeKey, ...], JudgePreference]]] = defaultdict(list)
    matched: Matched[JudgePreference] = match(answers, outcomes.seeds)
    for keys, preference in matched.pairs:
        by_judge[preference.rater or "judge"].append((keys, preference))
    evaluators = [JudgeEvaluator(name, _leads(preferences)) for name, preferences in by_judge.items()]
    return evaluators, [_findings(name, preferences, outcomes) for name, preferences in by_judge.items()]


def _leads(
    preferences: Sequence[tuple[tuple[OutcomeKey, ...], JudgePreference]],
) -> dict[tuple[OutcomeKey, OutcomeKey], int]:
    leads = {}
    for (first, second), preference in preferences:
        if preference.is_answered:
            leads[first, second] = LEAD[_settled(preference)]
    return leads


def _settled(preference: JudgePreference) -> SideName | None:
    if preference.choice is None:
        return None
    choice = SIDE_NAMES[preference.choice]
    return choice if preference.swapped is None else combine_orders(choice, SIDE_NAMES[preference.swapped])


def _findings(
    name: str, preferences: Sequence[tuple[tuple[OutcomeKey, ...], JudgePreference]], outcomes: ScoreColumns
) -> JudgeFindings:
    answered = [(keys, preference) for keys, preference in preferences if preference.is_answered]
    both_orders = [
        (keys[0], preference.choice, preference.swapped)
        for keys, preference in answered
        if preference.choice and preference.swapped
    ]
    sources = outcomes.sources_of(key for key, *_ in both_orders)
    is_consistent = np.array([choice == swapped for _, choice, swapped in both_orders], dtype=np.float64)
    # the first position holds the first outcome in the requested order, the second outcome in the swapped order
    leads = [(LEAD[SIDE_NAMES[choice]] - LEAD[SIDE_NAMES[swapped]]) / 2 for _, choice, swapped in both_orders]
    return JudgeFindings(
        name,
        len(preferences),
        unanswered=len(preferences) - len(answered),
        ties=sum(_settled(preference) == "tie" for _, preference in answered),
        consistent=clustered_mean(is_consistent, sources) if both_orders else None,
        towards_first=clustered_mean(np.array(leads, dtype=np.float64), sources, scale=(-1.0, 1.0))
        if both_orders
        else None,
    )
