"""What people said about outcomes on disk: which of two is better, and whether the edit was carried out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from editgauge.core.errors import BadInput
from editgauge.core.types import Edit, Outcome
from editgauge.findings.evaluators.binary import LEVELS
from editgauge.findings.evaluators.binary_answers import majorities
from editgauge.findings.evaluators.triplets import find_triplets, read_roles
from editgauge.findings.people.matching import Matched, OutcomeKey, ScoredOutcomes, match
from editgauge.findings.people.preferences import CREDIT
from editgauge.findings.people.ratings import PreferredOutcome, Rating, read_choices, read_ratings

EVEN = 0.5
DONE = ("edit", "accuracy")
"""The questions of ratings that ask whether the edit was carried out."""


@dataclass(frozen=True, slots=True)
class PeopleAnswers:
    """What is known from people."""

    over: Mapping[tuple[OutcomeKey, OutcomeKey], float]
    """A better and a worse outcome to the share of people who say so."""
    done: Mapping[OutcomeKey, bool]
    remarks: tuple[str, ...]
    """What could not be used, in sentences."""

    @property
    def outcomes(self) -> list[OutcomeKey]:
        """All that were spoken of."""
        return list(dict.fromkeys([*(key for both in self.over for key in both), *self.done]))


def read_answers(
    choices: Path | None, triplets: str | None, ratings: Path | None, edits: Sequence[Edit], outcomes: Sequence[Outcome]
) -> PeopleAnswers:
    """What these files say of these outcomes; where people are evenly split nothing is known.

    Args:
        choices: choices between two, as `agree` reads them
        triplets: three methods of known order, as `agree` takes them
        ratings: yes or no to whether the edit was carried out
        edits: of the benchmark
        outcomes: of all methods
    """
    known = _known(edits, outcomes)
    remarks: list[str] = []
    over: dict[tuple[OutcomeKey, OutcomeKey], float] = {}
    if triplets is not None:
        triples = find_triplets(read_roles(triplets), known)
        over |= {(good, other): 1.0 for good, *others in triples.outcomes for other in others}
        remarks += [f"{triples.incomplete} triplets are incomplete: left out"] if triples.incomplete else []
    if choices is not None:
        matched = match(read_choices(choices), known.seeds)
        shares = _shares(matched)
        for (first, second), share in shares.items():
            for either in ((first, second), (second, first)):  # people know better than the roles of a triplet
                over.pop(either, None)
            if share != EVEN:
                over[(first, second) if share > EVEN else (second, first)] = max(share, 1 - share)
        even = sum(share == EVEN for share in shares.values())
        remarks += [*_lost(matched), *([f"{even} pairs split people evenly: left out"] if even else [])]
    done: Mapping[OutcomeKey, bool] = {}
    if ratings is not None:
        rated = match(read_ratings(ratings), known.seeds)
        done = _done(rated, ratings)
        remarks += _lost(rated)
    return PeopleAnswers(over, done, tuple(remarks))


def _known(edits: Sequence[Edit], outcomes: Sequence[Outcome]) -> ScoredOutcomes:
    """Outcomes with a picture; those of later turns have sources of their own, and cannot be compared."""
    first_turns = {edit.id: edit for edit in edits if edit.follows is None}
    known = ScoredOutcomes(sources={name: edit.origin for name, edit in first_turns.items()})
    for outcome in outcomes:
        if outcome.image is not None and outcome.edit_id in first_turns:
            known.seeds.setdefault((outcome.edit_id, outcome.method), []).append(outcome.seed)
    return known


def _shares(matched: Matched[PreferredOutcome]) -> dict[tuple[OutcomeKey, ...], float]:
    """For each pair, in the order in which it was first shown, the share for its first outcome; a tie counts half."""
    earned: dict[tuple[OutcomeKey, ...], list[float]] = defaultdict(list)
    for keys, choice in matched.pairs:
        turned = keys[::-1] in earned
        earned[keys[::-1] if turned else keys].append(1 - CREDIT[choice.chosen] if turned else CREDIT[choice.chosen])
    return {keys: fmean(each) for keys, each in earned.items()}


def _done(rated: Matched[Rating], file: Path) -> Mapping[OutcomeKey, bool]:
    by_question = majorities(rated, LEVELS)
    questions = [name for name in DONE if name in by_question] or (list(by_question) if len(by_question) == 1 else [])
    if not questions:
        rated_questions = sorted({rating.question for _, rating in rated.pairs})
        raise BadInput(
            f"None of the questions in '{file}' says whether the edit was carried out; '{DONE[0]}' with 0 and 1 does.",
            [f"'{question}'" for question in rated_questions],
        )
    return by_question[questions[0]].good


def _lost(matched: Matched[PreferredOutcome] | Matched[Rating]) -> list[str]:
    remarks = []
    if matched.strangers:
        remarks.append(
            f"{matched.strangers} answers are of outcomes that are not there, first {matched.first_stranger}"
        )
    if matched.undecided:
        remarks.append(f"{matched.undecided} answers name no seed, and there are several: left out")
    return remarks
