"""`editgauge build`: one file per verb."""

from __future__ import annotations

import typer

from editgauge.cli.build import attributes, editval, probes, review, training, tune, unibench

app = typer.Typer(no_args_is_help=True, help="Make a benchmark, review it with people, or teach a judge.")
for verb in (unibench, editval, review, attributes, training, tune, probes):
    verb.add_to(app)
