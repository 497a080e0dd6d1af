"""The verb `plan`: what a run will take, estimated from a few source images that are scored now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from editgauge._util.variants import base_name
from editgauge.benchmarks import benchmarks
from editgauge.engine._judge_cost import Extrapolation, questions_at_most
from editgauge.engine._judges import judges_of, read_judge_config, transcripts_of
from editgauge.engine._machine import this_machine, worker_count_for
from editgauge.engine._run_plan import COMPLETE, RemainingTasks, RunPlan, Shard, build_plan, read_shard
from editgauge.engine._schedule import Setup
from editgauge.engine._trial import (
    MAX_OUTCOMES_PER_SOURCE,
    ModelEffort,
    ModelSpeeds,
    SampleSize,
    TrialResult,
    expected_seconds,
    free_cores,
    sample_tasks,
    score_sample,
)
from editgauge.errors import BadInputError
from editgauge.models._cache import cache_dir
from editgauge.options import (
    Amount,
    Count,
    DataOptions,
    JudgeOptions,
    Natural,
    Pairs,
    Paths,
    ScorerOptions,
    document_options,
)
from editgauge.results.manifest import Manifest, is_run

MAX_SAMPLED_SOURCES = 6
"""Maximum number of source images whose outcomes are scored for the estimate, unless another number is given."""
SAMPLING_DIVISOR = 10
"""By default at most one outcome in ten is scored for the estimate, but at least one."""
PARENT_PROCESS_BYTES = 200_000_000
"""Memory of the process that distributes tasks and writes results (`benchmarks/scale.py`: 190 MB)."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What a run will take, estimated from a few outcomes."""

    benchmark: str
    outcomes: int = 0
    """That are left to score."""
    done: int
    source_images: int = 0
    sampled: int = 0
    """Outcomes that were scored for the estimate."""
    models: tuple[ModelWork, ...] = ()
    recalled: int = 0
    """Answers of models that are remembered from earlier runs."""
    own_seconds: float = 0.0
    """CPU seconds for decoding, metrics and rules."""
    cpu_seconds: float = 0.0
    """CPU seconds of all threads of all processes, for models on the processor too; without starting."""
    processes: int = 0
    cores: int
    free_cores: float
    """How many of the cores a run gets while the machine is as busy as it is now."""
    start_seconds: float = 0.0
    """Wall time, until processes have started and models are loaded; part of `seconds`."""
    seconds: float = 0.0
    """Wall time, with the machine as busy as it is now; with judges, if it is known how long a call takes."""
    seconds_alone: float = 0.0
    """The same if nothing else uses the processor."""
    memory: int = 0
    """Bytes, of all processes."""
    run_bytes: int = 0
    cache_bytes: int = 0
    judges: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@document_options
