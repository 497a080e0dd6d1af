"""Score on a Ray cluster: one that is running, or one started on this machine for a single run."""

from __future__ import annotations

import logging
import os
import queue
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from editgauge._util import profiling
from editgauge._util.profiling import write_part
from editgauge._util.progress import log_info
from editgauge.engine._machine import (
    MEMORY_PER_WEIGHT_BYTE,
    PROCESS_BYTES,
    Machine,
    uses_gpus,
    weight_bytes,
    worker_count_for,
)
from editgauge.engine._options import open_protocols
from editgauge.engine._perception import MemoryGate, RunPerception
from editgauge.engine._schedule import MAX_FAILED_STARTS, Attempt, Setup, TaskQueue, max_in_flight
from editgauge.engine._scoring import ScoredTask, ScoringTask, crashed_task, score_task
from editgauge.engine._worker import configure_process
from editgauge.errors import BadInputError, EditGaugeError
from editgauge.models._cache import cache_dir
from editgauge.models.lite._runtime import library

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from editgauge.results import EncodedEntry

CLIENT_SCHEME = "ray://"
CONNECT_TIMEOUT_SECONDS = 10
MAX_START_ATTEMPTS = 3
SETTINGS_PREFIX = "EDITGAUGE_"
"""Environment variables with this prefix are passed on to every node."""
SHARED_PATHS_ADVICE = "All nodes must see the run's pictures under the same paths, such as on a shared disk."
MAX_ATTEMPTS = 3
"""Actors that may die with a task before it is the cause. One more than on a single machine: the death of a node may
be reported after that of its actors."""
SILENCE_SECONDS = 60
"""After so long without an actor and without a message, the user is told what is waited for."""


@contextmanager
def cluster(address: str | None = None) -> Iterator[Any]:
    """Connect to a cluster; the context value is the module `ray`.

    Args:
        address: of a running cluster, such as `10.0.0.1:6379`, or `auto` for the one this machine belongs to; None to
            start one here and end it with the context.

    """
    ray = library("ray", "`engine='ray'`", "ray")
    if address and address.startswith(CLIENT_SCHEME):
        raise BadInputError(
            f"`address` '{address}' is a Ray client server. Run on a node of the cluster with `address='auto'`."
        )
    if ray.is_initialized():  # by the caller, who also shuts it down
        yield ray
        return
    _connect(ray, address)
    try:
        yield ray
    finally:
        ray.shutdown()


def _connect(ray: Any, address: str | None) -> None:
    if address is None:
        _start_cluster(ray)
        return
    try:
        _probe(address)
        ray.init(address, logging_level=logging.ERROR)
    except (OSError, RuntimeError, ValueError) as error:
        raise EditGaugeError(
            f"No Ray cluster can be used at '{address}': {str(error).splitlines()[0]} Start one with "
            "`ray start --head`, or leave out `address` to start one on this machine."
        ) from error


