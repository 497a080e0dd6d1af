"""Verdicts: the answers on every outcome, counted by method and listed individually."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, get_args

from editgauge.protocols.verdict import Done, Kept, Quality
from editgauge.reports.sections import Content, TemplateSection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from editgauge.reports._outcomes import ScoredOutcome
    from editgauge.reports.context import Context

MAX_ROWS = 2_000
"""Outcomes that are listed; a browser lays out more only slowly."""
QUESTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "done": ("Done", get_args(Done)),
    "kept": ("Rest kept", get_args(Kept)),
    "quality": ("Quality", get_args(Quality)),
}
"""Field of a verdict to its heading and its possible answers, best first."""
TONES = {
    **dict.fromkeys(("yes", "well", "good"), "good"),
    **dict.fromkeys(("partly", "fair"), "fair"),
    **dict.fromkeys(("no", "poorly", "poor"), "bad"),
}
"""Answer to the class that colors it."""


def count_answers(outcomes: Sequence[ScoredOutcome]) -> list[dict[str, int]]:
    """Count the answers to each question over outcomes with an image, best answer first."""
    verdicts = [outcome.verdict for outcome in outcomes if outcome.edited]
    counts = []
    for field, (_, answers) in QUESTIONS.items():
        counter = Counter(getattr(verdict, field) for verdict in verdicts)
        counts.append({answer: counter[answer] for answer in answers if counter[answer]})
    return counts


def answers_by_method(context: Context) -> dict[str, list[dict[str, int]]]:
    """Count the answers of each method, over the outcomes of the report."""
    return {
        method: count_answers([outcome for outcome in context.outcomes if outcome.method == method])
        for method in context.methods
    }


def _content(context: Context) -> Content | None:
    if not context.has_verdicts:
        return None
    return {
        "questions": [heading for heading, _ in QUESTIONS.values()],
        "counts": answers_by_method(context),
        "totals": Counter(outcome.method for outcome in context.outcomes),
        "rows": context.outcomes[:MAX_ROWS],
        "more": max(0, len(context.outcomes) - MAX_ROWS),
        "note": context.sample_note,
        "tones": TONES,
    }


section = TemplateSection("verdicts", "Verdicts", 17, _content)
