"""The command line: one file per verb, each with the words of its Python function. Imports nothing heavy by itself."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from editgauge import __version__
from editgauge.cli import compare, data, demo, diff, edit, export, list, report, run, score, verify
from editgauge.core.errors import EditGaugeError

STOPPED = 130
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
for module in (demo, list, score, edit, run, report, compare, export, verify, diff):
    module.add_to(app)
app.add_typer(data.app, name="data")


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"editgauge {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options before the verb."""


def main() -> None:
    """Runs the command line; an error a user can mend is one message, never a traceback."""
    try:
        app()
    except EditGaugeError as error:
        sys.stderr.write(f"editgauge: {error}\n")
        sys.exit(MISTAKE)
    except BrokenPipeError:  # `editgauge export … | head` closes the pipe early
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
