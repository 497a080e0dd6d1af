"""Which scores of a run people's questions are about, and what people say, outcome by outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

import numpy as np

from editgauge._stats.intervals import Labels, Numbers
from editgauge._util.progress import log_info
from editgauge.analysis.binary_agreement import GOOD_LEVELS as LEVELS_OF_EDITINSPECTOR
from editgauge.analysis.outcomes import (
    Matched,
    OutcomeKey,
    match,
    scored_outcomes,
    select_scores,
)
from editgauge.analysis.ratings import Rating, read_ratings
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.protocols import parse_variant
from editgauge.protocols.editgauge import FURTHER
from editgauge.results import Run
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
FEWEST_SOURCES = 10
FEWEST_OF_EACH = 10.0
"""Of yes and of no, in outcomes: with fewer, a line is drawn by a handful of pictures."""


@dataclass(frozen=True, slots=True)
class QuestionAnswers:
    """What people say to one question, compared with the score that it is about."""

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
    run: Run, file: Path, scores: Sequence[str], questions: Sequence[str], level: float | None, quiet: bool = False
) -> list[QuestionAnswers]:
    """One for every question that is about a score; raises `BadInputError` where nothing can be fitted."""
    protocol = protocol_of(run)
    specs = {spec.name: spec for spec in run.manifest.protocols[protocol].scores}
    scored = scored_outcomes(run)
    matched = match(read_ratings(file), scored.seeds)
    asked_questions = list(dict.fromkeys(rating.question for _, rating in matched.pairs))
    pairs_chosen = _pairs(run, specs, asked_questions, scores, questions, quiet)
    _tell(matched, quiet)
    values = {name: column for (scorer, name), column in scored.values.items() if scorer == protocol}
    answers = [
        _answers(specs[score], question, matched, values, scored.sources, level=level)
        for score, question in pairs_chosen.items()
    ]
    problems = [
        f"{PROTOCOL}/{answer.spec.name} by {_named(answer.question)}: {why}"
        for answer in answers
        for why in _few(answer)
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
        f"'{run.folder}' has {plain} of the protocol '{PROTOCOL}': run it with --protocol {PROTOCOL}.", list(entries)
    )


def _pairs(
    run: Run,
    specs: Mapping[str, ScoreSpec],
    asked_questions: Sequence[str],
    scores: Sequence[str],
    questions: Sequence[str],
    quiet: bool,
) -> dict[str, str]:
    """Score to question, as the user says, or else by the names of the questions."""
    for question in questions:
        if question not in asked_questions:
            raise UnknownNameError("question in the ratings", question, asked_questions)
    names = [_score(run, specs, score) for score in scores]
    if names and questions and len(names) != len(questions):
        raise BadInputError(
            f"--score and --question go together, one of each: got {len(names)} scores and {len(questions)} questions."
        )
    if names and questions:
        pairs = list(zip(names, questions, strict=True))
    else:
        pairs = _by_names(specs, list(questions or asked_questions), names, quiet)
    twice = [f"{score}: {_named(question)}" for score, question in pairs if sum(score == one for one, _ in pairs) > 1]
    if twice or not pairs:
        raise BadInputError(
            "Each score takes one question: choose with --score SCORE --question QUESTION, once for each pair. "
            f"The scores are {', '.join(specs)}; the ratings answer:",
            twice or [_named(item) for item in asked_questions],
        )
    return dict(pairs)


def _by_names(
    specs: Mapping[str, ScoreSpec], questions: Sequence[str], scores: Sequence[str], quiet: bool
) -> list[tuple[str, str]]:
    """Score and question, for those of the scores, or of all, that a question is about."""
    if len(questions) == len(scores) == 1:
        return [(scores[0], questions[0])]
    about = {question: _about(question, specs, alone=len(questions) == 1) for question in questions}
    left = [_named(key) for key, score in about.items() if score is None]
    if left and len(left) < len(about):
        log_info(f"Left out: {', '.join(left)}; say with --score and --question what it is about.", quiet=quiet)
    return [(score, item) for item, score in about.items() if score and (not scores or score in scores)]


def _about(question: str, specs: Mapping[str, ScoreSpec], alone: bool) -> str | None:
    """Return the score that a question is about; a single question is about the edit."""
    return question if question in specs else ABOUT.get(question, VERDICT if alone else None)


def _score(run: Run, specs: Mapping[str, ScoreSpec], name: str) -> str:
    mine = [spec.name for protocol, spec in select_scores(run, [name]) if protocol == protocol_of(run)]
    if len(mine) != 1:
        full = [f"{PROTOCOL}/{item}" for item in specs]
        raise BadInputError(f"--score '{name}' names {len(mine)} scores of the protocol '{PROTOCOL}', which has:", full)
    return mine[0]


def _tell(matched: Matched[Rating], quiet: bool) -> None:
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
) -> QuestionAnswers:
    by_outcome: dict[OutcomeKey, list[Rating]] = {}
    for (key,), rating in matched.pairs:
        if rating.question == question:
            by_outcome.setdefault(key, []).append(rating)
    good_from = _good_from(question, by_outcome, level)
    values = scored.get(spec.name, {})
    rated = {key: ratings for key, ratings in by_outcome.items() if key in values}
    good = np.array([fmean(one.value >= good_from for one in ratings) for ratings in rated.values()], dtype=np.float64)
    return QuestionAnswers(
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


def _few(answers: QuestionAnswers) -> list[str]:
    """Why nothing can be fitted, in words."""
    yes, no = float(answers.shares.sum()), float((1 - answers.shares).sum())
    sources = np.unique(answers.sources).size
    if not answers.values.size:
        return ["no outcome has both a rating and this score"]
    if np.ptp(answers.values) == 0:
        return [f"the score is {answers.values[0]:g} for every rated outcome"]
    if min(yes, no) == 0:
        return [f"all people say {'yes' if yes else 'no'}; both answers are needed"]
    problems = []
    if min(yes, no) < FEWEST_OF_EACH:
        problems.append(f"{yes:.3g} outcomes with yes and {no:.3g} with no; {FEWEST_OF_EACH:g} of each are needed")
    if sources < FEWEST_SOURCES:
        problems.append(f"ratings of {sources} source images; {FEWEST_SOURCES} are needed")
    return problems


def _named(question: str) -> str:
    return f"'{question}'" if question else "the only question"
