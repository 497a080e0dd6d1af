"""The checklist of EditVal (arXiv 2310.02426, section 5) for every method of a run, with what is missing.

Six edit types are scored automatically, seven are rated by people, an image embedder measures how much of the context
stays, and FID compares all outcomes with the sources.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

import numpy as np

from editgauge._stats.intervals import Mean, clustered_mean
from editgauge._util.variants import base_name
from editgauge.analysis.outcomes import Matched, by_question
from editgauge.analysis.ratings import Rating
from editgauge.analysis.summary import ALL, Cell, summarize
from editgauge.results import OutcomeKey, Run

PROTOCOL = "editval"
AUTOMATIC_TYPES = (
    *("object_addition", "object_replacement", "positional_addition"),
    *("size", "position_replacement", "alter_parts"),
)
"""Scored by the rules of the protocol (section 3.2)."""
HUMAN_TYPES = ("background", "texture", "style", "color", "shape", "action", "viewpoint")
"""Rated by people (section 3.2)."""
QUESTION = "applied"
"""Question of the design `editval` about the edit itself."""
SCALE = (0.0, 3.0)
"""Levels of that question."""
Measure = Literal["score", "rating", "context", "distance"]


@dataclass(frozen=True, slots=True)
class ChecklistEntry:
    """One line of the checklist of a method."""

    measure: Measure
    name: str
    """Score or question."""
    edit_type: str
    """`all` for context and distance."""
    mean: Mean | None
    missing: str = ""
    """Why there is no value."""


@dataclass(frozen=True, slots=True)
class MethodChecklist:
    """The checklist of one method."""

    method: str
    entries: tuple[ChecklistEntry, ...]

    @property
    def missing(self) -> tuple[ChecklistEntry, ...]:
        """Return the lines without a value."""
        return tuple(entry for entry in self.entries if entry.mean is None)


def checklists(run: Run, ratings: Matched[Rating] | None) -> tuple[MethodChecklist, ...]:
    """Return the checklist of every method; empty if the run has no protocol `editval`.

    Args:
        run: a run with the protocol `editval`, or a variant of it.
        ratings: people's ratings, matched to the run.

    """
    protocol = _protocol(run.manifest.protocols)
    if protocol is None:
        return ()
    cells = [cell for cell in summarize(run) if cell.protocol == protocol]
    levels = _levels(ratings)
    return tuple(
        MethodChecklist(
            method,
            (
                *(_score(cells, method, edit_type) for edit_type in AUTOMATIC_TYPES),
                *(_rating(run, levels, method, edit_type) for edit_type in HUMAN_TYPES),
                _context(cells, method),
                _distance(run, protocol, method),
            ),
        )
        for method in run.manifest.methods
    )


def _protocol(names: Iterable[str]) -> str | None:
    """Return the plain protocol, or else its first variant."""
    variants = [name for name in names if base_name(name).partition("@")[0] == PROTOCOL]
    return PROTOCOL if PROTOCOL in variants else next(iter(variants), None)


def _levels(ratings: Matched[Rating] | None) -> dict[OutcomeKey, list[Rating]]:
    """Return the ratings of the edit by outcome: those of the design's question, or of the only question."""
    questions = by_question(ratings) if ratings is not None else {}
    return questions.get(QUESTION) or (next(iter(questions.values())) if len(questions) == 1 else {})


def _score(cells: Sequence[Cell], method: str, edit_type: str) -> ChecklistEntry:
    matching = [cell for cell in cells if (cell.method, cell.edit_type, cell.spec.name) == (method, edit_type, "edit")]
    if not matching:
        return ChecklistEntry("score", "edit", edit_type, None, "the run has no such edits")
    (cell,) = matching
    reasons = ", ".join(f"{reason.replace('_', ' ')} {count}" for reason, count in cell.unscored.items())
    return ChecklistEntry("score", "edit", edit_type, cell.mean, "" if cell.mean else f"unscored: {reasons}")


def _rating(run: Run, levels: dict[OutcomeKey, list[Rating]], method: str, edit_type: str) -> ChecklistEntry:
    columns = run.score_columns
    rated = {
        key: fmean(rating.value for rating in answers)
        for key, answers in levels.items()
        if key.method == method and columns.edit_types[key.edit] == edit_type
    }
    if not rated:
        has_type = edit_type in columns.edit_types.values()
        missing = "no ratings; `editgauge study create` asks people" if has_type else "the run has no such edits"
        return ChecklistEntry("rating", QUESTION, edit_type, None, missing)
    values = np.array(list(rated.values()))
    scale = min(SCALE[0], float(values.min())), max(SCALE[1], float(values.max()))
    return ChecklistEntry("rating", QUESTION, edit_type, clustered_mean(values, columns.sources_of(rated), scale=scale))


def _context(cells: Sequence[Cell], method: str) -> ChecklistEntry:
    matching = [
        cell
        for cell in cells
        if cell.method == method and cell.edit_type == ALL and base_name(cell.spec.name) == "context"
    ]
    if not matching or matching[0].mean is None:
        return ChecklistEntry("context", "context", ALL, None, "needs a model for the role image_embedder")
    return ChecklistEntry("context", matching[0].spec.name, ALL, matching[0].mean)


def _distance(run: Run, protocol: str, method: str) -> ChecklistEntry:
    for score in run.sets:
        if (score.protocol, score.method, score.edit_type, base_name(score.name)) == (protocol, method, ALL, "fid"):
            mean = None if score.value is None else Mean(score.value, score.low, score.high, score.n, score.n)
            return ChecklistEntry("distance", score.name, ALL, mean, score.reason.replace("_", " "))
    return ChecklistEntry("distance", "fid", ALL, None, "needs a model for the role fid_features")
