"""Who scores what: outcomes of one source image go to the same worker, so that each source is looked at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Sequence
from itertools import groupby

from editgauge.runner.scoring import Task

WITHOUT_MODELS = 8
"""Tasks in hand of a process that never waits: enough to keep it busy."""
WITH_MODELS = 256
"""Tasks in hand of a process whose items wait for models: enough to fill batches."""
PARTS = 4
"""A process never holds more than this part of its work, so that none is left with much when the others are done."""


def in_hand(tasks: int, processes: int, models: bool) -> int:
    """How many tasks a process is given ahead."""
    if models and processes == 1:
        return WITH_MODELS
    few = max(1, min(WITHOUT_MODELS, -(-tasks // processes)))
    return max(few, min(WITH_MODELS, tasks // (PARTS * processes))) if models else few


class Handout:
    """The tasks that no worker has been given yet."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        by_source = groupby(tasks, key=lambda task: task.edit.source.path)
        self._sources = deque(deque(these) for _, these in by_source)
        self._of: dict[Hashable, deque[Task]] = {}

    def next(self, worker: Hashable) -> Task | None:
        """A further outcome of the source the worker is at, or of the next; at the end, of what another has left."""
        mine = self._of.get(worker) or self._another_source()
        if not mine:
            return None
        self._of[worker] = mine
        return mine.popleft()

    def give_back(self, worker: Hashable) -> None:
        """A worker that is gone leaves what it was not given to the others."""
        if left := self._of.pop(worker, None):
            self._sources.appendleft(left)

    def _another_source(self) -> deque[Task]:
        if self._sources:
            return self._sources.popleft()
        longest = max(self._of.values(), key=len, default=deque[Task]())
        return deque(reversed([longest.pop() for _ in range((len(longest) + 1) // 2)]))
