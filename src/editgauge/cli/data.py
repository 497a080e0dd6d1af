"""`editgauge data pull|verify|info|ratings|feedback`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from editgauge.core.progress import say

if TYPE_CHECKING:
    from editgauge.benchmarks.datasets import DatasetInfo

app = typer.Typer(no_args_is_help=True, help="Fetch and check data sets, which are kept outside the project.")
Name = Annotated[str, typer.Argument(help="A data set, such as `photos`; `editgauge list datasets` shows all.")]


@app.command()
def pull(name: Name) -> None:
    """Fetch a data set and verify it; what is there already is only checked."""
    from editgauge.benchmarks import datasets as data

    _tell(data.pull(name, say))


@app.command()
def verify(name: Name) -> None:
    """Compare every file of a data set with its recorded SHA-256."""
    from editgauge.benchmarks import datasets as data

    _tell(data.verify(name))


@app.command()
def info(name: Name) -> None:
    """Say where a data set is, how much of it is there, and under which licence."""
    from editgauge.benchmarks import datasets as data

    _tell(data.info(name))


@app.command()
def ratings(
    name: Annotated[
        str, typer.Argument(help="A benchmark with ratings by people: editinspector, imagenhub, magicbrush, viescore.")
    ],
    data: Annotated[Path, typer.Option(help="Its file, or the folder it lies in.")],
    method: Annotated[
        str, typer.Option(help="Name in your run of the method that people judged, where the files do not name it.")
    ] = "",
    out: Annotated[Path, typer.Option(help="The CSV file to write.")] = Path("ratings.csv"),
) -> None:
    """Write what people said of a benchmark's outcomes, in the form that `editgauge agree` reads.

    `editgauge data ratings imagenhub --data human_ratings`

    `editgauge data ratings editinspector --data editinspector_benchmark.csv --method magicbrush`
    """
    from editgauge.benchmarks import datasets

    typer.echo(f"{out}: {datasets.ratings(name, data, method, out)} ratings.")


@app.command()
def feedback(
    name: Annotated[
        str, typer.Argument(help="A benchmark that comes with remarks by people, such as `editinspector`.")
    ],
    data: Annotated[Path, typer.Option(help="Its file, or the folder it lies in.")],
    plot: Annotated[Path | None, typer.Option(help="An SVG file for the figure.")] = None,
) -> None:
    """Say what people complain about in the remarks of a benchmark, by ten kinds of issue.

    `editgauge data feedback editinspector --data editinspector_benchmark.csv --plot issues.svg`
    """
    from editgauge.cli.tables.feedback import show_feedback
    from editgauge.findings.people.feedback import feedback as sort_feedback

    show_feedback(sort_feedback(name, data, plot))


def _tell(found: DatasetInfo) -> None:
    typer.echo(f"{found.name}: {found.about}")
    typer.echo(f"  {found.present} of {found.files} files here, {found.bytes / 1e6:.0f} MB")
    typer.echo(f"  licence: {found.licence}")
    for folder in found.folders:
        typer.echo(f"  in {folder}")
