"""Who scores what: outcomes of one source image go to the same worker, so that each source is looked at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby, islice

from editgauge.engine.worker.scoring import ScoringTask

WITHOUT_MODELS = 8
"""Tasks in hand of a process that never waits: enough to keep it busy."""
WITH_MODELS = 256
"""Tasks in hand of a process whose items wait for models: enough to fill batches."""
MOST_OF_A_SOURCE = 512
"""A source with more outcomes than this may be looked at by several processes."""
PARTS = 4
"""A process never holds more than this part of its work, so that none is left with much when the others are done."""


def in_hand(tasks: int, processes: int, models: bool) -> int:
    """How many tasks a process is given ahead."""
    if models and processes == 1:
        return WITH_MODELS
    few = max(1, min(WITHOUT_MODELS, -(-tasks // processes)))
    return max(few, min(WITH_MODELS, tasks // (PARTS * processes))) if models else few


@dataclass(frozen=True, slots=True)
class Attempt:
    """A task that a worker is given."""

    task: ScoringTask
    deaths: int = 0
    """Workers that died while they had it."""


class Scheduler:
    """The tasks that no worker has been given yet; they are read when their turn comes."""

    def __init__(self, tasks: Iterable[ScoringTask]) -> None:
        self._sources = _portions(tasks)
        self._given_back: deque[deque[ScoringTask]] = deque()
        self._of: dict[Hashable, deque[ScoringTask]] = {}
        self._suspects: deque[Attempt] = deque()

    def attempt(self, worker: Hashable, in_hand: Collection[Attempt], most: int) -> Attempt | None:
        """What a worker is given that may have this many tasks in hand; None when it is to wait.

        Suspects go alone, so that a further death names the culprit.
        """
        if self._suspects:
            return None if in_hand else self._suspects.popleft()
        first = next(iter(in_hand), None)
        if len(in_hand) >= most or (first and first.deaths):
            return None
        task = self.next(worker)
        return Attempt(task) if task else None

    def bury(self, worker: Hashable, in_hand: Iterable[Attempt], *, blame: bool, tries: int) -> list[ScoringTask]:
        """Takes back what a dead worker had; returns the tasks that killed too many workers to be tried again.

        Args:
            worker: who died
            in_hand: the tasks it had
            blame: whether one of them may be the cause of its death
            tries: how many workers may die over a task
        """
        self.give_back(worker)
        attempts = [replace(each, deaths=each.deaths + blame) for each in in_hand]
        self._suspects += (each for each in attempts if each.deaths < tries)
        return [each.task for each in attempts if each.deaths >= tries]

    def next(self, worker: Hashable) -> ScoringTask | None:
        """A further outcome of the source the worker is at, or of the next; at the end, of what another has left."""
        mine = self._of.get(worker) or self._another_source()
        if not mine:
            return None
        self._of[worker] = mine
        return mine.popleft()

    def give_back(self, worker: Hashable) -> None:
        """A worker that is gone leaves what it was not given to the others."""
        if left := self._of.pop(worker, None):
            self._given_back.appendleft(left)

    def _another_source(self) -> deque[ScoringTask]:
        if self._given_back:
            return self._given_back.popleft()
        if another := next(self._sources, None):
            return another
        longest = max(self._of.values(), key=len, default=deque[ScoringTask]())
        return deque(reversed([longest.pop() for _ in range((len(longest) + 1) // 2)]))


def _portions(tasks: Iterable[ScoringTask]) -> Iterator[deque[ScoringTask]]:
    """The tasks of one source after the other, a bounded number at a time."""
    for _, these in groupby(tasks, key=lambda task: task.edit.source.path):
        while portion := deque(islice(these, MOST_OF_A_SOURCE)):
            yield portion
