"""One verdict from the scores of several protocols: done or not, the rest kept, artifacts, and how sure we are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from editgauge._util.variants import base_name
from editgauge.edit_types import EDIT_TYPES
from editgauge.evidence import Box, ImageNote, Note

if TYPE_CHECKING:
    from editgauge.results import ScoreRecord
    from editgauge.types import Edit

Done = Literal["yes", "no", "disputed", "cannot tell"]
Kept = Literal["well", "partly", "poorly", "cannot tell"]
Artifacts = Literal["none seen", "some", "many", "cannot tell"]
Sure = Literal["high", "medium", "low"]

PASS, DOUBT = 0.5, 0.15
"""An `edit` score of at least the first is a yes; a probability nearer to it than the second is no answer."""
CLEAR = 0.5
"""Least confidence of a detector at which a sighting leaves little doubt."""
PLAINLY = 0.05
"""Probability of our own protocol under which nothing was edited, or the whole picture was redrawn."""
ONE_DETECTOR = frozenset({"editval", "pixlens"})
"""Protocols that rest on the same sightings: that both say so is one witness, not two."""
KEPT_BY: tuple[tuple[str, str, float, float], ...] = (
    ("editgauge", "preservation", 0.75, 0.4),
    ("preservation", "ssim_outside", 0.8, 0.6),
    ("pixlens", "background", 0.9, 0.7),
)
"""Protocol, score, and the least values for `well` and `partly`; the first that has a value counts."""
CLEAN_BY: tuple[tuple[str, str, float, float], ...] = (
    ("editgauge", "artifact", 0.35, 0.65),
    ("editgauge", "quality", 0.6, 0.35),
)
"""The same for `none seen` and `some`; an artifact score is better when lower."""
HEADLINES = frozenset(
    {"edit", "steps_done", "preservation", "quality", "artifact", "overall", "background", "ssim_outside"}
)
"""Scores that the short table shows."""
NO_RULE = "no_rule"
ADVICE = {
    "not_understood": "reword the instruction, or give --edit-type with --subject and --to, or a --judge that reads it",
    "unknown_word": "--models best looks for any word, and so does a --judge",
    NO_RULE: "a --judge can answer, or a study",
    "not_detected": "--models best or a --judge may see it; --subject or --to can name it by another word",
    "not_applicable": "give what is missing: --subject, --to, --position or --source-caption",
    "no_model": "`editgauge models pull` brings the models",
    "unreachable": "the judge could not be reached",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on one edited image."""

    done: Done
    done_because: str
    kept: Kept
    kept_because: str
    artifacts: Artifacts
    sure: Sure
    sources: tuple[str, ...]
    """The protocols whose answers were used."""
    advice: str
    """What to add where there is no answer; empty when nothing is missing."""

    @property
    def sentence(self) -> str:
        """One plain line."""
        parts = [
            f"Done: {self.done}{_because(self.done_because)}.",
            f"Rest kept: {self.kept}{_because(self.kept_because)}.",
            f"Artifacts: {self.artifacts}.",
            f"Sure: {self.sure}{'; from: ' + ', '.join(self.sources) if self.sources else ''}.",
        ]
        return " ".join([*parts, f"To find out: {self.advice}." if self.advice else ""]).strip()


def _because(text: str) -> str:
    return f" ({text})" if text else ""


def make_verdict(scores: Sequence[ScoreRecord], edit: Edit | None = None) -> Verdict:
    """The verdict from whatever scores there are, by their names."""
    votes = [each for each in scores if each.name == "edit" and each.value is not None and not _is_doubtful(each)]
    done, because = _done(votes)
    if done == "no" and _nobody_looked(votes, scores):
        done, because = "cannot tell", f"{votes[0].protocol} {votes[0].value:.2f}, but {_why_not(scores)}"
    kept, kept_by, kept_source = _kept(scores)
    artifacts, clean_source = _artifacts(scores)
    used = [*(vote.protocol for vote in votes), kept_source, clean_source]
    doubtful = edit is not None and edit.reading is not None and not all(step.sure for step in edit.reading.steps)
    overlooked = done == "no" and kept == "well" and not _is_clear(done, votes, edit)
    return Verdict(
        done=done,
        done_because=because or _why_not(scores),
        kept=kept,
        kept_because=kept_by,
        artifacts=artifacts,
        sure="low" if overlooked else _sure(done, votes, doubtful, clear=_is_clear(done, votes, edit)),
        sources=tuple(dict.fromkeys(filter(None, used))),
        advice=_advice(scores) if done == "cannot tell" else ADVICE["not_detected"] if overlooked else "",
    )


def _is_doubtful(vote: ScoreRecord) -> bool:
    return vote.value is not None and 0 < vote.value < 1 and abs(vote.value - PASS) < DOUBT


def _done(votes: Sequence[ScoreRecord]) -> tuple[Done, str]:
    if not votes:
        return "cannot tell", ""
    answers = {vote.protocol: (vote.value or 0) >= PASS for vote in votes}
    if len(set(answers.values())) > 1:
        return "disputed", ", ".join(f"{name}: {'yes' if yes else 'no'}" for name, yes in answers.items())
    said = next((note for vote in votes if vote.protocol != "editgauge" and (note := _note(vote))), "")
    said = said or f"{votes[0].protocol} {votes[0].value:.2f}"
    return ("yes" if next(iter(answers.values())) else "no"), said


