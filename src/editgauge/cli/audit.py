"""`editgauge audit`."""

from __future__ import annotations

import sys
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from editgauge.cli._judge_options import JUDGES, Budget, Judges, MaxTokens, Price, Prompts, Replay
from editgauge.cli._role_options import Models, Profile, WithRoles


def audit(
    protocol: Annotated[list[str], typer.Option(help="What to audit; give it once per protocol.")] = [],  # noqa: B006
    out: Annotated[Path, typer.Option(help="The folder for the card, and for the runs behind it.")] = Path("audit"),
    probes: Annotated[
        Path | None, typer.Option(help="The folder with the probes; made there when there are none.")
    ] = None,
    models: Profile = None,
    model: Models = [],  # noqa: B006
    judge: Judges = [],  # noqa: B006
    price: Price = None,
    budget: Budget = None,
    max_tokens: MaxTokens = None,
    prompts: Prompts = None,
    replay: Replay = False,
    pairs: Annotated[
        int | None,
        typer.Option(
            help="Show each judge so many pairs with a known better one: is it swayed by order?", min=1, **JUDGES
        ),
    ] = None,
    blend: Annotated[
        str | None, typer.Option(help="PRESERVATION,MODIFICATION: does a mix of two scores do better?")
    ] = None,
    against: Annotated[
        str | None, typer.Option(help="A score to compare with each other one, such as editgauge/edit.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(help="When probes are made, at most so many edits of each type; else 20.", min=1)
    ] = None,
    seed: Annotated[int, typer.Option(help="For everything drawn at random.")] = 0,
    processes: Annotated[int, typer.Option(help="Worker processes; 0 chooses by cores and work.", min=0)] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no remarks, no table.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Hold protocols and judges against edits whose truth is known, and write a card of how they fare.

    Probes are made of photographs (`editgauge data pull photos`) unless a folder of them is given. Give the same
    command again to continue after a stop.

    `editgauge audit --protocol editval --protocol preservation --models lite --out audit`
    """
    try:
        from editgauge.audits.cards.result import to_json
        from editgauge.audits.verb import audit as hold_against_the_truth
        from editgauge.cli._json import as_json
        from editgauge.cli.tables.audit import show_card

        card = hold_against_the_truth(
            protocol,
            out,
            probes,
            models,
            model,
            judge,
            price,
            budget,
            max_tokens,
            prompts,
            replay,
            pairs,
            blend,
            against,
            limit,
            seed,
            processes,
            quiet,
        )
    except KeyboardInterrupt:
        sys.stderr.write(f"\nStopped. What was scored is in {out}; give the same command again to continue.\n")
        raise typer.Exit(130) from None
    if json:
        typer.echo(as_json(to_json(card)))
    elif not quiet:
        show_card(card)
        typer.echo(f"The card: {quote(str(out / 'index.html'))}", err=True)


def add_to(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(cls=WithRoles)(audit)
