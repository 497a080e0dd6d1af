"""Evaluators compared with people's choices between two outcomes."""

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
from editgauge.analysis.outcomes import Matched, OutcomeKey, ScoredOutcomes, match
from editgauge.analysis.ratings import Choice, JudgePreference, PreferredOutcome, read_preferences
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.judges import Choice as Named
from editgauge.judges import combine_orders
from editgauge.types import ScoreSpec

MOST_PAIRED = 4
"""This many of the evaluators that agree most are taken in pairs."""


@dataclass(frozen=True, slots=True)
class ChoiceScore:
    """One evaluator compared with people's choices."""

    protocol: str
    spec: ScoreSpec
    share: Mean | None
    """Of the choices, how many it agrees with (s_2AFC); None when no choice has both scores."""
    by_type: dict[str, Mean]
    equal: int
    """Choices between outcomes with equal scores: each counts half, as guessing would."""
    unscored: int
    """Choices with an outcome that has no such score: left out, never imputed."""


@dataclass(frozen=True, slots=True)
class ChoiceScores:
    """What the choices say about the evaluators, the one that agrees most first."""

    scores: tuple[ChoiceScore, ...]
    ties: int
    """Choices in which people found both alike: no side to agree with, so they are left out."""
    behind: tuple[Paired, ...]
    """The one that agrees most against every other one, on the choices that both can answer."""
    pairs: tuple[Complementarity, ...]
    """Any two of the four that agree most, on the choices that both can answer: do they err alike?"""


def choice_scores(
    matched: Matched[PreferredOutcome], evaluators: Sequence[Evaluator], known: ScoredOutcomes
) -> ChoiceScores:
    """Every evaluator compared with the choices."""
    answers = _Answers.of(matched, known)
    earned = [_Earned.of(each, answers) for each in evaluators]
    summaries = [_summary(each, answers) for each in earned]
    order = sorted(range(len(summaries)), key=lambda place: best_first(summaries[place].share))
    pairs = (_together(earned[one], earned[two], answers) for one, two in combinations(order[:MOST_PAIRED], 2))
    return ChoiceScores(
        tuple(summaries[place] for place in order),
        len(matched.pairs) - len(answers.outcomes),
        compare_with_first([(label(evaluators[place]), earned[place].credit) for place in order], answers.sources),
        tuple(pair for pair in pairs if pair),
    )


def choices_target(matched: Matched[PreferredOutcome], known: ScoredOutcomes) -> EvaluatorTarget:
    """People's choices, to hold one evaluator after another against."""
    answers = _Answers.of(matched, known)

    def ask(evaluator: Scored) -> Estimate:
        margin = margins(evaluator, answers.outcomes)
        there = ~np.isnan(margin)
        return choice_agreement(margin[there], 0 * margin[there], answers.chose_first[there], answers.sources[there])

    return EvaluatorTarget("choices", "share agreed with", 0.5, ask)


@dataclass(frozen=True, slots=True)
class _Answers:
    """The choices in which people did choose."""

    outcomes: list[tuple[OutcomeKey, ...]]
    chose_first: NDArray[np.bool_]
    sources: Labels
    edit_types: Labels

    @classmethod
    def of(cls, matched: Matched[PreferredOutcome], known: ScoredOutcomes) -> _Answers:
        decided = [(keys, choice.chosen == "first") for keys, choice in matched.pairs if choice.chosen != "tie"]
        return cls(
            [keys for keys, _ in decided],
            np.array([first for _, first in decided], dtype=np.bool_),
            known.sources_of(keys[0] for keys, _ in decided),
            known.edit_types_of(keys[0] for keys, _ in decided),
        )


@dataclass(frozen=True, slots=True)
class _Earned:
    """NaN, within this file, where an outcome has no score."""

    evaluator: Evaluator
    margin: Numbers
    """By how much the first outcome of every choice is the better one."""
    credit: Numbers
    """What the evaluator earns on every choice."""

    @classmethod
    def of(cls, evaluator: Evaluator, answers: _Answers) -> _Earned:
        margin = margins(evaluator, answers.outcomes)
        return cls(evaluator, margin, choice_credit(margin, 0, answers.chose_first))


