"""The verb `build calibration`: what people's ratings make of the numbers of the protocol `editgauge`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path

import numpy as np

from editgauge import __version__
from editgauge._stats.intervals import Numbers
from editgauge._stats.resampling import Estimate
from editgauge._util.files import read_bytes, write_json, write_text
from editgauge.builders.calibration.answers import PROTOCOL, QuestionAnswers, answers_of, protocol_of
from editgauge.builders.calibration.fit import calibrated, fit_weights, fitted_curve, left_out
from editgauge.builders.calibration.measures import CalibrationComparison, compare
from editgauge.builders.calibration.plot import calibration_svg
from editgauge.errors import BadInputError
from editgauge.protocols.editgauge import editgauge
from editgauge.protocols.editgauge._calibration import SCHEMA, CalibrationCurve
from editgauge.results import Run


@dataclass(frozen=True, slots=True)
class Calibrated:
    """One score: its curve, and how far off it is with it and without."""

    score: str
    question: str
    good_from: float
    """The rating from which an answer is good."""
    outcomes: int
    answers: int
    raters: int
    """Those that have a name."""
    sources: int
    unscored: int
    """Rated outcomes without the score: left out."""
    curve: CalibrationCurve
    slope: Estimate
    """Of the curve in log-odds, on the whole: 1 when numbers are as sure as people are, 0 when they tell nothing."""
    left_out: CalibrationComparison
    roles: Mapping[str, float] = field(default_factory=dict)
    """By evidence of a joint embedder or a judge: what a full step adds to the log-odds, beyond its usual weight."""


@dataclass(frozen=True, slots=True)
class BuiltCalibration:
    """What `build calibration` wrote."""

    file: Path
    plot: Path
    sha256: str
    scores: tuple[Calibrated, ...]

    @property
    def protocol(self) -> str:
        """How a run asks for it."""
        return f"{PROTOCOL}[calibration={self.file}]"


def calibration(
    run: str | Path,
    *,
    ratings: str | Path,
    out: str | Path,
    score: Sequence[str] = (),
    question: Sequence[str] = (),
    level: float | None = None,
    quiet: bool = False,
) -> BuiltCalibration:
    """Calibrate the scores of the protocol editgauge on people's ratings, and report the calibration error.

    `--protocol 'editgauge[calibration=OUT]'` then uses it. The rated edits must have been picked at random.

    Example:
        $ editgauge build calibration run --ratings ratings.csv --out calibration.json
        $ editgauge build calibration run --ratings ratings.csv --score edit --question accuracy --out calibration.json
        >>> editgauge.build.calibration("run", ratings="ratings.csv", out="calibration.json")

    Args:
        run: folder of a finished run with the protocol editgauge.
        ratings: CSV or JSONL file with edit, method, value, and optionally rater, question, seed.
        out: JSON file to write; a reliability diagram is drawn next to it, as SVG.
        score: `edit`, `kept`, `quality`, `success` or `overall`; repeat for several. Default: by the questions' names.
        question: the question about that score, once per `score`.
        level: rating from which an answer is good, if answers are not 0 and 1.
        quiet: print no remarks.

    """
    file, opened = Path(out), Run.open(Path(run))
    if file.suffix.lower() != ".json":
        raise BadInputError(f"--out is a JSON file: give one that ends in .json, not '{out}'.")
    if set(str(out)) & set("[],@"):
        raise BadInputError(f"--out becomes a part of a protocol's name, which has no room for [ ] , and @: '{out}'.")
    if opened.manifest.finished is None:
        raise BadInputError(f"The run '{run}' is not finished: give its command again to continue it.")
    answers = answers_of(opened, Path(ratings), _listed(score), _listed(question), level, quiet)
    calibrated = tuple(_calibrated(answer) for answer in answers)
    version = opened.manifest.protocols[protocol_of(opened)].version
    models = {
        role: opened.manifest.models[role]["name"]
        for role in (*editgauge.needs, *editgauge.prefers)
        if role in opened.manifest.models
    }
    write_json(file, {
        "schema": SCHEMA,
        "protocol": PROTOCOL,
        "version": version,
        "models": models,
        "made": {
            "editgauge": __version__,
            "benchmark": opened.manifest.benchmark,
            "edits_sha256": opened.manifest.edits_sha256,
            "methods": list(opened.manifest.methods),
            "ratings": Path(ratings).name,
            "ratings_sha256": sha256(read_bytes(Path(ratings))).hexdigest(),
        },
        "scores": {item.score: asdict(item) for item in calibrated},
    })  # fmt: skip
    plot = file.with_suffix(".svg")
    write_text(
        plot,
        calibration_svg({f"{PROTOCOL}/{element.score}": (element.curve, element.left_out) for element in calibrated}),
    )
    return BuiltCalibration(file, plot, sha256(file.read_bytes()).hexdigest(), calibrated)


def _listed(names: Sequence[str]) -> Sequence[str]:
    """One name alone is a list of one."""
    return [names] if isinstance(names, str) else names


def _calibrated(answers: QuestionAnswers) -> Calibrated:
    curve, slope = fitted_curve(answers.question, answers.values, answers.shares, answers.sources)
    if curve.low + curve.high <= 0:
        raise BadInputError(
            f"People's answers do not rise with {PROTOCOL}/{answers.spec.name}, so no curve that keeps its order fits "
            "them. A higher rating must be the better one, also for artifacts; `editgauge agree` shows how both go "
            "together."
        )
    after = left_out(answers.values, answers.shares, answers.sources)
    weights = role_weights(
        calibrated(answers.values, np.array([[curve.low], [curve.high], [curve.shift]]))[:, 0], answers
    )
    return Calibrated(
        answers.spec.name,
        answers.question,
        answers.good_from,
        answers.values.size,
        answers.answers,
        answers.raters,
        len(set(answers.sources.tolist())),
        answers.unscored,
        curve,
        slope,
        compare(answers.values, after, answers.shares, answers.sources),
        weights,
    )


def role_weights(chances: Numbers, answers: QuestionAnswers) -> dict[str, float]:
    """Fit the weights of the evidence of better models."""
    if not answers.further:
        return {}
    evidence = np.nan_to_num(np.stack(list(answers.further.values()), axis=1))
    weights = fit_weights(chances, evidence, answers.shares)
    return {name: round(float(weight), 4) for name, weight in zip(answers.further, weights, strict=True)}
