"""The outcomes of a run with all their scores, edit by edit: what the gallery and the unscored section show."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from editgauge.core.run.segments import of_edits
from editgauge.render.words import without_folders

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    import pyarrow as pa

    from editgauge.core.run import Run

COLUMNS = (
    "edit",
    "method",
    "seed",
    "protocol",
    "name",
    "value",
    "reason",
    "detail",
    "source_path",
    "source_pixels",
    "edited_path",
    "edited_pixels",
)
ROWS_AT_ONCE = 10_000
EXAMPLES = 6

Status = Literal["scored", "partly scored", "unscored"]
NOT_APPLICABLE = "not_applicable"
"""The reason of a score that the edit does not ask for: it is reported, and is not missing."""


class ImageFile(NamedTuple):
    """An image file and the pixel hash it had when it was scored; None if it could not be decoded."""

    path: str
    pixels: str | None


class Why(NamedTuple):
    """Why there is no score."""

    reason: str
    detail: str


@dataclass(slots=True)
class ScoredOutcome:
    """What one method made of one edit, and all scores of it."""

    edit: str
    method: str
    seed: int
    source: ImageFile
    edited: ImageFile | None
    scores: dict[tuple[str, str], float | Why] = field(default_factory=dict)
    """By protocol and name."""

    @property
    def whys(self) -> list[Why]:
        """Why it has no score, once for each that it has not."""
        return [score for score in self.scores.values() if isinstance(score, Why)]

    @property
    def missing(self) -> list[str]:
        """The reasons of scores that it should have; a score that does not apply to the edit is not missing."""
        return [why.reason for why in self.whys if why.reason != NOT_APPLICABLE]

    @property
    def status(self) -> Status:
        """Whether it has all scores that apply to it, some or none."""
        if len(self.whys) == len(self.scores):
            return "unscored"
        return "partly scored" if self.missing else "scored"

    @property
    def protocols(self) -> list[str]:
        """The protocols that looked at it."""
        return list(dict.fromkeys(protocol for protocol, _ in self.scores))


@dataclass(slots=True)
class Missing:
    """One reason for having no score: how often, and where for example."""

    reason: str
    scores: int = 0
    outcomes: int = 0
    examples: list[tuple[ScoredOutcome, str]] = field(default_factory=list)
    """Outcomes of different edits, each with the detail that was recorded for it."""


def collect(run: Run, edits: Collection[str] | None = None) -> dict[str, list[ScoredOutcome]]:
    """The outcomes by edit, of all edits or of some, edits in the benchmark's order, methods in the run's."""
    chosen = [edit for edit in run.edits if edits is None or edit in edits]
    return gathered(of_edits(run.scores, edits), chosen)


def gathered(scores: pa.Table, edits: Iterable[str] = ()) -> dict[str, list[ScoredOutcome]]:
    """The outcomes of a table of scores by edit: these edits first, whether they have outcomes or not."""
    by_edit: dict[str, dict[tuple[str, int], ScoredOutcome]] = {edit: {} for edit in edits}
    for batch in scores.select(list(COLUMNS)).to_batches(max_chunksize=ROWS_AT_ONCE):
        for row in zip(*(batch[column].to_pylist() for column in COLUMNS), strict=True):
            edit, method, seed, protocol, name, value, reason, detail, *files = row
            of_edit = by_edit.setdefault(edit, {})
            if (method, seed) not in of_edit:
                source_path, source_pixels, edited_path, edited_pixels = files
                edited = None if edited_path is None else ImageFile(edited_path, edited_pixels)
                source = ImageFile(source_path, source_pixels)
                of_edit[method, seed] = ScoredOutcome(edit, method, seed, source, edited)
            of_edit[method, seed].scores[protocol, name] = (
                Why(reason, without_folders(detail or "")) if value is None else value
            )
    return {edit: list(outcomes.values()) for edit, outcomes in by_edit.items()}


def missing_scores(outcomes: Iterable[ScoredOutcome]) -> list[Missing]:
    """Every reason for having no score, the most frequent first."""
    by_reason: dict[str, Missing] = {}
    for outcome in outcomes:
        for reason, count in Counter(why.reason for why in outcome.whys).items():
            missing = by_reason.setdefault(reason, Missing(reason))
            missing.scores += count
            missing.outcomes += 1
            if len(missing.examples) < EXAMPLES and all(shown.edit != outcome.edit for shown, _ in missing.examples):
                missing.examples.append((outcome, next(why.detail for why in outcome.whys if why.reason == reason)))
    return sorted(by_reason.values(), key=lambda missing: -missing.scores)