def _summary(earned: _Earned, answers: _Answers) -> ChoiceScore:
    return ChoiceScore(
        earned.evaluator.protocol,
        earned.evaluator.spec,
        *shares(earned.credit, answers.sources, answers.edit_types),
        equal=int((earned.credit == 0.5).sum()),
        unscored=int(np.isnan(earned.credit).sum()),
    )


def _together(first: _Earned, second: _Earned, answers: _Answers) -> Complementarity | None:
    both = ~np.isnan(first.credit) & ~np.isnan(second.credit)
    if not both.any():
        return None
    scaled = (each.margin[both] / (each.margin[both].std() or 1.0) for each in (first, second))
    return complementarity(
        first.credit[both],
        second.credit[both],
        answers.sources[both],
        average=choice_credit(sum(scaled), 0, answers.chose_first[both]),
        names=(label(first.evaluator), label(second.evaluator)),
    )


TRIPLET_ROLES = ("good", "preserved", "modified")
FORM = "good=METHOD,preserved=METHOD,modified=METHOD"
_ROLE = re.compile(rf"(?:^|,)\s*({'|'.join(TRIPLET_ROLES)})=")


@dataclass(frozen=True, slots=True)
class Triplets:
    """Edits of which the run has all three outcomes."""

    methods: Mapping[str, str]
    """Role to method."""
    outcomes: tuple[tuple[OutcomeKey, OutcomeKey, OutcomeKey], ...]
    """In the order of the roles."""
    incomplete: int
    """Outcomes of the good method without a partner in one of the other roles, or with several: left out."""

    @property
    def good(self) -> list[OutcomeKey]:
        """The well edited outcome of each."""
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
    """Triplets in which the good one shares the highest score: they count as guessing among those would."""
    unscored: int
    """Triplets with an outcome that has no such score: left out, never imputed."""


@dataclass(frozen=True, slots=True)
class SelectedScores:
    """What the triplets say about the evaluators, the one that selects best first."""

    methods: Mapping[str, str]
    triplets: int
    incomplete: int
    scores: tuple[SelectedScore, ...]
    behind: tuple[Paired, ...]
    """The one that selects best against every other one, on the triplets that both can answer."""


def read_roles(text: str) -> dict[str, str]:
    """The methods of the three roles; a method's own commas and equals signs do no harm.

    >>> read_roles("good=ours[a=1,b=2],preserved=negligible,modified=text-to-image")
    {'good': 'ours[a=1,b=2]', 'preserved': 'negligible', 'modified': 'text-to-image'}
    """
    before, *rest = _ROLE.split(text)
    names, methods = rest[::2], [method.strip() for method in rest[1::2]]
    if before.strip() or sorted(names) != sorted(TRIPLET_ROLES) or not all(methods):
        raise BadInputError(f"--triplets is written {FORM}, got '{text}'.")
    if len(set(methods)) < len(TRIPLET_ROLES):
        raise BadInputError(f"The three outcomes of a triplet come from three methods, got '{text}'.")
    roles = dict(zip(names, methods, strict=True))
    return {role: roles[role] for role in TRIPLET_ROLES}


def find_triplets(methods: Mapping[str, str], known: ScoredOutcomes) -> Triplets:
    """The triplets of a run: outcomes of one edit and seed, where a method that has only one seed lends it to all."""
    there = {method for _, method in known.seeds}
    for method in methods.values():
        if method not in there:
            raise UnknownNameError("method in this run", method, there)
    complete: list[tuple[OutcomeKey, OutcomeKey, OutcomeKey]] = []
    incomplete = 0
    for edit in known.sources:
        for seed in known.seeds.get((edit, methods["good"]), ()):
            preserved, modified = (_partner(edit, methods[role], seed, known) for role in TRIPLET_ROLES[1:])
            if preserved is None or modified is None:
                incomplete += 1
            else:
                complete.append((OutcomeKey(edit, methods["good"], seed), preserved, modified))
    if not complete:
        raise BadInputError(f"No edit of the run has outcomes of all three: {', '.join(methods.values())}.")
    return Triplets(methods, tuple(complete), incomplete)


