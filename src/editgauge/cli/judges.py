"""`editgauge judges guess-cost|…`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    no_args_is_help=True, help="Examine judges: do they agree, have they moved, what would guessing cost?"
)
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


@app.command("guess-cost")
def guess_cost(
    transcripts: Annotated[Path, typer.Argument(help="A folder of transcripts, or a run folder.")],
    json: AsJson = False,
) -> None:
    """Say what the failure rules of other tools would make of the means, on the answers that you have.

    Random scores for unreadable answers, zeros for errors, the middle of the scale: each rule beside what was read.

    `editgauge judges guess-cost run`
    """
    from editgauge.audits.judges.guess_cost import guess_cost as cost_of_guessing
    from editgauge.cli._json import as_json
    from editgauge.cli.tables.judges import show_guess_cost

    found = cost_of_guessing(transcripts)
    if json:
        typer.echo(as_json(found))
    else:
        show_guess_cost(found)
