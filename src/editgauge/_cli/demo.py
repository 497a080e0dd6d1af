"""The verb `demo`: a whole evaluation on real photographs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from editgauge.benchmarks.datasets import pull
from editgauge.engine.edit.edit import edit
from editgauge.engine.options import USUAL_PROTOCOLS
from editgauge.engine.run import run
from editgauge.models.profiles import ALONGSIDE, models_of
from editgauge.models.weights import available
from editgauge.models.weights.verbs import pull_each
from editgauge.protocols import open_protocol
from editgauge.reports.report import report

METHODS = ("identity", "classical", "overdone", "careless")
BENCHMARK, PROFILE = "demo", "lite"


def demo(*, out: str | Path = "demo", quiet: bool = False) -> Path:
    """Evaluate four editors on real photographs, print a table and write a report.

    Downloads photographs (52 MB) and small models (200 MB) once, edits 14 photographs with the reference editors, and
    scores the outcomes: was the edit done, was the rest kept, are there artifacts. Run it again to continue after a
    stop.

    Example:
        $ editgauge demo --out demo
        >>> editgauge.demo(out="demo")

    Args:
        out: folder for outcomes, run and report.
        quiet: print no progress or remarks.
    """
    folder = Path(out)
    missing = [each for each in (*_models(), *ALONGSIDE) if not any(map(available, each))]
    with ThreadPoolExecutor(1) as beside:
        photographs = beside.submit(pull, "photos", quiet=quiet)
        pull_each(missing, quiet=quiet)
        photographs.result()
    outcomes = {method: folder / "outcomes" / method for method in METHODS}
    for method, place in outcomes.items():
        edit(BENCHMARK, method=method, out=place, quiet=quiet)
    run(BENCHMARK, outcomes=outcomes, out=folder / "run", models=PROFILE, quiet=quiet)
    return report(folder / "run", out=folder / "report", quiet=quiet)


def _models() -> list[tuple[str, ...]]:
    """What the usual protocols ask of the profile, by order of preference for each role."""
    usual = [open_protocol(name) for name in USUAL_PROTOCOLS]
    roles = {role for each in usual for role in (*each.needs, *each.prefers, *each.uses)}
    return [names for role, names in models_of(PROFILE).items() if role in roles]
