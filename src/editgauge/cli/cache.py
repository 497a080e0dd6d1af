"""`editgauge cache info|clear`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from editgauge.core.text import counted

if TYPE_CHECKING:
    from editgauge.models.cache import CacheInfo

app = typer.Typer(no_args_is_help=True, help="See and forget what models answered before; runs take it up from there.")


@app.command()
def info() -> None:
    """Say where answers of models are remembered, and how many of each model."""
    from editgauge.models import cache

    found = cache.info()
    typer.echo(f"{_answers(found.entries)}, {_size(found.bytes)} of at most {_size(found.most_bytes)}")
    _by_model(found)
    typer.echo(f"  in {found.folder}")


@app.command()
def clear(
    model: Annotated[
        str | None, typer.Option(help="Only answers of this model, by its name or as `cache info` calls it.")
    ] = None,
    older_than: Annotated[
        float | None, typer.Option(min=0, metavar="DAYS", help="Only answers not asked for since so many days.")
    ] = None,
) -> None:
    """Forget answers, all or some; later runs ask again."""
    from editgauge.models import cache

    gone = cache.clear(model, older_than)
    typer.echo(f"{_answers(gone.entries)} forgotten, {_size(gone.bytes)} free again")
    _by_model(gone)


def _by_model(found: CacheInfo) -> None:
    for each in found.models:
        typer.echo(f"  {each.model}: {_answers(each.entries)}, {_size(each.bytes)}")


def _answers(count: int) -> str:
    return counted(count, "answer")


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"
