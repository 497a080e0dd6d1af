"""Shards: a run in parts on many machines, each part the outcomes of some source images."""

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
from editgauge.benchmarks.editinspector.outcome_captions import attach_captions, read_captions
from editgauge.engine._judges import JudgeConfig
from editgauge.engine._options import default_protocols, open_protocols_with_models, pairs
from editgauge.engine._scoring import ScoringTask, current_stamps
from editgauge.errors import BadInputError
from editgauge.instructions.parsed import apply_parses, load_parses
from editgauge.methods.layouts.discover import expand
from editgauge.methods.outcomes import FoundOutcomes, find_outcomes
from editgauge.models import _factory
from editgauge.models.profiles import ModelChoice, models_for
from editgauge.options import DataOptions, ModelOptions, Paths
from editgauge.protocols import Protocol
from editgauge.results import Key, Run, RunWriter, tables
from editgauge.results._records import fingerprint, short_hash
from editgauge.results.edits import edits_sha256
from editgauge.results.manifest import Manifest, ProtocolEntry, environment, is_run
from editgauge.results.writer import SUPERSEDED
from editgauge.types import Benchmark, Edit, Outcome

_FORM = re.compile(r"\s*([0-9]{1,9})\s*/\s*([0-9]{1,9})\s*")


@dataclass(frozen=True, slots=True)
class Shard:
    """One of that many parts, counted from 1."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def holds(self, source: str) -> bool:
        """Whether outcomes of that source image belong here: by a hash of its name, the same on every machine."""
        if self.of == 1:
            return True
        return short_hash(source) % self.of == self.number - 1


WHOLE = Shard(1, 1)


def read_shard(text: str | None) -> Shard:
    """The shard of a text such as `2/8`; the whole when there is none.

    >>> read_shard("2/8")
    Shard(number=2, of=8)
    """
    if text is None:
        return WHOLE
    match = _FORM.fullmatch(text)
    shard = Shard(*map(int, match.groups())) if match else None
    if shard is None or not 1 <= shard.number <= shard.of:
        raise BadInputError(f"--shard takes NUMBER/OF, from 1/OF to OF/OF, such as 2/8; got '{text}'.")
    return shard


def refuse_another_shard(folder: Path, shard: Shard) -> None:
    """A folder that holds one shard takes no other: each of them would take the other's outcomes for taken away."""
    if shard == WHOLE or not is_run(folder):
        return
    held = Manifest.load(folder).shard
    if held != str(shard):
        raise BadInputError(
            f"'{folder}' holds {f'shard {held}' if held else 'a whole run'}; give shard {shard} a folder of its own, "
            "and make one run of all shards with `editgauge merge`."
        )


@dataclass(frozen=True, slots=True)
class RunPlan:
    """Everything a run needs to know before its folder is touched."""

    benchmark: Benchmark
    protocols: list[Protocol]
    choice: ModelChoice
    outcomes_of: dict[str, FoundOutcomes]
    manifest: Manifest
    judge_config: JudgeConfig
    shard: Shard = WHOLE
    followed: frozenset[str] = frozenset()
    """Edits whose outcomes are the sources of a further turn."""

    @property
    def outcomes(self) -> int:
        """How many outcomes are to be scored."""
        return sum(max(counts.values(), default=0) for counts in self.manifest.planned.values())

    def summary(self, out: Path) -> dict[str, Any]:
        """The plan in words, for `--dry-run`."""
        return {
            "benchmark": self.benchmark.name,
            "about": self.benchmark.about,
            "edits": len(self.benchmark.edits),
            "source_images": len({edit.source.name for edit in self.benchmark.edits}),
            "outcomes": {name: these.sentence(name) for name, these in self.outcomes_of.items()},
            "faults": [
                f"{name}: {fault.kind}: {fault.where}: {fault.detail}"
                for name, these in self.outcomes_of.items()
                for fault in these.faults
            ],
            "protocols": {each.name: [spec.name for spec in each.scores] for each in self.protocols},
            "models": self.manifest.models,
            **({"models_by_paper": list(self.choice.sources)} if self.choice.sources else {}),
            **({"judges": self.manifest.judges} if self.manifest.judges else {}),
            "remarks": list(self.choice.remarks),
            "seed": self.manifest.seed,
            **({"shard": str(self.shard)} if self.shard != WHOLE else {}),
            "out": str(out),
            "then": self._then(out),
        }

    def _then(self, out: Path) -> str:
        count = self.outcomes
        if not is_run(out):
            return f"score {count} outcomes into a new run"
        earlier = Run.open(out)
        changes = earlier.manifest.differences(self.manifest)
        if changes:
            kept = f"the earlier scores ({', '.join(earlier.manifest.protocols)}) would be kept in {out / SUPERSEDED}"
            return f"start over, because {'; '.join(changes)}; {kept}"
        counted = tables.count_entries(earlier.scores)
        names = [each.name for each in self.protocols]
        scored = (f"{name} {sum(counted[method, name] for method in self.outcomes_of)}" for name in names)
        return f"continue the run; scored so far: {', '.join(scored)} of {count} outcomes"


