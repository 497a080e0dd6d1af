"""The verb `run`: from a benchmark and outcomes to a run folder."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from editgauge.core.edits import each_line
from editgauge.core.errors import BadInput, UnknownName
from editgauge.core.progress import progress, say
from editgauge.core.run import Run, RunWriter
from editgauge.core.trace.summary import begin, gather
from editgauge.engine.judges import FOLDER, judges_of, read_jury
from editgauge.engine.plan.run_plan import prepare
from editgauge.engine.plan.shards import WHOLE, read_shard, refuse_another_shard
from editgauge.engine.plan.tasks import tasks_left
from editgauge.engine.plan.worker_count import (
    WorkerCount,
    bytes_of_weights,
    choose_worker_count,
    run_on_cards,
    this_machine,
)
from editgauge.engine.record.judge_usage import tallied
from editgauge.engine.record.sets import forget_sets, score_sets
from editgauge.engine.schedule import local
from editgauge.engine.schedule.local import Setup
from editgauge.methods.outcomes import FoundOutcomes
from editgauge.models.cache import place

if TYPE_CHECKING:
    from editgauge.core.run import Record
    from editgauge.engine.schedule.local import Setup
    from editgauge.engine.worker.scoring import ScoringTask

FAULTS_TOLD = 8


def run(
    benchmark: str | Path,
    outcomes: Mapping[str, str | Path] | Sequence[str],
    protocol: Sequence[str] = ("preservation",),
    out: str | Path = "run",
    data: str | Path | None = None,
    images: str | Path | None = None,
    layout: str | None = None,
    limit: int | None = None,
    models: str | None = None,
    model: Mapping[str, str] | Sequence[str] = (),
    attributes: str | Path | None = None,
    judge: Mapping[str, str] | Sequence[str] = (),
    price: str | None = None,
    budget: float | None = None,
    max_tokens: int | None = None,
    prompts: str | Path | None = None,
    replay: bool = False,
    panel: str | None = None,
    quorum: int | None = None,
    temperature: float | None = None,
    top_p: float | None = None,
    judge_seed: int | None = None,
    seed: int = 0,
    processes: int = 0,
    engine: str = "local",
    address: str | None = None,
    shard: str | None = None,
    profile: bool = False,
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
        data: where the benchmark's public files lie, for those that are not shipped.
        images: where its source images lie, when they come from elsewhere (such as a COCO folder).
        layout: how the outcomes are named (`editgauge list layouts`); recognised when not given.
        limit: only the first so many edits.
        models: the profile whose models add scores: lite, paper or best. Without one, only what a protocol cannot do
            without is asked, and that of `lite`.
        model: another model for a role: `{"detector": "name"}` or `["detector=name"]`; `none` leaves the role out.
        attributes: a file with the attributes of the edits, for protocols that compare by them (`editgauge build
            attributes` makes one).
        judge: a language or vision-language model for protocols that ask one: an address such as
            `openai:MODEL@URL` or `transformers:FOLDER`, or `NAME=ADDRESS`.
        price: what a million tokens cost, as `PROMPT,COMPLETION`.
        budget: the most that all calls of this run may cost together; needs `price`.
        max_tokens: how long an answer of a judge may become; 512 when left out.
        prompts: a folder of prompts in place of the built-in ones.
        replay: ask no judge; answer from the transcripts of the run.
        panel: `median`, `mean` or `majority`: several judges also answer together, beside each for itself.
        quorum: how many judges of the panel must answer; more than half when left out.
        temperature: how freely judges choose their words; 0 when left out.
        top_p: from how much of the likely words they choose.
        judge_seed: for endpoints that take one; repetitions count up from it.
        seed: for everything drawn at random.
        processes: worker processes; 0 chooses by cores, memory and graphics cards.
        engine: what scores: `local` processes of this machine, or actors of a `ray` cluster.
        address: of a Ray cluster that runs, such as `10.0.0.1:6379`, or `auto` for the one this machine belongs to;
            one is started on this machine when left out.
        shard: score only one part of the outcomes, such as `2/8`: those whose source image falls into the second of
            eight parts. Each shard wants a run folder of its own; `merge` makes one run of them.
        profile: also record where the time goes, into the folder `profile` of the run; the report then shows it.
        quiet: no progress, no remarks.
    """
    jury = read_jury(
        judge, price, budget, max_tokens, replay, prompts, judges_of(out), panel, quorum, temperature, top_p, judge_seed
    )
    part = read_shard(shard)
    check_engine(engine, address)
    plan = prepare(
        benchmark, outcomes, protocol, data, images, layout, models, model, seed, attributes, jury, part, limit
    )
    refuse_another_shard(Path(out), part)
    if plan.benchmark.about:
        say(f"{plan.benchmark.name}: {plan.benchmark.about}", quiet=quiet)
    for name, these in plan.found.items():
        say(these.sentence(name), quiet=quiet)
        for row in _fault_rows(these):
            say(row, quiet=quiet)
    for remark in (*plan.choice.remarks, *_told_models(plan.choice.models), *_told_judges(plan.manifest.judges)):
        say(remark, quiet=quiet)
    if part != WHOLE:
        of = sum(len(these.outcomes) for these in plan.found.values())
        say(f"shard {part}: {plan.outcomes} of {of} outcomes", quiet=quiet)
    with RunWriter(Path(out), plan.manifest, each_line(plan.benchmark.edits)) as writer:
        for note in writer.notes:
            say(note, quiet=quiet)
        tasks, done = tasks_left(plan, writer)
        if done:
            then = "continuing" if tasks else "nothing is left to do"
            say(f"{done} of {done + len(tasks)} outcomes were scored before; {then}.", quiet=quiet)
        if tasks:
            forget_sets(plan, Path(out))
        names = tuple(each.name for each in plan.protocols)
        timed = begin(Path(out)) if profile and tasks else None
        with (
            tallied(Path(out), plan.manifest.judges, priced=jury.price is not None, quiet=quiet) as tallies,
            progress("scoring", len(tasks) + done, quiet=quiet, done=done) as advance,
        ):
            setup = Setup(names, plan.choice.models, place(), jury, Path(out) / FOLDER, timed, tallies)
            with closing(scored(tasks, setup, processes, engine, address, quiet=quiet)) as answers:
                for records in answers:
                    for record in records:
                        writer.append(record)
                    advance()
        if timed:
            gather(timed)
        score_sets(plan, Path(out), place(), quiet=quiet)
        writer.finish()
    return Run.open(Path(out))


def _told_models(models: Mapping[str, str]) -> list[str]:
    return [f"{role}: {name}" for role, name in models.items()]


def _told_judges(judges: Mapping[str, Mapping[str, Any]]) -> list[str]:
    return [f"judge {name}: {told['model']} at {told['endpoint']}" for name, told in judges.items()]


def _fault_rows(found: FoundOutcomes) -> list[str]:
    """The first few faults as a table."""
    rows = [f"  {fault.kind:<13}{fault.where}: {fault.detail}" for fault in found.faults[:FAULTS_TOLD]]
    more = len(found.faults) - len(rows)
    return [*rows, f"  and {more} more; --dry-run lists all"] if more else rows


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
