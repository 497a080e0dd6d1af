"""Public names of the package: the source of `editgauge.__all__`, its typing stub and the command line."""

from __future__ import annotations

VERBS: dict[str, dict[str, str]] = {
    "Evaluate": {
        "demo": "editgauge._cli.demo:demo",
        "score": "editgauge.engine.score:score",
        "run": "editgauge.engine.run:run",
        "report": "editgauge.reports.report:report",
        "compare": "editgauge.analysis.compare:compare",
        "gate": "editgauge.analysis.gate:gate",
        "plan": "editgauge.engine.plan:plan",
        "edit": "editgauge.engine.edit:edit",
        "best": "editgauge.engine.best:best",
        "merge": "editgauge.engine.merge:merge",
        "leaderboard": "editgauge.reports.leaderboard:leaderboard",
        "disentangle": "editgauge.disentanglement.disentangle:disentangle",
        "audit": "editgauge.audits.audit:audit",
        "serve": "editgauge.serving.serve:serve",
    },
    "Look": {
        "list": "editgauge._cli.list:list_names",
        "see": "editgauge.engine.see:see",
        "changes": "editgauge.engine.changes:changes",
        "parse": "editgauge.engine.parse:parse",
        "understand": "editgauge.engine.parse:parse",
    },
    "People": {
        "agree": "editgauge.analysis.agree:agree",
        "prefer": "editgauge.engine.prefer:prefer",
        "estimate": "editgauge.analysis.estimate:estimate",
        "accept": "editgauge.analysis.accept:accept",
        "power": "editgauge.analysis.power:power",
    },
    "Manage": {
        "export": "editgauge.reports.export:export",
        "verify": "editgauge.engine.verify:verify",
        "diff": "editgauge.reports.diff:diff",
    },
}
"""The verbs by the heading under which the command line lists them, each with its function."""

FORMER_NAMES = {"understand": "parse"}
"""Verbs under the name they had before 0.2, with their present name."""

_STUDY, _WEIGHTS, _DATA = "editgauge.studies.verbs", "editgauge.models.weights._verbs", "editgauge.benchmarks.datasets"
GROUPS: dict[str, dict[str, str]] = {
    "study": {
        "create": "editgauge.studies._create:create",
        **{name: f"{_STUDY}:{name}" for name in ("invite", "serve", "status", "export")},
        "import": f"{_STUDY}:import_",
        **{name: f"{_STUDY}:{name}" for name in ("analyze", "exclude", "include", "forget")},
    },
    "build": {
        "unibench": "editgauge.builders.unibench:unibench",
        "editval": "editgauge.builders.editval:editval",
        "review": "editgauge.builders.review.app:review",
        "attributes": "editgauge.builders.attributes:attributes",
        "training": "editgauge.builders.training:training",
        "tune": "editgauge.builders.tune:tune",
        "probes": "editgauge.audits.probes:probes",
        "calibration": "editgauge.builders.calibration:calibration",
        "sheets": "editgauge.builders.sheets:sheets",
    },
    "models": {
        "list": f"{_WEIGHTS}:list_weights",
        **{name: f"{_WEIGHTS}:{name}" for name in ("info", "pull", "verify", "path")},
        "selftest": "editgauge.models._selftest:selftest",
    },
    "data": {
        **{name: f"{_DATA}:{name}" for name in ("pull", "verify", "info", "ratings")},
        "feedback": "editgauge.analysis.feedback:feedback",
        "pairs": "editgauge.benchmarks.pairs:pairs",
    },
    "judges": {
        "check": "editgauge.audits.check:check",
        "compare": "editgauge.audits.side_by_side:side_by_side",
        "captions": "editgauge.audits.captions:captions",
        "tables": "editgauge.audits.tables:tables",
        "guess-cost": "editgauge.audits.guess_cost:guess_cost",
    },
    "cache": {name: f"editgauge.models._cache:{name}" for name in ("info", "clear")},
}
"""Verbs that have verbs of their own; in Python they are modules."""