def build_plan(
    benchmark: str | Path,
    outcomes: Paths,
    protocol: Sequence[str],
    *,
    data: DataOptions,
    models: ModelOptions,
    judge_config: JudgeConfig,
    seed: int,
    layout: str | None = None,
    allow_outside: bool = False,
    attributes: str | Path | None = None,
    shard: Shard = WHOLE,
    fields: str | Path | None = None,
    captions: str | Path | None = None,
) -> RunPlan:
    """Opens the benchmark and finds the outcomes; writes nothing."""
    names, remark = (protocol, "") if protocol else default_protocols(models)
    chosen, choice = open_protocols_with_models(names, models, judge_config.names, judge_config.prompts)
    if remark:
        choice = replace(choice, remarks=(*choice.remarks, remark))
    folders = (
        outcomes if isinstance(outcomes, Mapping) else expand([outcomes] if isinstance(outcomes, str) else outcomes)
    )
    places = {name: _place(text) for name, text in pairs(folders, "outcomes", "NAME=FOLDER").items()}
    if not places:
        raise BadInputError("--outcomes is needed at least once, as NAME=FOLDER.")
    opened = open_benchmark(benchmark, data.data, data.images)
    readings = load_parses(Path(fields)) if fields else None
    if readings:
        opened = apply_parses(opened, readings)
    if attributes is not None:
        opened = attach(opened, read_attributes(attributes))
    if captions is not None:
        opened = attach_captions(opened, read_captions(captions))
    outcomes_of = {
        name: find_outcomes(name, place, opened.edits, layout, allow_outside=allow_outside)
        for name, place in places.items()
    }
    if data.limit is not None and data.limit < len(opened.edits):
        opened = replace(opened, edits=opened.edits[: data.limit])
        kept = {edit.id for edit in opened.edits}
        outcomes_of = {name: _of_these(these, kept) for name, these in outcomes_of.items()}
    counts = {name: _count(opened.edits, these, shard) for name, these in outcomes_of.items()}
    followed: set[str] = set()
    manifest = Manifest(
        benchmark=opened.name,
        edits_sha256=edits_sha256(_noticing(opened.edits, followed)),
        edits=len(opened.edits),
        seed=seed,
        models=_factory.describe(choice.models),
        methods={name: str(place) for name, place in places.items()},
        protocols={
            each.name: ProtocolEntry(each.about, each.paper, each.version, tuple(each.deviations), tuple(each.scores))
            for each in chosen
        },
        roles={each.name: _roles(each, choice.models) for each in chosen},
        planned={name: dict.fromkeys((each.name for each in chosen), count) for name, count in counts.items()},
        editgauge=__version__,
        environment=environment(),
        judges=judge_config.describe(),
        fields_sha256=readings.sha256 if readings else "",
        shard="" if shard == WHOLE else str(shard),
        places=_places(benchmark, data),
    )
    return RunPlan(opened, chosen, choice, outcomes_of, manifest, judge_config, shard, frozenset(followed))


def _places(benchmark: str | Path, data: DataOptions) -> dict[str, str]:
    """Where the benchmark is and its files, as far as its name does not say it: `verify` and `plan` need them again."""
    named = {"benchmark": benchmark if is_path(benchmark) else None, "data": data.data, "images": data.images}
    return {name: str(_place(str(path))) for name, path in named.items() if path is not None}


