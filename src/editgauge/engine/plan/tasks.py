"""What there is to score, and what of it is left: outcomes with their edits, read when their turn comes."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, overload

import numpy as np

from editgauge._util.images import ImageFile
from editgauge.engine.plan.run_plan import RunPlan, outcomes_with_edits, refuse_odd_bytes
from editgauge.engine.worker.scoring import ScoringTask, current_stamps
from editgauge.results import Key, Run, RunWriter, tables
from editgauge.results._records import fingerprint
from editgauge.results.manifest import Manifest, is_run
from editgauge.types import Edit, Outcome

AGAIN = frozenset({"crashed", "budget", "unreachable"})
"""Reasons that say nothing about the outcome: what has no score for one of them is tried again."""


class _Spot(NamedTuple):
    """Where an outcome stands: the edit in the benchmark, the method in the plan, the outcome among the method's."""

    edit: int
    method: int
    outcome: int


class Tasks(Sequence[ScoringTask]):
    """Tasks by the places of their parts: a million of them take some thirty megabytes."""

    def __init__(self, plan: RunPlan) -> None:
        self._turns = _Turns(plan)
        self._edits = plan.benchmark.edits
        self._outcomes = [these.outcomes for these in plan.outcomes_of.values()]
        self._columns = [array("q") for _ in range(4)]
        """The places of edit, method and outcome, and of the protocols among all choices of them."""
        self._choices: list[tuple[str, ...]] = []
        self._sources = array("q")

    def add(self, spot: _Spot, task: ScoringTask) -> None:
        """Puts one more at the end."""
        if task.protocols not in self._choices:
            self._choices.append(task.protocols)
        for column, place in zip(self._columns, (*spot, self._choices.index(task.protocols)), strict=True):
            column.append(place)
        self._sources.append(hash(str(task.edit.source.path)))

    def group_by_source(self) -> None:
        """Brings outcomes of one source image together, sources in the order in which they come first."""
        _, first, source = np.unique(self._sources, return_index=True, return_inverse=True)
        order = np.lexsort((np.asarray(self._columns[0]), first[source]))
        self._columns = [array("q", np.asarray(column)[order].tobytes()) for column in self._columns]

    def __len__(self) -> int:
        return len(self._columns[0])

    @overload
    def __getitem__(self, place: int) -> ScoringTask: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[ScoringTask]: ...
    def __getitem__(self, place: int | slice) -> ScoringTask | Sequence[ScoringTask]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        edit, method, number, protocols = (column[place] for column in self._columns)
        turn = self._turns.of(method, self._edits[edit], self._outcomes[method][number])
        return ScoringTask(edit, *turn, self._choices[protocols])


class _Turns:
    """Edits and outcomes as they stand in their turn."""

    def __init__(self, plan: RunPlan) -> None:
        self._before: list[dict[tuple[str, int], Outcome]] = [
            {(each.edit_id, each.seed): each for each in these.outcomes if each.edit_id in plan.followed}
            if plan.followed
            else {}
            for these in plan.outcomes_of.values()
        ]

    def of(self, method: int, edit: Edit, outcome: Outcome) -> tuple[Edit, Outcome]:
        """From the second turn on, the source is what the method itself made of the turn before."""
        if edit.follows is None:
            return edit, outcome
        before = self._before[method].get((edit.follows, outcome.seed))
        if before is None or before.image is None:
            absence = f"the outcome of the turn before, '{edit.follows}', is missing"
            return edit, replace(outcome, image=None, absence=absence)
        return replace(edit, source=ImageFile(edit.source.name, before.image)), outcome


def all_tasks(plan: RunPlan) -> Iterator[ScoringTask]:
    """Every outcome of the plan, with the edit as it stands in its turn."""
    return (task for _, task in _walk(plan))


class Remaining:
    """The outcomes that a run into a folder would still score, each with the protocols that are left of it."""

    def __init__(self, plan: RunPlan, out: Path) -> None:
        self._plan = plan
        self._held = _held(plan, out)

    def __iter__(self) -> Iterator[ScoringTask]:
        for task in all_tasks(self._plan):
            stamps = current_stamps(task)
            left = tuple(key.protocol for key in keys_of(task) if fingerprint(key, *stamps) not in self._held)
            if left:
                yield replace(task, protocols=left)


def _held(plan: RunPlan, out: Path) -> set[int]:
    """What the run holds and would keep; nothing when it would start over."""
    if not is_run(out) or Manifest.load(out).differences(plan.manifest):
        return set()
    scores = Run.open(out).scores
    again = set(tables.iter_keys(tables.filter_reasons(scores, AGAIN)))
    return {fingerprint(key, *images) for key, images in tables.iter_stamps(scores) if key not in again}


def tasks_left(plan: RunPlan, writer: RunWriter) -> tuple[Sequence[ScoringTask], int]:
    """What is left to do, outcomes of one source image together, and how many outcomes are done."""
    passing = {key for key in writer.iter_keys(AGAIN) if _is_asked_for(key, plan)}
    stale = set(passing)
    tasks = Tasks(plan)
    done = known = 0
    for spot, task in _walk(plan):
        keys, stamps = keys_of(task), current_stamps(task)
        states = {key: writer.state(key, stamps) for key in keys}
        known += sum(state != "new" for state in states.values())
        stale |= {key for key, state in states.items() if state == "stale"}
        left = tuple(key.protocol for key, state in states.items() if key in passing or state != "done")
        if left:
            tasks.add(spot, replace(task, protocols=left))
        else:
            done += 1
    if known < sum(writer.count(method, each.name) for method in plan.outcomes_of for each in plan.protocols):
        planned = {key for task in all_tasks(plan) for key in keys_of(task)}
        stale |= {
            key for key in writer.iter_keys() if _is_asked_for(key, plan) and key not in planned
        }  # taken away since
    writer.retire(stale)
    tasks.group_by_source()
    return tasks, done


def _walk(plan: RunPlan) -> Iterator[tuple[_Spot, ScoringTask]]:
    """Every task of the plan's shard, and where its parts stand."""
    names = tuple(each.name for each in plan.protocols)
    turns = _Turns(plan)
    for method, these in enumerate(plan.outcomes_of.values()):
        for place, edit, number, outcome in outcomes_with_edits(plan.benchmark.edits, these):
            if plan.shard.holds(edit.origin):
                refuse_odd_bytes(outcome.image or Path())
                yield _Spot(place, method, number), ScoringTask(place, *turns.of(method, edit, outcome), names)


def _is_asked_for(key: Key, plan: RunPlan) -> bool:
    """Whether the plan has a say in it: other methods and protocols of the run are left alone."""
    return key.method in plan.outcomes_of and any(key.protocol == each.name for each in plan.protocols)


def keys_of(task: ScoringTask) -> list[Key]:
    """What its records will be about, one for each protocol."""
    outcome = task.outcome
    return [Key(outcome.edit_id, outcome.method, outcome.seed, name) for name in task.protocols]