SUMMARIES: dict[str, str] = {
    "demo": "Evaluate four editors on real photographs, print a table and write a report.",
    "score": "Score one edited image.",
    "run": "Score the outcomes of one or more methods on a benchmark.",
    "report": "Write a report of a run that opens in any browser, straight from disk.",
    "compare": "Test whether methods differ significantly, score by score and pair by pair, on the edits that both have.",
    "gate": "Check that a run is not worse than a baseline by more than a margin, for use in continuous integration.",
    "plan": "Estimate time, memory, disk and judge cost of a run before it starts.",
    "edit": "Create the outcomes of a method for a benchmark.",
    "best": "Choose the best of several outcomes per edit by a score, and write them as the outcomes of a new method.",
    "merge": "Join several runs into one: shards of a run, or runs of different methods on one benchmark.",
    "leaderboard": "Rank the methods of several runs on one page; runs that are not comparable get separate tables.",
    "disentangle": "Measure how well models keep attributes apart in their latents (PixLens, section 3.2).",
    "audit": "Test protocols and judges on edits whose right answer is known, and write a card with the results.",
    "serve": "Serve scores over HTTP until you stop it.",
    "list": "List what is available: benchmarks, methods, protocols, metrics, models and more.",
    "see": "Show what the models detect in an image: boxes, outlines and confidence.",
    "changes": "Describe what changed between two images, one sentence per change, without a language model.",
    "parse": "Parse what an instruction, or a target caption, asks for: the edit type, what changes, and into what.",
    "understand": "Parse what an instruction, or a target caption, asks for: the edit type, what changes, and into what.",
    "agree": "Measure how well the scores of a run agree with people: with ratings, choices between two, or known truth.",
    "prefer": "Ask a judge which of two outcomes is better, in both orders.",
    "estimate": "Estimate the mean rating people would give all edits, from a few ratings and the scores of all (PPI++).",
    "accept": "Find the score above which people accept an edit, with a guaranteed rate of false accepts.",
    "power": "Compute the sample size a study needs, from the spread in a pilot run.",
    "export": "Export the scores of a run for other programs, or its summary for a paper.",
    "verify": "Check that a run folder is unchanged: its files, its images, and a sample of recomputed scores.",
    "diff": "Show what differs between two runs, and what caused the change of each mean.",
    "study create": "Create a study of the outcomes of a run.",
    "study invite": "Create raters and print their personal links, which are shown only once.",
    "study serve": "Serve a study to raters until you stop it.",
    "study status": "Show the progress of a study: items, raters, exclusions, and when it will be done.",
    "study export": "Export the answers of a study, in the format that `editgauge agree` reads.",
    "study import": "Import answers into a study: all of a file or none. Importing the same file again changes nothing.",
    "study analyze": "Analyze a study: what raters answered, how well they agree, and how well the run's scores agree with them.",
    "study exclude": "Void all answers of a rater and open their items again; `include` undoes it.",
    "study include": "Undo an exclusion: answers count again unless another rater has replaced them.",
    "study forget": "Delete the personal data of a rater: label, link, and the answers to the questions before the first page.",
    "build unibench": "Build a UniBench from COCO annotations, with candidates for people to review.",
    "build editval": "Build a set of edits in the way of EditVal from COCO annotations, for people to review.",
    "build review": "Accept, edit or drop proposals in the browser; at the end, print how often each reviewer accepted them.",
    "build attributes": "Write the attributes of a benchmark's edits, for the protocol augclip.",
    "build training": "Build training data for judges: edits, negatives of them, and the reverse edits, as conversations.",
    "build tune": "Fine-tune a vision-language model on training data; `transformers:OUT` is then a judge.",
    "build probes": "Build probes: edits of photographs with outcomes that are right, wrong or flawed in a known way.",
    "build calibration": "Calibrate the scores of the protocol editgauge on people's ratings, and report the calibration error.",
    "build sheets": "Write contact sheets of a benchmark's source pictures, one for every class.",
    "models list": "List all sets of weights: role, size, license, and whether they are on this machine.",
    "models info": "Show what a set of weights is, where it comes from, where it is, and its license.",
    "models pull": "Download weights and verify them; files that are already here are only verified.",
    "models verify": "Compare every file of these weights with its recorded SHA-256.",
    "models selftest": "Run the models of a profile on photographs with known content, and say what passes.",
    "models path": "Print the folder that holds a set of weights.",
    "data pull": "Download a data set and verify it; files that are already here are only verified.",
    "data verify": "Compare every file of a data set with its recorded SHA-256.",
    "data info": "Show where a data set is, how much of it is here, and its license.",
    "data ratings": "Write people's ratings of a benchmark's outcomes, in the format that `editgauge agree` reads.",
    "data feedback": "Count what people complain about in the remarks of a benchmark, by ten kinds of issue.",
    "data pairs": "Write a public set of compared outcomes as a benchmark, outcomes of every method, and choices for `agree`.",
    "judges check": "Ask a judge questions that never change, and test whether its answers moved since earlier checks.",
    "judges compare": "Compare the judges of a run: means, coverage, agreement, and whether they repeat themselves.",
    "judges captions": "Write the difference caption of every outcome of a run, with what people corrected in a study.",
    "judges tables": "Print EditInspector's tables 3 and 4 for all judges of a run.",
    "judges guess-cost": "Compare the means with those that the failure rules of other tools would give on the same answers.",
    "cache info": "Show where answers of models are cached, and how many of each model.",
    "cache clear": "Delete cached answers of models, all or some; later runs compute them again.",
}
"""What the command line lists for each verb: the first sentence of its docstring, readable without an import."""

