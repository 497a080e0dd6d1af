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
    "accept": "editgauge.analysis.accept:accept",
    "agree": "editgauge.analysis.agree:agree",
    "audit": "editgauge.auditing.verb:audit",
    "build": "editgauge.cli.building",
    "cache": "editgauge.perception.cache",
    "changes": "editgauge.runner.changes:changes",
    "compare": "editgauge.analysis.compare:compare",
    "data": "editgauge.benchmarks.data",
    "demo": "editgauge.cli.demo:demo",
    "diff": "editgauge.analysis.diff:diff",
    "disentangle": "editgauge.cli.disentangle:disentangle",
    "edit": "editgauge.runner.make:edit",
    "estimate": "editgauge.analysis.estimate:estimate",
    "export": "editgauge.reports.export:export",
    "leaderboard": "editgauge.reports.leaderboard:leaderboard",
    "list": "editgauge.runner.catalogue:list_names",
    "merge": "editgauge.runner.merge:merge",
    "models": "editgauge.perception.weights",
    "plan": "editgauge.runner.foresight:plan",
    "power": "editgauge.analysis.power:power",
    "prefer": "editgauge.runner.prefer:prefer",
    "report": "editgauge.reports.page:report",
    "run": "editgauge.runner.execute:run",
    "score": "editgauge.runner.one:score",
    "see": "editgauge.runner.see:see",
    "study": "editgauge.studies",
    "verify": "editgauge.runner.verify:verify",
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
    "verify",
]

if TYPE_CHECKING:
    from editgauge import studies as study
    from editgauge.analysis.accept import accept
    from editgauge.analysis.agree import agree
    from editgauge.analysis.compare import compare
    from editgauge.analysis.diff import diff
    from editgauge.analysis.estimate import estimate
    from editgauge.analysis.power import power
    from editgauge.auditing.verb import audit
    from editgauge.benchmarks import data
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
    from editgauge.perception import cache
    from editgauge.perception import weights as models
    from editgauge.reports.export import export
    from editgauge.reports.leaderboard import leaderboard
    from editgauge.reports.page import report
    from editgauge.runner.catalogue import list_names as list
    from editgauge.runner.changes import changes
    from editgauge.runner.execute import run
    from editgauge.runner.foresight import plan
    from editgauge.runner.make import edit
    from editgauge.runner.merge import merge
    from editgauge.runner.one import score
    from editgauge.runner.prefer import prefer
    from editgauge.runner.see import see
    from editgauge.runner.verify import verify


def __getattr__(name: str) -> Any:
    if name not in _FACE:
        raise AttributeError(f"module 'editgauge' has no attribute '{name}'")
    module, _, attribute = _FACE[name].partition(":")
    found = import_module(module)
    return getattr(found, attribute) if attribute else found


def __dir__() -> list[str]:  # type: ignore[valid-type]
    return sorted({*globals(), *__all__})
