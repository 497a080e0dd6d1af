"""The verdict on one outcome: was the edit done, was the rest kept, is the image well made, and how sure is that.

Each answer rests on one score of the protocol `editgauge`, fitted and measured on rated edits. The confidence is the
probability that people agree, with the share of such answers that were right on photographs the fit had not seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from editgauge.evidence import ImageNote, Note
from editgauge.protocols.editgauge import FALLBACK_NO, PASS_MARK
from editgauge.protocols.editgauge._models import fitted

if TYPE_CHECKING:
    from editgauge.protocols.editgauge._models import ConfidenceLevel
    from editgauge.results import ScoreRecord

Done = Literal["yes", "partly", "no", "cannot tell"]
Kept = Literal["well", "partly", "poorly", "cannot tell"]
Quality = Literal["good", "fair", "poor", "cannot tell"]
Confidence = Literal["high", "medium", "low"]

PROTOCOL = "editgauge"
MIN_SUCCESS = 0.3
"""Probability of success below which a detected object that leaves the rest untouched is no yes."""
MIN_WELL, MIN_PARTLY = 0.75, 0.45
"""Least values of `kept` for `well` and `partly`."""
MIN_GOOD, MIN_FAIR = 0.6, 0.35
"""Least values of `quality` for `good` and `fair`."""
HEADLINES = frozenset({"edit", "steps_done", "kept", "quality", "success", "overall"})
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
    quality: Quality
    quality_because: str
    confidence: Confidence
    """Of `done`: `high` was right in at least 95%, `medium` in at least 80% of rated edits."""
    precision: tuple[int, int] | None
    """Right answers and all answers of this kind and confidence on rated edits of unseen photographs."""
    sources: tuple[str, ...]
    """The protocols whose answers were used."""
    advice: str
    """What to add where there is no answer; empty when nothing is missing."""

    @property
    def because(self) -> str:
        """The reasons of all answers as one text."""
        parts = (("done", self.done_because), ("kept", self.kept_because), ("quality", self.quality_because))
        return "; ".join(f"{name}: {text}" for name, text in parts if text)

    @property
    def columns(self) -> dict[str, str]:
        """The answers as columns of tables and exports."""
        return {
            "done": self.done,
            "kept": self.kept,
            "quality": self.quality,
            "confidence": self.confidence,
            "because": self.because,
        }

    @property
    def sentence(self) -> str:
        """One plain line."""
        measured = ""
        if self.precision and self.precision[1]:
            measured = f" ({self.precision[0]} of {self.precision[1]} such answers on rated edits were right)"
        parts = [
            f"Done: {self.done}{_in_brackets(self.done_because)}.",
            f"Rest kept: {self.kept}{_in_brackets(self.kept_because)}.",
            f"Quality: {self.quality}{_in_brackets(self.quality_because)}.",
            f"Confidence: {self.confidence}{measured}.",
        ]
        return " ".join([*parts, f"To find out: {self.advice}." if self.advice else ""]).strip()


def _in_brackets(text: str) -> str:
    return f" ({text})" if text else ""


def make_verdict(scores: Sequence[ScoreRecord]) -> Verdict:
    """Make the verdict from the scores of one outcome, whatever protocols they come from."""
    by_name = {record.name: record for record in scores if record.protocol.partition("[")[0] == PROTOCOL}
    values = {name: record.value for name, record in by_name.items() if record.value is not None}
    done, because, sources = _decide_done(scores, by_name, values)
    level = _confidence_level(done, values) if PROTOCOL in sources else None
    own = [PROTOCOL] if values else []
    return Verdict(
        done=done,
        done_because=because,
        kept=_grade_kept(values.get("kept")),
        kept_because=_explain(by_name.get("kept")),
        quality=_grade_quality(values.get("quality")),
        quality_because=_explain(by_name.get("quality")),
        confidence=level.level if level else "low",
        precision=(level.right, level.total) if level else None,
        sources=tuple(dict.fromkeys([*sources, *own])),
        advice=_advice(scores) if done == "cannot tell" else "",
    )


def _decide_done(
    scores: Sequence[ScoreRecord], by_name: dict[str, ScoreRecord], values: dict[str, float]
) -> tuple[Done, str, list[str]]:
    """Return the answer, its reason and the protocols it comes from."""
    if "edit" in values:
        return _done_by_edit(values)
    success = values.get("success")
    if success is not None and success < FALLBACK_NO and values.get("kept", 1.0) >= MIN_PARTLY:
        return "no", _explain(by_name["success"]), [PROTOCOL]
    votes = [record for record in scores if record.name == "edit" and record.value is not None]
    answers = {record.protocol: (record.value or 0.0) >= PASS_MARK for record in votes}
    if not answers:
        return "cannot tell", _explain_missing(scores), []
    if len(set(answers.values())) > 1:
        text = ", ".join(f"{protocol}: {'yes' if answer else 'no'}" for protocol, answer in answers.items())
        return "cannot tell", f"protocols disagree: {text}", list(answers)
    return ("yes" if votes[0].value else "no"), _explain(votes[0]), list(answers)


def _done_by_edit(values: dict[str, float]) -> tuple[Done, str, list[str]]:
    edit, steps = values["edit"], values.get("steps_done", 0.0)
    text = f"requested change {edit:.2f}"
    if edit < PASS_MARK:
        return ("partly" if 0 < steps < 1 else "no"), text, [PROTOCOL]
    is_kept = values.get("kept", 1.0) >= MIN_PARTLY
    if is_kept and values.get("success", 1.0) < MIN_SUCCESS:
        return "cannot tell", f"{text}, but such edits are rarely accepted ({values['success']:.2f})", [PROTOCOL]
    return "yes", text, [PROTOCOL]


def _confidence_level(done: Done, values: dict[str, float]) -> ConfidenceLevel | None:
    """Return the level of an answer: by the probability that people agree with it."""
    success = values.get("success")
    if success is None or done not in {"yes", "no"}:
        return None
    agreement = success if done == "yes" else 1 - success
    levels = [level for level in fitted().confidence if level.answer == done]
    return next((level for level in levels if agreement >= level.threshold), None)


def _grade_kept(value: float | None) -> Kept:
    if value is None:
        return "cannot tell"
    return "well" if value >= MIN_WELL else "partly" if value >= MIN_PARTLY else "poorly"


def _grade_quality(value: float | None) -> Quality:
    if value is None:
        return "cannot tell"
    return "good" if value >= MIN_GOOD else "fair" if value >= MIN_FAIR else "poor"


def _explain(record: ScoreRecord | None) -> str:
    """Return the value of a score and what weighs most in it."""
    if record is None:
        return ""
    if record.value is None:
        return _sentence(record.detail)
    notes = [piece.text for piece in record.evidence if isinstance(piece, Note) and not isinstance(piece, ImageNote)]
    first = next((text for text in notes if not text.startswith(("For '", "Against '", "No clear"))), "")
    return "; ".join(filter(None, (f"{record.value:.2f}", _sentence(first))))


def _sentence(text: str) -> str:
    return text[:1].lower() + text[1:].rstrip(".")


def _explain_missing(scores: Sequence[ScoreRecord]) -> str:
    missing = _unanswered(scores)
    if not missing:
        return "no chosen protocol judges the edit"
    if all(record.reason == NO_RULE for record in missing):
        return "no chosen protocol has a rule for this edit type"
    return next((_sentence(record.detail) for record in missing if record.detail), str(missing[0].reason))


def _unanswered(scores: Sequence[ScoreRecord]) -> list[ScoreRecord]:
    """Return unscored edits, without protocols that have no rule where another one says what it lacks."""
    missing = [record for record in scores if record.name == "edit" and record.value is None]
    return [record for record in missing if record.reason != NO_RULE] or missing


def _advice(scores: Sequence[ScoreRecord]) -> str:
    if not any(record.name == "edit" for record in scores):
        return "add --protocol editgauge"
    reasons = dict.fromkeys(record.reason for record in _unanswered(scores) if record.reason)
    advice: list[str] = []
    for text in (ADVICE[reason] for reason in reasons if reason in ADVICE):
        if not any("--models best" in text and "--models best" in known for known in advice):
            advice.append(text)
    return "; ".join(advice) or "a --judge that looks at both images, or a study"