def plan(
    benchmark: str | Path,
    *,
    outcomes: Paths = (),
    protocol: Sequence[str] = (),
    out: str | Path = "run",
    data: str | Path | None = None,
    images: str | Path | None = None,
    layout: str | None = None,
    allow_outside: bool = False,
    limit: Count | None = None,
    skip_broken: bool = False,
    models: str | None = None,
    model: Pairs = (),
    attributes: str | Path | None = None,
    judge: str | Pairs = (),
    price: str | None = None,
    max_tokens: Count | None = None,
    prompts: str | Path | None = None,
    panel: str | None = None,
    quorum: Count | None = None,
    call_seconds: Amount | None = None,
    processes: Natural = 0,
    sources: Count | None = None,
    shard: str | None = None,
) -> Forecast:
    """Estimate time, memory, disk and judge cost of a run before it starts.

    The outcomes of a few source images are scored now and the rest is extrapolated; no judge is asked. Given a run
    folder, it estimates what remains of that run. Times assume that the machine stays as busy as it is now.

    Example:
        $ editgauge plan editval --outcomes mine=outcomes/ --protocol editval --models lite
        $ editgauge plan run
        >>> editgauge.plan("editval", outcomes={"mine": "outcomes/"}, protocol=["editval"], models="lite")

    Args:
        benchmark: a benchmark's name, a folder of your own, or a run folder.
        outcomes: where the outcomes are, as `NAME=FOLDER`; by default as in the run in `out`.
        protocol: how to score; repeat for several protocols. By default: those of the verdict, and pixel differences.
        out: run folder; what it already holds is not counted.
        layout: how outcome files are named; detected by default.
        allow_outside: let an outcome list name images outside its own folder.
        attributes: file with the attributes of the edits.
        call_seconds: seconds per judge call; by default taken from the transcripts.
        processes: worker processes; 0 chooses by cores, memory and GPUs.
        sources: number of source images to score for the estimate; by default a tenth of the outcomes, of at most 6
            source images.
        shard: one part only, such as `2/8`.

    """
    part = read_shard(shard)
    request = _Request(
        out=Path(out),
        benchmark=benchmark,
        outcomes=outcomes,
        protocol=protocol,
        model=model,
        judge=judge,
        max_tokens=max_tokens,
        shard=part,
        limit=limit,
        data=data,
        images=images,
        skip_broken=skip_broken,
    )
    if is_run(benchmark) or (not outcomes and is_run(out)):
        request = request.completed(has_models=models is not None)
    judges = JudgeOptions(
        judge=request.judge, price=price, max_tokens=request.max_tokens, prompts=prompts, panel=panel, quorum=quorum
    )
    run_plan = build_plan(
        request.benchmark,
        request.outcomes,
        ScorerOptions(protocol=request.protocol, models=models, model=request.model, judge=judges),
        data=DataOptions(
            data=request.data, images=request.images, limit=request.limit, skip_broken=request.skip_broken
        ),
        layout=layout,
        allow_outside=allow_outside,
        seed=request.seed,
        attributes=attributes,
        judge_config=read_judge_config(judges, judges_of(request.out)),
        shard=request.shard,
    )
    return _forecast(run_plan, request.out, call_seconds, processes, sources)


@dataclass(frozen=True, slots=True)
class _Request:
    """Options of a plan; the benchmark or `out` may be a run folder."""

    out: Path
    benchmark: str | Path
    outcomes: Paths
    protocol: Sequence[str]
    model: Pairs
    judge: str | Pairs
    max_tokens: int | None
    shard: Shard
    limit: int | None
    data: str | Path | None
    images: str | Path | None
    skip_broken: bool = False
    seed: int = 0

    def completed(self, *, has_models: bool) -> _Request:
        """Fill missing options from the run's manifest; its models only if no profile was requested."""
        folder = Path(self.benchmark) if is_run(self.benchmark) else self.out
        run = Manifest.load(folder)
        tokens = (judge["parameters"]["max_tokens"] for judge in run.judges.values())
        return replace(
            self,
            out=folder,
            benchmark=_known_benchmark(run, folder) if is_run(self.benchmark) else self.benchmark,
            outcomes=self.outcomes or run.methods,
            protocol=self.protocol or list(run.protocols),
            model=self.model or ({} if has_models else {role: judge["name"] for role, judge in run.models.items()}),
            judge=self.judge or {name: judge["address"] for name, judge in run.judges.items()},
            max_tokens=next(tokens, None) if self.max_tokens is None else self.max_tokens,
            seed=run.seed,
            shard=read_shard(run.shard or None) if self.shard == COMPLETE else self.shard,
            limit=run.edits if self.limit is None else self.limit,
            data=self.data or run.locations.get("data"),
            images=self.images or run.locations.get("images"),
            skip_broken=self.skip_broken or bool(run.broken),
        )


def _known_benchmark(run: Manifest, folder: Path) -> str:
    """Return the run's benchmark by name, or by its path if it has no name."""
    name = run.locations.get("benchmark", run.benchmark)
    if not Path(name).exists() and base_name(name) not in benchmarks:
        raise BadInputError(
            f"'{folder}' was run on '{name}', which is neither the name of a benchmark nor a folder here. "
            f"Pass the benchmark's folder, `out='{folder}'` and the run's "
            "outcomes, protocols and models."
        )
    return name


