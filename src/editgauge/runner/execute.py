"""The verb `run`: from a benchmark and outcomes to a run folder."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import editgauge
from editgauge.benchmarks import open_benchmark
from editgauge.core.edits import to_lines
from editgauge.core.errors import BadInput
from editgauge.core.progress import progress, say
from editgauge.core.run import ImageStamp, Key, Run, RunWriter
from editgauge.core.run.manifest import Manifest, ProtocolEntry, environment
from editgauge.methods.outcomes import Found, find_outcomes
from editgauge.perception import service
from editgauge.protocols import Protocol, protocols
from editgauge.runner.local import execute
from editgauge.runner.scoring import Task
from editgauge.runner.worker import Setup

if TYPE_CHECKING:
    from editgauge.core.types import Benchmark

TASKS_WORTH_A_PROCESS = 16


def run(
    benchmark: str | Path,
    outcomes: Mapping[str, str | Path] | Sequence[str],
    protocol: Sequence[str] = ("preservation",),
    out: str | Path = "run",
    model: Mapping[str, str] | Sequence[str] = (),
    seed: int = 0,
    processes: int = 0,
    quiet: bool = False,
) -> Run:
    """Scores the outcomes of one or more methods on a benchmark, and keeps everything in a run folder.

    Given again with the same options it continues: what is scored stays, images that changed since are scored again,
    further methods and protocols are added. Options that would make scores incomparable start it anew, and say why.

    Args:
        benchmark: a name (`editgauge list benchmarks`) or a folder of your own.
        outcomes: where each method's outcomes lie: `{"mine": "folder"}` or `["mine=folder"]`.
        protocol: the protocols to score with.
        out: the run folder.
        model: the model for a role: `{"image_embedder": "name"}` or `["image_embedder=name"]`.
        seed: for everything drawn at random.
        processes: worker processes; 0 chooses by cores and work.
        quiet: no progress, no remarks.
    """
    chosen = [protocols.get(name) for name in _each_once(protocol, "protocol")]
    opened = open_benchmark(benchmark)
    models = pairs(model, "model", "ROLE=NAME")
    places = {name: Path(place).absolute() for name, place in pairs(outcomes, "outcomes", "NAME=FOLDER").items()}
    ids = [edit.id for edit in opened.edits]
    found = {name: find_outcomes(name, place, ids) for name, place in places.items()}
    for name, these in found.items():
        say(_tell(name, these), quiet=quiet)
    manifest = _manifest(opened, chosen, places, found, models, seed)
    with RunWriter(Path(out), manifest, to_lines(opened.edits)) as writer:
        for note in writer.notes:
            say(note, quiet=quiet)
        tasks, done = _plan(opened, found, chosen, writer)
        if done:
            say(f"{done} of {done + len(tasks)} outcomes were scored before; continuing.", quiet=quiet)
        setup = Setup(tuple(writer.manifest.protocols), models)
        with progress("scoring", len(tasks) + done, quiet=quiet, done=done) as advance:
            for records in execute(tasks, setup, processes or _sensible_processes(len(tasks))) if tasks else ():
                for record in records:
                    writer.append(record)
                advance()
        writer.finish()
    return Run.open(Path(out))


def pairs(given: Mapping[str, str | Path] | Sequence[str], option: str, form: str) -> dict[str, str]:
    """`NAME=VALUE` options as a dictionary; a name given twice is an error."""
    if isinstance(given, Mapping):
        return {name: str(value) for name, value in given.items()}
    read: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            raise BadInput(f"--{option} takes {form}, got '{text}'.")
        if name in read:
            raise BadInput(f"--{option} names '{name}' twice: '{read[name]}' and '{value}'.")
        read[name] = value
    return read


def _each_once(names: Sequence[str], option: str) -> list[str]:
    if not names:
        raise BadInput(f"--{option} is needed at least once; `editgauge list {option}s` shows what there is.")
    return list(dict.fromkeys(names))


def _tell(method: str, found: Found) -> str:
    total, present = len(found.outcomes), found.present
    missing = f", {total - present} missing" if present < total else ""
    strangers = f", {len(found.strangers)} that match no edit ({found.strangers[0]}, …)" if found.strangers else ""
    return f"{method}: {present} of {total} outcomes found{missing}{strangers}"


def _manifest(
    opened: Benchmark,
    chosen: Sequence[Protocol],
    places: Mapping[str, Path],
    found: Mapping[str, Found],
    models: Mapping[str, str],
    seed: int,
) -> Manifest:
    return Manifest(
        benchmark=opened.name,
        edits_sha256=hashlib.sha256(to_lines(opened.edits)).hexdigest(),
        edits=len(opened.edits),
        seed=seed,
        models=service.describe(models),
        methods={name: str(place) for name, place in places.items()},
        protocols={
            each.name: ProtocolEntry(each.about, each.paper, each.version, tuple(each.deviations), tuple(each.scores))
            for each in chosen
        },
        planned={name: {each.name: len(these.outcomes) for each in chosen} for name, these in found.items()},
        editgauge=editgauge.__version__,
        environment=environment(),
    )


def _plan(
    opened: Benchmark, found: Mapping[str, Found], chosen: Sequence[Protocol], writer: RunWriter
) -> tuple[list[Task], int]:
    """What is left to do, outcomes of one source image together, and how many outcomes are done."""
    place_of = {edit.id: place for place, edit in enumerate(opened.edits)}
    sources = {edit.id: ImageStamp.of(edit.source.path) for edit in opened.edits}
    tasks: list[Task] = []
    stale: set[Key] = set()
    done = 0
    for these in found.values():
        for outcome in these.outcomes:
            source = sources[outcome.edit_id]
            edited = ImageStamp.of(outcome.image) if outcome.image else None
            keys = [Key(outcome.edit_id, outcome.method, outcome.seed, each.name) for each in chosen]
            stale |= {key for key in keys if writer.is_stale(key, source, edited)}
            left = tuple(key.protocol for key in keys if not writer.is_done(key, source, edited))
            if left:
                place = place_of[outcome.edit_id]
                tasks.append(Task(place, opened.edits[place], outcome, left))
            else:
                done += 1
    writer.retire(stale)
    tasks.sort(key=lambda task: (str(task.edit.source.path), task.place))
    return tasks, done


def _sensible_processes(tasks: int) -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, tasks // TASKS_WORTH_A_PROCESS))
