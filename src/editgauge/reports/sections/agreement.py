"""Agreement of scores with people, as tables and plots, and the outcomes on which they disagree most."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from markupsafe import Markup

from editgauge._render import text as words
from editgauge._render.svg import AxisRange
from editgauge._stats.intervals import Mean
from editgauge.analysis.agree import LEVELS
from editgauge.analysis.choice_agreement import JUDGE_SPEC as JUDGED
from editgauge.evidence import Note, from_json
from editgauge.reports._figures import ProfileRow, plot_profile
from editgauge.results import OutcomeKey

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from editgauge._stats.resampling import Estimate
    from editgauge.analysis.agree import Agreement
    from editgauge.analysis.choice_agreement import ChoiceScore, ChoiceScores, SelectedScore, SelectedScores
    from editgauge.analysis.outcomes import Matched
    from editgauge.analysis.ranking import RankedScore, Ranking
    from editgauge.analysis.rating_agreement import Disagreements, DisputedOutcome, RatedScore
    from editgauge.analysis.ratings import PreferredOutcome, Rating
    from editgauge.results import Run, ScoreKey
    from editgauge.types import ScoreSpec

DECIMALS = 2
NO_AGREEMENT, GUESSING = 0.0, 0.5
BEHIND = (
    "p",
    "that it is as good as the first, on the same answers, after Holm; the first was selected on them: optimistic",
)


@dataclass(frozen=True, slots=True)
class PrintedEstimate:
    """One number with its interval, ready to print."""

    text: str
    interval: str
    n: int | None = None
    """Of how many; None where the number is no mean."""
    reason: str = ""
    """Why there is no number."""


@dataclass(frozen=True, slots=True)
class ScoreBesidePeople:
    """Agreement of one score with people."""

    protocol: str
    spec: ScoreSpec
    cells: list[PrintedEstimate]
    unscored: int

    @property
    def has_numbers(self) -> bool:
        """Whether any cell has a value."""
        return any(cell.text != "–" for cell in self.cells)


@dataclass(frozen=True, slots=True)
class PeopleTable:
    """One question to people, their choices, triplets, or an order: a row for every score, the nearest first."""

    title: str
    about: str
    columns: list[tuple[str, str]]
    """Heading and what it means."""
    rows: list[ScoreBesidePeople]
    plot: Markup

    @property
    def with_numbers(self) -> list[ScoreBesidePeople]:
        """The rows that have a number."""
        return [row for row in self.rows if row.has_numbers]

    @property
    def without_numbers(self) -> list[str]:
        """The scores that have none, which need no row."""
        return [f"{row.protocol}/{row.spec.name}" for row in self.rows if not row.has_numbers]

    @property
    def reasons(self) -> list[str]:
        """Why some fields have no number, each once."""
        return list(dict.fromkeys(cell.reason for row in self.rows for cell in row.cells if cell.reason))


def people_tables(agreement: Agreement) -> list[PeopleTable]:
    """Return a table for every question, for choices, triplets, and every order of the methods."""
    questions = dict.fromkeys(score.question for score in agreement.rated)
    tables = [_ratings(question, agreement) for question in questions]
    tables += [_choices(agreement.choice_scores)] if agreement.choice_scores else []
    tables += [_triplets(agreement.selected)] if agreement.selected else []
    return [*tables, *map(_order, agreement.rankings)]


def left_out(agreement: Agreement) -> list[str]:
    """Return sentences that count the answers about outcomes of this run."""
    both = (("Ratings", agreement.ratings), ("Choices", agreement.choices))
    return [f"{what}: {'; '.join(_counts(matched))}." for what, matched in both if matched]


def _counts(matched: Matched[Rating] | Matched[PreferredOutcome]) -> list[str]:
    counts = [f"{len(matched.pairs):,} of outcomes of this run"]
    if matched.unmatched:
        counts.append(f"{matched.unmatched:,} about other outcomes, excluded")
    if matched.ambiguous:
        counts.append(f"{matched.ambiguous:,} without a seed although the run has several, excluded")
    return counts


def _ratings(question: str, agreement: Agreement) -> PeopleTable:
    scores = [score for score in agreement.rated if score.question == question]
    title = f"Ratings: {question}" if question else "Ratings"
    rows = [
        ScoreBesidePeople(
            score.protocol, score.spec, [_correlation(score.levels[level].spearman) for level in LEVELS], score.unscored
        )
        for score in scores
    ]
    lines = [(score, _as_mean(score.levels["pooled"].spearman)) for score in scores]
    about = "Spearman's correlation between a score and people's ratings; 0 is no agreement, 1 the same order."
    columns = [(words.spaced(level), meaning) for level, meaning in LEVELS.items()]
    return PeopleTable(title, about, columns, rows, _drawn(lines, NO_AGREEMENT, f"{title}, pooled"))


def _choices(result: ChoiceScores) -> PeopleTable:
    types = _types(result.scores)
    adjusted = {pair.second: pair.adjusted for pair in result.behind}
    rows = [
        ScoreBesidePeople(
            score.protocol,
            score.spec,
            [_share(score.share, "no choice has both scores"), _p_value(score, adjusted), *_by_type(score, types)],
            score.unscored,
        )
        for score in result.scores
    ]
    about = (
        "The share of people's choices between two outcomes that a score agrees with; 0.5 is guessing. "
        f"Equal scores count half; ties of people are left out: {result.ties:,}."
    )
    columns = [("share", "of choices"), BEHIND, *((words.spaced(name), "") for name in types)]
    lines = [(score, score.share) for score in result.scores]
    return PeopleTable("Choices", about, columns, rows, _drawn(lines, GUESSING, "Choices"))


def _triplets(selected: SelectedScores) -> PeopleTable:
    types = _types(selected.scores)
    adjusted = {pair.second: pair.adjusted for pair in selected.behind}
    nothing = "no triplet has all three scores"
    rows = [
        ScoreBesidePeople(
            score.protocol,
            score.spec,
            [
                *(_share(mean, nothing) for mean in (score.both, score.over_preserved, score.over_modified)),
                _p_value(score, adjusted),
                *_by_type(score, types),
            ],
            score.unscored,
        )
        for score in selected.scores
    ]
    good, preserved, modified = selected.methods.values()
    about = (
        f"The share of {selected.triplets:,} triplets in which a score puts {good} above {preserved}, which keeps "
        f"everything, and {modified}, which forgets the source; a third is guessing. Equal scores count as guessing."
    )
    columns = [
        ("both", "above both others"),
        (f"over {preserved}", "above the one that keeps everything"),
        (f"over {modified}", "above the one that forgets the source"),
        BEHIND,
        *((words.spaced(name), "") for name in types),
    ]
    lines = [(score, score.both) for score in selected.scores]
    return PeopleTable("Triplets", about, columns, rows, _drawn(lines, NO_AGREEMENT, "Triplets"))


def _order(ranking: Ranking) -> PeopleTable:
    """Ranks side by side: people's in the heading, those of every score below."""
    source = "choices" if ranking.by == "choices" else f"ratings: {ranking.by}" if ranking.by else "ratings"
    rows = [
        ScoreBesidePeople(
            score.protocol,
            score.spec,
            [
                _correlation(score.kendall),
                _correlation(score.spearman),
                *(_place(score, method) for method in ranking.people),
            ],
            0,
        )
        for score in ranking.scores
    ]
    means = {
        name: f"people: {words.number(mean.value, DECIMALS)} {words.interval(mean.low, mean.high, DECIMALS)}"
        for name, mean in ranking.means.items()
    }
    columns = [
        ("Kendall", "tau-b of the methods' means with people's"),
        ("Spearman", "the same by rank correlation"),
        *((f"{rank.value} {name}", means[name]) for name, rank in ranking.people.items()),
    ]
    about = (
        "Do the scores put the methods into people's order? People's rank is before each method's name, the "
        "score's rank below, with its 95% range. Correlations draw source images and keep these "
        "methods."
    )
    lines = [(score, _as_mean(score.kendall)) for score in ranking.scores]
    title = f"Order of the methods, {source}"
    return PeopleTable(title, about, columns, rows, _drawn(lines, NO_AGREEMENT, f"{title}, Kendall"))