def _forecast(
    run_plan: RunPlan, out: Path, call_seconds: float | None, processes: int, sources: int | None
) -> Forecast:
    tasks = RemainingTasks(run_plan, out)
    of_sources = Counter(task.edit.source.name for task in tasks)
    left = of_sources.total()
    machine = this_machine()
    if not left:
        cores = machine.cores
        return Forecast(
            benchmark=run_plan.benchmark.name, done=run_plan.outcomes, cores=cores, free_cores=free_cores(cores)
        )
    with_image = Counter(task.edit.source.name for task in tasks if task.outcome.image)
    if not with_image:
        raise BadInputError("No outcome has an image, so nothing can be estimated.")
    sample = sample_tasks(tasks, list(with_image), _sample_size(with_image, sources))
    times = with_image.total() / len(sample)
    workers = worker_count_for(
        processes, left, run_plan.choice.models, machine, judges=bool(run_plan.judge_config.addresses)
    )
    names = tuple(protocol.name for protocol in run_plan.protocols)
    setup = Setup(names, run_plan.choice.models, cache_dir(), run_plan.judge_config, transcripts_of(out))
    before = free_cores(machine.cores)
    limits = questions_at_most(run_plan.protocols, tasks)
    took = score_sample(setup, sample, Extrapolation(times, limits, call_seconds), workers.processes)
    free = (before + free_cores(machine.cores)) / 2
    speeds = ModelSpeeds()
    speeds.add(took.efforts)
    asking = max((usage.get("seconds", 0.0) for usage in took.judges.values()), default=0.0)
    now = _Clock.of(took, times, workers.processes, free)
    share = free / machine.cores
    alone = _Clock.of(took, times, workers.processes, machine.cores, share)
    return Forecast(
        benchmark=run_plan.benchmark.name,
        outcomes=left,
        done=run_plan.outcomes - left,
        source_images=len(of_sources),
        sampled=len(sample),
        models=tuple(work for effort in took.efforts for work in _work(effort, speeds, times)),
        recalled=round(sum(effort.recalled for effort in took.efforts) * times),
        own_seconds=took.work.outside_models * times,
        cpu_seconds=took.work.cpu * times,
        processes=workers.processes,
        cores=machine.cores,
        free_cores=free,
        start_seconds=now.start,
        seconds=now.start + max(now.work, asking),
        seconds_alone=alone.start + max(alone.work, asking),
        memory=PARENT_PROCESS_BYTES + workers.processes * took.memory,
        run_bytes=round(took.bytes * times),
        cache_bytes=round(sum(work.bytes for effort in took.efforts for work in effort.work.values()) * times),
        judges=took.judges,
    )


def _sample_size(with_image: Counter[str], sources: int | None) -> SampleSize:
    """Choose all outcomes of a few sources, as outcomes of one source share work."""
    if sources is not None:
        return SampleSize(sources)
    few = max(1, with_image.total() // SAMPLING_DIVISOR)
    per_source = min(MAX_OUTCOMES_PER_SOURCE, with_image.total() / len(with_image))
    return SampleSize(min(MAX_SAMPLED_SOURCES, max(1, int(few / per_source))), min(few, MAX_OUTCOMES_PER_SOURCE))


@dataclass(frozen=True, slots=True)
class _Clock:
    """Seconds of wall time."""

    start: float
    """Of the command, then of its processes, which load all models at the same time."""
    work: float

    @classmethod
    def of(cls, took: TrialResult, times: float, processes: int, cores: float, share: float = 1.0) -> _Clock:
        """Estimate wall time for that many cores; `share` removes the load of other processes."""
        start, loading, work = (effort.without_contention(share) for effort in (took.start, took.loading, took.work))
        starting = start.seconds + expected_seconds(start + loading, processes, processes, cores)
        return cls(starting, expected_seconds(work, times, processes, cores))


def _work(effort: ModelEffort, speeds: ModelSpeeds, times: float) -> list[ModelWork]:
    return [
        ModelWork(effort.name, question, round(work.answers * times), speeds.seconds_each(effort, question))
        for question, work in effort.work.items()
    ]