def _start_cluster(ray: Any) -> None:
    """Start a cluster; retry, since Ray's limit of 30 seconds can be too short on a busy machine."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # our own cluster sends no usage statistics
    for attempt in range(1, MAX_START_ATTEMPTS + 1):
        try:
            ray.init("local", include_dashboard=False, logging_level=logging.ERROR)
        except Exception as error:  # Ray raises no class of its own here
            ray.shutdown()
            if attempt == MAX_START_ATTEMPTS:
                raise EditGaugeError(
                    f"Ray did not start on this machine, {MAX_START_ATTEMPTS} times: {str(error).splitlines()[0]} Use "
                    "`engine='local'`, or start a cluster with `ray start --head` and pass `address='auto'`."
                ) from error
        else:
            return


def _probe(address: str) -> None:
    """Raise `OSError` if nothing listens there: Ray itself would retry for a minute, then end this process."""
    host, _, port = address.rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), CONNECT_TIMEOUT_SECONDS).close()


def cluster_resources(ray: Any) -> Machine:
    """Return the resources of all nodes together."""
    resources: Mapping[str, float] = ray.cluster_resources()
    gpus = tuple(str(number) for number in range(int(resources.get("GPU", 0))))
    return Machine(int(resources.get("CPU", 0)), int(resources.get("memory", 0)) or None, gpus)


def alive_nodes(ray: Any) -> set[str]:
    """Return the ids of the nodes that are alive."""
    return {node["NodeID"] for node in ray.nodes() if node["Alive"]}


def actor_resources(ray: Any, models: Mapping[str, str]) -> dict[str, Any]:
    """Return what one actor with these models asks of its node: a core, a GPU if they use one, and memory."""
    memory = PROCESS_BYTES + MEMORY_PER_WEIGHT_BYTE * weight_bytes(models)
    largest = max((int(node["Resources"].get("memory", 0)) for node in ray.nodes() if node["Alive"]), default=0)
    gpus = int(bool(cluster_resources(ray).gpus) and uses_gpus(models))
    return {"num_cpus": 1, "num_gpus": gpus, "memory": min(memory, largest)}


@dataclass(frozen=True, slots=True)
class CommandEnvironment:
    """Working folder and settings of the command, which a process on another node would not have."""

    folder: str
    """Paths may be relative to it."""
    settings: Mapping[str, str]

    @classmethod
    def current(cls) -> CommandEnvironment:
        """Return those of this process."""
        settings = {name: value for name, value in os.environ.items() if name.startswith(SETTINGS_PREFIX)}
        return cls(os.getcwd(), settings)  # noqa: PTH109 - sent to another machine as text


@dataclass(frozen=True, slots=True)
class ActorRefusal:
    """What a user must fix before anything can be scored. Returned, since not every error survives a pickle."""

    message: str


class RayScorer:
    """An actor that scores tasks; call `ready` once, before any task."""

    def __init__(self, setup: Setup, environment: CommandEnvironment) -> None:
        self._setup = setup
        self._environment = environment

    async def ready(self) -> str | ActorRefusal:
        """Load everything and return the id of the node."""
        import ray

        node = str(ray.get_runtime_context().get_node_id())
        os.environ.update(self._environment.settings)
        configure_process()
        try:
            os.chdir(self._environment.folder)
        except OSError as error:
            return ActorRefusal(
                f"Ray node {node[:8]} cannot enter '{self._environment.folder}' ({error.strerror}). "
                f"{SHARED_PATHS_ADVICE}"
            )
        # Each node caches on its own disk; what nodes share is the second level behind it.
        setup = replace(self._setup, cache=cache_dir() if self._setup.cache else None)
        if setup.profile:
            self._timeline = profiling.start()
        try:
            self._protocols = {protocol.name: protocol for protocol in open_protocols(setup.protocols, setup.models)}
            self._perception, self._gate = RunPerception(setup.models, setup.cache), MemoryGate()
        except EditGaugeError as error:
            return ActorRefusal(f"Ray node {node[:8]}: {error}")
        return node

    async def score(self, task: ScoringTask) -> ScoredTask | ActorRefusal:
        """Score one task."""
        try:
            protocols = [self._protocols[name] for name in task.protocols]
            return await score_task(task, protocols, self._perception, self._gate)
        except EditGaugeError as error:
            return ActorRefusal(str(error))

    async def profile(self) -> dict[str, Any]:
        """Return the timings since it was ready."""
        return self._timeline.snapshot()


def execute(
    tasks: Sequence[ScoringTask], setup: Setup, processes: int = 0, address: str | None = None
) -> Generator[ScoredTask, None, None]:
    """Yield scored tasks as they complete, in arbitrary order. Closing the generator ends the actors.

    Args:
        tasks: outcomes to score, those of one source image together.
        setup: what an actor needs before its first task.
        processes: number of actors; 0 chooses by the cluster's resources.
        address: of a running cluster; None to start one on this machine.

    """
    with cluster(address) as ray:
        actors = worker_count_for(processes, len(tasks), setup.models, cluster_resources(ray)).processes
        yield from _ActorPool(ray, tasks, setup, actors).run()


def check_visible_images(entries: Sequence[EncodedEntry]) -> None:
    """Refuse scores of an image that exists here but not on the actor's node.

    Raises:
        EditGaugeError: the node sees other disks.

    """
    for entry in entries:
        for stamp in entry.images:
            if stamp is not None and stamp.size < 0 and Path(stamp.path).exists():
                raise EditGaugeError(f"A Ray node does not see '{stamp.path}', which is here. {SHARED_PATHS_ADVICE}")


@dataclass(slots=True, eq=False)
class _Actor:
    handle: Any
    node: str | None = None
    """Where it runs, once it is ready."""
    in_flight: dict[int, Attempt] = field(default_factory=dict)


class _ActorPool:
    """Actors with a few tasks in flight each, once they are ready: one that waits for resources must not hold any."""

    def __init__(self, ray: Any, tasks: Sequence[ScoringTask], setup: Setup, actors: int) -> None:
        self._ray = ray
        self._setup = setup
        self._actor_count = actors
        self._max_in_flight = max_in_flight(len(tasks), actors, models=setup.waits)
        self._actor_class = ray.remote(RayScorer).options(
            # A suspect is alone with its actor, so Ray itself must restart neither actors nor tasks.
            **actor_resources(ray, setup.models),
            max_restarts=0,
            max_task_retries=0,
            max_concurrency=self._max_in_flight,
            scheduling_strategy="SPREAD",
        )
        self._environment = CommandEnvironment.current()
        self._queue = TaskQueue(tasks)
        self._remaining = len(tasks)
        self._messages: queue.SimpleQueue[tuple[_Actor, int | None, Any]] = queue.SimpleQueue()
        self._numbers = count()
        self._actors: list[_Actor] = []
        self._failed_starts = 0

    def run(self) -> Generator[ScoredTask, None, None]:
        try:
            for _ in range(self._actor_count):
                self._start()
            while self._remaining:
                actor, number, future = self._next_message()
                if actor not in self._actors:
                    continue  # each of its calls reports the same death
                try:
                    result = future.result()
                except self._ray.exceptions.RayActorError as death:
                    yield from self._on_actor_exit(actor, death)
                    self._start()
                    continue
                if isinstance(result, ActorRefusal):
                    raise EditGaugeError(result.message)
                if number is None:
                    actor.node, self._failed_starts = result, 0
                else:
                    del actor.in_flight[number]
                    self._remaining -= 1
                    check_visible_images(result.entries)
                    yield result
                self._feed(actor)
            self._collect_profiles()
        finally:
            for actor in self._actors:
                self._ray.kill(actor.handle)

    def _collect_profiles(self) -> None:
        """Write the timings of the actors here: a node need not see the run folder."""
        if self._setup.profile:
            for actor in self._actors:
                if actor.node:
                    with suppress(self._ray.exceptions.RayActorError):
                        write_part(self._setup.profile, self._ray.get(actor.handle.profile.remote()))

    def _start(self) -> None:
        actor = _Actor(self._actor_class.remote(self._setup, self._environment))
        self._actors.append(actor)
        self._listen(actor, None, actor.handle.ready.remote())

    def _feed(self, actor: _Actor) -> None:
        while attempt := self._queue.next_attempt(actor, actor.in_flight.values(), self._max_in_flight):
            number = next(self._numbers)
            actor.in_flight[number] = attempt
            self._listen(actor, number, actor.handle.score.remote(attempt.task))

    def _listen(self, actor: _Actor, number: int | None, call: Any) -> None:
        call.future().add_done_callback(lambda future: self._messages.put((actor, number, future)))

    def _next_message(self) -> tuple[_Actor, int | None, Any]:
        while True:
            try:
                return self._messages.get(timeout=SILENCE_SECONDS)
            except queue.Empty:
                if not any(actor.node for actor in self._actors):
                    log_info("Waiting for room in the Ray cluster; `ray status` shows demands and resources.")

    def _on_actor_exit(self, actor: _Actor, death: Exception) -> Iterator[ScoredTask]:
        self._actors.remove(actor)
        self._ray.kill(actor.handle)  # it may only be out of reach, and must not repeat what others do now
        if actor.node is None:
            self._failed_starts += 1
            if self._failed_starts >= MAX_FAILED_STARTS:
                raise EditGaugeError(
                    f"{MAX_FAILED_STARTS} Ray actors in a row ended while they started: {death} "
                    "What was scored is kept; fix it and give the same command again."
                )
        blame = actor.node in alive_nodes(self._ray)
        attempts = actor.in_flight.values()
        for task in self._queue.on_worker_exit(actor, attempts, blame=blame, max_attempts=MAX_ATTEMPTS):
            self._remaining -= 1
            reason = "the Ray actor that scored it died, and so did the next ones; is memory short?"
            yield crashed_task(task, open_protocols(task.protocols, self._setup.models), reason)
        self._feed_idle()

    def _feed_idle(self) -> None:
        """Give idle actors what the lost one had; its replacement may never find room."""
        for actor in self._actors:
            if actor.node and not actor.in_flight:
                self._feed(actor)
