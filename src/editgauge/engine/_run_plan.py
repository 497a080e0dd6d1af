"""Plan a run: benchmark, outcomes, protocols and shard, and the tasks that remain to be scored."""

from __future__ import annotations

import re
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np

from editgauge import __version__
from editgauge._util.images import ImageFile
from editgauge.benchmarks import is_path, open_benchmark
from editgauge.benchmarks.attributes import attach, read_attributes
from editgauge.benchmarks.outcome_captions import attach_captions, read_captions
from editgauge.engine._judges import JudgeConfig
from editgauge.engine._options import open_scoring, pairs, roles_of
from editgauge.engine._scoring import ScoringTask, current_stamps
from editgauge.errors import BadInputError
from editgauge.instructions.parsed import apply_parses, load_parses
from editgauge.methods.outcomes import FoundOutcomes, expand_folders, find_outcomes
from editgauge.models import profiles
from editgauge.models.profiles import ModelChoice
from editgauge.options import DataOptions, Paths, ScorerOptions
from editgauge.protocols import Protocol
from editgauge.results import Run, RunWriter, ScoreKey, tables
from editgauge.results._records import fingerprint, short_hash
from editgauge.results.edits import edits_sha256
from editgauge.results.manifest import Manifest, ProtocolEntry, environment, is_run
from editgauge.results.writer import SUPERSEDED
from editgauge.types import Benchmark, Edit, Outcome

_SHARD_FORMAT = re.compile(r"\s*([0-9]{1,9})\s*/\s*([0-9]{1,9})\s*")


@dataclass(frozen=True, slots=True)
class Shard:
    """One of several parts of a run, counted from 1: the outcomes of some source images."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def holds(self, source: str) -> bool:
        """Return whether outcomes of a source image belong to this shard; the same on every machine."""
        return self.of == 1 or short_hash(source) % self.of == self.number - 1


COMPLETE = Shard(1, 1)


def read_shard(text: str | None) -> Shard:
    """Parse a shard such as `2/8`; None is the complete run.

    >>> read_shard("2/8")
    Shard(number=2, of=8)
    """
    if text is None:
        return COMPLETE
    match = _SHARD_FORMAT.fullmatch(text)
    shard = Shard(*map(int, match.groups())) if match else None
    if shard is None or not 1 <= shard.number <= shard.of:
        raise BadInputError(f"`shard` takes NUMBER/OF, from 1/OF to OF/OF, such as 2/8; got '{text}'.")
    return shard


def check_shard(folder: Path, shard: Shard) -> None:
    """Refuse a folder that holds another shard: each would treat the outcomes of the other as removed.

    Raises:
        BadInputError: the folder holds another shard or a complete run.
    """
    if shard == COMPLETE or not is_run(folder):
        return
    existing = Manifest.load(folder).shard
    if existing != str(shard):
        raise BadInputError(
            f"'{folder}' holds {f'shard {existing}' if existing else 'a whole run'}; give shard {shard} a folder of "
            "its own, and make one run of all shards with `editgauge merge`."
        )


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What a run is going to do; made before its folder is touched."""

    benchmark: Benchmark
    protocols: list[Protocol]
    choice: ModelChoice
    outcomes_of: dict[str, FoundOutcomes]
    manifest: Manifest
    judge_config: JudgeConfig
    shard: Shard = COMPLETE
    followed: frozenset[str] = frozenset()
    """Edits whose outcomes are the sources of a further turn."""

    @property
    def outcomes(self) -> int:
        """Number of outcomes to score."""
        return sum(max(counts.values(), default=0) for counts in self.manifest.planned.values())

    def summary(self, out: Path) -> dict[str, Any]:
        """Describe the plan as plain values, for a dry run."""
        return {
            "benchmark": self.benchmark.name,
            "about": self.benchmark.about,
            "edits": len(self.benchmark.edits),
            **({"broken": list(self.benchmark.broken)} if self.benchmark.broken else {}),
            "source_images": len({edit.source.name for edit in self.benchmark.edits}),
            "outcomes": {name: outcomes.sentence(name) for name, outcomes in self.outcomes_of.items()},
            "faults": [
                f"{name}: {fault.kind}: {fault.where}: {fault.detail}"
                for name, outcomes in self.outcomes_of.items()
                for fault in outcomes.faults
            ],
            "protocols": {protocol.name: [spec.name for spec in protocol.scores] for protocol in self.protocols},
            "models": self.manifest.models,
            **({"models_by_paper": list(self.choice.sources)} if self.choice.sources else {}),
            **({"judges": self.manifest.judges} if self.manifest.judges else {}),
            "remarks": list(self.choice.remarks),
            "seed": self.manifest.seed,
            **({"shard": str(self.shard)} if self.shard != COMPLETE else {}),
            "out": str(out),
            "then": self._describe_next(out),
        }

    def _describe_next(self, out: Path) -> str:
        count = self.outcomes
        if not is_run(out):
            return f"score {count} outcomes into a new run"
        earlier = Run.open(out)
        changes = earlier.manifest.differences(self.manifest)
        if changes:
            scores = f"the earlier scores ({', '.join(earlier.manifest.protocols)}) would be kept in {out / SUPERSEDED}"
            return f"start over, because {'; '.join(changes)}; {scores}"
        counts = tables.count_entries(earlier.table)
        names = [protocol.name for protocol in self.protocols]
        scored = (f"{name} {sum(counts[method, name] for method in self.outcomes_of)}" for name in names)
        return f"continue the run; scored so far: {', '.join(scored)} of {count} outcomes"


