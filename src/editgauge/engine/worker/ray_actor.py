"""What a Ray actor runs: it scores tasks as a local worker process does, many at once, on whatever node it was put."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from editgauge._util import profiling
from editgauge.engine.options import choose
from editgauge.engine.schedule.local import Setup
from editgauge.engine.worker.memory import MemoryGate, set_up_worker
from editgauge.engine.worker.perception import RunPerception
from editgauge.engine.worker.scoring import ScoredTask, ScoringTask, score_task
from editgauge.errors import EditGaugeError
from editgauge.models.cache import place

OURS = "EDITGAUGE_"
"""How our settings begin; those of the machine where the command was given hold on every node."""
SAME_PATHS = "All nodes must see the run's pictures under the same paths, such as on a shared disk."


@dataclass(frozen=True, slots=True)
class CommandEnvironment:
    """Where a command was given: what a process on another node would not know by itself."""

    folder: str
    """Paths may be relative to it."""
    settings: Mapping[str, str]

    @classmethod
    def here(cls) -> CommandEnvironment:
        """Those of this process."""
        ours = {name: value for name, value in os.environ.items() if name.startswith(OURS)}
        return cls(os.getcwd(), ours)  # noqa: PTH109 - sent to another machine as text


@dataclass(frozen=True, slots=True)
class ActorRefusal:
    """What a user must fix before anything can be scored. Said, not raised: not every error survives a pickle."""

    why: str


class RayScorer:
    """An actor. `ready` is asked once, before any task."""

    def __init__(self, setup: Setup, around: CommandEnvironment) -> None:
        self._setup = setup
        self._around = around

    async def ready(self) -> str | ActorRefusal:
        """The id of the node it runs on, once everything is loaded."""
        import ray

        node = str(ray.get_runtime_context().get_node_id())
        os.environ.update(self._around.settings)
        set_up_worker()
        try:
            os.chdir(self._around.folder)
        except OSError as error:
            return ActorRefusal(
                f"Ray node {node[:8]} cannot enter '{self._around.folder}' ({error.strerror}). {SAME_PATHS}"
            )
        # Each node remembers on a disk of its own; what nodes share is the second level behind it.
        setup = replace(self._setup, cache=place() if self._setup.cache else None)
        if setup.profile:
            self._timeline = profiling.start()
        try:
            self._chosen = {protocol.name: protocol for protocol in choose(setup.protocols, setup.models)}
            self._see, self._gate = RunPerception(setup.models, setup.cache), MemoryGate()
        except EditGaugeError as error:
            return ActorRefusal(f"Ray node {node[:8]}: {error}")
        return node

    async def score(self, task: ScoringTask) -> ScoredTask | ActorRefusal:
        """What became of one task."""
        try:
            return await score_task(task, [self._chosen[name] for name in task.protocols], self._see, self._gate)
        except EditGaugeError as error:
            return ActorRefusal(str(error))

    async def profile(self) -> dict[str, Any]:
        """What it did since it was ready."""
        return self._timeline.snapshot()
