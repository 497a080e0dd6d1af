"""How far do the scores of a run agree with people? With ratings, with choices of two, with triplets of known truth."""

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
from editgauge.analysis.outcomes import (
    Matched,
    OutcomeKey,
    ScoredOutcomes,
    match,
    scored_outcomes,
    select_scores,
)
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
from editgauge.results import Run
from editgauge.types import ScoreSpec

LEVELS = {
    "pooled": "all outcomes together",
    "per_method": "within each method, averaged",
    "per_rater": "each rater alone, averaged",
    "by_type": "within each edit type, averaged",
    "system": "the means of the methods, whose interval keeps these methods",
}
"""The levels at which scores and ratings are compared, in the order they are shown."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """What `agree` found: scores that agree most come first; positive is agreement, whatever a score's direction."""

    ratings: Matched[Rating] | None
    choices: Matched[PreferredOutcome] | None
    rated: tuple[RatedScore, ...]
    """Every score compared with every question; empty without ratings."""
    choice_scores: ChoiceScores | None
    """None without choices."""
    people: tuple[People, ...]
    """What people said, question by question, and how far they agree with each other; empty without ratings."""
    disputed: tuple[Disagreements, ...] = ()
    """For every question the outcomes on which people and the score that agrees most are farthest apart."""
    binary: BinaryAgreement | None = None
    """Yes and no of scores compared with that of people; None without ratings."""
    rankings: tuple[Ranking, ...] = ()
    """The order of the methods by people compared with that of every score: by question, and by choices."""
    selected: SelectedScores | None = None
    """None without triplets."""
    judges: tuple[JudgeFindings, ...] = ()
    """The judges whose choices were given; they stand among the scores."""
    blend: Interpolation | None = None
    """None when no two scores were to be mixed."""
    stability: tuple[Stability, ...] = ()
    """How far every score moves over the reruns; empty without any."""
    attributes: tuple[ListSimilarity, ...] = ()
    """How alike the attributes of the run and its reruns are; empty where the edits bring none."""


def agree(
    run: str | Path,
    *,
    ratings: str | Path | None = None,
    choices: str | Path | None = None,
    score: Sequence[str] = (),
    triplets: str | None = None,
    judge_choices: Sequence[str | Path] = (),
    blend: str | None = None,
    plot: str | Path | None = None,
    rerun: Sequence[str | Path] = (),
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
    if ratings is None and choices is None and triplets is None:
        raise BadInputError(
            "There is nothing to agree with: give --ratings FILE or --choices FILE, or --triplets for known truth."
        )
    if plot is not None and blend is None:
        raise BadInputError("--plot draws the agreement along a blend: give --blend PRESERVATION,MODIFICATION too.")
    if plot is not None and Path(plot).suffix.lower() != ".svg":
        raise BadInputError(f"--plot draws SVG: give a file that ends in .svg, not '{plot}'.")
    opened, again = Run.open(Path(run)), [Run.open(Path(folder)) for folder in rerun]
    known = scored_outcomes(opened)
    rated = match(read_ratings(Path(ratings)), known.seeds) if ratings is not None else None
    chosen = match(read_choices(Path(choices)), known.seeds) if choices is not None else None
    matched_triplets = find_triplets(read_roles(triplets), known) if triplets is not None else None
    judges, findings = read_judges([Path(file) for file in judge_choices], known)
    others = external_scores([Path(file) for file in external], known)
    known.values |= {(each.protocol, each.spec.name): dict(each.values) for each in others}
    outside: list[Evaluator] = [*judges, *others]
    named = select_scores(opened, score, [(each.protocol, each.spec) for each in outside])
    in_numbers = {*opened.manifest.protocols, *(each.protocol for each in others)}
    wanted = scored([each for each in named if each[0] in in_numbers], known)
    judges = [each for each in judges if (each.protocol, each.spec) in named] or judges
    evaluators: list[Evaluator] = [*wanted, *judges]
    targets = list(_asked(rated, chosen, matched_triplets, known))
    mixed = interpolate(*_blended(opened, blend, known), targets) if blend is not None else None
    if mixed is not None and plot is not None:
        write_text(Path(plot), blend_svg(mixed.curves, mixed.gammas, (mixed.modification, mixed.preservation)))
    in_order = rated_scores(rated, wanted, known) if rated else []
    return Agreement(
        ratings=rated,
        choices=chosen,
        rated=tuple(in_order),
        disputed=tuple(disagreements(rated, in_order, known)) if rated else (),
        choice_scores=choice_scores(chosen, evaluators, known) if chosen else None,
        people=tuple(people(rated, known)) if rated else (),
        binary=binary_scores(rated, wanted, opened, known) if rated else None,
        rankings=tuple(_rankings(rated, chosen, wanted, evaluators, known)),
        selected=selected_scores(matched_triplets, evaluators, known) if matched_triplets else None,
        judges=tuple(findings),
        blend=mixed,
        stability=tuple(stability_over_runs([known, *map(scored_outcomes, again)], wanted, targets)) if again else (),
        attributes=tuple(list_similarity([attributes_of(each) for each in (opened, *again)])) if again else (),
    )


def _asked(
    rated: Matched[Rating] | None,
    chosen: Matched[PreferredOutcome] | None,
    triplets: Triplets | None,
    known: ScoredOutcomes,
) -> Iterator[EvaluatorTarget]:
    if chosen:
        yield choices_target(chosen, known)
    if triplets:
        yield triplets_target(triplets, known)
    if rated:
        yield from ratings_targets(rated, known)


def _rankings(
    rated: Matched[Rating] | None,
    chosen: Matched[PreferredOutcome] | None,
    scores: Sequence[Scored],
    evaluators: Sequence[Evaluator],
    known: ScoredOutcomes,
) -> Iterator[Ranking]:
    if rated:
        yield from rankings_by_ratings(rated, scores, known)
    if chosen and (by_choices := ranking_by_choices(chosen, evaluators, known)):
        yield by_choices


def _blended(run: Run, blend: str, known: ScoredOutcomes) -> tuple[Scored, Scored]:
    names = [name.strip() for name in blend.split(",")]
    by_score = [scored(select_scores(run, [name]), known) for name in names if name]
    if len(by_score) != 2 or any(len(each) != 1 for each in by_score):
        fitting = [f"{each.protocol}/{each.spec.name}" for some in by_score for each in some]
        raise BadInputError(f"--blend takes two scores, PRESERVATION,MODIFICATION; '{blend}' names these:", fitting)
    (preservation,), (modification,) = by_score
    return preservation, modification


def external_scores(files: Iterable[Path], known: ScoredOutcomes) -> list[Scored]:
    """One evaluator per `rater` and `question` of the files; each must have one value per outcome."""
    values: dict[tuple[str, str], dict[OutcomeKey, float]] = defaultdict(dict)
    lower_is_better: set[str] = set()
    for file in files:
        answers = published_answers(file) or ()
        lower_is_better |= {str(one["question"]) for one in answers if one.get("higher_is_better") is False}
        for (key,), rating in match(read_ratings(file), known.seeds).pairs:
            score = f"external[{rating.rater or file.stem}]", rating.question or "score"
            if key in values[score]:
                raise BadInputError(
                    f"'{file}' has two values of {'/'.join(score)} for edit '{key.edit}', '{key.method}'."
                )
            values[score][key] = rating.value
    return [
        Scored(protocol, ScoreSpec(name, name not in lower_is_better, (-math.inf, math.inf)), its_values)
        for (protocol, name), its_values in values.items()
    ]
