"""The verb `run`: from a benchmark and outcomes to a run folder."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from editgauge._util.profiling import begin, gather
from editgauge._util.progress import log_info, progress
from editgauge.engine import _schedule
from editgauge.engine._judge_cost import estimate_judge_cost
from editgauge.engine._judges import FOLDER, count_judge_usage, judges_of, keep_prompts, read_judge_config
from editgauge.engine._machine import worker_count_for
from editgauge.engine._run_plan import COMPLETE, build_plan, check_shard, read_shard, remaining_tasks
from editgauge.engine._schedule import Setup
from editgauge.engine._sets import KnownParts, forget_sets, score_sets
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.methods.outcomes import FoundOutcomes
from editgauge.models._cache import cache_dir
from editgauge.options import (
    Amount,
    Count,
    DataOptions,
    JudgeOptions,
    ModelOptions,
    Natural,
    Pairs,
    Paths,
    ScorerOptions,
    Share,
    document_options,
    select_options,
)
from editgauge.results import Run, RunWriter
from editgauge.results.edits import iter_lines, write_inputs

if TYPE_CHECKING:
    from editgauge.engine._run_plan import RunPlan
    from editgauge.engine._scoring import ScoredTask, ScoringTask

MAX_LISTED_FAULTS = 8
PLAN_OPTIONS = ("seed", "layout", "allow_outside", "attributes", "fields", "captions")
"""Options that a plan takes as `run` is given them."""


@document_options
def run(
    benchmark: str | Path,
    *,
    outcomes: Paths,
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
    fields: str | Path | None = None,
    captions: str | Path | None = None,
    judge: str | Pairs = (),
    price: str | None = None,
    budget: Amount | None = None,
    max_tokens: Count | None = None,
    prompts: str | Path | None = None,
    replay: bool = False,
    panel: str | None = None,
    quorum: Count | None = None,
    temperature: Amount | None = None,
    top_p: Share | None = None,
    judge_seed: int | None = None,
    seed: int = 0,
    processes: Natural = 0,
    engine: str = "local",
    address: str | None = None,
    shard: str | None = None,
    timings: bool = False,
    quiet: bool = False,
) -> Run:
    """Score the outcomes of one or more methods on a benchmark.

    Run the same command again to continue after a stop: scores are kept, changed images are scored again, new methods
    and protocols are added. Options that would make scores incomparable start a new run, and the reason is printed.

    Example:
        $ editgauge run sample --outcomes mine=outcomes/ --out run
        >>> editgauge.run("sample", outcomes={"mine": "outcomes/"}, out="run")

    Args:
        benchmark: a name from `editgauge list benchmarks`, or a folder of your own.
        outcomes: where the outcomes are: `NAME=FOLDER`, `NAME=FILE.jsonl`, or `FOLDER/*` for every method in it.
        protocol: how to score; repeat for several protocols. By default: those of the verdict, and pixel differences.
        out: run folder to write: manifest, scores, evidence.
        layout: how outcome files are named (`editgauge list layouts`); detected by default.
        allow_outside: let an outcome list name images outside its own folder.
        attributes: file with the attributes of the edits, from `editgauge build attributes`.
        fields: file with parsed instructions, from `editgauge parse --file`; takes precedence over all others.
        captions: file with difference captions of single outcomes, from `editgauge judges captions`.
        seed: random seed.
        processes: worker processes; 0 chooses by cores, memory and GPUs.
        engine: where to score: `local` processes, or a `ray` cluster.
        address: address of a running Ray cluster, or `auto`; by default one is started on this machine.
        shard: score one part only, such as `2/8`; `editgauge merge` joins the parts.
        timings: record where the time goes; the report then shows it.
        quiet: print no progress, remarks or table.

    """
    part = read_shard(shard)
    check_engine(engine, address)
    judges = JudgeOptions(
        judge=judge,
        price=price,
        budget=budget,
        max_tokens=max_tokens,
        prompts=prompts,
        replay=replay,
        panel=panel,
        quorum=quorum,
        temperature=temperature,
        top_p=top_p,
        judge_seed=judge_seed,
    )
    plan = build_plan(
        benchmark,
        outcomes,
        ScorerOptions(protocol=protocol, models=models, model=model, judge=judges),
        data=DataOptions(data=data, images=images, limit=limit, skip_broken=skip_broken),
        judge_config=read_judge_config(judges, judges_of(out)),
        seed=seed,
        layout=layout,
        allow_outside=allow_outside,
        attributes=attributes,
        fields=fields,
        captions=captions,
        shard=part,
    )
    check_shard(Path(out), part)
    for line in _describe(plan):
        log_info(line, quiet=quiet)
    with RunWriter(Path(out), plan.manifest, iter_lines(plan.benchmark.edits)) as writer:
        for note in writer.notes:
            log_info(note, quiet=quiet)
        keep_prompts(plan.judge_config.prompts, Path(out))
        write_inputs(Path(out), plan.benchmark.edits)
        tasks, done = remaining_tasks(plan, writer)
        if done:
            then = "continuing" if tasks else "nothing is left to do"
            log_info(f"{done} of {done + len(tasks)} outcomes were scored before; {then}.", quiet=quiet)
        if tasks:
            forget_sets(plan, Path(out))
        names = tuple(protocol.name for protocol in plan.protocols)
        timed = begin(Path(out)) if timings and tasks else None
        parts: KnownParts = {}
        with (
            count_judge_usage(
                Path(out), plan.manifest.judges, priced=plan.judge_config.price is not None, quiet=quiet
            ) as tallies,
            progress("scoring", len(tasks) + done, quiet=quiet, done=done) as advance,
        ):
            setup = Setup(names, plan.choice.models, cache_dir(), plan.judge_config, Path(out) / FOLDER, timed, tallies)
            with closing(scored(tasks, setup, processes, engine, address, quiet=quiet)) as answers:
                for answer in answers:
                    for entry in answer.entries:
                        writer.append(entry)
                        if entry.key.protocol in answer.parts:
                            parts[entry.key] = answer.parts[entry.key.protocol]
                    advance()
        if timed:
            gather(timed)
        score_sets(plan, Path(out), cache_dir(), parts, quiet=quiet)
        writer.finish()
    return Run.open(Path(out))


def preview(benchmark: str | Path, *, outcomes: Paths, protocol: Sequence[str], **options: Any) -> dict[str, Any]:
    """Return what `run` would do with the same options, without writing anything."""
    out = Path(options["out"])
    plan = build_plan(
        benchmark,
        outcomes,
        ScorerOptions(protocol=protocol, models=select_options(ModelOptions, options)),
        data=select_options(DataOptions, options),
        judge_config=read_judge_config(select_options(JudgeOptions, options), judges_of(out)),
        shard=read_shard(options["shard"]),
        **{name: options[name] for name in PLAN_OPTIONS},
    )
    asking = estimate_judge_cost(plan, out)
    return plan.summary(out) | ({"asking": asking} if asking else {})


def _describe(plan: RunPlan) -> Iterator[str]:
    """Yield lines about the benchmark, outcomes, models and judges of a run."""
    if plan.benchmark.about:
        yield f"{plan.benchmark.name}: {plan.benchmark.about}"
    for name, outcomes in plan.outcomes_of.items():
        yield outcomes.sentence(name)
        yield from _fault_rows(outcomes)
    yield from plan.choice.remarks
    yield from (f"{role}: {name}" for role, name in plan.choice.models.items())
    for name, judge in plan.manifest.judges.items():
        yield f"judge {name}: {judge['model']} at {judge['endpoint']}"
    if plan.shard != COMPLETE:
        total = sum(len(outcomes.outcomes) for outcomes in plan.outcomes_of.values())
        yield f"shard {plan.shard}: {plan.outcomes} of {total} outcomes"


def _fault_rows(outcomes: FoundOutcomes) -> list[str]:
    """Return the first few problems as table rows."""
    rows = [f"  {fault.kind:<13}{fault.where}: {fault.detail}" for fault in outcomes.faults[:MAX_LISTED_FAULTS]]
    more = len(outcomes.faults) - len(rows)
    return [*rows, f"  and {more} more"] if more else rows


ENGINES = ("local", "ray")


def check_engine(engine: str, address: str | None) -> None:
    """Reject an engine that does not exist, and an address without an engine that uses it."""
    if engine not in ENGINES:
        raise UnknownNameError("engine", engine, ENGINES)
    if address is not None and engine != "ray":
        raise BadInputError(f"`address` '{address}' needs `engine='ray'`.")


def scored(
    tasks: Sequence[ScoringTask],
    setup: Setup,
    processes: int = 0,
    engine: str = "local",
    address: str | None = None,
    *,
    quiet: bool = False,
) -> Generator[ScoredTask, None, None]:
    """Yield scored tasks as they complete, in arbitrary order; closing the generator stops the workers."""
    if not tasks:
        return
    if engine == "ray" and setup.judge_config.addresses:
        log_info("Judges run in one local process, which enforces rate limit and budget; Ray is not used.", quiet=quiet)
    elif engine == "ray":
        from editgauge.engine import _ray as ray_engine

        yield from ray_engine.execute(tasks, setup, processes, address)
        return
    workers = worker_count_for(processes, len(tasks), setup.models, judges=bool(setup.judge_config.addresses))
    yield from _schedule.execute(tasks, setup, workers)
