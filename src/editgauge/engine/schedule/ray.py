"""The Ray engine: the same run on many machines. Actors score; the one who asked is the only one who writes.

Outcomes of one source image go to the same actor, and each actor has a bounded number of tasks in hand. An actor that
is lost is replaced, wherever there is room, and what it had in hand is tried again; if its whole node went, no task is
to blame for that.
"""

from __future__ import annotations

import queue
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from editgauge._util.profiling import write_part
from editgauge._util.progress import log_info
from editgauge.engine.options import choose
from editgauge.engine.schedule.local import FAILED_STARTS, Setup
from editgauge.engine.schedule.ray_cluster import actors_for, cluster, living_nodes, needs_of
from editgauge.engine.schedule.scheduler import Attempt, Scheduler, in_hand
from editgauge.engine.worker.ray_actor import SAME_PATHS, ActorRefusal, CommandEnvironment, RayScorer
from editgauge.engine.worker.scoring import ScoredTask, ScoringTask, crashed_task
from editgauge.errors import EditGaugeError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from editgauge.results import EncodedEntry

TRIES = 3
"""This many actors may die over a task before it is to blame. One more than on a single machine: the news that a node
went may come later than the news that its actors did."""
SECONDS_OF_SILENCE = 60
"""After so long without an actor and without news, a user is informed what is waited for."""


def execute(
    tasks: Sequence[ScoringTask], setup: Setup, processes: int = 0, address: str | None = None
) -> Generator[ScoredTask, None, None]:
    """What became of every task as it comes, in no fixed order. Closing the generator ends the actors.

    Args:
        tasks: what to score, outcomes of one source image together
        setup: what an actor must know before the first task
        processes: how many actors; 0 chooses by what the cluster has
        address: of a cluster that runs; one is started on this machine when left out
    """
    with cluster(address) as ray:
        actors = actors_for(ray, processes, len(tasks), setup.models)
        yield from _Actors(ray, tasks, setup, actors).run()


def refuse_unseen_pictures(records: Sequence[EncodedEntry]) -> None:
    """Refuses what an actor says about a picture that it did not see and that is there: its node sees other disks."""
    for record in records:
        for stamp in record.images:
            if stamp is not None and stamp.size < 0 and Path(stamp.path).exists():
                raise EditGaugeError(f"A Ray node does not see '{stamp.path}', which is here. {SAME_PATHS}")


@dataclass(slots=True, eq=False)
class _Actor:
    handle: Any
    node: str | None = None
    """Where it runs, once it is ready."""
    in_hand: dict[int, Attempt] = field(default_factory=dict)


class _Actors:
    """Actors fed a few tasks each, and only when they are ready: one that waits for room must not keep any."""

    def __init__(self, ray: Any, tasks: Sequence[ScoringTask], setup: Setup, actors: int) -> None:
        self._ray = ray
        self._setup = setup
        self._wanted = actors
        self._in_hand = in_hand(len(tasks), actors, setup.waits)
        self._kind = ray.remote(RayScorer).options(
            # A suspect is alone with its actor, so Ray itself must bring neither actors nor tasks back.
            **needs_of(ray, setup.models),
            max_restarts=0,
            max_task_retries=0,
            max_concurrency=self._in_hand,
            scheduling_strategy="SPREAD",
        )
        self._around = CommandEnvironment.here()
        self._waiting = Scheduler(tasks)
        self._left = len(tasks)
        self._news: queue.SimpleQueue[tuple[_Actor, int | None, Any]] = queue.SimpleQueue()
        self._numbers = count()
        self._actors: list[_Actor] = []
        self._failed_starts = 0

    def run(self) -> Generator[ScoredTask, None, None]:
        try:
            for _ in range(self._wanted):
                self._start()
            while self._left:
                actor, number, future = self._next_news()
                if actor not in self._actors:
                    continue  # it is buried already: each of its calls announces the same death
                try:
                    answer = future.result()
                except self._ray.exceptions.RayActorError as death:
                    yield from self._bury(actor, death)
                    self._start()
                    continue
                if isinstance(answer, ActorRefusal):
                    raise EditGaugeError(answer.why)
                if number is None:
                    actor.node, self._failed_starts = answer, 0
                else:
                    del actor.in_hand[number]
                    self._left -= 1
                    refuse_unseen_pictures(answer.entries)
                    yield answer
                self._feed(actor)
            self._gather_profiles()
        finally:
            for actor in self._actors:
                self._ray.kill(actor.handle)

    def _gather_profiles(self) -> None:
        """What actors tell about their time is written here: a node need not see the run folder."""
        if self._setup.profile:
            for actor in self._actors:
                if actor.node:
                    with suppress(self._ray.exceptions.RayActorError):
                        write_part(self._setup.profile, self._ray.get(actor.handle.profile.remote()))

    def _start(self) -> None:
        actor = _Actor(self._kind.remote(self._setup, self._around))
        self._actors.append(actor)
        self._listen(actor, None, actor.handle.ready.remote())

    def _feed(self, actor: _Actor) -> None:
        while attempt := self._waiting.attempt(actor, actor.in_hand.values(), self._in_hand):
            number = next(self._numbers)
            actor.in_hand[number] = attempt
            self._listen(actor, number, actor.handle.score.remote(attempt.task))

    def _listen(self, actor: _Actor, number: int | None, call: Any) -> None:
        call.future().add_done_callback(lambda future: self._news.put((actor, number, future)))

    def _next_news(self) -> tuple[_Actor, int | None, Any]:
        while True:
            try:
                return self._news.get(timeout=SECONDS_OF_SILENCE)
            except queue.Empty:
                if not any(actor.node for actor in self._actors):
                    log_info("Waiting for room in the Ray cluster; `ray status` shows demands and resources.")

    def _bury(self, actor: _Actor, death: Exception) -> Iterator[ScoredTask]:
        self._actors.remove(actor)
        self._ray.kill(actor.handle)  # it may only be out of reach, and must not do twice what others do now
        if actor.node is None:
            self._failed_starts += 1
            if self._failed_starts >= FAILED_STARTS:
                raise EditGaugeError(
                    f"{FAILED_STARTS} Ray actors in a row ended while they started: {death} "
                    "What was scored is kept; fix it and give the same command again."
                )
        blame = actor.node in living_nodes(self._ray)
        for task in self._waiting.bury(actor, actor.in_hand.values(), blame=blame, tries=TRIES):
            self._left -= 1
            why = "the Ray actor that scored it died, and so did the next ones; is memory short?"
            yield crashed_task(task, choose(task.protocols, self._setup.models), why)
        self._wake_the_idle()

    def _wake_the_idle(self) -> None:
        """Actors that had nothing left to do take over what the lost one had; replacements may never find room."""
        for actor in self._actors:
            if actor.node and not actor.in_hand:
                self._feed(actor)
