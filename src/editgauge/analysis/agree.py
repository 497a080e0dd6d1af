"""Measure how well the scores of a run agree with people: with ratings, choices, or triplets of known truth."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from editgauge._render.plots import blend_svg
from editgauge._util.files import write_text
from editgauge.analysis._evaluators import (
    Evaluator,
    EvaluatorTarget,
    Interpolation,
    ListSimilarity,
    Scored,
    Stability,
    attributes_of,
    interpolate,
    list_similarity,
    scored,
    stability_over_runs,
)
from editgauge.analysis.binary_agreement import BinaryAgreement, binary_scores
from editgauge.analysis.choice_agreement import (
    ChoiceScores,
    JudgeFindings,
    SelectedScores,
    Triplets,
    choice_scores,
    choices_target,
    find_triplets,
    read_judges,
    read_roles,
    selected_scores,
    triplets_target,
)
from editgauge.analysis.outcomes import Matched, match, select_scores
from editgauge.analysis.ranking import Ranking, ranking_by_choices, rankings_by_ratings
from editgauge.analysis.rating_agreement import (
    Disagreements,
    People,
    RatedScore,
    disagreements,
    people,
    rated_scores,
    ratings_targets,
)
from editgauge.analysis.ratings import PreferredOutcome, Rating, published_answers, read_choices, read_ratings
from editgauge.errors import BadInputError
from editgauge.results import OutcomeKey, Run, RunSource, ScoreColumns
from editgauge.types import ScoreSpec

LEVELS = {
    "pooled": "all outcomes together",
    "per_method": "within each method, averaged",
    "per_rater": "each rater alone, averaged",
    "by_type": "within each edit type, averaged",
    "system": "the means of the methods, whose interval keeps these methods",
}
"""Levels at which scores and ratings are compared, in display order."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """The result of `agree`: best agreement first; positive is agreement whatever a score's direction."""

    ratings: Matched[Rating] | None
    choices: Matched[PreferredOutcome] | None
    rated: tuple[RatedScore, ...]
    """Every score compared with every question; empty without ratings."""
    choice_scores: ChoiceScores | None
    """None without choices."""
    people: tuple[People, ...]
    """Ratings by question, and how far raters agree; empty without ratings."""
    disputed: tuple[Disagreements, ...] = ()
    """For every question the outcomes on which people and the best score disagree most."""
    binary: BinaryAgreement | None = None
    """Yes-or-no scores compared with majorities of people; None without ratings."""
    rankings: tuple[Ranking, ...] = ()
    """The order of the methods by people compared with that of every score: by question, and by choices."""
    selected: SelectedScores | None = None
    """None without triplets."""
    judges: tuple[JudgeFindings, ...] = ()
    """Consistency of the judges; they are compared like scores."""
    blend: Interpolation | None = None
    """None without `blend`."""
    stability: tuple[Stability, ...] = ()
    """Stability of every score over the reruns; empty without any."""
    attributes: tuple[ListSimilarity, ...] = ()
    """Similarity of the attributes of the run and its reruns; empty where edits have none."""


def agree(
    run: RunSource,
    *,
    ratings: str | Path | None = None,
    choices: str | Path | None = None,
    score: Sequence[str] = (),
    triplets: str | None = None,
    judge_choices: Sequence[str | Path] = (),
    blend: str | None = None,
    plot: str | Path | None = None,
    rerun: Sequence[RunSource] = (),
    external: Sequence[str | Path] = (),
) -> Agreement:
    """Measure how well the scores of a run agree with people: with ratings, choices between two, or known truth.

    Example:
        $ editgauge agree run --ratings ratings.csv
        $ editgauge agree run --ratings imagenhub=human_ratings --external viescore=gpt4o.tsv
        $ editgauge agree run --choices choices.jsonl --score 'augclip*/*' --blend clip_i,clip_t --plot blend.svg
        $ editgauge agree run --triplets good=ours,preserved=negligible,modified=text-to-image
        >>> editgauge.agree("run", ratings="ratings.csv")

    Args:
        run: run folder.
        ratings: CSV or JSONL file with edit, method, value, and optionally rater, question, seed; or published ratings
            in their own files: `imagenhub=FOLDER`, `magicbrush=FILE`.
        choices: JSONL or CSV file with edit, first, second, chosen (first, second, tie), and optionally rater.
        score: score to check, such as `edit`, `pixlens/edit` or `augclip*/*`; repeat for several. Default: all.
        triplets: three methods of known quality: `good=METHOD,preserved=METHOD,modified=METHOD`. Does the good one win?
        judge_choices: file that `editgauge prefer` wrote; that judge is compared like a score. Repeat for several.
        blend: two scores, `PRESERVATION,MODIFICATION`, mixed in all proportions.
        plot: SVG file for the agreement along the blend.
        rerun: run of the same outcomes with other attributes or another seed, to measure stability; repeat for several.
        external: scores from outside the run: `viescore=FILE`, or a ratings file where `rater` names the evaluator and
            `question` the score; repeat for several.

    """
    _check_options(ratings, choices, triplets, blend, plot)
    opened, reruns = Run.open(run), [Run.open(folder) for folder in rerun]
    outcomes = opened.score_columns
    matched_ratings = match(read_ratings(Path(ratings)), outcomes.seeds) if ratings is not None else None
    matched_choices = match(read_choices(Path(choices)), outcomes.seeds) if choices is not None else None
    matched_triplets = find_triplets(read_roles(triplets), outcomes.seeds) if triplets is not None else None
    judges, findings = read_judges([Path(file) for file in judge_choices], outcomes)
    external_evaluators = external_scores([Path(file) for file in external], outcomes)
    outside: list[Evaluator] = [*judges, *external_evaluators]
    selected = select_scores(opened, score, [(evaluator.protocol, evaluator.spec) for evaluator in outside])
    scores = scored([name for name in selected if name[0] in opened.manifest.protocols], outcomes)
    scores += [evaluator for evaluator in external_evaluators if (evaluator.protocol, evaluator.spec) in selected]
    judges = [evaluator for evaluator in judges if (evaluator.protocol, evaluator.spec) in selected] or judges
    evaluators: list[Evaluator] = [*scores, *judges]
    targets = list(_targets(matched_ratings, matched_choices, matched_triplets, outcomes))
    interpolation = interpolate(*_blended(opened, blend, outcomes), targets) if blend is not None else None
    if interpolation is not None and plot is not None:
        names = interpolation.modification, interpolation.preservation
        write_text(Path(plot), blend_svg(interpolation.curves, interpolation.gammas, names))
    rated = rated_scores(matched_ratings, scores, outcomes) if matched_ratings else []
    return Agreement(
        ratings=matched_ratings,
        choices=matched_choices,
        rated=tuple(rated),
        disputed=tuple(disagreements(matched_ratings, rated, scores)) if matched_ratings else (),
        choice_scores=choice_scores(matched_choices, evaluators, outcomes) if matched_choices else None,
        people=tuple(people(matched_ratings, outcomes)) if matched_ratings else (),
        binary=binary_scores(matched_ratings, scores, opened, outcomes) if matched_ratings else None,
        rankings=tuple(_rankings(matched_ratings, matched_choices, scores, evaluators, outcomes)),
        selected=selected_scores(matched_triplets, evaluators, outcomes) if matched_triplets else None,
        judges=tuple(findings),
        blend=interpolation,
        stability=_stability(reruns, outcomes, scores, targets),
        attributes=tuple(list_similarity([attributes_of(folder) for folder in (opened, *reruns)])) if reruns else (),
    )


