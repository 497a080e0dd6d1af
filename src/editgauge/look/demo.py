"""The verb `demo`: a whole evaluation on real photographs."""

from __future__ import annotations

from pathlib import Path

from editgauge.benchmarks.datasets import pull
from editgauge.engine.edit.edit import edit
from editgauge.engine.run import run
from editgauge.models.profiles import ALONGSIDE, models_of
from editgauge.models.weights import available
from editgauge.models.weights.verbs import pull_first
from editgauge.reports.page import report

METHODS = ("identity", "classical", "overdone", "careless")
PROTOCOLS = ("editval", "pixlens", "preservation")
ROLES = ("detector", "segmenter", "perceptual_distance", "image_embedder")
"""What these protocols need of the profile `lite`, which has more."""


def demo(*, out: str | Path = "demo", quiet: bool = False) -> Path:
    """Evaluate four editors on real photographs, print a table and write a report.

    Downloads photographs (52 MB) and small models (140 MB) once, edits the photographs with the reference editors, and
    scores the outcomes: was the edit made, did the rest stay. Run it again to continue after a stop.

    Example:
        $ editgauge demo --out demo
        >>> editgauge.demo(out="demo")

    Args:
        out: folder for outcomes, run and report.
        quiet: print no progress or remarks.
    """
    folder = Path(out)
    pull("photos", quiet=quiet)
    for alternatives in (*(models_of("lite")[role] for role in ROLES), ALONGSIDE):
        if not any(map(available, alternatives)):
            pull_first(alternatives, quiet=quiet)
    outcomes = {method: folder / "outcomes" / method for method in METHODS}
    for method, place in outcomes.items():
        edit("sample", method=method, out=place, quiet=quiet)
    run("sample", outcomes=outcomes, protocol=PROTOCOLS, out=folder / "run", models="lite", quiet=quiet)
    return report(folder / "run", out=folder / "report", quiet=quiet)
