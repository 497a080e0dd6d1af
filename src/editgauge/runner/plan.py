"""What a run is going to do: the benchmark, the outcomes that were found, and what is left to score."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from editgauge import __version__
from editgauge.benchmarks import open_benchmark
from editgauge.benchmarks.attributes import attach, read_attributes
from editgauge.core.edits import to_lines
from editgauge.core.errors import BadInput
from editgauge.core.images import Picture
from editgauge.core.run import Key, Run, RunWriter
from editgauge.core.run.manifest import FILE, Manifest, ProtocolEntry, environment
from editgauge.core.types import Benchmark, Edit, Outcome
from editgauge.methods.layouts.discover import expand
from editgauge.methods.outcomes import Found, find_outcomes
from editgauge.perception import service
from editgauge.perception.profiles import Choice
from editgauge.protocols import Protocol
from editgauge.runner.jury import Jury
from editgauge.runner.options import choose_with_models, pairs
from editgauge.runner.scoring import Task, stamp

ROWS_AT_ONCE = 50_000
AGAIN = frozenset({"crashed", "budget", "unreachable"})
"""Reasons that say nothing about the outcome: what has no score for one of them is tried again."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything a run needs to know before its folder is touched."""

    benchmark: Benchmark
    protocols: list[Protocol]
    choice: Choice
    found: dict[str, Found]
    manifest: Manifest
    jury: Jury

    def told(self, out: Path) -> dict[str, Any]:
        """The plan in words, for `--dry-run`."""
        return {
            "benchmark": self.benchmark.name,
            "about": self.benchmark.about,
            "edits": len(self.benchmark.edits),
            "source_images": len({edit.source.name for edit in self.benchmark.edits}),
            "outcomes": {name: these.sentence(name) for name, these in self.found.items()},
            "faults": [
                f"{name}: {fault.kind}: {fault.where}: {fault.detail}"
                for name, these in self.found.items()
                for fault in these.faults
            ],
            "protocols": {each.name: [spec.name for spec in each.scores] for each in self.protocols},
            "models": self.manifest.models,
            **({"judges": self.manifest.judges} if self.manifest.judges else {}),
            "remarks": list(self.choice.remarks),
            "seed": self.manifest.seed,
            "out": str(out),
            "then": self._then(out),
        }

    def _then(self, out: Path) -> str:
        count = sum(len(these.outcomes) for these in self.found.values())
        if not (out / FILE).exists():
            return f"score {count} outcomes into a new run"
        changes = Manifest.load(out).differences(self.manifest)
        return "start anew, because " + "; ".join(changes) if changes else f"continue the run towards {count} outcomes"


def prepare(
    benchmark: str | Path,
    outcomes: Mapping[str, str | Path] | Sequence[str],
    protocol: Sequence[str],
    data: str | Path | None,
    images: str | Path | None,
    layout: str | None,
    models: str | None,
    model: Mapping[str, str] | Sequence[str],
    seed: int,
    attributes: str | Path | None = None,
    jury: Jury | None = None,
) -> Plan:
    """Opens the benchmark and finds the outcomes; writes nothing."""
    jury = jury or Jury()
    chosen, choice = choose_with_models(protocol, models, model, jury.addresses)
    given = outcomes if isinstance(outcomes, Mapping) else expand([outcomes] if isinstance(outcomes, str) else outcomes)
    places = {name: _place(text) for name, text in pairs(given, "outcomes", "NAME=FOLDER").items()}
    if not places:
        raise BadInput("--outcomes is needed at least once, as NAME=FOLDER.")
    opened = open_benchmark(benchmark, data, images)
    if attributes is not None:
        opened = attach(opened, read_attributes(attributes))
    found = {name: find_outcomes(name, place, opened.edits, layout) for name, place in places.items()}
    manifest = _manifest(opened, chosen, places, found, choice.models, seed)
    manifest.judges = jury.told()
    return Plan(opened, chosen, choice, found, manifest, jury)


def tasks_left(plan: Plan, writer: RunWriter) -> tuple[list[Task], int]:
    """What is left to do, outcomes of one source image together, and how many outcomes are done."""
    names = [each.name for each in plan.protocols]
    known, passing = _earlier(writer.folder, plan.found, names)
    tasks: list[Task] = []
    stale = set(passing)
    done = 0
    for task in all_tasks(plan):
        edit, outcome = task.edit, task.outcome
        stamps = stamp(edit.source.path), stamp(outcome.image) if outcome.image else None
        keys = [Key(outcome.edit_id, outcome.method, outcome.seed, name) for name in names]
        known -= set(keys)
        stale |= {key for key in keys if writer.is_stale(key, *stamps)}
        left = tuple(key.protocol for key in keys if key in passing or not writer.is_done(key, *stamps))
        if left:
            tasks.append(replace(task, protocols=left))
        else:
            done += 1
    writer.retire(stale | known)  # what is known still was not asked for this time: outcomes that were taken away
    tasks.sort(key=lambda task: (str(task.edit.source.path), task.place))
    return tasks, done


def all_tasks(plan: Plan) -> Iterator[Task]:
    """Every outcome that was found, with the edit as it stands in its turn."""
    place_of = {edit.id: place for place, edit in enumerate(plan.benchmark.edits)}
    names = tuple(each.name for each in plan.protocols)
    for these in plan.found.values():
        earlier_turns = {(outcome.edit_id, outcome.seed): outcome for outcome in these.outcomes}
        for given in these.outcomes:
            _refuse_odd_bytes(given.image or Path())
            place = place_of[given.edit_id]
            yield Task(place, *_in_its_turn(plan.benchmark.edits[place], given, earlier_turns), names)


def _in_its_turn(
    edit: Edit, outcome: Outcome, earlier_turns: Mapping[tuple[str, int], Outcome]
) -> tuple[Edit, Outcome]:
    """From the second turn on, the source is what the method itself made of the turn before."""
    if edit.follows is None:
        return edit, outcome
    before = earlier_turns.get((edit.follows, outcome.seed))
    if before is None or before.image is None:
        absence = f"the outcome of the turn before, '{edit.follows}', is missing"
        return edit, replace(outcome, image=None, absence=absence)
    return replace(edit, source=Picture(edit.source.name, before.image)), outcome


def _place(text: str) -> Path:
    place = Path(text).expanduser().absolute()
    _refuse_odd_bytes(place)
    return place


def _refuse_odd_bytes(path: Path) -> None:
    """Linux allows names that are no text in any encoding; no manifest could hold them."""
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        raise BadInput(f"The path {str(path)!a} holds bytes that are not UTF-8; rename the file or folder.") from error


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
        editgauge=__version__,
        environment=environment(),
    )


def _earlier(folder: Path, methods: Collection[str], protocols: Collection[str]) -> tuple[set[Key], set[Key]]:
    """What the run holds of these methods and protocols, and what of it deserves another try."""
    scores = Run.open(folder).scores
    known: set[Key] = set()
    passing: set[Key] = set()
    for batch in scores.select([*Key._fields, "reason"]).to_batches(max_chunksize=ROWS_AT_ONCE):
        for *key, reason in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            found = Key._make(key)
            if found.method in methods and found.protocol in protocols:
                known.add(found)
                if reason in AGAIN:
                    passing.add(found)
    return known, passing