def _roles(protocol: Protocol, models: Collection[str]) -> list[str]:
    """The roles that the protocol may ask; one that declares none may ask any."""
    declared = {*protocol.needs, *protocol.uses}
    its = models_for(protocol.name, {role: role for role in models})
    return sorted(key for role, key in its.items() if not declared or role in declared)


def _of_these(method_outcomes: FoundOutcomes, edits: Collection[str]) -> FoundOutcomes:
    """The outcomes of some edits; what is missing for others is no fault."""
    outcomes = tuple(outcome for outcome in method_outcomes.outcomes if outcome.edit_id in edits)
    faults = tuple(fault for fault in method_outcomes.faults if fault.kind != "missing" or fault.where in edits)
    return replace(method_outcomes, outcomes=outcomes, faults=faults)


def outcomes_with_edits(
    edits: Sequence[Edit], method_outcomes: FoundOutcomes
) -> Iterator[tuple[int, Edit, int, Outcome]]:
    """Every outcome with its edit and the places of both. They stand in the same order, so that one pass meets both."""
    waiting, here = enumerate(edits), None
    for number, outcome in enumerate(method_outcomes.outcomes):
        while here is None or here[1].id != outcome.edit_id:
            here = next(waiting)
        yield *here, number, outcome


def _count(edits: Sequence[Edit], method_outcomes: FoundOutcomes, shard: Shard) -> int:
    """How many of the outcomes belong to the shard."""
    if shard == WHOLE:
        return len(method_outcomes.outcomes)
    return sum(shard.holds(edit.origin) for _, edit, _, _ in outcomes_with_edits(edits, method_outcomes))


def _noticing(edits: Iterable[Edit], followed: set[str]) -> Iterator[Edit]:
    """The edits as they are, noticing on the way which of them are followed by another."""
    for edit in edits:
        if edit.follows is not None:
            followed.add(edit.follows)
        yield edit


def _place(text: str) -> Path:
    place = Path(text).expanduser().absolute()
    refuse_odd_bytes(place)
    return place


def refuse_odd_bytes(path: Path) -> None:
    """Linux allows names that are no text in any encoding; no manifest could hold them."""
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        raise BadInputError(
            f"The path {str(path)!a} holds bytes that are not UTF-8; rename the file or folder."
        ) from error


AGAIN = frozenset({"crashed", "budget", "unreachable"})
"""Reasons that say nothing about the outcome: what has no score for one of them is tried again."""


class _Spot(NamedTuple):
    """Where an outcome stands: the edit in the benchmark, the method in the plan, the outcome among the method's."""

    edit: int
    method: int
    outcome: int


class Tasks(Sequence[ScoringTask]):
    """Tasks by the places of their parts: a million of them take some thirty megabytes."""

    def __init__(self, plan: RunPlan) -> None:
        self._turns = _Turns(plan)
        self._edits = plan.benchmark.edits
        self._outcomes = [these.outcomes for these in plan.outcomes_of.values()]
        self._columns = [array("q") for _ in range(4)]
        """The places of edit, method and outcome, and of the protocols among all choices of them."""
        self._choices: list[tuple[str, ...]] = []
        self._sources = array("q")

    def add(self, spot: _Spot, task: ScoringTask) -> None:
        """Puts one more at the end."""
        if task.protocols not in self._choices:
            self._choices.append(task.protocols)
        for column, place in zip(self._columns, (*spot, self._choices.index(task.protocols)), strict=True):
            column.append(place)
        self._sources.append(hash(str(task.edit.source.path)))

    def group_by_source(self) -> None:
        """Brings outcomes of one source image together, sources in the order in which they come first."""
        _, first, source = np.unique(self._sources, return_index=True, return_inverse=True)
        order = np.lexsort((np.asarray(self._columns[0]), first[source]))
        self._columns = [array("q", np.asarray(column)[order].tobytes()) for column in self._columns]

    def __len__(self) -> int:
        return len(self._columns[0])

    @overload
    def __getitem__(self, place: int) -> ScoringTask: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[ScoringTask]: ...
    def __getitem__(self, place: int | slice) -> ScoringTask | Sequence[ScoringTask]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        edit, method, number, protocols = (column[place] for column in self._columns)
        turn = self._turns.of(method, self._edits[edit], self._outcomes[method][number])
        return ScoringTask(edit, *turn, self._choices[protocols])


