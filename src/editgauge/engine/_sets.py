"""Scores of whole sets of outcomes, after all single ones: by method, and by method and edit type."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from editgauge._stats.resampling import HALVES
from editgauge._util.batching import run_async
from editgauge._util.progress import progress
from editgauge.engine._judges import transcripts_of
from editgauge.engine._perception import RunPerception
from editgauge.engine._run_plan import COMPLETE, RunPlan, all_tasks
from editgauge.engine._scoring import ScoringTask, extract_part, load_item
from editgauge.errors import BadImageError
from editgauge.evidence import Note
from editgauge.results import ScoreKey
from editgauge.results._records import ALL, FILE, SetScore, read_sets, write_sets
from editgauge.types import Score, Unscored

if TYPE_CHECKING:
    from editgauge.protocols import Protocol, SetPart

Cells = dict[tuple[str, str], "list[SetPart | Unscored]"]
"""Method and edit type to what is known about each outcome, or why it could not be taken in."""
KnownParts = dict[ScoreKey, "SetPart | Unscored"]
"""What protocols kept of the outcomes that were scored just now."""


def forget_sets(plan: RunPlan, folder: Path) -> None:
    """Remove the set scores that are about to be computed again."""
    if (folder / FILE).exists():
        write_sets(folder, _of_others(plan, folder))


def score_sets(plan: RunPlan, folder: Path, cache: Path | None, parts: KnownParts, *, quiet: bool) -> None:
    """Scores the sets of every protocol that has such scores, and keeps them next to those of other methods.

    Outcomes that are not among the `parts`, because they were scored earlier, are decoded again.

    A shard has no whole set: its sets wait for the run that `merge` makes.
    """
    scoring = [protocol for protocol in plan.protocols if protocol.sets]
    if not scoring or plan.shard != COMPLETE:
        return
    set_scores = _of_others(plan, folder)
    # Judges were asked while the outcomes were scored, and are not asked again.
    judge_config = plan.judge_config.as_replay(plan.manifest.judges)
    with RunPerception(plan.choice.models, cache, judge_config, transcripts_of(folder)) as see:
        for protocol in scoring:
            cells = run_async(_cells(protocol, plan, see, parts, quiet=quiet))
            set_scores += [
                score for cell, parts_of_cell in cells.items() for score in scored(protocol, cell, parts_of_cell)
            ]
    write_sets(folder, set_scores)


def _of_others(plan: RunPlan, folder: Path) -> list[SetScore]:
    """Return the stored set scores of methods and protocols that are not part of this plan."""
    mine = {(protocol.name, method) for protocol in plan.protocols for method in plan.outcomes_of}
    return [score for score in read_sets(folder) if (score.protocol, score.method) not in mine]


async def _cells(protocol: Protocol, plan: RunPlan, see: RunPerception, parts: KnownParts, *, quiet: bool) -> Cells:
    cells: Cells = defaultdict(list)
    with progress(f"sets of {protocol.name}", plan.outcomes, quiet=quiet) as advance:
        for task in all_tasks(plan):
            key = ScoreKey(task.edit.id, task.outcome.method, task.outcome.seed, protocol.name)
            part = parts[key] if key in parts else await _part(protocol, task, see)
            for edit_type in (ALL, task.edit.type):
                cells[task.outcome.method, edit_type].append(part)
            advance()
    return cells


async def _part(protocol: Protocol, task: ScoringTask, see: RunPerception) -> SetPart | Unscored:
    """Return what the protocol needs of one outcome for its set scores, or why it cannot be read."""
    if task.outcome.image is None:
        return Unscored("missing_outcome", task.outcome.absence or "")
    try:
        item = load_item(task.edit, task.outcome)
    except BadImageError as problem:
        return Unscored("unreadable_image", str(problem))
    return await extract_part(protocol, item, see)


def scored(protocol: Protocol, cell: tuple[str, str], parts: Sequence[SetPart | Unscored]) -> list[SetScore]:
    """Return the scores of one set with the number of scored and unscored outcomes."""
    usable = [part for part in parts if not isinstance(part, Unscored)]
    reasons: Counter[str] = Counter(part.reason for part in parts if isinstance(part, Unscored))
    scores = protocol.score_set(usable)
    set_scores = []
    for spec in protocol.sets:
        score = scores.get(spec.name, Unscored("crashed", f"the protocol gave no score named '{spec.name}'"))
        if isinstance(score, Score):
            value, reason, interval = score.value, "", score.interval
            detail = " ".join(piece.text for piece in score.evidence if isinstance(piece, Note))
        else:
            value, reason, interval, detail = None, score.reason, None, score.detail
        set_scores.append(
            SetScore(
                protocol=protocol.name,
                name=spec.name,
                method=cell[0],
                edit_type=cell[1],
                value=value,
                n=len(usable),
                higher_is_better=spec.higher_is_better,
                about=spec.about,
                reason=reason,
                detail=detail,
                missing=reasons.total(),
                reasons=dict(reasons),
                low=interval[0] if interval else None,
                high=interval[1] if interval else None,
                interval_method=HALVES if interval else "",
            )
        )
    return set_scores