def _check_options(
    ratings: str | Path | None,
    choices: str | Path | None,
    triplets: str | None,
    blend: str | None,
    plot: str | Path | None,
) -> None:
    if ratings is None and choices is None and triplets is None:
        raise BadInputError("Nothing to agree with: give `ratings`, `choices`, or `triplets` for known truth.")
    if plot is not None and blend is None:
        raise BadInputError("`plot` draws the agreement along a blend: give `blend` too.")
    if plot is not None and Path(plot).suffix.lower() != ".svg":
        raise BadInputError(f"`plot` must end in .svg; got '{plot}'.")


def _stability(
    reruns: Sequence[Run], outcomes: ScoreColumns, scores: Sequence[Scored], targets: Sequence[EvaluatorTarget]
) -> tuple[Stability, ...]:
    if not reruns:
        return ()
    return tuple(stability_over_runs([outcomes, *(rerun.score_columns for rerun in reruns)], scores, targets))


def _targets(
    ratings: Matched[Rating] | None,
    choices: Matched[PreferredOutcome] | None,
    triplets: Triplets | None,
    outcomes: ScoreColumns,
) -> Iterator[EvaluatorTarget]:
    if choices:
        yield choices_target(choices, outcomes)
    if triplets:
        yield triplets_target(triplets, outcomes)
    if ratings:
        yield from ratings_targets(ratings, outcomes)


def _rankings(
    ratings: Matched[Rating] | None,
    choices: Matched[PreferredOutcome] | None,
    scores: Sequence[Scored],
    evaluators: Sequence[Evaluator],
    outcomes: ScoreColumns,
) -> Iterator[Ranking]:
    if ratings:
        yield from rankings_by_ratings(ratings, scores, outcomes)
    if choices and (by_choices := ranking_by_choices(choices, evaluators, outcomes)):
        yield by_choices


def _blended(run: Run, blend: str, outcomes: ScoreColumns) -> tuple[Scored, Scored]:
    names = [name.strip() for name in blend.split(",")]
    by_score = [scored(select_scores(run, [name]), outcomes) for name in names if name]
    if len(by_score) != 2 or any(len(evaluators) != 1 for evaluators in by_score):
        matches = [f"{match.protocol}/{match.spec.name}" for evaluators in by_score for match in evaluators]
        raise BadInputError(f"`blend` takes two scores, PRESERVATION,MODIFICATION; '{blend}' names these:", matches)
    (preservation,), (modification,) = by_score
    return preservation, modification


def external_scores(files: Iterable[Path], outcomes: ScoreColumns) -> list[Scored]:
    """Return one evaluator per `rater` and `question` of the files, with one value per outcome."""
    values: dict[tuple[str, str], dict[OutcomeKey, float]] = defaultdict(dict)
    lower_is_better: set[str] = set()
    for file in files:
        answers = published_answers(file) or ()
        lower_is_better |= {str(answer["question"]) for answer in answers if answer.get("higher_is_better") is False}
        for (key,), rating in match(read_ratings(file), outcomes.seeds).pairs:
            score = f"external[{rating.rater or file.stem}]", rating.question or "score"
            if key in values[score]:
                raise BadInputError(
                    f"'{file}' has two values of {'/'.join(score)} for edit '{key.edit}', '{key.method}'."
                )
            values[score][key] = rating.value
    return [
        Scored(protocol, ScoreSpec(name, name not in lower_is_better, (-math.inf, math.inf)), score_values)
        for (protocol, name), score_values in values.items()
    ]