def build_plan(
    benchmark: str | Path,
    outcomes: Paths,
    options: ScorerOptions,
    *,
    data: DataOptions,
    judge_config: JudgeConfig,
    seed: int,
    layout: str | None = None,
    allow_outside: bool = False,
    attributes: str | Path | None = None,
    shard: Shard = COMPLETE,
    fields: str | Path | None = None,
    captions: str | Path | None = None,
) -> RunPlan:
    """Open the benchmark and find the outcomes; writes nothing."""
    protocols, choice, remark = open_scoring(options, judge_config)
    if remark:
        choice = replace(choice, remarks=(*choice.remarks, remark))
    folders = _outcome_folders(outcomes)
    opened = open_benchmark(benchmark, data.data, data.images, skip_broken=data.skip_broken)
    parses = load_parses(Path(fields)) if fields else None
    if parses:
        opened = apply_parses(opened, parses)
    if attributes is not None:
        opened = attach(opened, read_attributes(attributes))
    if captions is not None:
        opened = attach_captions(opened, read_captions(captions))
    outcomes_of = {
        name: find_outcomes(name, folder, opened.edits, layout, allow_outside=allow_outside)
        for name, folder in folders.items()
    }
    if data.limit is not None and data.limit < len(opened.edits):
        opened = replace(opened, edits=opened.edits[: data.limit])
        ids = {edit.id for edit in opened.edits}
        outcomes_of = {name: _filter_edits(outcomes, ids) for name, outcomes in outcomes_of.items()}
    counts = {name: _count_in_shard(opened.edits, outcomes, shard) for name, outcomes in outcomes_of.items()}
    followed: set[str] = set()
    manifest = Manifest(
        benchmark=opened.name,
        edits_sha256=edits_sha256(_collect_followed(opened.edits, followed)),
        edits=len(opened.edits),
        seed=seed,
        models=profiles.describe(choice.models),
        methods={name: str(folder) for name, folder in folders.items()},
        protocols={
            protocol.name: ProtocolEntry(
                protocol.about,
                protocol.paper,
                protocol.version,
                tuple(protocol.deviations),
                tuple(protocol.scores),
            )
            for protocol in protocols
        },
        roles={protocol.name: roles_of(protocol, choice.models) for protocol in protocols},
        planned={
            name: dict.fromkeys((protocol.name for protocol in protocols), count) for name, count in counts.items()
        },
        editgauge=__version__,
        environment=environment(),
        judges=judge_config.describe(),
        fields_sha256=parses.sha256 if parses else "",
        shard="" if shard == COMPLETE else str(shard),
        locations=_benchmark_paths(benchmark, data),
        broken=list(opened.broken),
    )
    return RunPlan(opened, protocols, choice, outcomes_of, manifest, judge_config, shard, frozenset(followed))


def _outcome_folders(outcomes: Paths) -> dict[str, Path]:
    named = (
        outcomes
        if isinstance(outcomes, Mapping)
        else expand_folders([outcomes] if isinstance(outcomes, str) else outcomes)
    )
    folders = {name: _absolute_path(text) for name, text in pairs(named, "outcomes", "NAME=FOLDER").items()}
    if not folders:
        raise BadInputError("`outcomes` is needed at least once, as NAME=FOLDER.")
    return folders


