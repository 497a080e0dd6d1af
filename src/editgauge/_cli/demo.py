"""The verb `demo`: a complete evaluation on real photographs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from editgauge.benchmarks.datasets import pull
from editgauge.engine import edit as edit_verb
from editgauge.engine._options import DEFAULT_PROTOCOLS
from editgauge.engine.run import run
from editgauge.models.profiles import EXTRA_WEIGHTS, models_of
from editgauge.models.weights import available
from editgauge.models.weights._verbs import pull_each
from editgauge.protocols import open_protocol
from editgauge.reports.report import report

METHODS = ("identity", "classical", "overdone", "careless")
BENCHMARK, PROFILE = "demo", "lite"


def demo(*, out: str | Path = "demo", quiet: bool = False) -> Path:
    """Evaluate four editors on real photographs, print a table and write a report.

    Downloads photographs (52 MB) and small models (200 MB) once, edits 14 photographs with the reference editors, and
    scores the outcomes: was the edit done, was the rest kept, is the image well made. Run it again to continue after a
    stop.

    Example:
        $ editgauge demo --out demo
        >>> editgauge.demo(out="demo")

    Args:
        out: folder for outcomes, run and report.
        quiet: print no progress or remarks.

    """
    folder = Path(out)
    missing = [names for names in (*_model_choices(), *EXTRA_WEIGHTS) if not any(map(available, names))]
    with ThreadPoolExecutor(1) as pool:
        photographs = pool.submit(pull, "photos", quiet=quiet)
        pull_each(missing, quiet=quiet)
        photographs.result()
    outcomes = {method: folder / "outcomes" / method for method in METHODS}
    for method, target in outcomes.items():
        edit_verb.edit(BENCHMARK, method=method, out=target, quiet=quiet)
    run(BENCHMARK, outcomes=outcomes, out=folder / "run", models=PROFILE, quiet=quiet)
    return report(folder / "run", out=folder / "report", quiet=quiet)


def _model_choices() -> list[tuple[str, ...]]:
    """Return the models of the profile that the default protocols use: for each role, names by preference."""
    protocols = [open_protocol(name) for name in DEFAULT_PROTOCOLS]
    roles = {role for protocol in protocols for role in (*protocol.needs, *protocol.prefers, *protocol.uses)}
    return [names for role, names in models_of(PROFILE).items() if role in roles]