_TYPES, _IMAGES, _MASKS = "editgauge.types", "editgauge._util.images", "editgauge._util.masks"
PUBLIC_NAMES: dict[str, str] = {
    **{name: path for verbs in VERBS.values() for name, path in verbs.items() if name not in FORMER_NAMES},
    # submodules
    "benchmarks": "editgauge.benchmarks",
    "build": "editgauge.build",
    "cache": "editgauge.models._cache",
    "data": "editgauge.data",
    "errors": "editgauge.errors",
    "judges": "editgauge.judges",
    "metrics": "editgauge.metrics",
    "models": "editgauge.models",
    "study": "editgauge.studies",
    # results and long-lived objects
    "Run": "editgauge.results:Run",
    "RunSummary": "editgauge.analysis.summary:RunSummary",
    "ScoreRecord": "editgauge.results:ScoreRecord",
    "ScoreResult": "editgauge.engine.result:ScoreResult",
    "Verdict": "editgauge.protocols.verdict:Verdict",
    "Scorer": "editgauge.engine.scorer:Scorer",
    "Monitor": "editgauge.serving.monitor:Monitor",
    "client": "editgauge.serving.client:client",
    # data types, and base classes of extensions
    **{name: f"{_TYPES}:{name}" for name in ("Edit", "Item", "Score", "Unscored")},
    "EditGaugeError": "editgauge.errors:EditGaugeError",
    "Method": "editgauge.methods:Method",
    "Protocol": "editgauge.protocols:Protocol",
}
"""Every name of `editgauge.__all__` with its import path: a module, or `module:name`."""