class _Turns:
    """Edits and outcomes as they stand in their turn."""

    def __init__(self, plan: RunPlan) -> None:
        self._before: list[dict[tuple[str, int], Outcome]] = [
            {(each.edit_id, each.seed): each for each in these.outcomes if each.edit_id in plan.followed}
            if plan.followed
            else {}
            for these in plan.outcomes_of.values()
        ]

    def of(self, method: int, edit: Edit, outcome: Outcome) -> tuple[Edit, Outcome]:
        """From the second turn on, the source is what the method itself made of the turn before."""
        if edit.follows is None:
            return edit, outcome
        before = self._before[method].get((edit.follows, outcome.seed))
        if before is None or before.image is None:
            absence = f"the outcome of the turn before, '{edit.follows}', is missing"
            return edit, replace(outcome, image=None, absence=absence)
        return replace(edit, source=ImageFile(edit.source.name, before.image)), outcome


def all_tasks(plan: RunPlan) -> Iterator[ScoringTask]:
    """Every outcome of the plan, with the edit as it stands in its turn."""
    return (task for _, task in _walk(plan))


class Remaining:
    """The outcomes that a run into a folder would still score, each with the protocols that are left of it."""

    def __init__(self, plan: RunPlan, out: Path) -> None:
        self._plan = plan
        self._held = _held(plan, out)

    def __iter__(self) -> Iterator[ScoringTask]:
        for task in all_tasks(self._plan):
            stamps = current_stamps(task)
            left = tuple(key.protocol for key in keys_of(task) if fingerprint(key, *stamps) not in self._held)
            if left:
                yield replace(task, protocols=left)


def _held(plan: RunPlan, out: Path) -> set[int]:
    """What the run holds and would keep; nothing when it would start over."""
    if not is_run(out) or Manifest.load(out).differences(plan.manifest):
        return set()
    scores = Run.open(out).scores
    again = set(tables.iter_keys(tables.filter_reasons(scores, AGAIN)))
    return {fingerprint(key, *images) for key, images in tables.iter_stamps(scores) if key not in again}


def tasks_left(plan: RunPlan, writer: RunWriter) -> tuple[Sequence[ScoringTask], int]:
    """What is left to do, outcomes of one source image together, and how many outcomes are done."""
    passing = {key for key in writer.iter_keys(AGAIN) if _is_asked_for(key, plan)}
    stale = set(passing)
    tasks = Tasks(plan)
    done = known = 0
    for spot, task in _walk(plan):
        keys, stamps = keys_of(task), current_stamps(task)
        states = {key: writer.state(key, stamps) for key in keys}
        known += sum(state != "new" for state in states.values())
        stale |= {key for key, state in states.items() if state == "stale"}
        left = tuple(key.protocol for key, state in states.items() if key in passing or state != "done")
        if left:
            tasks.add(spot, replace(task, protocols=left))
        else:
            done += 1
    if known < sum(writer.count(method, each.name) for method in plan.outcomes_of for each in plan.protocols):
        planned = {key for task in all_tasks(plan) for key in keys_of(task)}
        stale |= {
            key for key in writer.iter_keys() if _is_asked_for(key, plan) and key not in planned
        }  # taken away since
    writer.retire(stale)
    tasks.group_by_source()
    return tasks, done


def _walk(plan: RunPlan) -> Iterator[tuple[_Spot, ScoringTask]]:
    """Every task of the plan's shard, and where its parts stand."""
    names = tuple(each.name for each in plan.protocols)
    turns = _Turns(plan)
    for method, these in enumerate(plan.outcomes_of.values()):
        for place, edit, number, outcome in outcomes_with_edits(plan.benchmark.edits, these):
            if plan.shard.holds(edit.origin):
                refuse_odd_bytes(outcome.image or Path())
                yield _Spot(place, method, number), ScoringTask(place, *turns.of(method, edit, outcome), names)


def _is_asked_for(key: Key, plan: RunPlan) -> bool:
    """Whether the plan has a say in it: other methods and protocols of the run are left alone."""
    return key.method in plan.outcomes_of and any(key.protocol == each.name for each in plan.protocols)


def keys_of(task: ScoringTask) -> list[Key]:
    """What its records will be about, one for each protocol."""
    outcome = task.outcome
    return [Key(outcome.edit_id, outcome.method, outcome.seed, name) for name in task.protocols]
