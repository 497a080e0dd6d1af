"""Scores of whole sets of outcomes, after all single ones: by method, and by method and edit type."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from editgauge.core.errors import BadImage, CannotTell
from editgauge.core.evidence import Note
from editgauge.core.images import read_image
from editgauge.core.progress import progress
from editgauge.core.run.sets import ALL, SetScore, write_sets
from editgauge.core.types import Score, Unscored
from editgauge.perception.service import Service
from editgauge.runner.plan import Plan, all_tasks
from editgauge.runner.scoring import Task, prepare

if TYPE_CHECKING:
    from editgauge.protocols import Part, Protocol

Cells = dict[tuple[str, str], "list[Part]"]
"""Method and edit type to what is known of each outcome."""


def score_sets(plan: Plan, folder: Path, cache: Path | None, *, quiet: bool) -> None:
    """Scores the sets of every protocol that has such scores, and keeps them in the run folder."""
    scoring = [protocol for protocol in plan.protocols if protocol.sets]
    if not scoring:
        return
    tasks = list(all_tasks(plan))
    found: list[SetScore] = []
    with Service(plan.choice.models, cache) as see, ThreadPoolExecutor(1) as thread:  # a notebook has a running loop
        for protocol in scoring:
            parts = thread.submit(asyncio.run, _parts(protocol, tasks, see, quiet)).result()
            found += [each for cell, known in parts.items() for each in _scored(protocol, cell, known)]
    write_sets(folder, found)


async def _parts(protocol: Protocol, tasks: Sequence[Task], see: Service, quiet: bool) -> Cells:
    cells: Cells = defaultdict(list)
    with progress(f"sets of {protocol.name}", len(tasks), quiet=quiet) as advance:
        for task in tasks:
            part = await _part(protocol, task, see)
            if part is not None:
                for edit_type in (ALL, task.edit.type):
                    cells[task.outcome.method, edit_type].append(part)
            advance()
    return cells


async def _part(protocol: Protocol, task: Task, see: Service) -> Part | None:
    """What the protocol keeps of one outcome; nothing of one that cannot be read, which its scores tell already."""
    if task.outcome.image is None:
        return None
    try:
        source, edited = read_image(task.edit.source.path), read_image(task.outcome.image)
        return await protocol.part(prepare(task.edit, task.outcome, source, edited), see)
    except (BadImage, CannotTell):
        return None


def _scored(protocol: Protocol, cell: tuple[str, str], parts: Sequence[Part]) -> list[SetScore]:
    scores = protocol.score_set(parts)
    found = []
    for spec in protocol.sets:
        given = scores.get(spec.name, Unscored("crashed", f"the protocol gave no score named '{spec.name}'"))
        value, reason, detail = (
            (given.value, "", " ".join(piece.text for piece in given.evidence if isinstance(piece, Note)))
            if isinstance(given, Score)
            else (None, given.reason, given.detail)
        )
        meaning = spec.higher_is_better, spec.about
        found.append(SetScore(protocol.name, spec.name, *cell, value, len(parts), *meaning, reason, detail))
    return found
