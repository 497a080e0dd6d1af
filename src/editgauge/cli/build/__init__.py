"""`editgauge build`: one file per verb."""

from __future__ import annotations

import typer

from editgauge.cli.build import attributes, calibration, editval, probes, review, training, tune, unibench

app = typer.Typer(
    no_args_is_help=True, help="Make a benchmark, review it with people, teach a judge, or calibrate on ratings."
)
for verb in (unibench, editval, review, attributes, training, tune, probes, calibration):
    verb.add_to(app)
