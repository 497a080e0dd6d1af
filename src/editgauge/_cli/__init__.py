"""The command line: commands made from the verbs' Python functions. Imports nothing heavy by itself."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from editgauge import __version__
from editgauge._cli._options_file import FLAG, defaults, take_file
from editgauge._cli._verbs import add_verb
from editgauge._face import GROUPS, VERBS
from editgauge._util.progress import print_log
from editgauge._util.text import printable
from editgauge.errors import EditGaugeError

MISTAKE = 2
START = """Measure how good text-guided image edits are: was the edit made, did the rest stay, are there artifacts.

The commands you need most:

- `editgauge demo` evaluates four editors on real photographs and writes a report.

- `editgauge score before.png after.png "make the cat black"` scores one edited image.

- `editgauge run sample --outcomes mine=outcomes/` scores the outcomes of a method on a benchmark.

- `editgauge report run --out report` writes a report of a run.

- `editgauge list` shows which benchmarks, methods, protocols and models there are.
"""
ABOUT = {
    "study": (
        "People",
        "Ask people about outcomes: create a study from a run, serve it, export the answers.",
    ),
    "judges": ("People", "Examine judges: do they agree, have they moved, what would guessing cost?"),
    "build": ("Build", "Build a benchmark, review it with people, train a judge, or calibrate on ratings."),
    "models": ("Manage", "Download and check the weights of models."),
    "data": ("Manage", "Download and check data sets."),
    "cache": ("Manage", "Show and delete cached answers of models, which later runs reuse."),
}
SETTINGS = {"help_option_names": ["-h", "--help"]}

app = typer.Typer(
    name="editgauge",
    invoke_without_command=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings=SETTINGS,
    help=START,
)
for panel, verbs in VERBS.items():
    for name, place in verbs.items():
        add_verb(app, name, place, panel)
groups: dict[str, typer.Typer] = {}
for group, verbs in GROUPS.items():
    panel, about = ABOUT[group]
    groups[group] = below = typer.Typer(no_args_is_help=True, rich_markup_mode="markdown")
    for name, place in verbs.items():
        add_verb(below, name, place, group=group)
    app.add_typer(below, name=group, help=about, rich_help_panel=panel)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"editgauge {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    options: Annotated[
        str | None,
        typer.Option(FLAG, metavar="FILE", help="YAML file with options by verb; the command line overrides it."),
    ] = None,
) -> None:
    print_log()
    if context.invoked_subcommand is None:
        typer.echo(START.replace("`", "") + "\n`editgauge --help` lists all commands.")


def main() -> None:
    """Runs the command line; an error a user can fix is one message, never a traceback."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without '↑' shows '?'
        if sys.stdout.isatty():
            encoding = sys.stdout.encoding
            sys.stdout = SafeTerminal(sys.stdout.detach(), encoding, "replace", line_buffering=True)
    try:
        words, file = take_file(sys.argv[1:])
        app(words, default_map=defaults(file, app) if file else None)
    except EditGaugeError as error:
        _give_up(str(error))
    except OSError as error:  # a full disk, a folder without permission: nothing that a traceback would explain
        _give_up(f"{error}. Is the disk full, or a file or folder not readable or writable?")


def _give_up(message: str) -> None:
    sys.stderr.write(f"editgauge: {printable(message)}\n")
    sys.exit(MISTAKE)


class SafeTerminal(TextIOWrapper):
    """A terminal that words of judges and names of files cannot steer: colors pass, other control sequences do not."""

    def write(self, text: str) -> int:
        """Writes what can be seen."""
        super().write(printable(text, colors=True))
        return len(text)
