"""The tables of `editgauge agree`, at most a hundred columns wide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.text import Text

from editgauge.cli.tables.binary import show_binary
from editgauge.cli.tables.common import named, new_table, show
from editgauge.cli.tables.evaluators import (
    interval,
    share_cell,
    short,
    show_behind,
    show_blend,
    show_judge,
    show_ranking,
    show_steadiness,
    show_triplets,
    show_types,
    titled,
)
from editgauge.findings.agree import LEVELS

if TYPE_CHECKING:
    from editgauge.findings.agree import Agreement
    from editgauge.findings.evaluators.choice_agreement import ChosenScore, ChosenScores
    from editgauge.findings.evaluators.rating_agreement import RatedScore
    from editgauge.findings.people.agreement import People
    from editgauge.findings.people.matching import Matched
    from editgauge.stats.complementarity import Complementarity
    from editgauge.stats.intervals import Mean
    from editgauge.stats.resampling import Estimate


def show_agreement(found: Agreement) -> None:
    """What people said, yes and no, correlations, choices, triplets, the order of methods; then what was left out."""
    for people in found.people:
        _show_people(people)
    if found.binary:
        show_binary(found.binary)
    for question in dict.fromkeys(score.question for score in found.rated):
        _show_ratings(question, [score for score in found.rated if score.question == question])
    if found.rated:
        _explain_levels(found.rated)
    if found.chosen:
        _show_choices(found.chosen)
    if found.selected:
        show_triplets(found.selected)
    for judge in found.judges:
        show_judge(judge)
    for ranking in found.rankings:
        show_ranking(ranking)
    if found.blend:
        show_blend(found.blend)
    if found.steadiness:
        show_steadiness(found.steadiness, found.attributes)
    show(Text("Positive is agreement: a score where lower is better (↓) is negated first."))
    show(Text("Intervals draw whole source images. Outcomes without a score are counted, never imputed."))
    for words, matched in (("Ratings", found.ratings), ("Choices", found.choices)):
        if matched:
            show(Text(f"{words}: {'; '.join(_counts(matched))}."))


MEASURES = {
    "spearman": "Spearman's correlation",
    "pearson": "Pearson's correlation",
    "cosine": "Cosine similarity",
}
"""What EditVal prints (figure 6, section 4.4), and what is robust to scales."""


def show_agreement_page(found: Agreement) -> None:
    """One page: how far people agree, and for each question the scores that agree most."""
    questions = list(dict.fromkeys(score.question for score in found.rated))
    rows = max(FEWEST_ROWS, ROWS_OF_A_PAGE // max(1, len(questions) + bool(found.chosen) + bool(found.selected)))
    for people in found.people:
        if people.panel is not None:
            name = f"'{people.question}': " if people.question else ""
            against = f"a perfect score would reach {_told(people.possible.with_their_mean)}"
            show(Text(f"{name}{people.raters} raters; alpha {_told(people.alpha)}; {against}."))
    hidden = 0
    for question in questions:
        scores = [score for score in found.rated if score.question == question]
        _show_best_rated(question, scores[:rows])
        hidden += len(scores[rows:])
    for shares, title in _chosen_shares(found):
        _show_best_shares(title, shares[:rows])
        hidden += len(shares[rows:])
    show(Text("Positive is agreement, whatever a score's direction. 95 % confidence intervals over source images."))
    for words, matched in (("Ratings", found.ratings), ("Choices", found.choices)):
        if matched:
            show(Text(f"{words}: {'; '.join(_counts(matched))}."))
    more = f"{hidden} more rows, and " if hidden else ""
    show(Text(f"{more}parts, yes or no, rankings and pairs of scores: --verbose, or --json.", style="dim"))


ROWS_OF_A_PAGE = 24
FEWEST_ROWS = 3
PAGE_LEVELS = ("pooled", "per_method", "system")


def _show_best_rated(question: str, scores: Sequence[RatedScore]) -> None:
    table = new_table(f"Spearman's correlation with ratings{f' of {question}' if question else ''}")
    table.add_column("score", overflow="ellipsis", no_wrap=True, max_width=38)
    for level in PAGE_LEVELS:
        table.add_column(_spaced(level), justify="right", no_wrap=True)
    table.add_column("n", justify="right")
    for score in scores:
        cells = (_short_cell(score.levels[level].spearman) for level in PAGE_LEVELS)
        pooled = score.levels["pooled"].spearman
        table.add_row(f"{score.protocol}: {named(score.spec)}", *cells, str(pooled.n))
    show(table)


def _chosen_shares(found: Agreement) -> Iterator[tuple[list[tuple[str, Mean | None]], str]]:
    if found.chosen:
        shares = [(f"{each.protocol}: {named(each.spec)}", each.share) for each in found.chosen.scores]
        yield shares, "share of people's choices that a score agrees with"
    if found.selected:
        both = [(f"{each.protocol}: {named(each.spec)}", each.both) for each in found.selected.scores]
        yield both, "share of triplets whose good outcome scores highest"


def _show_best_shares(title: str, shares: Sequence[tuple[str, Mean | None]]) -> None:
    table = new_table(title)
    for column in ("score", "share", "95 % interval", "n"):
        table.add_column(column, justify="left" if column == "score" else "right", no_wrap=True, overflow="ellipsis")
    for name, share in shares:
        cells = (f"{share.value:.3f}", interval(share), str(share.n)) if share else ("-", "-", "0")
        table.add_row(name, *cells)
    show(table)


def _short_cell(found: Estimate) -> Text:
    if found.value is None:
        return Text("-", style="dim")
    return Text(short(found.value)).append(f" {interval(found)}", style="dim")


def _show_ratings(question: str, scores: Sequence[RatedScore]) -> None:
    asked = f" to '{question}'" if question else ""
    for measure, title in MEASURES.items():
        table = new_table(f"{title} with ratings{asked}, and its 95 % interval")
        table.add_column("score", overflow="fold")
        for level in LEVELS:
            table.add_column(_spaced(level), justify="right", no_wrap=True)
        for score in scores:
            cells = (_cell(getattr(score.levels[level], measure)) for level in LEVELS)
            table.add_row(titled(score.protocol, score.spec, score.unscored, "outcomes"), *cells)
        show(table)
    if len(scores) == 1:
        parts = {name: level.parts for name, level in scores[0].levels.items() if level.parts}
        _show_parts({**parts, "by_type_within_methods": scores[0].by_type_within_methods})


def _explain_levels(scores: Sequence[RatedScore]) -> None:
    show(Text("; ".join(f"{_spaced(level)}: {meaning}" for level, meaning in LEVELS.items()) + "."))
    found = ((level, score.levels[level].spearman.reason) for score in scores for level in LEVELS)
    reasons = dict.fromkeys(f"{_spaced(level)}: {reason}" for level, reason in found if reason)
    if reasons:
        show(Text(f"Where there is no number: {'; '.join(reasons)}."))


def _show_parts(levels: Mapping[str, Mapping[str, Estimate]]) -> None:
    table = new_table("the parts of the averages")
    for column in ("level", "part", "Spearman", "95 % interval", "n"):
        table.add_column(column, justify="left" if column in {"level", "part"} else "right", overflow="fold")
    for level, parts in levels.items():
        for name, part in parts.items():
            value = part.reason if part.value is None else short(part.value)
            table.add_row(_spaced(level), name, value, interval(part), str(part.n))
    show(table)


def _show_people(people: People) -> None:
    """What people said by method, and how far they agree with each other."""
    asked = f" to '{people.question}'" if people.question else ""
    means = ", ".join(f"{method} {short(mean.value)} ({interval(mean)})" for method, mean in people.means.items())
    show(Text(f"Mean ratings{asked}: {means}."))
    if people.panel is None:
        return
    panel, alpha = people.panel, people.alpha
    told = [
        f"a majority on {panel.majority.value:.1%} of {panel.majority.n} outcomes ({panel.without_majority} without)",
        f"all alike on {panel.full_agreement.value:.1%}",
        f"Krippendorff's alpha (ordinal) {_told(alpha)}",
        f"each rater against the others {_told(people.ceiling)}",
        f"a perfect score would reach {_told(people.possible.with_one_rater)} with one rater, "
        f"{_told(people.possible.with_their_mean)} with their mean",
    ]
    show(Text(f"{people.raters} raters: {'; '.join(told)}."))


def _told(found: Estimate) -> str:
    return f"none, {found.reason}" if found.value is None else f"{short(found.value)} ({interval(found)})"


def _show_choices(found: ChosenScores) -> None:
    table = new_table("share of people's choices that a score agrees with, and its 95 % interval")
    table.add_column("score", overflow="fold")
    for column in ("share", "95 % interval", "choices", "source images", "equal scores"):
        table.add_column(column, justify="right")
    for score in found.scores:
        table.add_row(titled(score.protocol, score.spec, score.unscored, "choices"), *_share(score))
    show(table)
    show_types(found.scores)
    if found.ties:
        show(Text(f"Choices in which people found both alike, left out: {found.ties}."))
    show(Text("Equal scores count half, as guessing would."))
    show_behind(found.behind, "choices")
    if found.pairs:
        _show_pairs(found.pairs)


def _show_pairs(pairs: Sequence[Complementarity]) -> None:
    """Whether two scores err on the same choices."""
    table = new_table("two scores together: the share of choices that both, one or neither agrees with")
    for column in ("first, second", "both", "only first", "only second", "neither", "oracle", "average"):
        table.add_column(column, justify="left" if column.startswith("first") else "right", overflow="fold")
    for pair in pairs:
        means = (pair.both, pair.only_first, pair.only_second, pair.neither, pair.oracle, pair.average)
        table.add_row(f"{pair.first}\n{pair.second}", *map(share_cell, means))
    show(table)
    show(
        Text("oracle: as if one knew each time which of the two is right; average: of both, in units of their spread.")
    )


def _share(score: ChosenScore) -> list[str]:
    if score.share is None:
        return ["-", "-", "0", "0", str(score.equal)]
    share = score.share
    return [f"{share.value:.3f}", interval(share), str(share.n), str(share.clusters), str(score.equal)]


def _counts(matched: Matched[Any]) -> Iterator[str]:
    yield f"{len(matched.found)} of outcomes of this run"
    if matched.strangers:
        yield f"{matched.strangers} of others, left out, such as {matched.first_stranger}"
    if matched.undecided:
        yield f"{matched.undecided} without a seed where the run has several, left out"


def _cell(found: Estimate) -> Text:
    if found.value is None:
        return Text("-", style="dim")
    text = Text(f"{short(found.value)} n {found.n}")
    text.append(f"\n{interval(found)}", style="dim")
    return text


def _spaced(level: str) -> str:
    return level.replace("_", " ")
