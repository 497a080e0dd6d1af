"""How far do the scores of a run agree with people? With their ratings, level by level; with their choices of two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from editgauge.analysis.chosen import ChosenScores, chosen_scores
from editgauge.analysis.matching import Matched, match, scored_outcomes, wanted_scores
from editgauge.analysis.people import People, people
from editgauge.analysis.rated import RatedScore, rated_scores
from editgauge.analysis.ratings import Choice, Rating, read_choices, read_ratings
from editgauge.core.errors import BadInput
from editgauge.core.run import Run

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
    choices: Matched[Choice] | None
    rated: tuple[RatedScore, ...]
    """Every score beside every question; empty without ratings."""
    chosen: ChosenScores | None
    """None without choices."""
    people: tuple[People, ...]
    """What people said, question by question, and how far they agree with each other; empty without ratings."""


def agree(
    run: str | Path,
    ratings: str | Path | None = None,
    choices: str | Path | None = None,
    scores: Sequence[str] = (),
) -> Agreement:
    """Says how far the scores of a run agree with people.

    Args:
        run: the run folder.
        ratings: a CSV or JSON lines file with edit, method, value and, where there are any, rater, question, seed.
        choices: a JSON lines or CSV file with edit, first, second, chosen (first, second or tie) and perhaps rater.
        scores: names such as `edit` or `pixlens/edit`; without any, all scores of the run.
    """
    if ratings is None and choices is None:
        raise BadInput("There is nothing to agree with: give --ratings FILE or --choices FILE.")
    opened = Run.open(Path(run))
    wanted = wanted_scores(opened, scores)
    known = scored_outcomes(opened)
    rated = match(read_ratings(Path(ratings)), known.seeds) if ratings is not None else None
    chosen = match(read_choices(Path(choices)), known.seeds) if choices is not None else None
    return Agreement(
        ratings=rated,
        choices=chosen,
        rated=tuple(rated_scores(rated, wanted, known)) if rated else (),
        chosen=chosen_scores(chosen, wanted, known) if chosen else None,
        people=tuple(people(rated, known)) if rated else (),
    )
