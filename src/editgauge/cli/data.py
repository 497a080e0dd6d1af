"""`editgauge data pull|verify|info`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from editgauge.core.progress import say

if TYPE_CHECKING:
    from editgauge.benchmarks.data import DatasetInfo

app = typer.Typer(no_args_is_help=True, help="Fetch and check data sets, which are kept outside the project.")
Name = Annotated[str, typer.Argument(help="A data set, such as `photos`; `editgauge list datasets` shows all.")]


@app.command()
def pull(name: Name) -> None:
    """Fetch a data set and verify it; what is there already is only checked."""
    from editgauge.benchmarks import data

    _tell(data.pull(name, say))


@app.command()
def verify(name: Name) -> None:
    """Compare every file of a data set with its recorded SHA-256."""
    from editgauge.benchmarks import data

    _tell(data.verify(name))


@app.command()
def info(name: Name) -> None:
    """Say where a data set is, how much of it is there, and under which licence."""
    from editgauge.benchmarks import data

    _tell(data.info(name))


def _tell(found: DatasetInfo) -> None:
    typer.echo(f"{found.name}: {found.about}")
    typer.echo(f"  {found.present} of {found.files} files here, {found.bytes / 1e6:.0f} MB")
    typer.echo(f"  licence: {found.licence}")
    for folder in found.folders:
        typer.echo(f"  in {folder}")
