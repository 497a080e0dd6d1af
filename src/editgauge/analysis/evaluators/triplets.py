"""Ground truth selection: does an evaluator put the well edited outcome above one that does too little or too much?

AugCLIP, section 5.2: of three outcomes of an edit, one is well edited, one keeps everything (a
negligible change of the source image), one forgets the source (made from the target text alone). Acc_both is the share
of triplets in which the well edited one comes first; the halves say which of the two temptations fools an evaluator.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from editgauge._stats.intervals import Labels, Mean, Numbers, clustered_mean
from editgauge._stats.paired import Paired, against_the_first
from editgauge._stats.resampling import Estimate, as_estimate, no_estimate
from editgauge.analysis.evaluators.evaluators import (
    Evaluator,
    EvaluatorTarget,
    Scored,
    best_first,
    label,
    margins,
    shares,
)
from editgauge.analysis.people.matching import OutcomeKey, ScoredOutcomes
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.types import ScoreSpec

ROLES = ("good", "preserved", "modified")
FORM = "good=METHOD,preserved=METHOD,modified=METHOD"
_ROLE = re.compile(rf"(?:^|,)\s*({'|'.join(ROLES)})=")


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
    if before.strip() or sorted(names) != sorted(ROLES) or not all(methods):
        raise BadInputError(f"--triplets is written {FORM}, got '{text}'.")
    if len(set(methods)) < len(ROLES):
        raise BadInputError(f"The three outcomes of a triplet come from three methods, got '{text}'.")
    roles = dict(zip(names, methods, strict=True))
    return {role: roles[role] for role in ROLES}


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
            preserved, modified = (_partner(edit, methods[role], seed, known) for role in ROLES[1:])
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
    summaries = [_summary(each, its, sources, edit_types) for each, its in zip(evaluators, earned, strict=True)]
    order = sorted(range(len(summaries)), key=lambda place: best_first(summaries[place].both))
    both = [(label(evaluators[place]), earned[place][0]) for place in order]
    return SelectedScores(
        triplets.methods,
        len(triplets.outcomes),
        triplets.incomplete,
        tuple(summaries[place] for place in order),
        against_the_first(both, sources),
    )


def asked_by_triplets(triplets: Triplets, known: ScoredOutcomes) -> EvaluatorTarget:
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


def _summary(evaluator: Evaluator, earned: Sequence[Numbers], sources: Labels, edit_types: Labels) -> SelectedScore:
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