def _place(score: RankedScore, method: str) -> PrintedEstimate:
    rank = score.ranks.get(method)
    return PrintedEstimate("–", "") if rank is None else PrintedEstimate(str(rank.value), f"[{rank.low}–{rank.high}]")


def _types(scores: Sequence[ChoiceScore | SelectedScore]) -> list[str]:
    """Return the edit types if there are several."""
    types = list(dict.fromkeys(name for score in scores for name in score.by_type))
    return types if len(types) > 1 else []


def _by_type(score: ChoiceScore | SelectedScore, types: Sequence[str]) -> list[PrintedEstimate]:
    return [_share(score.by_type.get(name), "") for name in types]


def _p_value(score: ChoiceScore | SelectedScore, adjusted: Mapping[str, float | None]) -> PrintedEstimate:
    """Whether it is as good as the first, after Holm."""
    p = adjusted.get(f"{score.protocol}/{score.spec.name}")
    return PrintedEstimate("–", "") if p is None else PrintedEstimate("< 0.001" if p < 0.001 else f"{p:.3f}", "")


def _correlation(estimate: Estimate) -> PrintedEstimate:
    return _share(_as_mean(estimate), estimate.reason, estimate.n)


def _share(mean: Mean | None, reason: str, n: int = 0) -> PrintedEstimate:
    """Format a number, or return why there is none."""
    if mean is None:
        return PrintedEstimate("–", "", n, reason)
    return PrintedEstimate(words.number(mean.value, DECIMALS), words.interval(mean.low, mean.high, DECIMALS), mean.n)