EXTENSION_NAMES: dict[str, str] = {
    "understand": "editgauge.engine.parse:parse",
    **{name: f"{_TYPES}:{name}" for name in ("Benchmark", "Outcome", "Scores", "ScoreSpec")},
    **{name: f"editgauge.options:{name}" for name in ("DataOptions", "JudgeOptions", "ModelOptions")},
    **{
        name: f"editgauge.errors:{name}"
        for name in ("BadImageError", "BadInputError", "BadRunError", "CannotEditError", "FetchError")
    },
    **{name: f"editgauge.errors:{name}" for name in ("UnknownNameError", "UnscorableError")},
    **{name: f"{_IMAGES}:{name}" for name in ("ImageFile", "Pixels", "Unit", "as_unit", "read_image")},
    **{name: f"{_MASKS}:{name}" for name in ("BoolMask", "MaskFile", "Rectangle")},
    **{name: f"editgauge.evidence:{name}" for name in ("Arrow", "Box", "Curves", "Heat", "Note", "Region", "Scatter")},
    **{name: f"editgauge.metrics.base:{name}" for name in ("Metric", "check_pair", "counted_pixels", "metric")},
    "Layout": "editgauge.methods.layouts:Layout",
    "MethodPrompt": "editgauge.methods.prompts:MethodPrompt",
    "ScoreKey": "editgauge.results:ScoreKey",
    "open_benchmark": "editgauge.benchmarks:open_benchmark",
    "RefusedError": "editgauge.methods.card:RefusedError",
    "read_options": "editgauge.methods.options:read_options",
    "Model": "editgauge.models.roles:Model",
    "ModelCard": "editgauge.models.roles:ModelCard",
    "Perception": "editgauge.models.perception:Perception",
    "Vector": "editgauge.models.answers:Vector",
    "MissingWeightsError": "editgauge.models.weights:MissingWeightsError",
    # what the verbs return
    "Acceptance": "editgauge.analysis.accept:Acceptance",
    "Agreement": "editgauge.analysis.agree:Agreement",
    "AttributesResult": "editgauge.builders.attributes:AttributesResult",
    "AuditCard": "editgauge.audits.audit_card:AuditCard",
    "BestOutcomes": "editgauge.engine.best:BestOutcomes",
    "BuiltBenchmark": "editgauge.builders._common:BuiltBenchmark",
    "BuiltCalibration": "editgauge.builders.calibration:BuiltCalibration",
    "CacheInfo": "editgauge.models._cache:CacheInfo",
    "Comparisons": "editgauge.analysis.compare:Comparisons",
    "ContactSheet": "editgauge.builders.sheets:ContactSheet",
    "DatasetInfo": "editgauge.benchmarks.datasets:DatasetInfo",
    "DisentanglementResult": "editgauge.disentanglement.disentangle:DisentanglementResult",
    "EditResult": "editgauge.engine.edit:EditResult",
    "Evaluation": "editgauge.serving.monitor:Evaluation",
    "FailureRuleComparison": "editgauge.audits.guess_cost:FailureRuleComparison",
    "Feedback": "editgauge.analysis.feedback:Feedback",
    "Forecast": "editgauge.engine.plan:Forecast",
    "GateResult": "editgauge.analysis.gate:GateResult",
    "HumanMeanEstimate": "editgauge.analysis.estimate:HumanMeanEstimate",
    "ImageChanges": "editgauge.engine.changes:ImageChanges",
    "ImageDetections": "editgauge.engine.see:ImageDetections",
    "ImportSummary": "editgauge.studies.records:ImportSummary",
    "InspectorTables": "editgauge.audits.tables:InspectorTables",
    "Invitation": "editgauge.studies.raters:Invitation",
    "JudgeCheck": "editgauge.audits.check:JudgeCheck",
    "JudgeComparison": "editgauge.audits.side_by_side:JudgeComparison",
    "PairFiles": "editgauge.benchmarks.pairs:PairFiles",
    "ParsedInstruction": "editgauge.types:ParsedInstruction",
    "PowerPlan": "editgauge.analysis.power:PowerPlan",
    "PreferenceResult": "editgauge.engine.prefer:PreferenceResult",
    "Probe": "editgauge.audits._probe_set:Probe",
    "ReportPage": "editgauge.reports.report:ReportPage",
    "RunDifference": "editgauge.analysis.diff:RunDifference",
    "ScoreClient": "editgauge.serving.client:ScoreClient",
    "SelfTest": "editgauge.models._selftest:SelfTest",
    "Signature": "editgauge.results.signature:Signature",
    "SignatureDifference": "editgauge.analysis.diff:SignatureDifference",
    "Study": "editgauge.studies.study:Study",
    "StudyAnalysis": "editgauge.studies.verbs:StudyAnalysis",
    "StudyStatus": "editgauge.studies.study:StudyStatus",
    "TrainingSet": "editgauge.builders.training:TrainingSet",
    "TuningResult": "editgauge.builders.tune:TuningResult",
    "Verification": "editgauge.engine.verify:Verification",
    "WeightFiles": "editgauge.models.weights._store:WeightFiles",
    "WeightInfo": "editgauge.models.weights._store:WeightInfo",
}
"""Further names that can be imported from `editgauge`: types for extensions, results of verbs, errors and helpers."""


def typing_stub() -> str:
    """Return the content of `__init__.pyi`, which declares the same names for type checkers."""
    lines = []
    for name, path in sorted((PUBLIC_NAMES | EXTENSION_NAMES).items()):
        module, _, attribute = path.partition(":")
        if not attribute:
            module, _, attribute = module.rpartition(".")
        lines.append(f"from {module} import {attribute} as {name}")
    names = "".join(f'    "{name}",\n' for name in sorted(PUBLIC_NAMES))
    heading = "# Generated by docs/generate.py from editgauge/_public.py. Do not edit.\n# ruff: noqa: I001\n"
    return heading + "\n".join(sorted(lines)) + f"\n\n__version__: str\n\n__all__ = [\n{names}]\n"
