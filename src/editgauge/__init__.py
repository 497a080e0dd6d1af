"""EditGauge tells how good text-guided image edits are: did the edit happen, did everything else stay, how sure are we.

The verbs of the command line are functions here, with the same words:

    import editgauge

    editgauge.score("before.png", "after.png", "make the cat black", edit_type="color", subject="cat", to="black")
    run = editgauge.run("sample", outcomes={"mine": "outcomes/"}, protocol=["preservation"], out="run")
    editgauge.report("run", out="report")

Everything is imported when it is first used, so that `import editgauge` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_FACE = {
    # verbs
    "accept": "editgauge.findings.accept:accept",
    "agree": "editgauge.findings.agree:agree",
    "audit": "editgauge.audits.verb:audit",
    "build": "editgauge.cli.building",
    "cache": "editgauge.models.cache",
    "changes": "editgauge.look.changes:changes",
    "compare": "editgauge.findings.compare:compare",
    "data": "editgauge.benchmarks.datasets",
    "demo": "editgauge.cli.demo:demo",
    "diff": "editgauge.findings.diff:diff",
    "disentangle": "editgauge.cli.disentangle:disentangle",
    "edit": "editgauge.engine.edit.edit:edit",
    "estimate": "editgauge.findings.estimate:estimate",
    "export": "editgauge.reports.export.export:export",
    "judges": "editgauge.judges",
    "leaderboard": "editgauge.reports.leaderboard.page:leaderboard",
    "list": "editgauge.look.catalog:list_names",
    "merge": "editgauge.engine.record.merge:merge",
    "models": "editgauge.models",
    "plan": "editgauge.engine.forecast.forecast:plan",
    "power": "editgauge.findings.power:power",
    "prefer": "editgauge.engine.prefer.prefer:prefer",
    "report": "editgauge.reports.page:report",
    "run": "editgauge.engine.run:run",
    "score": "editgauge.look.score:score",
    "see": "editgauge.look.see:see",
    "study": "editgauge.studies",
    "understand": "editgauge.look.understand:understand",
    "verify": "editgauge.engine.verify.verify:verify",
    # words
    "Benchmark": "editgauge.core.types:Benchmark",
    "BadImage": "editgauge.core.errors:BadImage",
    "BadInput": "editgauge.core.errors:BadInput",
    "BadRun": "editgauge.core.errors:BadRun",
    "CannotEdit": "editgauge.core.errors:CannotEdit",
    "CannotTell": "editgauge.core.errors:CannotTell",
    "Edit": "editgauge.core.types:Edit",
    "EditGaugeError": "editgauge.core.errors:EditGaugeError",
    "FetchFailed": "editgauge.core.errors:FetchFailed",
    "Item": "editgauge.core.types:Item",
    "Outcome": "editgauge.core.types:Outcome",
    "Picture": "editgauge.core.images:Picture",
    "Run": "editgauge.core.run:Run",
    "Score": "editgauge.core.types:Score",
    "ScoreSpec": "editgauge.core.types:ScoreSpec",
    "UnknownName": "editgauge.core.errors:UnknownName",
    "Unscored": "editgauge.core.types:Unscored",
    "read_image": "editgauge.core.images:read_image",
}

__all__ = [
    "BadImage",
    "BadInput",
    "BadRun",
    "Benchmark",
    "CannotEdit",
    "CannotTell",
    "Edit",
    "EditGaugeError",
    "FetchFailed",
    "Item",
    "Outcome",
    "Picture",
    "Run",
    "Score",
    "ScoreSpec",
    "UnknownName",
    "Unscored",
    "accept",
    "agree",
    "audit",
    "build",
    "cache",
    "changes",
    "compare",
    "data",
    "demo",
    "diff",
    "disentangle",
    "edit",
    "estimate",
    "export",
    "judges",
    "leaderboard",
    "list",
    "merge",
    "models",
    "plan",
    "power",
    "prefer",
    "read_image",
    "report",
    "run",
    "score",
    "see",
    "study",
    "understand",
    "verify",
]

if TYPE_CHECKING:
    from editgauge import judges, models
    from editgauge import studies as study
    from editgauge.audits.verb import audit
    from editgauge.benchmarks import datasets as data
    from editgauge.cli import building as build
    from editgauge.cli.demo import demo
    from editgauge.cli.disentangle import disentangle
    from editgauge.core.errors import (
        BadImage,
        BadInput,
        BadRun,
        CannotEdit,
        CannotTell,
        EditGaugeError,
        FetchFailed,
        UnknownName,
    )
    from editgauge.core.images import Picture, read_image
    from editgauge.core.run import Run
    from editgauge.core.types import Benchmark, Edit, Item, Outcome, Score, ScoreSpec, Unscored
    from editgauge.engine.edit.edit import edit
    from editgauge.engine.forecast.forecast import plan
    from editgauge.engine.prefer.prefer import prefer
    from editgauge.engine.record.merge import merge
    from editgauge.engine.run import run
    from editgauge.engine.verify.verify import verify
    from editgauge.findings.accept import accept
    from editgauge.findings.agree import agree
    from editgauge.findings.compare import compare
    from editgauge.findings.diff import diff
    from editgauge.findings.estimate import estimate
    from editgauge.findings.power import power
    from editgauge.look.catalog import list_names as list
    from editgauge.look.changes import changes
    from editgauge.look.score import score
    from editgauge.look.see import see
    from editgauge.look.understand import understand
    from editgauge.models import cache
    from editgauge.reports.export.export import export
    from editgauge.reports.leaderboard.page import leaderboard
    from editgauge.reports.page import report


def __getattr__(name: str) -> Any:
    if name not in _FACE:
        raise AttributeError(f"module 'editgauge' has no attribute '{name}'")
    module, _, attribute = _FACE[name].partition(":")
    found = import_module(module)
    return getattr(found, attribute) if attribute else found


def __dir__() -> list[str]:  # type: ignore[valid-type]
    return sorted({*globals(), *__all__})
