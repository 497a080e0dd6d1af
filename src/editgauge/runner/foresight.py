"""The verb `plan`: what a run will take, told from a few source images that are scored now."""

from __future__ import annotations

import asyncio
import resource
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from editgauge.core.errors import BadInput
from editgauge.core.run import Record, Run, segments
from editgauge.core.run.manifest import FILE, Manifest
from editgauge.perception.cache import place
from editgauge.runner.asking_cost import asking_cost
from editgauge.runner.calibration import Calibration
from editgauge.runner.crew import bytes_of_weights, choose_crew, run_on_cards, this_machine
from editgauge.runner.jury import FOLDER, judges_of, read_jury
from editgauge.runner.listening import Ears, ListenedTo
from editgauge.runner.plan import Plan, prepare
from editgauge.runner.room import Room
from editgauge.runner.scoring import Task, score_task
from editgauge.runner.tasks import all_tasks, sources_of

SOURCES = 6
"""Source images whose outcomes are scored to tell from, unless another number is asked for."""
BYTES_OF_THE_PARENT = 200_000_000
"""Of the process that hands out and writes (`benchmarks/scale.py`: 190 MB with next to nothing to hold)."""
MOST_OF_A_SOURCE = 8
"""Outcomes of one source image that are scored at most."""


@dataclass(frozen=True, slots=True)
class ModelWork:
    """What one model will be asked."""

    model: str
    question: str
    forwards: int
    """Answers it must give: shared questions once, remembered ones not at all."""
    seconds_each: float
    """As measured on this machine, in all plans so far."""

    @property
    def seconds(self) -> float:
        """For all of them."""
        return self.forwards * self.seconds_each


@dataclass(frozen=True, slots=True)
class Foresight:
    """What a run will take, as far as a few outcomes tell."""

    benchmark: str
    outcomes: int
    """That are left to score."""
    done: int
    source_images: int
    told_from: int
    """Outcomes that were scored to tell it."""
    models: tuple[ModelWork, ...]
    recalled: int
    """Answers of models that are remembered from earlier runs."""
    own_seconds: float
    """CPU seconds for decoding, metrics and rules."""
    processes: int
    seconds: float
    """By the clock, without judges. Models are taken to use all cores or the card already: more processes make only
    our own work faster, more cards everything else."""
    memory: int
    """Bytes, of all processes."""
    run_bytes: int
    cache_bytes: int
    judges: Mapping[str, Mapping[str, Any]]


def plan(
    benchmark: str | Path,
    outcomes: Mapping[str, str | Path] | Sequence[str] = (),
    protocol: Sequence[str] = (),
    out: str | Path = "run",
    data: str | Path | None = None,
    images: str | Path | None = None,
    layout: str | None = None,
    models: str | None = None,
    model: Mapping[str, str] | Sequence[str] = (),
    attributes: str | Path | None = None,
    judge: Mapping[str, str] | Sequence[str] = (),
    price: str | None = None,
    max_tokens: int | None = None,
    prompts: str | Path | None = None,
    processes: int = 0,
    sources: int = SOURCES,
) -> Foresight:
    """Says what a run will take before it is started: forwards of every model, time, memory, disk, and judges' cost.

    The outcomes of a few source images are scored now, which asks models but no judge, and the rest is told from them.
    How long models take on this machine is kept in the cache folder.

    Args:
        benchmark: a name, a folder of your own, or a run folder: what is not given is then taken from that run.
        outcomes: where each method's outcomes lie.
        protocol: the protocols to score with; preservation when left out.
        out: the run folder; what it holds already is not counted.
        data: where the benchmark's public files lie, for those that are not shipped.
        images: where its source images lie, when they come from elsewhere.
        layout: how the outcomes are named; recognised when not given.
        models: the profile whose models add scores: lite, paper or best.
        model: another model for a role: `{"detector": "name"}` or `["detector=name"]`.
        attributes: a file with the attributes of the edits.
        judge: a language or vision-language model for protocols that ask one.
        price: what a million tokens cost, as `PROMPT,COMPLETION`.
        max_tokens: how long an answer of a judge may become; 512 when left out.
        prompts: a folder of prompts in place of the built-in ones.
        processes: worker processes; 0 chooses by cores, memory and graphics cards.
        sources: how many source images are scored to tell from.
    """
    if (Path(benchmark) / FILE).is_file():
        out, run = benchmark, Manifest.load(Path(benchmark))
        benchmark, outcomes, protocol = run.benchmark, outcomes or run.methods, protocol or list(run.protocols)
        model = model or {role: told["name"] for role, told in run.models.items()}
        judge = judge or {name: told["address"] for name, told in run.judges.items()}
    jury = read_jury(judge, price, None, max_tokens, False, prompts, judges_of(out))
    wanted = prepare(
        benchmark, outcomes, protocol or ("preservation",), data, images, layout, models, model, 0, attributes, jury
    )
    return _foresee(wanted, Path(out), processes, sources)