def _partner(edit: str, method: str, seed: int, known: ScoredOutcomes) -> OutcomeKey | None:
    seeds = known.seeds.get((edit, method), [])
    fitting = [each for each in seeds if each == seed] or seeds
    return OutcomeKey(edit, method, fitting[0]) if len(fitting) == 1 else None


def selected_scores(triplets: Triplets, evaluators: Sequence[Evaluator], known: ScoredOutcomes) -> SelectedScores:
    """Every evaluator compared with the triplets."""
    sources, edit_types = known.sources_of(triplets.good), known.edit_types_of(triplets.good)
    earned = [_earned(each, triplets) for each in evaluators]
    summaries = [_selected_score(each, its, sources, edit_types) for each, its in zip(evaluators, earned, strict=True)]
    order = sorted(range(len(summaries)), key=lambda place: best_first(summaries[place].both))
    both = [(label(evaluators[place]), earned[place][0]) for place in order]
    return SelectedScores(
        triplets.methods,
        len(triplets.outcomes),
        triplets.incomplete,
        tuple(summaries[place] for place in order),
        compare_with_first(both, sources),
    )


def triplets_target(triplets: Triplets, known: ScoredOutcomes) -> EvaluatorTarget:
    """The triplets, to hold one evaluator after another against."""
    sources = known.sources_of(triplets.good)

    def ask(evaluator: Scored) -> Estimate:
        both = _earned(evaluator, triplets)[0]
        there = ~np.isnan(both)
        if not there.any():
            return no_estimate("no triplet has all three scores")
        return as_estimate(clustered_mean(both[there], sources[there]))

    return EvaluatorTarget("triplets", "share won by the good one", 1 / 3, ask)


def selection_credit(over_preserved: Numbers, over_modified: Numbers) -> Numbers:
    """The chance that the good outcome is picked among those with the highest score, from its lead over the others.

    >>> selection_credit(np.array([1.0, 1.0, 0.0, 0.0, 1.0]), np.array([2.0, 0.0, 0.0, -1.0, np.nan])).round(2)
    array([1.  , 0.5 , 0.33, 0.  ,  nan])
    """
    leads = np.stack([over_preserved, over_modified])
    credit = np.where((leads < 0).any(axis=0), 0.0, 1 / (1 + (leads == 0).sum(axis=0)))
    return np.where(np.isnan(leads).any(axis=0), np.nan, credit)


def _earned(evaluator: Evaluator, triplets: Triplets) -> tuple[Numbers, Numbers, Numbers]:
    """What it earns on every triplet: for both, and for each half."""
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
    (whole, by_type), (over_preserved, _), (over_modified, _) = (shares(each, sources, edit_types) for each in earned)
    both = earned[0]
    return SelectedScore(
        evaluator.protocol,
        evaluator.spec,
        whole,
        over_preserved,
        over_modified,
        by_type,
        equal=int(((both > 0) & (both < 1)).sum()),
        unscored=int(np.isnan(both).sum()),
    )


JUDGE_SPEC = ScoreSpec("prefers", True, (-1.0, 1.0))
NAMED: Mapping[Choice, Named] = {"first": "one", "second": "two", "tie": "tie"}
LEAD: Mapping[Named | None, int] = {"one": 1, "two": -1, "tie": 0, None: 0}
"""By how much the first leads; a judge that follows the order has no preference, as if both were equal."""


@dataclass(frozen=True, slots=True)
class JudgeEvaluator:
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
        return JUDGE_SPEC

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


def read_judges(files: Iterable[Path], known: ScoredOutcomes) -> tuple[list[JudgeEvaluator], list[JudgeFindings]]:
    """The judges of these files, as evaluators and with what is known about them."""
    answers = [verdict for file in files for verdict in read_preferences(file)]
    if not answers:
        return [], []
    by_judge: dict[str, list[tuple[tuple[OutcomeKey, ...], JudgePreference]]] = defaultdict(list)
    matched: Matched[JudgePreference] = match(answers, known.seeds)
    for keys, verdict in matched.pairs:
        by_judge[verdict.rater or "judge"].append((keys, verdict))
    evaluators = [JudgeEvaluator(name, _leads(verdicts)) for name, verdicts in by_judge.items()]
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
    return choice if verdict.swapped is None else combine_orders(choice, NAMED[verdict.swapped])


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
