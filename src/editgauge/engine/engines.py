"""What scores a run: processes of this machine, or actors of a Ray cluster."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING

from editgauge.core.errors import BadInput, UnknownName
from editgauge.core.progress import say
from editgauge.engine.plan.worker_count import (
    WorkerCount,
    bytes_of_weights,
    choose_worker_count,
    run_on_cards,
    this_machine,
)
from editgauge.engine.schedule import local

if TYPE_CHECKING:
    from editgauge.core.run import Record
    from editgauge.engine.schedule.local import Setup
    from editgauge.engine.worker.scoring import ScoringTask

ENGINES = ("local", "ray")


def check_engine(engine: str, address: str | None) -> None:
    """Refuses an engine that does not exist, and an address that nobody would use."""
    if engine not in ENGINES:
        raise UnknownName("engine", engine, ENGINES)
    if address is not None and engine != "ray":
        raise BadInput(f"--address '{address}' is that of a Ray cluster; give --engine ray with it.")


def scored(
    tasks: Sequence[ScoringTask],
    setup: Setup,
    processes: int = 0,
    engine: str = "local",
    address: str | None = None,
    *,
    quiet: bool = False,
) -> Generator[list[Record], None, None]:
    """The records of every task as they come, in no fixed order. Closing the generator ends whoever scores."""
    if not tasks:
        return
    if engine == "ray" and setup.jury.addresses:
        say("Judges are asked by one process of this machine, the keeper of pace and budget; not by Ray.", quiet=quiet)
    elif engine == "ray":
        from editgauge.engine.schedule import ray as ray_engine

        yield from ray_engine.execute(tasks, setup, processes, address)
        return
    yield from local.execute(tasks, setup, _crew(processes, len(tasks), setup))


def _crew(wanted: int, tasks: int, setup: Setup) -> WorkerCount:
    return choose_worker_count(
        wanted,
        tasks,
        this_machine(),
        judges=bool(setup.jury.addresses),
        weights=bytes_of_weights(setup.models),
        on_cards=run_on_cards(setup.models),
    )
