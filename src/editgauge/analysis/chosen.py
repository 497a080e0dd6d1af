"""Scores beside people's choices between two outcomes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from editgauge.analysis.agreement import choice_credit
from editgauge.analysis.intervals import Labels, Mean, Numbers, clustered_mean, sign_flip_p
from editgauge.analysis.matching import Matched, OutcomeKey, ScoredOutcomes
from editgauge.analysis.ratings import Choice
from editgauge.core.types import EDIT_TYPES, ScoreSpec


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
    all_credits = [(*each, _credit(*each, answers, known)) for each in scores]
    found = [_summary(*each, answers) for each in all_credits]
    order = sorted(range(len(found)), key=lambda place: _most_agreeing(found[place]))
    best = [all_credits[place] for place in order[:2]]
    return ChosenScores(
        tuple(found[place] for place in order), len(told.found) - len(decided), _best_two(best, answers.sources)
    )


def label(protocol: str, spec: ScoreSpec) -> str:
    """The full name of a score."""
    return f"{protocol}/{spec.name}"


@dataclass(frozen=True, slots=True)
class _Answers:
    outcomes: list[tuple[OutcomeKey, ...]]
    chose_first: NDArray[np.bool_]
    sources: Labels
    edit_types: Labels


def _credit(protocol: str, spec: ScoreSpec, answers: _Answers, known: ScoredOutcomes) -> Numbers:
    """What the score earns on every choice; NaN, within this file, where an outcome has no score."""
    values = known.values.get((protocol, spec.name), {})
    both = np.array([[values.get(key, math.nan) for key in keys] for keys in answers.outcomes]).reshape(-1, 2)
    towards_better = 1 if spec.higher_is_better else -1
    return choice_credit(both[:, 0] * towards_better, both[:, 1] * towards_better, answers.chose_first)


def _summary(protocol: str, spec: ScoreSpec, credit: Numbers, answers: _Answers) -> ChosenScore:
    scored = ~np.isnan(credit)
    types = {name: scored & (answers.edit_types == name) for name in EDIT_TYPES}
    return ChosenScore(
        protocol,
        spec,
        clustered_mean(credit[scored], answers.sources[scored]) if scored.any() else None,
        {name: clustered_mean(credit[rows], answers.sources[rows]) for name, rows in types.items() if rows.any()},
        equal=int((credit == 0.5).sum()),
        unscored=int((~scored).sum()),
    )


def _most_agreeing(score: ChosenScore) -> float:
    return math.inf if score.share is None else -score.share.value


def _best_two(best: Sequence[tuple[str, ScoreSpec, Numbers]], sources: Labels) -> BestTwo | None:
    if len(best) < 2:
        return None
    (protocol, spec, credit), (other_protocol, other_spec, other) = best
    both = ~np.isnan(credit) & ~np.isnan(other)
    if not both.any():
        return None
    ahead = (credit - other)[both]
    return BestTwo(
        label(protocol, spec),
        label(other_protocol, other_spec),
        clustered_mean(ahead, sources[both]),
        only_first=int((ahead > 0).sum()),
        only_second=int((ahead < 0).sum()),
        p=sign_flip_p(ahead, sources[both]),
    )
