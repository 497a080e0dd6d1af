"""`editgauge plan`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from editgauge.cli._judge_options import Price, Prompts
from editgauge.cli._role_options import Models, Profile, WithRoles


def plan(
    benchmark: Annotated[str, typer.Argument(help="A benchmark's name, a folder of your own, or a run folder.")],
    outcomes: Annotated[
        list[str], typer.Option(help="Where outcomes lie, as NAME=FOLDER; left out: as the run in --out has them.")
    ] = [],  # noqa: B006
    protocol: Annotated[list[str], typer.Option(help="How to score; once per protocol. Usually preservation.")] = [],  # noqa: B006
    out: Annotated[Path, typer.Option(help="The run folder; what it holds already is not counted.")] = Path("run"),
    data: Annotated[Path | None, typer.Option(help="Where the benchmark's public files lie, if not shipped.")] = None,
    images: Annotated[Path | None, typer.Option(help="Where its source images lie, such as a COCO folder.")] = None,
    layout: Annotated[str | None, typer.Option(help="How outcomes are named; recognised when not given.")] = None,
    models: Profile = None,
    model: Models = [],  # noqa: B006
    attributes: Annotated[Path | None, typer.Option(help="Attributes of the edits.")] = None,
    judge: Annotated[list[str], typer.Option(help="Who would answer questions; nobody is asked now.")] = [],  # noqa: B006
    price: Price = None,
    max_tokens: Annotated[int | None, typer.Option(help="How long an answer of a judge may become.", min=1)] = None,
    prompts: Prompts = None,
    call_seconds: Annotated[
        float | None, typer.Option(help="How long a judge takes for a call; told by transcripts when left out.", min=0)
    ] = None,
    processes: Annotated[int, typer.Option(help="Worker processes; 0 chooses by cores, memory and GPUs.", min=0)] = 0,
    sources: Annotated[int, typer.Option(help="How many source images are scored to tell from.", min=1)] = 6,
    limit: Annotated[int | None, typer.Option(help="Only the first so many edits.", min=1)] = None,
    shard: Annotated[str | None, typer.Option(help="One part only, such as 2/8.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print it as JSON for other programs.")] = False,
) -> None:
    """Say what a run will take before it is started: forwards, time, memory, disk, and what judges would cost.

    The outcomes of a few source images are scored now and the rest is told from them; no judge is asked.
    Times are those of a machine as busy as it is now.

    `editgauge plan editval --outcomes mine=outcomes/ --protocol editval --models lite`

    `editgauge plan run`: what is left of a run
    """
    from editgauge.cli._json import as_json
    from editgauge.cli.tables.plan import show_forecast
    from editgauge.engine.forecast.forecast import plan as foresee

    found = foresee(
        benchmark, outcomes, protocol, out, data, images, layout, models, model, attributes, judge, price, max_tokens,
        prompts, call_seconds, processes, sources, limit, shard,
    )  # fmt: skip
    if json:
        typer.echo(as_json(found))
    else:
        show_forecast(found)


def add_to(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(cls=WithRoles)(plan)
