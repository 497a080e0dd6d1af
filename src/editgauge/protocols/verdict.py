"""The verdict on one outcome: was the edit done, was the rest kept, is the image well made, and how sure is that.

Each answer rests on one score of the protocol `editgauge`, fitted and measured on rated edits. The confidence is the
probability that people agree, with the share of such answers that were right on photographs the fit had not seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from editgauge._util.variants import base_name
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
MIN_YES, MAX_NO = 0.55, 0.4
"""An `edit` score from the first on is a yes, below the second a no, and no answer in between."""
MIN_YES_REDRAWN = 0.7
"""The same for a yes if the rest was not kept: detections in a redrawn image are less certain."""
MIN_SUCCESS = 0.2
"""Probability of success below which a detected object in an otherwise kept image is no yes."""
MIN_WELL, MIN_PARTLY = 0.75, 0.45
"""Least values of `kept` for `well` and `partly`."""
MIN_GOOD, MIN_FAIR = 0.6, 0.35
"""Least values of `quality` for `good` and `fair`."""
HEADLINES = frozenset({"edit", "steps_done", "kept", "quality", "success", "overall"})
"""Scores that the short table shows."""
NO_RULE = "no_rule"
ANY_WORD = "`models='best'`"
ADVICE = {
    "not_understood": "reword the instruction, or give `edit_type` with `subject` and `to`, or a `judge` that reads it",
    "unknown_word": f"{ANY_WORD} looks for any word, and so does a `judge`",
    NO_RULE: "a `judge` can answer, or a study",
    "not_detected": f"{ANY_WORD} or a `judge` may see it; `subject` or `to` can name it by another word",
    "not_applicable": "give what is missing: `subject`, `to`, `position` or `source_caption`",
    "no_model": "`editgauge models pull` brings the models",
    "unreachable": "the judge could not be reached",
}
"""What to add, by the reason of a missing score; parameters are in backticks, so that the CLI can name its flags."""


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
    by_name = {record.name: record for record in scores if base_name(record.protocol) == PROTOCOL}
    values = {name: record.value for name, record in by_name.items() if record.value is not None}
    done, because, sources = _answer_done(scores, by_name, values)
    level = _confidence_level(done, values) if PROTOCOL in sources else None
    return Verdict(
        done=done,
        done_because=because,
        kept=_grade_kept(values.get("kept")),
        kept_because=_explain(by_name.get("kept")),
        quality=_grade_quality(values.get("quality")),
        quality_because=_explain(by_name.get("quality")),
        confidence=level.level if level else "low",
        precision=(level.right, level.total) if level else None,
        sources=tuple(dict.fromkeys([*sources, *([PROTOCOL] if values else [])])),
        advice=_advice(scores) if done == "cannot tell" else "",
    )


def decide_done(edit: float | None, success: float | None, preservation: float | None) -> Done:
    """Answer whether the edit was done, from the scores `edit`, `success` and `kept`; None for a missing score."""
    is_kept = preservation is None or preservation >= MIN_PARTLY
    if edit is None:
        return "no" if success is not None and success < FALLBACK_NO and is_kept else "cannot tell"
    if edit < MAX_NO:
        return "no"
    if is_kept:
        return "yes" if edit >= MIN_YES and (success is None or success >= MIN_SUCCESS) else "cannot tell"
    return "yes" if edit >= MIN_YES_REDRAWN else "cannot tell"


def _answer_done(
    scores: Sequence[ScoreRecord], by_name: dict[str, ScoreRecord], values: dict[str, float]
) -> tuple[Done, str, list[str]]:
    """Return the answer, its reason and the protocols it comes from."""
    if "edit" in values or "success" in values:
        done = decide_done(values.get("edit"), values.get("success"), values.get("kept"))
        if done == "no" and 0 < values.get("steps_done", 0.0) < 1:
            done = "partly"
        return done, _explain_done(scores, by_name, values, done), [PROTOCOL]
    votes = [record for record in scores if record.name == "edit" and record.value is not None]
    answers = {record.protocol: (record.value or 0.0) >= PASS_MARK for record in votes}
    if not answers:
        return "cannot tell", _explain_missing(scores), []
    if len(set(answers.values())) > 1:
        text = ", ".join(f"{protocol}: {'yes' if answer else 'no'}" for protocol, answer in answers.items())
        return "cannot tell", f"protocols disagree: {text}", list(answers)
    reason = next((notes for record in votes if (notes := _notes(record))), _explain(votes[0]))
    return ("yes" if next(iter(answers.values())) else "no"), reason, list(answers)


def _explain_done(
    scores: Sequence[ScoreRecord], by_name: dict[str, ScoreRecord], values: dict[str, float], done: Done
) -> str:
    """Return what was seen, by a rule that agrees with the answer where there is one, and the score."""
    if "edit" not in values:
        return _explain(by_name["success" if done == "no" or "edit" not in by_name else "edit"])
    text = f"requested change {values['edit']:.2f}"
    if done == "cannot tell" and values["edit"] >= MIN_YES:
        success = values.get("success")
        if success is not None and success < MIN_SUCCESS:
            return f"{text}, but people rarely accept such outcomes ({success:.2f})"
        return f"{text}, but too much else changed to be sure"
    rules = [record for record in scores if record.name == "edit" and base_name(record.protocol) != PROTOCOL]
    agreeing = (
        record for record in rules if record.value is not None and (record.value >= PASS_MARK) == (done == "yes")
    )
    observed = next((notes for record in agreeing if (notes := _notes(record))), "") if done in {"yes", "no"} else ""
    return f"{observed}; {text}" if observed else text


def _notes(record: ScoreRecord) -> str:
    """Return the notes of a rule as one sentence, without what the loader did to the images."""
    notes = [piece.text for piece in record.evidence if isinstance(piece, Note) and not isinstance(piece, ImageNote)]
    return "; ".join(_sentence(text) for text in notes)


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
        return "add `protocol='editgauge'`"
    reasons = dict.fromkeys(record.reason for record in _unanswered(scores) if record.reason)
    advice: list[str] = []
    for text in (ADVICE[reason] for reason in reasons if reason in ADVICE):
        if not any(ANY_WORD in text and ANY_WORD in earlier for earlier in advice):
            advice.append(text)
    return "; ".join(advice) or "a `judge` that looks at both images, or a study"