def _benchmark_paths(benchmark: str | Path, data: DataOptions) -> dict[str, str]:
    """Return the paths of the benchmark and its files, which `verify` and `plan` need again."""
    paths = {"benchmark": benchmark if is_path(benchmark) else None, "data": data.data, "images": data.images}
    return {name: str(_absolute_path(str(path))) for name, path in paths.items() if path is not None}


def _filter_edits(method_outcomes: FoundOutcomes, edits: Collection[str]) -> FoundOutcomes:
    """Keep the outcomes and faults of some edits."""
    outcomes = tuple(outcome for outcome in method_outcomes.outcomes if outcome.edit_id in edits)
    faults = tuple(fault for fault in method_outcomes.faults if fault.kind != "missing" or fault.where in edits)
    return replace(method_outcomes, outcomes=outcomes, faults=faults)


def outcomes_with_edits(
    edits: Sequence[Edit], method_outcomes: FoundOutcomes
) -> Iterator[tuple[int, Edit, int, Outcome]]:
    """Yield every outcome with its edit and the indexes of both; they are in the same order."""
    remaining, current = enumerate(edits), None
    for index, outcome in enumerate(method_outcomes.outcomes):
        while current is None or current[1].id != outcome.edit_id:
            current = next(remaining)
        yield *current, index, outcome


def _count_in_shard(edits: Sequence[Edit], method_outcomes: FoundOutcomes, shard: Shard) -> int:
    """Count the outcomes that belong to the shard."""
    if shard == COMPLETE:
        return len(method_outcomes.outcomes)
    return sum(shard.holds(edit.origin) for _, edit, _, _ in outcomes_with_edits(edits, method_outcomes))


def _collect_followed(edits: Iterable[Edit], followed: set[str]) -> Iterator[Edit]:
    """Yield the edits, adding those that another turn follows to `followed`."""
    for edit in edits:
        if edit.follows is not None:
            followed.add(edit.follows)
        yield edit


def _absolute_path(text: str) -> Path:
    path = Path(text).expanduser().absolute()
    check_encoding(path)
    return path


def check_encoding(path: Path) -> None:
    """Refuse a path that is not UTF-8, as Linux allows: no manifest could hold it."""
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        raise BadInputError(
            f"The path {str(path)!a} holds bytes that are not UTF-8; rename the file or folder."
        ) from error


RETRIED_REASONS = frozenset({"crashed", "budget", "unreachable"})
"""Reasons that say nothing about the outcome; scores missing for one of them are tried again."""


class _TaskIndex(NamedTuple):
    """Indexes of the edit in the benchmark, the method in the plan, and the outcome among those of the method."""

    edit: int
    method: int
    outcome: int


class Tasks(Sequence[ScoringTask]):
    """Tasks stored as indexes: a million take some thirty megabytes."""

    def __init__(self, plan: RunPlan) -> None:
        self._turns = _Turns(plan)
        self._edits = plan.benchmark.edits
        self._outcomes = [outcomes.outcomes for outcomes in plan.outcomes_of.values()]
        self._columns = [array("q") for _ in range(4)]
        """Indexes of edit, method, outcome and protocol combination."""
        self._combinations: list[tuple[str, ...]] = []
        self._sources = array("q")

    def add(self, index: _TaskIndex, task: ScoringTask) -> None:
        """Append a task."""
        if task.protocols not in self._combinations:
            self._combinations.append(task.protocols)
        for column, value in zip(self._columns, (*index, self._combinations.index(task.protocols)), strict=True):
            column.append(value)
        self._sources.append(hash(str(task.edit.source.path)))

    def group_by_source(self) -> None:
        """Sort so that outcomes of one source image are adjacent, sources in the order of their first outcome."""
        _, first, source = np.unique(self._sources, return_index=True, return_inverse=True)
        order = np.lexsort((np.asarray(self._columns[0]), first[source]))
        self._columns = [array("q", np.asarray(column)[order].tobytes()) for column in self._columns]

    def __len__(self) -> int:
        return len(self._columns[0])

    @overload
    def __getitem__(self, index: int) -> ScoringTask: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[ScoringTask]: ...
    def __getitem__(self, index: int | slice) -> ScoringTask | Sequence[ScoringTask]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        edit, method, outcome, protocols = (column[index] for column in self._columns)
        turn = self._turns.resolve(method, self._edits[edit], self._outcomes[method][outcome])
        return ScoringTask(edit, *turn, self._combinations[protocols])


