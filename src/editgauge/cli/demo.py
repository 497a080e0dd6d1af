"""`editgauge demo`: the whole way once, on real photographs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from editgauge.core.progress import say

METHODS = ("identity", "classical", "overdone", "careless")
PROTOCOLS = ("editval", "pixlens", "preservation")
ROLES = ("detector", "segmenter", "perceptual_distance", "image_embedder")
"""What these protocols ask of the profile `lite`, which has more."""


def demo(
    out: Annotated[Path, typer.Option(help="The folder for outcomes, run and report.")] = Path("demo"),
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no remarks.")] = False,
) -> Path:
    """Evaluate four editors on real photographs, print a table and write a report.

    Fetches photographs (52 MB) and small models (140 MB) once, lets the reference editors edit the photographs, and
    scores the outcomes: did the edit happen, did the rest stay. Given again it continues.

    `editgauge demo --out demo`
    """
    from editgauge.benchmarks import datasets as data
    from editgauge.cli.models import pull_first
    from editgauge.cli.tables.common import show_summary
    from editgauge.engine.edit.edit import edit
    from editgauge.engine.run import run
    from editgauge.models.profiles import ALONGSIDE, models_of
    from editgauge.models.weights import available
    from editgauge.reports.page import report

    data.pull("photos", lambda words: say(words, quiet=quiet))
    for alternatives in (*(models_of("lite")[role] for role in ROLES), ALONGSIDE):
        if not any(map(available, alternatives)):
            pull_first(alternatives)
    for method in METHODS:
        edit("sample", method, out / "outcomes" / method, quiet=quiet)
    outcomes = {method: out / "outcomes" / method for method in METHODS}
    finished = run("sample", outcomes, PROTOCOLS, out / "run", models="lite", quiet=quiet)
    show_summary(finished)
    page = report(out / "run", out / "report", quiet=quiet)
    typer.echo(f"The report lies in {page}\nOpen it in a browser: {page.absolute().as_uri()}")
    return page


def add_to(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(demo)
