"""`editgauge models list|info|pull|verify|path`."""

from __future__ import annotations

import json as json_lines
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from editgauge.core.progress import say

if TYPE_CHECKING:
    from editgauge.models.weights import WeightInfo

app = typer.Typer(
    no_args_is_help=True, help="Fetch and check the weights of models, which are kept outside the project."
)
Name = Annotated[str, typer.Argument(help="A set of weights, such as `lpips-alex`; `editgauge models list` shows all.")]
Names = Annotated[
    list[str], typer.Argument(help="Sets of weights, models, profiles such as `lite`, or repositories of the hub.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


@app.command("list")
def list_weights(json: AsJson = False) -> None:
    """Show every set of weights: what it is for, how big, under which licence, and whether it is here."""
    from editgauge.models import weights

    found = weights.list_weights()
    if json:
        _print_json([_plain(each) for each in found])
    else:
        _show(found)


@app.command()
def info(name: Name, json: AsJson = False) -> None:
    """Say what a set of weights is, where it comes from, where it is, and under which licence."""
    from editgauge.models import weights

    found = weights.info(_set_of(name))
    if json:
        _print_json(_plain(found))
    else:
        _tell(found)


@app.command()
def pull(
    name: Names,
    accept: Annotated[
        str | None, typer.Option(metavar="LICENCE", help="Accept this licence, for weights that ask for it.")
    ] = None,
    revision: Annotated[
        str | None, typer.Option(metavar="COMMIT", help="Another commit of the model hub than the pinned one.")
    ] = None,
) -> None:
    """Fetch weights and verify them; what is there already is only verified.

    `editgauge models pull lite`
    """
    from editgauge.models import weights

    for alternatives in weights.wanted(name):
        pull_first(alternatives, accept, revision)


def pull_first(alternatives: tuple[str, ...], accept: str | None = None, revision: str | None = None) -> None:
    """The first set that can be had; it is said when that is not the one that was wanted."""
    from editgauge.core.errors import FetchFailed
    from editgauge.core.fetch.shown import download_shown
    from editgauge.models import weights

    for place, name in enumerate(alternatives, start=1):
        about = weights.info(name)
        say(f"{name}: {about.source}; licence {_licence(about)}")
        try:
            with download_shown(name, about.bytes_to_fetch) as grown:
                found = weights.pull(name, grown=grown, accept=accept, revision=revision)
        except FetchFailed as failed:
            if place == len(alternatives):
                raise
            say(f"{failed}\n{alternatives[place]} is taken in the place of {name}.")
        else:
            typer.echo(f"{name}: verified, in {found.folder}")
            return


@app.command()
def verify(name: Names) -> None:
    """Compare every file of these weights with its recorded SHA-256."""
    from editgauge.models import weights

    for alternatives in weights.wanted(name):
        each = next(filter(weights.available, alternatives), alternatives[0])
        found = weights.verify(each)
        typer.echo(f"{each}: verified ({len(found.files)}), SHA-256 of the set {found.sha256}")


@app.command()
def path(name: Name) -> None:
    """Print the folder that holds a set of weights."""
    from editgauge.models import weights

    typer.echo(weights.weights_of(_set_of(name)).folder)


def _set_of(name: str) -> str:
    """The set of weights that a name stands for: its own, or that of a model."""
    from editgauge.models import weights

    ((found, *_), *_) = weights.wanted([name])
    return found


def _show(found: list[WeightInfo]) -> None:
    from editgauge.cli.tables.common import new_table, show

    table = new_table()
    for column in ("name", "role", "size", "licence", "where"):
        table.add_column(column, justify="right" if column == "size" else "left", overflow="fold")
    for each in found:
        table.add_row(each.name, ", ".join(each.roles), _size(each.bytes), _licence(each), each.where)
    show(table)
    typer.echo("* the licence of the project that trained the weights; size - is told by the first pull.")


def _tell(found: WeightInfo) -> None:
    typer.echo(f"{found.name}: {found.about}")
    typer.echo(f"  role: {', '.join(found.roles)}")
    typer.echo(f"  licence: {_licence(found)}")
    typer.echo(f"  from: {found.source}")
    if found.where == "hub" or found.revision:
        typer.echo(f"  revision: {found.revision or 'pinned by the first pull'}")
    typer.echo(f"  size: {_size(found.bytes)}, to fetch {_size(found.bytes_to_fetch)}")
    typer.echo(f"  in {found.folder}" if found.folder else f"  not here: `editgauge models pull {found.name}`")
    for name, sha256 in found.sha256.items():
        typer.echo(f"  {sha256}  {name}")


def _licence(found: WeightInfo) -> str:
    return found.licence + ("*" if found.licence_from == "upstream" else "")


def _size(size: int | None) -> str:
    return "-" if size is None else f"{size / 1e6:.1f} MB"


def _plain(found: WeightInfo) -> dict[str, Any]:
    return {
        **asdict(found),
        "folder": found.folder and str(found.folder),
        "files": {n: str(p) for n, p in found.files.items()},
    }


def _print_json(found: Any) -> None:
    typer.echo(json_lines.dumps(found, indent=2, ensure_ascii=False))
