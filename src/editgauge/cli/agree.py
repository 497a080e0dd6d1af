"""`editgauge agree`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def agree(
    run: Annotated[Path, typer.Argument(help="The run folder.")],
    ratings: Annotated[
        Path | None,
        typer.Option(
            help="CSV or JSONL: edit, method, value, rater, question, seed; or imagenhub=FOLDER, magicbrush=FILE."
        ),
    ] = None,
    choices: Annotated[
        Path | None, typer.Option(help="JSONL or CSV: edit, first, second, chosen (first, second, tie), perhaps rater.")
    ] = None,
    scores: Annotated[
        list[str],
        typer.Option("--score", "--metrics", help="edit, pixlens/edit or 'augclip*/*'; once per score, or all."),
    ] = [],  # noqa: B006
    triplets: Annotated[
        str | None,
        typer.Option(
            help="Three methods of known truth: good=METHOD,preserved=METHOD,modified=METHOD. Does the good one win?"
        ),
    ] = None,
    judge_choices: Annotated[
        list[Path], typer.Option(help="What `editgauge prefer` wrote: that judge stands among the scores.")
    ] = [],  # noqa: B006
    blend: Annotated[
        str | None, typer.Option(help="PRESERVATION,MODIFICATION: two scores, mixed from one to the other.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="An SVG file for the agreement along the blend.")] = None,
    reruns: Annotated[
        list[Path],
        typer.Option("--rerun", help="A run of the same outcomes with other attributes or another seed; one or more."),
    ] = [],  # noqa: B006
    external: Annotated[
        list[Path],
        typer.Option(
            help="Scores from outside the run: viescore=FILE, or a ratings file (rater, question = its name)."
        ),
    ] = [],  # noqa: B006
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Say how far the scores of a run agree with people: with ratings, with choices between two, with known truth.

    `editgauge agree run --ratings ratings.csv`

    `editgauge agree run --ratings imagenhub=human_ratings --external viescore=gpt4o.tsv`

    `editgauge agree run --choices choices.jsonl --metrics 'augclip*/*' --blend clip_i,clip_t --plot blend.svg`

    `editgauge agree run --triplets good=ours,preserved=negligible,modified=text-to-image`
    """
    from editgauge.cli._json import as_json
    from editgauge.cli.tables.agreement import show_agreement
    from editgauge.findings.agree import agree as agree_with_people

    found = agree_with_people(run, ratings, choices, scores, triplets, judge_choices, blend, plot, reruns, external)
    if json:
        typer.echo(as_json(found))
    else:
        show_agreement(found)


def add_to(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(agree)