def _foresee(wanted: Plan, out: Path, processes: int, sources: int) -> Foresight:
    done = _done(wanted, out)
    of_sources = sources_of(wanted)
    chosen = set(list(of_sources)[:: max(1, len(of_sources) // max(1, sources))][:sources])
    some = _first_of_each(wanted, chosen)
    if not some:
        raise BadInput("There is no outcome with an image to tell from.")
    transcripts = out / FOLDER if (out / FOLDER).is_dir() else None
    ears = Ears(wanted.choice.models, place(), wanted.jury, transcripts)
    with ThreadPoolExecutor(1) as thread:  # a notebook has a running loop
        took = thread.submit(asyncio.run, _score(wanted, some, ears)).result()
    calibration = Calibration()
    calibration.add(ears.seats)
    left = wanted.outcomes - done
    times = left / len(some)
    work = tuple(each for seat in ears.seats for each in _work(seat, calibration, times))
    crew = choose_crew(
        processes,
        left,
        this_machine(),
        judges=bool(wanted.jury.addresses),
        weights=bytes_of_weights(wanted.choice.models),
        on_cards=run_on_cards(wanted.choice.models),
    )
    return Foresight(
        benchmark=wanted.benchmark.name,
        outcomes=left,
        done=done,
        source_images=len(of_sources),
        told_from=len(some),
        models=work,
        recalled=round(sum(len(seat.recalled) for seat in ears.seats) * times),
        own_seconds=took.own * times,
        processes=crew.processes,
        seconds=((took.seconds - took.own) / max(1, len(crew.cards)) + took.own / crew.processes) * times,
        memory=BYTES_OF_THE_PARENT + crew.processes * _most_memory(),
        run_bytes=round(_bytes_of(took.records) * times),
        cache_bytes=round(sum(work.bytes for seat in ears.seats for work in seat.work.values()) * times),
        judges=asking_cost(wanted, out),
    )


def _done(wanted: Plan, out: Path) -> int:
    """How many outcomes a run holds already; none when it would start anew."""
    if not (out / FILE).is_file() or Manifest.load(out).differences(wanted.manifest):
        return 0
    names = [each.name for each in wanted.protocols]
    counted = segments.counted(Run.open(out).scores)
    return sum(min(counted[method, name] for name in names) for method in wanted.found)


def _first_of_each(wanted: Plan, chosen: set[str]) -> list[Task]:
    found: dict[str, list[Task]] = {source: [] for source in chosen}
    for task in all_tasks(wanted):
        these = found.get(task.edit.source.name)
        if these is not None and task.outcome.image and len(these) < MOST_OF_A_SOURCE:
            these.append(task)
    return [task for these in found.values() for task in these]


class _Took(NamedTuple):
    """What the sample took."""

    records: list[Record]
    seconds: float
    """By the clock, in one process."""
    own: float
    """Of these, the CPU time of the thread that decodes, calculates and applies rules."""


async def _score(wanted: Plan, tasks: Sequence[Task], ears: Ears) -> _Took:
    """Scores the tasks twice: the first time loads weights, the second tells how long they take."""
    room = Room()
    async with ears:
        for _ in range(2):
            ears.forget()
            started, own = time.perf_counter(), time.thread_time()
            found = await asyncio.gather(*(score_task(task, wanted.protocols, ears, room) for task in tasks))
            own, seconds = time.thread_time() - own, time.perf_counter() - started
    return _Took([record for records in found for record in records], max(seconds, own), own)


def _work(seat: ListenedTo, calibration: Calibration, times: float) -> list[ModelWork]:
    return [
        ModelWork(seat.name, question, round(work.asked * times), calibration.seconds_each(seat, question))
        for question, work in seat.work.items()
    ]


def _bytes_of(records: Sequence[Record]) -> int:
    """What these records take in a run folder beyond what empty files take."""
    return sum(
        segments.bytes_of(make(records)) - segments.bytes_of(make([]))
        for make in (segments.scores_table, segments.evidence_table)
    )


def _most_memory() -> int:
    """The most memory that this process, which did what a worker does, ever had."""
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