def _as_mean(estimate: Estimate) -> Mean | None:
    """Convert an estimate to a mean that can be drawn; None without a value."""
    if estimate.value is None:
        return None
    return Mean(estimate.value, estimate.low, estimate.high, estimate.n, estimate.clusters)


def _drawn(
    scores: Sequence[tuple[RatedScore | ChoiceScore | SelectedScore | RankedScore, Mean | None]],
    chance: float,
    title: str,
) -> Markup:
    """From chance to perfect agreement, and further down where a score disagrees; nothing without any number."""
    means = [mean for _, mean in scores if mean]
    if not means:
        return Markup()
    lowest = min([chance, *(end for mean in means for end in (mean.value, mean.low) if end is not None)])
    low = chance if lowest >= chance else max(-1.0, float(int(lowest * 5 - 1)) / 5)
    names = [score.spec.name for score, _ in scores]
    lines = [ProfileRow(_name(score, alone=names.count(score.spec.name) == 1), mean) for score, mean in scores]
    return plot_profile(lines, AxisRange(low, 1.0), DECIMALS, title)


def _name(score: RatedScore | ChoiceScore | SelectedScore | RankedScore, *, alone: bool) -> str:
    """Return the name of a score, with its protocol if several have it; a judge has its own name."""
    if score.spec == JUDGED:
        return score.protocol
    return score.spec.name if alone else f"{score.protocol}: {score.spec.name}"


DISPUTE_DECIMALS = 2
MAX_NOTES = 3
Notes = dict[tuple[OutcomeKey, str, str], list[str]]
"""The notes next to a score: by outcome, protocol and name."""


@dataclass(frozen=True, slots=True)
class Dispute:
    """One outcome on which a score and people disagree, ready to print."""

    outcome: OutcomeKey
    instruction: str
    score: str
    people: str
    reasons: list[str]
    """Notes of the protocol on its score."""


@dataclass(frozen=True, slots=True)
class Disputes:
    """The outcomes on which one score and people disagree most about one question."""

    title: str
    spec: ScoreSpec
    protocol: str
    outcomes: int
    sides: list[tuple[str, list[Dispute]]]
    """Direction of the disagreement, and the outcomes; a side without any is left out."""


def disputes(agreement: Agreement, run: Run) -> list[Disputes]:
    """Return the disputes of every rated question."""
    reasons = _disputed_notes(agreement, run)
    return [_question_disputes(question, run, reasons) for question in agreement.disputed]


def _question_disputes(disagreements: Disagreements, run: Run, reasons: Notes) -> Disputes:
    def ready(disputed: tuple[DisputedOutcome, ...]) -> list[Dispute]:
        score = disagreements.protocol, disagreements.spec.name
        return [_format_dispute(dispute, run, reasons.get((dispute.outcome, *score), [])) for dispute in disputed]

    sides = [
        ("The score is kinder than people", ready(disagreements.overrated)),
        ("The score is harder than people", ready(disagreements.underrated)),
    ]
    about = f" with a score: {disagreements.question}" if disagreements.question else ""
    return Disputes(
        f"Where people disagree{about}",
        disagreements.spec,
        disagreements.protocol,
        disagreements.outcomes,
        [side for side in sides if side[1]],
    )


def _format_dispute(disputed: DisputedOutcome, run: Run, reasons: list[str]) -> Dispute:
    ratings = ", ".join(f"{rating:g}" for rating in disputed.ratings)
    mean = words.number(fmean(disputed.ratings), DISPUTE_DECIMALS)
    several = f" ({ratings})" if len(disputed.ratings) > 1 else ""
    return Dispute(
        disputed.outcome,
        str(run.edits.get(disputed.outcome.edit, {}).get("instruction") or ""),
        f"{words.number(disputed.score, DISPUTE_DECIMALS)}, above {disputed.percentile:.0%} of the outcomes",
        f"{mean}{several}, above {disputed.people_percentile:.0%}",
        reasons[:MAX_NOTES],
    )


def _disputed_notes(agreement: Agreement, run: Run) -> Notes:
    """Return the notes of protocols on the disputed scores."""
    disputed = {
        (dispute.outcome, question.protocol, question.spec.name)
        for question in agreement.disputed
        for dispute in (*question.overrated, *question.underrated)
    }
    reasons: Notes = defaultdict(list)
    for key, name, note in notes_of(run, {outcome.edit for outcome, _, _ in disputed}):
        score = (OutcomeKey(key.edit, key.method, key.seed), key.protocol, name)
        if score in disputed and note not in reasons[score]:
            reasons[score].append(note)
    return reasons


def notes_of(run: Run, edits: Collection[str]) -> Iterator[tuple[ScoreKey, str, str]]:
    """Yield the notes of protocols on these edits: record key, score and sentence.

    Damaged evidence is skipped; the gallery reports it.
    """
    for key, name, text in run.iter_evidence(edits):
        try:
            piece = from_json(json.loads(text))
        except (ValueError, KeyError, TypeError):
            continue
        if isinstance(piece, Note) and piece.text:
            yield key, name, str(piece.text)
