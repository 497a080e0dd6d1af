"""Build a calibration of the `editgauge` scores from human ratings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from html import escape
from pathlib import Path
from statistics import fmean

import numpy as np

from editgauge import __version__
from editgauge._render.svg import AxisRange, Plane, document
from editgauge._stats.intervals import Labels, Numbers
from editgauge._stats.resampling import Estimate
from editgauge._util.files import read_bytes, write_json, write_text
from editgauge._util.progress import log_info
from editgauge.analysis.binary_agreement import GOOD_LEVELS as LEVELS_OF_EDITINSPECTOR
from editgauge.analysis.outcomes import Matched, match, select_scores
from editgauge.analysis.ratings import Rating, read_ratings
from editgauge.builders._calibration_fit import (
    CalibrationComparison,
    ReliabilityBin,
    calibrated,
    compare,
    fit_weights,
    fitted_curve,
    left_out,
)
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.protocols import parse_variant
from editgauge.protocols.editgauge import FURTHER, editgauge
from editgauge.protocols.editgauge._calibration import SCHEMA, CalibrationCurve
from editgauge.results import OutcomeKey, Run
from editgauge.types import ScoreSpec

PROTOCOL = "editgauge"
VERDICT = "edit"
ABOUT: Mapping[str, str] = {
    "accuracy": "edit",
    "applied": "edit",
    "artifacts": "kept",
    "context_kept": "kept",
    "precise": "quality",
}
"""The questions of our studies by the score that answers them, as they are worded: EditInspector's `artifacts` asks for
traces outside the asked change, `precise` for a change that is cleanly made."""
LEVELS: Mapping[str, float] = {**LEVELS_OF_EDITINSPECTOR, "applied": 2.0, "context_kept": 2.0}
"""From which answer on they are good."""
MIN_SOURCES = 10
MIN_ANSWERS_OF_EACH = 10.0
"""Of yes and of no, in outcomes: with fewer, a line is drawn by a handful of pictures."""


@dataclass(frozen=True, slots=True)
class RatedQuestion:
    """Human answers to one question with the values of the score it is about."""

    spec: ScoreSpec
    question: str
    good_from: float
    values: Numbers
    shares: Numbers
    """Of people who say what the score says at 1: that it is good."""
    sources: Labels
    answers: int
    raters: int
    """Those that have a name; 0 when none has."""
    unscored: int
    """Rated outcomes without the score: left out."""
    further: Mapping[str, Numbers] = field(default_factory=dict)
    """For the edit: what a joint embedder and a judge say of the same outcomes, NaN where they say nothing."""


def answers_of(
    run: Run, file: Path, scores: Sequence[str], questions: Sequence[str], level: float | None, *, quiet: bool = False
) -> list[RatedQuestion]:
    """Return the rated questions that are about a score; raise `BadInputError` if nothing can be fitted."""
    protocol = protocol_of(run)
    specs = {spec.name: spec for spec in run.manifest.protocols[protocol].scores}
    scored = run.score_columns
    matched = match(read_ratings(file), scored.seeds)
    asked_questions = list(dict.fromkeys(rating.question for _, rating in matched.pairs))
    pairs_chosen = _pairs(run, specs, asked_questions, scores, questions, quiet=quiet)
    _log_unmatched(matched, quiet=quiet)
    values = {name: column for name in specs if (column := scored.values(protocol, name))}
    answers = [
        _answers(specs[score], question, matched, values, scored.sources, level=level)
        for score, question in pairs_chosen.items()
    ]
    problems = [
        f"{PROTOCOL}/{answer.spec.name} by {_named(answer.question)}: {why}"
        for answer in answers
        for why in _fit_problems(answer)
    ]
    if problems:
        raise BadInputError(f"'{file}' says too little to fit a curve that would hold for other pictures.", problems)
    return answers


def protocol_of(run: Run) -> str:
    """Return the name of the protocol in the run: `editgauge`, or with a judge `editgauge[gpt-4o]`."""
    entries = run.manifest.protocols
    mine = [name for name in entries if parse_variant(name)[0] == PROTOCOL]
    plain_ones = [name for name in mine if "calibration" not in parse_variant(name)[1]]
    if len(plain_ones) == 1:
        return plain_ones[0]
    if plain_ones:
        raise BadInputError(
            f"'{run.folder}' has the protocol '{PROTOCOL}' with several judges; run it with one.", plain_ones
        )
    plain = "numbers that are calibrated already" if mine else "no numbers"
    raise BadInputError(
        f"'{run.folder}' has {plain} of the protocol '{PROTOCOL}': score it with that protocol first.", list(entries)
    )


def _pairs(
    run: Run,
    specs: Mapping[str, ScoreSpec],
    asked_questions: Sequence[str],
    scores: Sequence[str],
    questions: Sequence[str],
    *,
    quiet: bool,
) -> dict[str, str]:
    """Map scores to questions, as requested or by the names of the questions."""
    for question in questions:
        if question not in asked_questions:
            raise UnknownNameError("question in the ratings", question, asked_questions)
    names = [_score(run, specs, score) for score in scores]
    if names and questions and len(names) != len(questions):
        raise BadInputError(
            f"`score` and `question` go together, one of each: got {len(names)} scores and {len(questions)} questions."
        )
    if names and questions:
        pairs = list(zip(names, questions, strict=True))
    else:
        pairs = _by_names(specs, list(questions or asked_questions), names, quiet=quiet)
    twice = [f"{score}: {_named(question)}" for score, question in pairs if sum(score == one for one, _ in pairs) > 1]
    if twice or not pairs:
        raise BadInputError(
            "Each score takes one question: choose with `score` and `question`, one of each for every pair. "
            f"The scores are {', '.join(specs)}; the ratings answer:",
            twice or [_named(item) for item in asked_questions],
        )
    return dict(pairs)


def _by_names(
    specs: Mapping[str, ScoreSpec], questions: Sequence[str], scores: Sequence[str], *, quiet: bool
) -> list[tuple[str, str]]:
    """Pair scores with the questions that are about them by name."""
    if len(questions) == len(scores) == 1:
        return [(scores[0], questions[0])]
    about = {question: _about(question, specs, alone=len(questions) == 1) for question in questions}
    left = [_named(key) for key, score in about.items() if score is None]
    if left and len(left) < len(about):
        log_info(f"Left out: {', '.join(left)}; say with `score` and `question` what it is about.", quiet=quiet)
    return [(score, item) for item, score in about.items() if score and (not scores or score in scores)]


def _about(question: str, specs: Mapping[str, ScoreSpec], *, alone: bool) -> str | None:
    """Return the score that a question is about; a single question is about the edit."""
    return question if question in specs else ABOUT.get(question, VERDICT if alone else None)


def _score(run: Run, specs: Mapping[str, ScoreSpec], name: str) -> str:
    mine = [spec.name for protocol, spec in select_scores(run, [name]) if protocol == protocol_of(run)]
    if len(mine) != 1:
        full = [f"{PROTOCOL}/{item}" for item in specs]
        raise BadInputError(f"`score` '{name}' names {len(mine)} scores of the protocol '{PROTOCOL}', which has:", full)
    return mine[0]


def _log_unmatched(matched: Matched[Rating], *, quiet: bool) -> None:
    if matched.unmatched:
        first = matched.first_unmatched
        log_info(f"Left out: {matched.unmatched} ratings of no outcome of the run, such as {first}.", quiet=quiet)
    if matched.ambiguous:
        log_info(
            f"Left out: {matched.ambiguous} ratings that do not say of which of several seeds they are.", quiet=quiet
        )


def _answers(
    spec: ScoreSpec,
    question: str,
    matched: Matched[Rating],
    scored: Mapping[str, Mapping[OutcomeKey, float]],
    sources: Mapping[str, str],
    *,
    level: float | None,
) -> RatedQuestion:
    by_outcome: dict[OutcomeKey, list[Rating]] = {}
    for (key,), rating in matched.pairs:
        if rating.question == question:
            by_outcome.setdefault(key, []).append(rating)
    good_from = _good_from(question, by_outcome, level)
    values = scored.get(spec.name, {})
    rated = {key: ratings for key, ratings in by_outcome.items() if key in values}
    good = np.array([fmean(one.value >= good_from for one in ratings) for ratings in rated.values()], dtype=np.float64)
    return RatedQuestion(
        spec,
        question,
        good_from,
        np.array([values[key] for key in rated], dtype=np.float64),
        good if spec.higher_is_better else 1 - good,
        np.array([sources[key.edit] for key in rated], dtype=np.str_),
        sum(map(len, rated.values())),
        len({one.rater for ratings in rated.values() for one in ratings if one.rater}),
        len(by_outcome) - len(rated),
        {
            one.name: np.array([scored[one.name].get(key, np.nan) for key in rated], dtype=np.float64)
            for one in FURTHER.values()
            if spec.name == VERDICT and one.name in scored
        },
    )


def _good_from(question: str, by_outcome: Mapping[OutcomeKey, Sequence[Rating]], level: float | None) -> float:
    values = sorted({one.value for ratings in by_outcome.values() for one in ratings})
    lowest = level if level is not None else LEVELS.get(question)
    if lowest is None and set(values) <= {0.0, 1.0}:
        return 1.0
    if lowest is None:
        raise BadInputError(
            f"The answers to {_named(question)} go from {values[0]:g} to {values[-1]:g}: set `level`, from which one "
            "on it is good."
        )
    return lowest


def _fit_problems(answers: RatedQuestion) -> list[str]:
    """Return the reasons why no curve can be fitted."""
    yes, no = float(answers.shares.sum()), float((1 - answers.shares).sum())
    sources = np.unique(answers.sources).size
    if not answers.values.size:
        return ["no outcome has both a rating and this score"]
    if np.ptp(answers.values) == 0:
        return [f"the score is {answers.values[0]:g} for every rated outcome"]
    if min(yes, no) == 0:
        return [f"all people say {'yes' if yes else 'no'}; both answers are needed"]
    problems = []
    if min(yes, no) < MIN_ANSWERS_OF_EACH:
        problems.append(f"{yes:.3g} outcomes with yes and {no:.3g} with no; {MIN_ANSWERS_OF_EACH:g} of each are needed")
    if sources < MIN_SOURCES:
        problems.append(f"ratings of {sources} source images; {MIN_SOURCES} are needed")
    return problems


def _named(question: str) -> str:
    return f"'{question}'" if question else "the only question"


SIDE = 220
LEFT, GAP, RIGHT, TOP, BETWEEN, BOTTOM = 58, 56, 24, 76, 130, 46
WIDTH = LEFT + SIDE + GAP + SIDE + RIGHT
SHARES = AxisRange(0, 1)
TICKS = (0, 0.25, 0.5, 0.75, 1)
STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#333}.title{font-weight:600}.small{fill:#666}"
    ".axis,.grid{fill:none;stroke:#999}.grid{stroke:#ececec}.even{stroke:#999;stroke-dasharray:4 4}"
    ".whisker{stroke-width:1.6}.before{stroke:#b3541e;fill:#b3541e}.after{stroke:#2a6fb0;fill:#2a6fb0}"
    ".dot{stroke:none}.band{fill:#2a6fb0;fill-opacity:.16}"
    ".curve{fill:none;stroke:#2a6fb0;stroke-width:2}"
)


def calibration_svg(scores: Mapping[str, tuple[CalibrationCurve, CalibrationComparison]]) -> str:
    """Draw an SVG with one row per score: the curve on probes, and the reliability after calibration."""
    rows = (_row(name, *item, TOP + index * (SIDE + BETWEEN)) for index, (name, item) in enumerate(scores.items()))
    height = TOP + len(scores) * (SIDE + BETWEEN) - BETWEEN + BOTTOM
    description = "; ".join(
        f"{name}: expected error {element.before.expected_error:.3f} before, {element.after.expected_error:.3f} after"
        for name, (_, element) in scores.items()
    )
    return document(rows, WIDTH, height, f"The share of people who say so, by number. {description}", STYLE)


def _row(name: str, curve: CalibrationCurve, comparison: CalibrationComparison, top: float) -> str:
    question = f" to '{curve.question}'" if curve.question else ""
    named = f"{name}, and the share of people who say so{question}"
    title = f'<text class="title" x="{LEFT}" y="{top - 52:g}">{escape(named)}</text>'
    before = _Panel(LEFT, top)
    after = _Panel(LEFT + SIDE + GAP, top)
    return "".join(
        (
            title,
            before.frame(
                "as fitted on probes", f"expected error {comparison.before.expected_error:.3f}", "number on probes"
            ),
            before.curve(curve),
            before.dots(comparison.before.bins, "before"),
            after.frame(
                "by people's ratings, on images left out",
                f"expected error {comparison.after.expected_error:.3f}",
                "calibrated number",
            ),
            after.dots(comparison.after.bins, "after"),
        )
    )


class _Panel(Plane):
    """A square from 0 to 1 both ways."""

    def __init__(self, left: float, top: float) -> None:
        super().__init__(SHARES, SHARES, left, top, left + SIDE, top + SIDE)

    def frame(self, title: str, small: str, below: str) -> str:
        """Draw the grid, the axes and the diagonal of perfect calibration."""
        lines = "".join(
            f'<path class="grid" d="M{self.left:g} {self.y(tick):.1f}H{self.right:g}M{self.x(tick):.1f} {self.top:g}'
            f'V{self.bottom:g}"/>'
            f'<text x="{self.left - 8:g}" y="{self.y(tick) + 4:.1f}" text-anchor="end">{tick:.0%}</text>'
            for tick in TICKS
        )
        numbers = "".join(
            f'<text x="{self.x(tick):.1f}" y="{self.bottom + 16:g}" text-anchor="middle">{tick:g}</text>'
            for tick in (0, 0.5, 1)
        )
        middle = self.left + SIDE / 2
        return (
            f'<text x="{self.left:g}" y="{self.top - 30:g}">{escape(title)}</text>'
            f'<text class="small" x="{self.left:g}" y="{self.top - 12:g}">{escape(small)}</text>{lines}'
            f'<path class="axis" d="M{self.left:g} {self.top:g}V{self.bottom:g}H{self.right:g}"/>'
            f'<path class="even" d="M{self.left:g} {self.bottom:g}L{self.right:g} {self.top:g}"/>{numbers}'
            f'<text class="small" x="{middle:g}" y="{self.bottom + 34:g}" text-anchor="middle">{escape(below)}</text>'
        )

    def curve(self, curve: CalibrationCurve) -> str:
        """Draw the fitted curve with its band."""
        steps = [step / SIDE for step in range(SIDE + 1)]
        line = " L".join(f"{self.x(at):.1f} {self.y(curve(at)):.1f}" for at in steps)
        ends = [(at, *ends_at) for at in steps if (ends_at := curve.interval(at))]
        around = [(at, high) for at, _, high in ends] + [(at, low) for at, low, _ in reversed(ends)]
        band = " L".join(f"{self.x(at):.1f} {self.y(share):.1f}" for at, share in around)
        drawn = f'<path class="band" d="M{band}Z"/>' if ends else ""
        return f'{drawn}<path class="curve" d="M{line}"/>'

    def dots(self, bins: Sequence[ReliabilityBin], kind: str) -> str:
        """Draw one dot per bin with its interval."""
        parts = []
        for bin_ in bins:
            at, share = f"{self.x(bin_.value):.1f}", bin_.share
            if share.low is not None and share.high is not None:
                parts.append(
                    f'<path class="whisker {kind}" d="M{at} {self.y(share.low):.1f}V{self.y(share.high):.1f}"/>'
                )
            parts.append(f'<circle class="dot {kind}" cx="{at}" cy="{self.y(share.value):.1f}" r="3.6"/>')
        return "".join(parts)


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
    """Result of `calibration`."""

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
        raise BadInputError(f"`out` is a JSON file: give one that ends in .json, not '{out}'.")
    if set(str(out)) & set("[],@"):
        raise BadInputError(f"`out` becomes a part of a protocol's name, which has no room for [ ] , and @: '{out}'.")
    if opened.manifest.finished is None:
        raise BadInputError(f"The run '{run}' is not finished: give its command again to continue it.")
    answers = answers_of(opened, Path(ratings), _listed(score), _listed(question), level, quiet=quiet)
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
    """Return a single name as a list."""
    return [names] if isinstance(names, str) else names


def _calibrated(answers: RatedQuestion) -> Calibrated:
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


def role_weights(chances: Numbers, answers: RatedQuestion) -> dict[str, float]:
    """Fit the weights of the evidence of better models."""
    if not answers.further:
        return {}
    evidence = np.nan_to_num(np.stack(list(answers.further.values()), axis=1))
    weights = fit_weights(chances, evidence, answers.shares)
    return {name: round(float(weight), 4) for name, weight in zip(answers.further, weights, strict=True)}
