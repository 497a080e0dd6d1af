"""The command line, generated from the Python functions of the verbs, which are imported on first use."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from editgauge import __version__
from editgauge._cli._commands import Verb, make_group
from editgauge._cli._options_file import FLAG, defaults, take_file
from editgauge._public import GROUPS, SUMMARIES, VERBS
from editgauge._util.text import printable
from editgauge.errors import EditGaugeError

USAGE_ERROR = 2
"""Exit code of errors that the user can fix."""
START = """Measure how good text-guided image edits are: was the edit done, was the rest kept, is the image well made.

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


def _make_app() -> tuple[typer.Typer, dict[str, typer.Typer]]:
    """Return the command with all verbs and groups, and the groups by name."""
    verbs = [
        Verb(name, target, SUMMARIES.get(name, ""), panel)
        for panel, targets in VERBS.items()
        for name, target in targets.items()
    ]
    root = typer.Typer(
        name="editgauge",
        cls=make_group(verbs),
        invoke_without_command=True,
        rich_markup_mode="markdown",
        pretty_exceptions_enable=False,
        context_settings=SETTINGS,
        help=START,
    )
    nested: dict[str, typer.Typer] = {}
    for group, targets in GROUPS.items():
        members = [
            Verb(name, target, SUMMARIES.get(f"{group} {name}", ""), group=group) for name, target in targets.items()
        ]
        panel, about = ABOUT[group]
        nested[group] = typer.Typer(cls=make_group(members), no_args_is_help=True, rich_markup_mode="markdown")
        nested[group].callback()(lambda: None)
        root.add_typer(nested[group], name=group, help=about, rich_help_panel=panel)
    return root, nested


app, groups = _make_app()


def _print_version(requested: bool) -> None:  # noqa: FBT001  Typer passes the value by position
    if requested:
        typer.echo(f"editgauge {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    *,
    version: Annotated[  # noqa: ARG001  handled by its callback
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    options: Annotated[  # noqa: ARG001  taken from the arguments before parsing
        str | None,
        typer.Option(FLAG, metavar="FILE", help="YAML file with options by verb; the command line overrides it."),
    ] = None,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(START.replace("`", "") + "\n`editgauge --help` lists all commands.")


def main() -> None:
    """Run the command line; an error that a user can fix is one message, never a traceback."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without '↑' shows '?'
        if sys.stdout.isatty():
            encoding = sys.stdout.encoding
            sys.stdout = SafeTerminal(sys.stdout.detach(), encoding, "replace", line_buffering=True)
    try:
        arguments, file = take_file(sys.argv[1:])
        app(arguments, default_map=defaults(file, app) if file else None)
    except EditGaugeError as error:
        _fail(str(error))
    except OSError as error:  # a full disk, a folder without permission: nothing that a traceback would explain
        _fail(f"{error}. Is the disk full, or a file or folder not readable or writable?")


def _fail(message: str) -> None:
    sys.stderr.write(f"editgauge: {printable(message)}\n")
    sys.exit(USAGE_ERROR)


class SafeTerminal(TextIOWrapper):
    """A terminal stream that drops control sequences other than colors, such as those in file names or replies."""

    def write(self, text: str) -> int:
        """Write the printable part of the text."""
        super().write(printable(text, colors=True))
        return len(text)
