"""`editgauge run`."""

from __future__ import annotations

import sys
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from editgauge.cli._judge_options import (
    Budget,
    Judges,
    JudgeSeed,
    MaxTokens,
    Panel,
    Price,
    Prompts,
    Quorum,
    Replay,
    Temperature,
    TopP,
)
from editgauge.cli._role_options import Models, Profile, WithRoles


def run(
    benchmark: Annotated[str, typer.Argument(help="A name from `editgauge list benchmarks`, or a folder of your own.")],
    outcomes: Annotated[
        list[str],
        typer.Option(help="Where outcomes lie: NAME=FOLDER, NAME=FILE.jsonl, or 'FOLDER/*' for every method in it."),
    ],
    protocol: Annotated[list[str], typer.Option(help="How to score; give it once per protocol.")] = ["preservation"],  # noqa: B006
    out: Annotated[Path, typer.Option(help="The run folder: manifest, scores, evidence.")] = Path("run"),
    data: Annotated[Path | None, typer.Option(help="Where the benchmark's public files lie, if not shipped.")] = None,
    images: Annotated[Path | None, typer.Option(help="Where its source images lie, such as a COCO folder.")] = None,
    layout: Annotated[str | None, typer.Option(help="How outcomes are named; recognised when not given.")] = None,
    limit: Annotated[int | None, typer.Option(help="Only the first so many edits.", min=1)] = None,
    models: Profile = None,
    model: Models = [],  # noqa: B006
    attributes: Annotated[
        Path | None, typer.Option(help="Attributes of the edits, from `editgauge build attributes`.")
    ] = None,
    judge: Judges = [],  # noqa: B006
    price: Price = None,
    budget: Budget = None,
    max_tokens: MaxTokens = None,
    prompts: Prompts = None,
    replay: Replay = False,
    panel: Panel = None,
    quorum: Quorum = None,
    temperature: Temperature = None,
    top_p: TopP = None,
    judge_seed: JudgeSeed = None,
    seed: Annotated[int, typer.Option(help="For everything drawn at random.")] = 0,
    processes: Annotated[int, typer.Option(help="Worker processes; 0 chooses by cores, memory and GPUs.", min=0)] = 0,
    engine: Annotated[str, typer.Option(help="What scores: `local` processes, or a `ray` cluster.")] = "local",
    address: Annotated[
        str | None, typer.Option(help="Of a Ray cluster, or `auto`; one is started here when not given.")
    ] = None,
    shard: Annotated[
        str | None, typer.Option(help="Score one part only, such as 2/8; `editgauge merge` joins the parts.")
    ] = None,
    profile: Annotated[
        bool, typer.Option("--profile", help="Record where the time goes; the report then shows it.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no remarks, no table.")] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print the means, and what judges were asked, as JSON instead of a table.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the resolved plan and do nothing.")] = False,
) -> None:
    """Score the outcomes of one or more methods on a benchmark.

    Give the same command again to continue after a stop: what is scored stays, changed images are scored again,
    further methods and protocols are added.

    Options may also come from a YAML file: `editgauge run --options evaluation.yaml`.

    `editgauge run sample --outcomes mine=outcomes/ --protocol preservation --out run`
    """
    try:
        from editgauge.cli.tables.common import show_plan, show_summary
        from editgauge.engine.forecast.judge_cost import asking_cost
        from editgauge.engine.judges import judges_of, read_jury
        from editgauge.engine.plan.run_plan import prepare
        from editgauge.engine.plan.shards import read_shard
        from editgauge.engine.run import run as execute

        if dry_run:
            sampling = temperature, top_p, judge_seed
            known = judges_of(out)
            jury = read_jury(judge, price, budget, max_tokens, replay, prompts, known, panel, quorum, *sampling)
            part = read_shard(shard)
            plan = prepare(
                benchmark, outcomes, protocol, data, images, layout, models, model, seed, attributes, jury, part, limit
            )
            asking = asking_cost(plan, out)
            show_plan(plan.told(out) | ({"asking": asking} if asking else {}))
            return
        finished = execute(
            benchmark,
            outcomes,
            protocol,
            out,
            data,
            images,
            layout,
            limit,
            models,
            model,
            attributes,
            judge,
            price,
            budget,
            max_tokens,
            prompts,
            replay,
            panel,
            quorum,
            temperature,
            top_p,
            judge_seed,
            seed,
            processes,
            engine,
            address,
            shard,
            profile,
            quiet,
        )
    except KeyboardInterrupt:
        sys.stderr.write(f"\nStopped. What was scored is in {out}; give the same command again to continue.\n")
        raise typer.Exit(130) from None
    if json:
        from editgauge.cli._json import as_json
        from editgauge.engine.record.judge_usage import read_asked
        from editgauge.reports.export.export import means_of

        typer.echo(as_json({"run": str(out), "judges": read_asked(out), "means": means_of(finished)}))
    elif not quiet:
        show_summary(finished)
        typer.echo(f"Next: editgauge report {quote(str(out))} --out {quote(f'{out}-report')}", err=True)


def add_to(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(cls=WithRoles)(run)
