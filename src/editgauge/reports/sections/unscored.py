"""What has no score: every reason with its counts by method, protocol and edit type, what was said, and examples."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from editgauge.reports.outcomes import Why, missing_scores

if TYPE_CHECKING:
    from editgauge.reports.context import Context
    from editgauge.reports.outcomes import Missing

MOST_SAID = 4
"""So many different details are quoted; the gallery has all."""


@dataclass(slots=True)
class UnscoredReason:
    """One reason for having no score."""

    missing: Missing
    methods: Counter[str] = field(default_factory=Counter)
    protocols: Counter[str] = field(default_factory=Counter)
    edit_types: Counter[str] = field(default_factory=Counter)
    details: Counter[str] = field(default_factory=Counter)
    """All count scores. What was said is told without the folders of the machine."""

    @property
    def said(self) -> list[tuple[str, int]]:
        """What was said most often."""
        return self.details.most_common(MOST_SAID)

    @property
    def said_otherwise(self) -> int:
        """How many more things were said."""
        return max(0, len(self.details) - MOST_SAID)


def failures(context: Context) -> list[UnscoredReason]:
    """Every reason, the most frequent first."""
    found = {each.reason: UnscoredReason(each) for each in missing_scores(context.incomplete)}
    for outcome in context.incomplete:
        edit_type = context.run.edits.get(outcome.edit, {}).get("type", "")
        for (protocol, _), score in outcome.scores.items():
            if isinstance(score, Why):
                failure = found[score.reason]
                failure.methods[outcome.method] += 1
                failure.protocols[protocol] += 1
                if edit_type:
                    failure.edit_types[edit_type] += 1
                if score.detail:
                    failure.details[score.detail] += 1
    return list(found.values())
