"""What `editgauge` shows: one table, from which the package, its typing stub and the command line follow."""

from __future__ import annotations

VERBS: dict[str, dict[str, str]] = {
    "Evaluate": {
        "demo": "editgauge._cli.demo:demo",
        "score": "editgauge.engine.score:score",
        "run": "editgauge.engine.run:run",
        "report": "editgauge.reports.report:report",
        "compare": "editgauge.analysis.compare:compare",
        "gate": "editgauge.analysis.gate:gate",
        "plan": "editgauge.engine.forecast.forecast:plan",
        "edit": "editgauge.engine.edit.edit:edit",
        "best": "editgauge.engine.best_of:best",
        "merge": "editgauge.engine.record.merge:merge",
        "leaderboard": "editgauge.reports.leaderboard:leaderboard",
        "disentangle": "editgauge.disentanglement.disentangle:disentangle",
        "audit": "editgauge.audits.verb:audit",
        "serve": "editgauge.serving.verb:serve",
    },
    "Look": {
        "list": "editgauge._cli.list:list_names",
        "see": "editgauge.engine.see:see",
        "changes": "editgauge.engine.changes:changes",
        "understand": "editgauge.engine.parse:understand",
    },
    "People": {
        "agree": "editgauge.analysis.agree:agree",
        "prefer": "editgauge.engine.prefer.prefer:prefer",
        "estimate": "editgauge.analysis.estimate:estimate",
        "accept": "editgauge.analysis.accept:accept",
        "power": "editgauge.analysis.power:power",
    },
    "Manage": {
        "export": "editgauge.reports.export:export",
        "verify": "editgauge.engine.verify.verify:verify",
        "diff": "editgauge.reports.diff:diff",
    },
}
"""The verbs by the heading under which the command line lists them, each with its function."""

_STUDY, _WEIGHTS, _DATA = "editgauge.studies.verbs", "editgauge.models.weights.verbs", "editgauge.benchmarks.datasets"
GROUPS: dict[str, dict[str, str]] = {
    "study": {
        "create": "editgauge.studies.creation.create:create",
        **{name: f"{_STUDY}:{name}" for name in ("invite", "serve", "status", "export")},
        "import": f"{_STUDY}:import_",
        **{name: f"{_STUDY}:{name}" for name in ("analyze", "exclude", "include", "forget")},
    },
    "build": {
        "unibench": "editgauge.builders.unibench.build:unibench",
        "editval": "editgauge.builders.editval.build:editval",
        "review": "editgauge.builders.review.server:review",
        "attributes": "editgauge.builders.attributes:attributes",
        "training": "editgauge.builders.training.build:training",
        "tune": "editgauge.builders.training.tuning:tune",
        "probes": "editgauge.audits.probes.build:probes",
        "calibration": "editgauge.builders.calibration.build:calibration",
        "sheets": "editgauge.builders.contact_sheets:sheets",
    },
    "models": {
        "list": f"{_WEIGHTS}:list_weights",
        **{name: f"{_WEIGHTS}:{name}" for name in ("info", "pull", "verify", "path")},
    },
    "data": {
        **{name: f"{_DATA}:{name}" for name in ("pull", "verify", "info", "ratings")},
        "feedback": "editgauge.analysis.feedback:feedback",
        "pairs": "editgauge.benchmarks.public.pairs:pairs",
    },
    "judges": {
        "check": "editgauge.audits.judges.ledger:check",
        "compare": "editgauge.audits.judges.side_by_side:side_by_side",
        "captions": "editgauge.audits.judges.captions:captions",
        "tables": "editgauge.audits.judges.inspector_tables:tables",
        "guess-cost": "editgauge.audits.judges.guess_cost:guess_cost",
    },
    "cache": {name: f"editgauge.models.cache:{name}" for name in ("info", "clear")},
}
"""Verbs that have verbs of their own; in Python they are modules."""

_ERRORS, _TYPES, _OPTIONS = "editgauge.errors", "editgauge.types", "editgauge.options"
_IMAGES, _MASKS, _EVIDENCE = "editgauge._util.images", "editgauge._util.masks", "editgauge.evidence"
FACE: dict[str, str] = {
    **{name: place for verbs in VERBS.values() for name, place in verbs.items()},
    "build": "editgauge.build",
    "cache": "editgauge.models.cache",
    "data": "editgauge.data",
    "judges": "editgauge.judges",
    "models": "editgauge.models",
    "study": "editgauge.studies",
    **{name: f"{_TYPES}:{name}" for name in ("Benchmark", "Edit", "Item", "Outcome", "Score", "ScoreSpec", "Unscored")},
    **{name: f"{_OPTIONS}:{name}" for name in ("DataOptions", "JudgeOptions", "ModelOptions")},
    **{
        name: f"{_ERRORS}:{name}"
        for name in ("BadImageError", "BadInputError", "BadRunError", "CannotEditError", "UnscorableError")
    },
    **{name: f"{_ERRORS}:{name}" for name in ("EditGaugeError", "FetchError", "UnknownNameError")},
    "Run": "editgauge.analysis.run_result:RunResult",
    "Scorer": "editgauge.engine.scorer:Scorer",
    "Monitor": "editgauge.serving.monitor:Monitor",
    "client": "editgauge.serving.client:client",
    "ScoreResult": "editgauge.engine.result:ScoreResult",
    **{name: f"{_IMAGES}:{name}" for name in ("ImageFile", "Pixels", "Unit", "as_unit", "read_image")},
    **{name: f"{_MASKS}:{name}" for name in ("BoolMask", "MaskFile", "Rectangle")},
    **{name: f"{_EVIDENCE}:{name}" for name in ("Box", "Heat", "Note", "Region")},
    # what extensions are written with
    "Metric": "editgauge.metrics.base:Metric",
    **{name: f"editgauge.metrics.base:{name}" for name in ("check_pair", "counted_pixels", "metric")},
    "Protocol": "editgauge.protocols:Protocol",
    "Scores": f"{_TYPES}:Scores",
    "Layout": "editgauge.methods.layouts:Layout",
    "Method": "editgauge.methods:Method",
    "open_benchmark": "editgauge.benchmarks:open_benchmark",
    "Refused": "editgauge.methods.absence:Refused",
    "read_options": "editgauge.methods.options:read_options",
    "Model": "editgauge.models.interfaces:Model",
    "ModelCard": "editgauge.models.interfaces:ModelCard",
    "Perception": "editgauge.models.interfaces:Perception",
    "Vector": "editgauge.models.answers:Vector",
    "MissingWeights": "editgauge.models.weights:MissingWeights",
}
"""Every public name with its place: a module, or `module:name`."""


def stub() -> str:
    """The typing stub `__init__.pyi` that says the same to a type checker."""
    lines = []
    for name, place in sorted(FACE.items()):
        module, _, attribute = place.partition(":")
        if not attribute:
            module, _, attribute = module.rpartition(".")
        lines.append(f"from {module} import {attribute} as {name}")
    names = "".join(f'    "{name}",\n' for name in sorted(FACE))
    heading = "# Generated by docs/generate.py from editgauge/_face.py. Do not edit.\n# ruff: noqa: I001\n"
    return heading + "\n".join(sorted(lines)) + f"\n\n__version__: str\n\n__all__ = [\n{names}]\n"
