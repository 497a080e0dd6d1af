"""What a study says: its questions or its choices, and its raters; plain data for tables and pages."""

from __future__ import annotations

from dataclasses import dataclass

from editgauge.findings.people.feedback import Feedback
from editgauge.findings.people.preferences import PairwisePreferences
from editgauge.findings.people.study_levels import QuestionFindings
from editgauge.stats.intervals import Mean
from editgauge.stats.raters import Panel
from editgauge.stats.resampling import Estimate


@dataclass(frozen=True, slots=True)
class SideFindings:
    """What people said to one question about two sides."""

    name: str
    label: str
    pairwise: PairwisePreferences
    panel: Panel | None
    """How often the raters of a pair choose the same; None when no pair has two answers."""
    alpha: Estimate
    """Krippendorff's, taking first, second and tie for names."""
    left: Mean | None
    """How often what stood on the left was chosen; 0.5 when the side does not matter. None when all are ties."""
    left_by_rater: dict[str, Mean]


@dataclass(frozen=True, slots=True)
class StudyFindings:
    """What people said in a study; only what counts, gold items aside."""

    title: str
    answers: int
    """Pages that count."""
    questions: tuple[QuestionFindings, ...]
    sides: tuple[SideFindings, ...]
    reasons: tuple[Feedback, ...]
    """What the words are about that people gave for finding something wrong."""
    not_counted: tuple[str, ...]
    """Questions whose answers are words or several ticks: they are exported, not counted."""
    labels: dict[str, str]
    """Raters to what the owner calls them."""
