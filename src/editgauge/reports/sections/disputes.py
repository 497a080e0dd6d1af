"""Where a score and people disagree most, as pictures side by side with what the protocol noted."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from editgauge._render import text as words
from editgauge.analysis.outcomes import OutcomeKey
from editgauge.evidence import Note, from_json

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from editgauge.analysis.agree import Agreement
    from editgauge.analysis.rating_agreement import Disagreements, DisputedOutcome
    from editgauge.results import Key, Run
    from editgauge.types import ScoreSpec

DECIMALS = 2
MOST_REASONS = 3
Reasons = dict[tuple[OutcomeKey, str, str], list[str]]
"""The notes next to a score: by outcome, protocol and name."""


@dataclass(frozen=True, slots=True)
class Dispute:
    """One outcome on which a score and people disagree, ready to print."""

    outcome: OutcomeKey
    instruction: str
    score: str
    people: str
    reasons: list[str]
    """What the protocol noted about its score."""


@dataclass(frozen=True, slots=True)
class Disputes:
    """The outcomes on which one score and the answers to one question are farthest apart."""

    title: str
    spec: ScoreSpec
    protocol: str
    outcomes: int
    sides: list[tuple[str, list[Dispute]]]
    """What the score does there, and the outcomes; a side without any is left out."""


def disputes(agreement: Agreement, run: Run) -> list[Disputes]:
    """One for every question that was rated."""
    reasons = _reasons(agreement, run)
    return [_of_question(each, run, reasons) for each in agreement.disputed]


def _of_question(disagreements: Disagreements, run: Run, reasons: Reasons) -> Disputes:
    def ready(disputed: tuple[DisputedOutcome, ...]) -> list[Dispute]:
        return [
            _ready(each, run, reasons.get((each.outcome, disagreements.protocol, disagreements.spec.name), []))
            for each in disputed
        ]

    sides = [
        ("The score is kinder than people", ready(disagreements.overrated)),
        ("The score is harder than people", ready(disagreements.underrated)),
    ]
    about = f" with a score: {disagreements.question}" if disagreements.question else ""
    return Disputes(
        f"Where people disagree{about}",
        disagreements.spec,
        disagreements.protocol,
        disagreements.outcomes,
        [side for side in sides if side[1]],
    )


def _ready(disputed: DisputedOutcome, run: Run, reasons: list[str]) -> Dispute:
    ratings = ", ".join(f"{rating:g}" for rating in disputed.ratings)
    mean = words.number(fmean(disputed.ratings), DECIMALS)
    several = f" ({ratings})" if len(disputed.ratings) > 1 else ""
    return Dispute(
        disputed.outcome,
        str(run.edits.get(disputed.outcome.edit, {}).get("instruction") or ""),
        f"{words.number(disputed.score, DECIMALS)}, above {disputed.percentile:.0%} of the outcomes",
        f"{mean}{several}, above {disputed.people_percentile:.0%}",
        reasons[:MOST_REASONS],
    )


def _reasons(agreement: Agreement, run: Run) -> Reasons:
    """The notes that the protocols left next to the disputed scores."""
    wanted = {
        (each.outcome, question.protocol, question.spec.name)
        for question in agreement.disputed
        for each in (*question.overrated, *question.underrated)
    }
    reasons: Reasons = defaultdict(list)
    for key, name, note in notes_of(run, {outcome.edit for outcome, _, _ in wanted}):
        place = (OutcomeKey(key.edit, key.method, key.seed), key.protocol, name)
        if place in wanted and note not in reasons[place]:
            reasons[place].append(note)
    return reasons


def notes_of(run: Run, edits: Collection[str]) -> Iterator[tuple[Key, str, str]]:
    """What the protocols noted about these edits: where, next to which score, and the sentence.

    What is damaged is left out: the gallery says so.
    """
    for key, name, text in run.iter_evidence(edits):
        try:
            piece = from_json(json.loads(text))
        except (ValueError, KeyError, TypeError):
            continue
        if isinstance(piece, Note) and piece.text:
            yield key, name, str(piece.text)