class _Turns:
    """Source images of multi-turn edits: from the second turn on, the method's previous outcome."""

    def __init__(self, plan: RunPlan) -> None:
        self._before: list[dict[tuple[str, int], Outcome]] = [
            {
                (outcome.edit_id, outcome.seed): outcome
                for outcome in outcomes.outcomes
                if outcome.edit_id in plan.followed
            }
            if plan.followed
            else {}
            for outcomes in plan.outcomes_of.values()
        ]

    def resolve(self, method: int, edit: Edit, outcome: Outcome) -> tuple[Edit, Outcome]:
        """Return edit and outcome with the source image of their turn."""
        if edit.follows is None:
            return edit, outcome
        before = self._before[method].get((edit.follows, outcome.seed))
        if before is None or before.image is None:
            absence = f"the outcome of the turn before, '{edit.follows}', is missing"
            return edit, replace(outcome, image=None, absence=absence)
        return replace(edit, source=ImageFile(edit.source.name, before.image)), outcome


def all_tasks(plan: RunPlan) -> Iterator[ScoringTask]:
    """Yield a task for every outcome of the plan."""
    return (task for _, task in _iter_tasks(plan))


class RemainingTasks:
    """The tasks that a run into a folder would still score, with their remaining protocols."""

    def __init__(self, plan: RunPlan, out: Path) -> None:
        self._plan = plan
        self._done = _done_fingerprints(plan, out)

    def __iter__(self) -> Iterator[ScoringTask]:
        for task in all_tasks(self._plan):
            stamps = current_stamps(task)
            protocols = tuple(key.protocol for key in keys_of(task) if fingerprint(key, *stamps) not in self._done)
            if protocols:
                yield replace(task, protocols=protocols)


def _done_fingerprints(plan: RunPlan, out: Path) -> set[int]:
    """Return what the run holds and would keep; nothing if it would start over."""
    if not is_run(out) or Manifest.load(out).differences(plan.manifest):
        return set()
    table = Run.open(out).table
    retried = set(tables.iter_keys(tables.filter_reasons(table, RETRIED_REASONS)))
    return {fingerprint(key, *images) for key, images in tables.iter_stamps(table) if key not in retried}


def remaining_tasks(plan: RunPlan, writer: RunWriter) -> tuple[Sequence[ScoringTask], int]:
    """Return the tasks to do, outcomes of one source image together, and the number of outcomes that are done.

    Entries that are stale, retried or no longer planned are removed from the run.
    """
    retried = {key for key in writer.iter_keys(RETRIED_REASONS) if _is_planned(key, plan)}
    stale = set(retried)
    tasks = Tasks(plan)
    done = existing = 0
    for index, task in _iter_tasks(plan):
        keys, stamps = keys_of(task), current_stamps(task)
        states = {key: writer.state(key, stamps) for key in keys}
        existing += sum(state != "new" for state in states.values())
        stale |= {key for key, state in states.items() if state == "stale"}
        protocols = tuple(key.protocol for key, state in states.items() if key in retried or state != "done")
        if protocols:
            tasks.add(index, replace(task, protocols=protocols))
        else:
            done += 1
    if existing < sum(
        writer.count(method, protocol.name) for method in plan.outcomes_of for protocol in plan.protocols
    ):
        planned = {key for task in all_tasks(plan) for key in keys_of(task)}
        stale |= {key for key in writer.iter_keys() if _is_planned(key, plan) and key not in planned}  # removed since
    writer.retire(stale)
    tasks.group_by_source()
    return tasks, done


def _iter_tasks(plan: RunPlan) -> Iterator[tuple[_TaskIndex, ScoringTask]]:
    """Yield every task of the plan's shard with its indexes."""
    names = tuple(protocol.name for protocol in plan.protocols)
    turns = _Turns(plan)
    for method, outcomes in enumerate(plan.outcomes_of.values()):
        for index, edit, number, outcome in outcomes_with_edits(plan.benchmark.edits, outcomes):
            if plan.shard.holds(edit.origin):
                check_encoding(outcome.image or Path())
                task = ScoringTask(index, *turns.resolve(method, edit, outcome), names)
                yield _TaskIndex(index, method, number), task


def _is_planned(key: ScoreKey, plan: RunPlan) -> bool:
    """Return whether method and protocol are part of the plan; others in the run folder are left alone."""
    return key.method in plan.outcomes_of and any(key.protocol == protocol.name for protocol in plan.protocols)


def keys_of(task: ScoringTask) -> list[ScoreKey]:
    """Return the keys of a task's entries, one per protocol."""
    outcome = task.outcome
    return [ScoreKey(outcome.edit_id, outcome.method, outcome.seed, name) for name in task.protocols]
