"""Scores compared with people: how far each agrees with ratings, choices and known truth, as tables and plots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from editgauge.findings.agree import LEVELS
from editgauge.render import words
from editgauge.reports.sections.people_rows import (
    DECIMALS,
    PeopleTable,
    ScoreBesidePeople,
    as_mean,
    by_type,
    drawn,
    interval,
    lines_of,
    p_value,
    place,
    share,
    told,
    types_of,
)

if TYPE_CHECKING:
    from editgauge.findings.agree import Agreement
    from editgauge.findings.evaluators.choice_agreement import ChosenScores
    from editgauge.findings.evaluators.ranking import Ranking
    from editgauge.findings.evaluators.triplets import SelectedScores
    from editgauge.findings.people.matching import Matched
    from editgauge.findings.people.ratings import PreferredOutcome, Rating

NO_AGREEMENT, GUESSING = 0.0, 0.5
BEHIND = (
    "p",
    "that it is as good as the first, on the same answers, after Holm; the first was chosen on them: optimistic",
)


def people_tables(agreement: Agreement) -> list[PeopleTable]:
    """A table for every question, one each for choices and triplets, and one for every order of the methods."""
    questions = dict.fromkeys(score.question for score in agreement.rated)
    tables = [_ratings(question, agreement) for question in questions]
    tables += [_choices(agreement.chosen)] if agreement.chosen else []
    tables += [_triplets(agreement.selected)] if agreement.selected else []
    return [*tables, *map(_order, agreement.rankings)]


def left_out(agreement: Agreement) -> list[str]:
    """How much of what people said is of this run, in a sentence each."""
    both = (("Ratings", agreement.ratings), ("Choices", agreement.choices))
    return [f"{what}: {'; '.join(_counts(matched))}." for what, matched in both if matched]


def _counts(matched: Matched[Rating] | Matched[PreferredOutcome]) -> list[str]:
    counts = [f"{len(matched.pairs):,} of outcomes of this run"]
    if matched.strangers:
        counts.append(f"{matched.strangers:,} of others, left out")
    if matched.undecided:
        counts.append(f"{matched.undecided:,} without a seed where the run has several, left out")
    return counts


def _ratings(question: str, agreement: Agreement) -> PeopleTable:
    scores = [score for score in agreement.rated if score.question == question]
    title = f"Ratings: {question}" if question else "Ratings"
    rows = [
        ScoreBesidePeople(
            score.protocol, score.spec, [told(score.levels[level].spearman) for level in LEVELS], score.unscored
        )
        for score in scores
    ]
    lines = lines_of([(score, as_mean(score.levels["pooled"].spearman)) for score in scores])
    about = "Spearman's correlation between a score and people's ratings; 0 is no agreement, 1 the same order."
    columns = [(words.spaced(level), meaning) for level, meaning in LEVELS.items()]
    return PeopleTable(title, about, columns, rows, drawn(lines, NO_AGREEMENT, f"{title}, pooled"))


def _choices(chosen: ChosenScores) -> PeopleTable:
    types = types_of(chosen.scores)
    adjusted = {each.second: each.adjusted for each in chosen.behind}
    rows = [
        ScoreBesidePeople(
            score.protocol,
            score.spec,
            [share(score.share, "no choice has both scores"), p_value(score, adjusted), *by_type(score, types)],
            score.unscored,
        )
        for score in chosen.scores
    ]
    about = (
        "The share of people's choices between two outcomes that a score agrees with; 0.5 is guessing. "
        f"Equal scores count half; choices in which people found both alike are left out: {chosen.ties:,}."
    )
    columns = [("share", "of choices"), BEHIND, *((words.spaced(name), "") for name in types)]
    lines = lines_of([(score, score.share) for score in chosen.scores])
    return PeopleTable("Choices", about, columns, rows, drawn(lines, GUESSING, "Choices"))


def _triplets(selected: SelectedScores) -> PeopleTable:
    types = types_of(selected.scores)
    adjusted = {each.second: each.adjusted for each in selected.behind}
    nothing = "no triplet has all three scores"
    rows = [
        ScoreBesidePeople(
            score.protocol,
            score.spec,
            [
                *(share(each, nothing) for each in (score.both, score.over_preserved, score.over_modified)),
                p_value(score, adjusted),
                *by_type(score, types),
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
    lines = lines_of([(score, score.both) for score in selected.scores])
    return PeopleTable("Triplets", about, columns, rows, drawn(lines, NO_AGREEMENT, "Triplets"))


def _order(ranking: Ranking) -> PeopleTable:
    """Ranks side by side: people's in the heading, those of every score below."""
    source = "choices" if ranking.by == "choices" else f"ratings: {ranking.by}" if ranking.by else "ratings"
    rows = [
        ScoreBesidePeople(
            score.protocol,
            score.spec,
            [told(score.kendall), told(score.spearman), *(place(score, method) for method in ranking.people)],
            0,
        )
        for score in ranking.scores
    ]
    means = {
        name: f"people: {words.number(mean.value, DECIMALS)} {interval(mean)}" for name, mean in ranking.means.items()
    }
    columns = [
        ("Kendall", "tau-b of the methods' means with people's"),
        ("Spearman", "the same by rank correlation"),
        *((f"{rank.value} {name}", means[name]) for name, rank in ranking.people.items()),
    ]
    about = (
        "Do the scores put the methods into people's order? People's place stands before each method's name, the "
        "score's place below, with the places that it may have instead. Correlations draw source images and keep these "
        "methods."
    )
    lines = lines_of([(score, as_mean(score.kendall)) for score in ranking.scores])
    title = f"Order of the methods, {source}"
    return PeopleTable(title, about, columns, rows, drawn(lines, NO_AGREEMENT, f"{title}, Kendall"))
