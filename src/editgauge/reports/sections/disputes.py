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
MAX_NOTES = 3
Notes = dict[tuple[OutcomeKey, str, str], list[str]]
"""The notes next to a score: by outcome, protocol and name."""


@dataclass(frozen=True, slots=True)
class Dispute:
    """One outcome on which a score and people disagree, ready to print."""

    outcome: OutcomeKey
    instruction: str
    score: str
    people: str
    reasons: list[str]
    """Notes of the protocol on its score."""


@dataclass(frozen=True, slots=True)
class Disputes:
    """The outcomes on which one score and the answers to one question are farthest apart."""

    title: str
    spec: ScoreSpec
    protocol: str
    outcomes: int
    sides: list[tuple[str, list[Dispute]]]
    """Direction of the disagreement, and the outcomes; a side without any is left out."""


def disputes(agreement: Agreement, run: Run) -> list[Disputes]:
    """Return the disputes of every rated question."""
    reasons = _disputed_notes(agreement, run)
    return [_question_disputes(question, run, reasons) for question in agreement.disputed]


def _question_disputes(disagreements: Disagreements, run: Run, reasons: Notes) -> Disputes:
    def ready(disputed: tuple[DisputedOutcome, ...]) -> list[Dispute]:
        score = disagreements.protocol, disagreements.spec.name
        return [_format_dispute(dispute, run, reasons.get((dispute.outcome, *score), [])) for dispute in disputed]

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


def _format_dispute(disputed: DisputedOutcome, run: Run, reasons: list[str]) -> Dispute:
    ratings = ", ".join(f"{rating:g}" for rating in disputed.ratings)
    mean = words.number(fmean(disputed.ratings), DECIMALS)
    several = f" ({ratings})" if len(disputed.ratings) > 1 else ""
    return Dispute(
        disputed.outcome,
        str(run.edits.get(disputed.outcome.edit, {}).get("instruction") or ""),
        f"{words.number(disputed.score, DECIMALS)}, above {disputed.percentile:.0%} of the outcomes",
        f"{mean}{several}, above {disputed.people_percentile:.0%}",
        reasons[:MAX_NOTES],
    )


def _disputed_notes(agreement: Agreement, run: Run) -> Notes:
    """Return the notes of protocols on the disputed scores."""
    disputed = {
        (dispute.outcome, question.protocol, question.spec.name)
        for question in agreement.disputed
        for dispute in (*question.overrated, *question.underrated)
    }
    reasons: Notes = defaultdict(list)
    for key, name, note in notes_of(run, {outcome.edit for outcome, _, _ in disputed}):
        score = (OutcomeKey(key.edit, key.method, key.seed), key.protocol, name)
        if score in disputed and note not in reasons[score]:
            reasons[score].append(note)
    return reasons


def notes_of(run: Run, edits: Collection[str]) -> Iterator[tuple[Key, str, str]]:
    """Yield the notes of protocols on these edits: record key, score and sentence.

    Damaged evidence is skipped; the gallery reports it.
    """
    for key, name, text in run.iter_evidence(edits):
        try:
            piece = from_json(json.loads(text))
        except (ValueError, KeyError, TypeError):
            continue
        if isinstance(piece, Note) and piece.text:
            yield key, name, str(piece.text)
