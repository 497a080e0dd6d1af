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
    from editgauge.cli.judges.tables import show_guess_cost

    found = cost_of_guessing(transcripts)
    if json:
        typer.echo(as_json(found))
    else:
        show_guess_cost(found)


@app.command()
def check(
    judge: Annotated[str, typer.Argument(help="An address, such as openai:MODEL@URL or transformers:FOLDER.")],
    ledger: Annotated[Path, typer.Option(help="The folder in which checks are kept.")] = Path("judge-ledger"),
    run: Annotated[
        Path | None,
        typer.Option(help="A run whose answered questions become further anchors, and its answers the first check."),
    ] = None,
    max_tokens: Annotated[int | None, typer.Option(help="How long an answer may become.", min=1)] = None,
    json: AsJson = False,
) -> None:
    """Ask a judge questions that never change, and say whether its answers moved since the last check.

    Every anchor is asked twice, so that a judge that merely changes its mind is not taken for one that moved.
    Ends with exit code 1 when it moved.

    `editgauge judges check openai:qwen2.5vl:7b@http://localhost:11434/v1`
    """
    from editgauge.audits.judges.ledger import check as check_judge
    from editgauge.cli._json import as_json
    from editgauge.cli.judges.tables import show_check

    found = check_judge(judge, ledger, run, max_tokens)
    if json:
        typer.echo(as_json(found))
    else:
        show_check(found)
    if (found.since_last and found.since_last.moved) or (found.since_first and found.since_first.moved):
        raise typer.Exit(1)