def _nobody_looked(votes: Sequence[ScoreRecord], scores: Sequence[ScoreRecord]) -> bool:
    """A low score of our own protocol alone, where no detector knows the word: the object may still be there."""
    own = {base_name(vote.protocol) for vote in votes} == {"editgauge"}
    return own and any(each.reason == "unknown_word" for each in _unanswered(scores))


def _note(vote: ScoreRecord) -> str:
    """What can be said about a score, as parts of one sentence, without what the loader did to the images."""
    notes = [piece.text for piece in vote.evidence if isinstance(piece, Note) and not isinstance(piece, ImageNote)]
    texts = [text.rstrip(".") for text in (vote.detail, *notes) if text]
    return "; ".join(text[:1].lower() + text[1:] for text in texts)


def _kept(scores: Sequence[ScoreRecord]) -> tuple[Kept, str, str]:
    for protocol, name, well, partly in KEPT_BY:
        value = _value(scores, protocol, name)
        if value is not None:
            word: Kept = "well" if value >= well else "partly" if value >= partly else "poorly"
            return word, f"{name.replace('_', ' ')} {value:.2f}", protocol
    return "cannot tell", "", ""


def _artifacts(scores: Sequence[ScoreRecord]) -> tuple[Artifacts, str]:
    for protocol, name, none, some in CLEAN_BY:
        value = _value(scores, protocol, name)
        if value is not None:
            better = -1 if none < some else 1
            reached = [better * value >= better * mark for mark in (none, some)]
            return ("none seen" if reached[0] else "some" if reached[1] else "many"), protocol
    return "cannot tell", ""


def _value(scores: Sequence[ScoreRecord], protocol: str, name: str) -> float | None:
    rows = (each.value for each in scores if base_name(each.protocol) == protocol and each.name == name)
    return next((value for value in rows if value is not None), None)


def _sure(done: Done, votes: Sequence[ScoreRecord], doubtful: bool, *, clear: bool) -> Sure:
    """High must be earned: independent witnesses agree, on something that was clearly seen, and that was asked for."""
    if done in {"cannot tell", "disputed"}:
        return "low"
    names = [base_name(vote.protocol) for vote in votes]
    witnesses = {"a detector" if name in ONE_DETECTOR else name for name in names}
    if len(witnesses) > 1 and clear and not doubtful:
        return "high"
    return "medium" if len(names) > 1 or not doubtful else "low"


def _is_clear(done: Done, votes: Sequence[ScoreRecord], edit: Edit | None) -> bool:
    """Does the answer rest on something that was clearly seen, or measured?

    That a new thing is not seen may as well be the detector's fault. What should be gone and is seen is a witness, and
    so is a picture in which nothing changed.
    """
    if edit is None or done not in {"yes", "no"}:
        return True
    boxes = [piece for vote in votes for piece in vote.evidence if isinstance(piece, Box) and piece.confidence]
    edited = [piece for piece in boxes if piece.on == "edited"]
    steps = edit.reading.steps if edit.reading else (edit,)
    missing = [step for step in steps if EDIT_TYPES[step.type].effect != "changes"]
    if done == "yes" or not missing:
        seen = edited or boxes
        return not seen or max(piece.confidence or 0 for piece in seen) >= CLEAR
    if any(
        vote.value is not None and base_name(vote.protocol) == "editgauge" and vote.value < PLAINLY for vote in votes
    ):
        return True
    going = tuple(step.from_ or step.subject or "" for step in missing if EDIT_TYPES[step.type].effect != "adds")
    still = [piece for piece in edited if piece.label.startswith(tuple(filter(None, going)))]
    return any((piece.confidence or 0) >= CLEAR for piece in still)


def _unanswered(scores: Sequence[ScoreRecord]) -> list[ScoreRecord]:
    return [each for each in scores if each.name == "edit" and each.value is None]


def _informative(missing: list[ScoreRecord]) -> list[ScoreRecord]:
    """Without protocols that have no rule, where another one says what it lacks."""
    return [each for each in missing if each.reason != NO_RULE] or missing


def _why_not(scores: Sequence[ScoreRecord]) -> str:
    """Why nothing tells whether the edit was done."""
    doubtful = [each for each in scores if each.name == "edit" and _is_doubtful(each)]
    if doubtful:
        return f"{doubtful[0].protocol} {doubtful[0].value:.2f} is too close to one half"
    missing = _informative(_unanswered(scores))
    if not missing:
        return "no chosen protocol judges the edit"
    if all(each.reason == NO_RULE for each in missing):
        return "no chosen protocol has a rule for this edit type"
    return next((note for each in missing if (note := _note(each))), str(missing[0].reason))


def _advice(scores: Sequence[ScoreRecord]) -> str:
    reasons = dict.fromkeys(each.reason for each in _informative(_unanswered(scores)) if each.reason)
    if not any(each.name == "edit" for each in scores):
        return "add --protocol editval, pixlens or editgauge"
    advice: list[str] = []
    for text in (ADVICE[reason] for reason in reasons if reason in ADVICE):
        if not any("--models best" in text and "--models best" in other for other in advice):
            advice.append(text)
    return "; ".join(advice) or "a --judge that looks at both images, or a study"
