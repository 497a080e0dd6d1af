"""The command line: one file per verb, each with the words of its Python function. Imports nothing heavy by itself."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from editgauge import __version__
from editgauge.cli import (
    accept,
    agree,
    audit,
    build,
    cache,
    changes,
    compare,
    data,
    demo,
    diff,
    disentangle,
    edit,
    estimate,
    export,
    judges,
    leaderboard,
    list,
    merge,
    models,
    plan,
    power,
    prefer,
    report,
    run,
    score,
    see,
    study,
    understand,
    verify,
)
from editgauge.cli._options_file import FLAG, defaults, take_file
from editgauge.core.errors import EditGaugeError

MISTAKE = 2

app = typer.Typer(
    name="editgauge",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help=(
        "Tells how good text-guided image edits are: did the edit happen, did the rest stay, how sure are we.\n\n"
        "New here? `editgauge demo` evaluates four editors on real photographs and writes a report.\n\n"
        'One picture: `editgauge score before.png after.png "make the cat black" --edit-type color`.'
    ),
)
WAY = (
    demo,
    list,
    see,
    changes,
    understand,
    score,
    edit,
    plan,
    run,
    merge,
    report,
    compare,
    prefer,
    agree,
    audit,
    export,
    verify,
    diff,
    leaderboard,
    estimate,
    accept,
    power,
    disentangle,
)
"""The verbs in the order in which one meets them."""
for module in WAY:
    module.add_to(app)
for group in (data, models, cache, build, study, judges):
    app.add_typer(group.app, name=group.__name__.rpartition(".")[2])


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"editgauge {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    options: Annotated[
        str | None,
        typer.Option(FLAG, metavar="FILE", help="A YAML file with options by verb; the command line overrides."),
    ] = None,
) -> None:
    """Options before the verb; `main` has taken up the file already."""


def main() -> None:
    """Runs the command line; an error a user can mend is one message, never a traceback."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without '↑' shows '?'
    try:
        words, file = take_file(sys.argv[1:])
        app(words, default_map=defaults(file, app) if file else None)
    except EditGaugeError as error:
        _give_up(str(error))
    except OSError as error:  # a full disk, a folder without permission: nothing that a traceback would explain
        _give_up(f"{error}. Is the disk full, or a file or folder not to be read or written?")


def _give_up(message: str) -> None:
    sys.stderr.write(f"editgauge: {message}\n")
    sys.exit(MISTAKE)
