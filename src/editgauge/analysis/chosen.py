"""Scores beside people's choices between two outcomes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from editgauge.analysis.agreement import choice_credit
from editgauge.analysis.complementarity import Complementarity, complementarity
from editgauge.analysis.intervals import Labels, Mean, Numbers, clustered_mean, sign_flip_p
from editgauge.analysis.matching import Matched, OutcomeKey, ScoredOutcomes
from editgauge.analysis.ratings import Choice
from editgauge.core.types import EDIT_TYPES, ScoreSpec

MOST_PAIRED = 4
"""So many of the scores that agree most are taken two by two."""


@dataclass(frozen=True, slots=True)
class ChosenScore:
    """One score beside people's choices."""

    protocol: str
    spec: ScoreSpec
    share: Mean | None
    """Of the choices, how many the score agrees with (s_2AFC); None when no choice has both scores."""
    by_type: dict[str, Mean]
    equal: int
    """Choices between outcomes with equal scores: each counts half, as guessing would."""
    unscored: int
    """Choices with an outcome that has no such score: left out, never imputed."""


@dataclass(frozen=True, slots=True)
class BestTwo:
    """The two scores that agree with most choices, on the choices that both can answer."""

    first: str
    second: str
    difference: Mean
    """First share minus second."""
    only_first: int
    """Choices on which the first does better."""
    only_second: int
    p: float | None
    """Two-sided, flipping the sign of whole source images; the two were picked by the same choices, so it flatters."""


@dataclass(frozen=True, slots=True)
class ChosenScores:
    """What the choices say about the scores, the one that agrees most first."""

    scores: tuple[ChosenScore, ...]
    ties: int
    """Choices in which people found both alike: no side to agree with, so they are left out."""
    best_two: BestTwo | None
    pairs: tuple[Complementarity, ...]
    """Any two of the four scores that agree most, on the choices that both can answer: do they err alike?"""


def chosen_scores(
    told: Matched[Choice], scores: Sequence[tuple[str, ScoreSpec]], known: ScoredOutcomes
) -> ChosenScores:
    """Every score beside the choices."""
    decided = [(keys, choice.chosen == "first") for keys, choice in told.found if choice.chosen != "tie"]
    answers = _Answers(
        [keys for keys, _ in decided],
        np.array([first for _, first in decided], dtype=np.bool_),
        np.array([known.sources[keys[0].edit] for keys, _ in decided], dtype=np.str_),
        np.array([known.edit_types[keys[0].edit] for keys, _ in decided], dtype=np.str_),
    )
    earned = [_Earned.of(*each, answers, known) for each in scores]
    found = [_summary(each, answers) for each in earned]
    order = sorted(range(len(found)), key=lambda place: _most_agreeing(found[place]))
    best = [earned[place] for place in order[:MOST_PAIRED]]
    pairs = (_together(*two, answers) for two in combinations(best, 2))
    return ChosenScores(
        tuple(found[place] for place in order),
        len(told.found) - len(decided),
        _best_two(best[:2], answers.sources),
        tuple(pair for pair in pairs if pair),
    )


@dataclass(frozen=True, slots=True)
class _Answers:
    outcomes: list[tuple[OutcomeKey, ...]]
    chose_first: NDArray[np.bool_]
    sources: Labels
    edit_types: Labels


@dataclass(frozen=True, slots=True)
class _Earned:
    """NaN, within this file, where an outcome has no score."""

    protocol: str
    spec: ScoreSpec
    margin: Numbers
    """By how much the first outcome of every choice is the better one."""
    credit: Numbers
    """What the score earns on every choice."""

    @classmethod
    def of(cls, protocol: str, spec: ScoreSpec, answers: _Answers, known: ScoredOutcomes) -> _Earned:
        values = known.values.get((protocol, spec.name), {})
        both = np.array([[values.get(key, math.nan) for key in keys] for keys in answers.outcomes]).reshape(-1, 2)
        margin = (both[:, 0] - both[:, 1]) * (1 if spec.higher_is_better else -1)
        return cls(protocol, spec, margin, choice_credit(margin, 0, answers.chose_first))

    @property
    def label(self) -> str:
        return f"{self.protocol}/{self.spec.name}"


def _summary(earned: _Earned, answers: _Answers) -> ChosenScore:
    credit, scored = earned.credit, ~np.isnan(earned.credit)
    types = {name: scored & (answers.edit_types == name) for name in EDIT_TYPES}
    return ChosenScore(
        earned.protocol,
        earned.spec,
        clustered_mean(credit[scored], answers.sources[scored]) if scored.any() else None,
        {name: clustered_mean(credit[rows], answers.sources[rows]) for name, rows in types.items() if rows.any()},
        equal=int((credit == 0.5).sum()),
        unscored=int((~scored).sum()),
    )


def _most_agreeing(score: ChosenScore) -> float:
    return math.inf if score.share is None else -score.share.value


def _together(first: _Earned, second: _Earned, answers: _Answers) -> Complementarity | None:
    both = ~np.isnan(first.credit) & ~np.isnan(second.credit)
    if not both.any():
        return None
    margins = (each.margin[both] / (each.margin[both].std() or 1.0) for each in (first, second))
    return complementarity(
        first.credit[both],
        second.credit[both],
        answers.sources[both],
        average=choice_credit(sum(margins), 0, answers.chose_first[both]),
        names=(first.label, second.label),
    )


def _best_two(best: Sequence[_Earned], sources: Labels) -> BestTwo | None:
    if len(best) < 2:
        return None
    first, second = best
    both = ~np.isnan(first.credit) & ~np.isnan(second.credit)
    if not both.any():
        return None
    ahead = (first.credit - second.credit)[both]
    return BestTwo(
        first.label,
        second.label,
        clustered_mean(ahead, sources[both]),
        only_first=int((ahead > 0).sum()),
        only_second=int((ahead < 0).sum()),
        p=sign_flip_p(ahead, sources[both]),
    )
