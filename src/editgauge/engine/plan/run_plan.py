"""What a run is going to do: the benchmark, the outcomes that were found, and what is left to score."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from editgauge import __version__
from editgauge.benchmarks import is_path, open_benchmark
from editgauge.benchmarks.attributes import attach, read_attributes
from editgauge.benchmarks.editinspector.outcome_captions import attach_captions, read_captions
from editgauge.engine.judges import Jury
from editgauge.engine.options import choose_with_models, pairs, usual_protocols
from editgauge.engine.plan.shards import WHOLE, Shard
from editgauge.errors import BadInputError
from editgauge.instructions.parsed import apply_parses, load_parses
from editgauge.methods.layouts.discover import expand
from editgauge.methods.outcomes import FoundOutcomes, find_outcomes
from editgauge.models import service
from editgauge.models.profiles import ModelChoice, models_for
from editgauge.options import DataOptions, ModelOptions, Paths
from editgauge.protocols import Protocol
from editgauge.results import Run, tables
from editgauge.results.edits import edits_sha256
from editgauge.results.manifest import Manifest, ProtocolEntry, environment, is_run
from editgauge.results.writer import SUPERSEDED
from editgauge.types import Benchmark, Edit, Outcome


@dataclass(frozen=True, slots=True)
class RunPlan:
    """Everything a run needs to know before its folder is touched."""

    benchmark: Benchmark
    protocols: list[Protocol]
    choice: ModelChoice
    outcomes_of: dict[str, FoundOutcomes]
    manifest: Manifest
    jury: Jury
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
    jury: Jury,
    seed: int,
    layout: str | None = None,
    allow_outside: bool = False,
    attributes: str | Path | None = None,
    shard: Shard = WHOLE,
    fields: str | Path | None = None,
    captions: str | Path | None = None,
) -> RunPlan:
    """Opens the benchmark and finds the outcomes; writes nothing."""
    names, remark = (protocol, "") if protocol else usual_protocols(models)
    chosen, choice = choose_with_models(names, models, jury.names, jury.prompts)
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
        models=service.describe(choice.models),
        methods={name: str(place) for name, place in places.items()},
        protocols={
            each.name: ProtocolEntry(each.about, each.paper, each.version, tuple(each.deviations), tuple(each.scores))
            for each in chosen
        },
        roles={each.name: _roles(each, choice.models) for each in chosen},
        planned={name: dict.fromkeys((each.name for each in chosen), count) for name, count in counts.items()},
        editgauge=__version__,
        environment=environment(),
        judges=jury.described(),
        fields_sha256=readings.sha256 if readings else "",
        shard="" if shard == WHOLE else str(shard),
        places=_places(benchmark, data),
    )
    return RunPlan(opened, chosen, choice, outcomes_of, manifest, jury, shard, frozenset(followed))


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
