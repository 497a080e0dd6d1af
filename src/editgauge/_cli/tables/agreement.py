"""The tables of `editgauge agree`, at most a hundred columns wide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.text import Text

from editgauge._cli.tables.binary import show_binary
from editgauge._cli.tables.common import named, new_table, show
from editgauge._cli.tables.evaluators import (
    cell,
    formatted,
    interval,
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
from editgauge.analysis.agree import LEVELS

if TYPE_CHECKING:
    from editgauge._stats.intervals import Mean
    from editgauge._stats.pairwise import Complementarity
    from editgauge._stats.resampling import Estimate
    from editgauge.analysis.agree import Agreement
    from editgauge.analysis.choice_agreement import ChoiceScore, ChoiceScores
    from editgauge.analysis.outcomes import Matched
    from editgauge.analysis.rating_agreement import People, RatedScore


def show_agreement(result: Agreement) -> None:
    """What people said, yes and no, correlations, choices, triplets, the order of methods; then what was left out."""
    for people in result.people:
        _show_people(people)
    if result.binary:
        show_binary(result.binary)
    for question in dict.fromkeys(score.question for score in result.rated):
        _show_ratings(question, [score for score in result.rated if score.question == question])
    if result.rated:
        _explain_levels(result.rated)
    if result.chosen:
        _show_choices(result.chosen)
    if result.selected:
        show_triplets(result.selected)
    for judge in result.judges:
        show_judge(judge)
    for ranking in result.rankings:
        show_ranking(ranking)
    if result.blend:
        show_blend(result.blend)
    if result.steadiness:
        show_steadiness(result.steadiness, result.attributes)
    show(Text("Positive is agreement: a score where lower is better (↓) is negated first."))
    show(Text("Intervals are clustered by source image. Outcomes without a score are counted, never imputed."))
    _show_counts(result)


MEASURES = {
    "spearman": "Spearman's correlation",
    "pearson": "Pearson's correlation",
    "cosine": "Cosine similarity",
}
"""What EditVal prints (figure 6, section 4.4), and what is robust to scales."""


def show_agreement_page(result: Agreement) -> None:
    """One page: how far people agree, and for each question the scores that agree most."""
    questions = list(dict.fromkeys(score.question for score in result.rated))
    rows = max(FEWEST_ROWS, ROWS_OF_A_PAGE // max(1, len(questions) + bool(result.chosen) + bool(result.selected)))
    for people in result.people:
        if people.panel is not None:
            name = f"'{people.question}': " if people.question else ""
            against = f"a perfect score would reach {formatted(people.possible.with_their_mean)}"
            show(Text(f"{name}{people.raters} raters; alpha {formatted(people.alpha)}; {against}."))
    hidden = 0
    for question in questions:
        scores = [score for score in result.rated if score.question == question]
        _show_best_rated(question, scores[:rows])
        hidden += len(scores[rows:])
    for shares, title in _chosen_shares(result):
        _show_best_shares(title, shares[:rows])
        hidden += len(shares[rows:])
    show(Text("Positive is agreement, whatever a score's direction. 95% confidence intervals over source images."))
    _show_counts(result)
    more = f"{hidden} more rows, and " if hidden else ""
    show(Text(f"{more}parts, yes or no, rankings and pairs of scores: --verbose, or --json.", style="dim"))


ROWS_OF_A_PAGE = 24
FEWEST_ROWS = 3
PAGE_LEVELS = ("pooled", "per_method", "system")


def _show_best_rated(question: str, scores: Sequence[RatedScore]) -> None:
    title = f"Spearman's correlation with ratings{f' of {question}' if question else ''}"
    table = new_table(title, ["score"], [*map(_spaced, PAGE_LEVELS), "n"], wrap_numbers=False)
    for score in scores:
        cells = (cell(score.levels[level].spearman, before_interval=" ") for level in PAGE_LEVELS)
        pooled = score.levels["pooled"].spearman
        table.add_row(f"{score.protocol}: {named(score.spec)}", *cells, str(pooled.n))
    show(table)


def _chosen_shares(result: Agreement) -> Iterator[tuple[list[tuple[str, Mean | None]], str]]:
    if result.chosen:
        shares = [(f"{each.protocol}: {named(each.spec)}", each.share) for each in result.chosen.scores]
        yield shares, "share of people's choices that a score agrees with"
    if result.selected:
        both = [(f"{each.protocol}: {named(each.spec)}", each.both) for each in result.selected.scores]
        yield both, "share of triplets whose good outcome scores highest"


def _show_best_shares(title: str, shares: Sequence[tuple[str, Mean | None]]) -> None:
    table = new_table(title, ["score"], ["share", "95% interval", "n"], wrap_numbers=False)
    for name, share in shares:
        cells = (f"{share.value:.3f}", interval(share), str(share.n)) if share else ("-", "-", "0")
        table.add_row(name, *cells)
    show(table)


def _show_ratings(question: str, scores: Sequence[RatedScore]) -> None:
    suffix = f" to '{question}'" if question else ""
    for measure, title in MEASURES.items():
        heading = f"{title} with ratings{suffix}, and its 95% interval"
        table = new_table(heading, ["score"], list(map(_spaced, LEVELS)), wrap_numbers=False)
        for score in scores:
            estimates = [getattr(score.levels[level], measure) for level in LEVELS]
            cells = (cell(each, before_interval=f" n {each.n}\n") for each in estimates)
            table.add_row(titled(score.protocol, score.spec, score.unscored, "outcomes"), *cells)
        show(table)
    if len(scores) == 1:
        parts = {name: level.parts for name, level in scores[0].levels.items() if level.parts}
        _show_parts({**parts, "by_type_within_methods": scores[0].by_type_within_methods})


def _explain_levels(scores: Sequence[RatedScore]) -> None:
    show(Text("; ".join(f"{_spaced(level)}: {meaning}" for level, meaning in LEVELS.items()) + "."))
    result = ((level, score.levels[level].spearman.reason) for score in scores for level in LEVELS)
    reasons = dict.fromkeys(f"{_spaced(level)}: {reason}" for level, reason in result if reason)
    if reasons:
        show(Text(f"Where there is no number: {'; '.join(reasons)}."))


def _show_parts(levels: Mapping[str, Mapping[str, Estimate]]) -> None:
    table = new_table("the parts of the averages", ["level", "part"], ["Spearman", "95% interval", "n"])
    for level, parts in levels.items():
        for name, part in parts.items():
            value = part.reason if part.value is None else short(part.value)
            table.add_row(_spaced(level), name, value, interval(part), str(part.n))
    show(table)


def _show_people(people: People) -> None:
    """What people said by method, and how far they agree with each other."""
    suffix = f" to '{people.question}'" if people.question else ""
    means = ", ".join(f"{method} {short(mean.value)} ({interval(mean)})" for method, mean in people.means.items())
    show(Text(f"Mean ratings{suffix}: {means}."))
    if people.panel is None:
        return
    panel, alpha = people.panel, people.alpha
    parts = [
        f"a majority on {panel.majority.value:.1%} of {panel.majority.n} outcomes ({panel.without_majority} without)",
        f"all alike on {panel.full_agreement.value:.1%}",
        f"Krippendorff's alpha (ordinal) {formatted(alpha)}",
        f"each rater against the others {formatted(people.ceiling)}",
        f"a perfect score would reach {formatted(people.possible.with_one_rater)} with one rater, "
        f"{formatted(people.possible.with_their_mean)} with their mean",
    ]
    show(Text(f"{people.raters} raters: {'; '.join(parts)}."))


def _show_choices(result: ChoiceScores) -> None:
    columns = ["share", "95% interval", "choices", "source images", "equal scores"]
    table = new_table("share of people's choices that a score agrees with, and its 95% interval", ["score"], columns)
    for score in result.scores:
        table.add_row(titled(score.protocol, score.spec, score.unscored, "choices"), *_share(score))
    show(table)
    show_types(result.scores)
    if result.ties:
        show(Text(f"Choices in which people found both alike, left out: {result.ties}."))
    show(Text("Equal scores count half, as guessing would."))
    show_behind(result.behind, "choices")
    if result.pairs:
        _show_pairs(result.pairs)


def _show_pairs(pairs: Sequence[Complementarity]) -> None:
    """Whether two scores err on the same choices."""
    title = "two scores together: the share of choices that both, one or neither agrees with"
    columns = ["both", "only first", "only second", "neither", "oracle", "average"]
    table = new_table(title, ["first, second"], columns)
    for pair in pairs:
        means = (pair.both, pair.only_first, pair.only_second, pair.neither, pair.oracle, pair.average)
        table.add_row(f"{pair.first}\n{pair.second}", *map(cell, means))
    show(table)
    show(
        Text("oracle: as if one knew each time which of the two is right; average: of both, in units of their spread.")
    )


def _share(score: ChoiceScore) -> list[str]:
    if score.share is None:
        return ["-", "-", "0", "0", str(score.equal)]
    share = score.share
    return [f"{share.value:.3f}", interval(share), str(share.n), str(share.clusters), str(score.equal)]


def _show_counts(result: Agreement) -> None:
    """How much of what people said is about outcomes of this run."""
    for words, matched in (("Ratings", result.ratings), ("Choices", result.choices)):
        if matched:
            show(Text(f"{words}: {'; '.join(_counts(matched))}."))


def _counts(matched: Matched[Any]) -> Iterator[str]:
    yield f"{len(matched.pairs)} of outcomes of this run"
    if matched.unmatched:
        yield f"{matched.unmatched} of others, left out, such as {matched.first_unmatched}"
    if matched.ambiguous:
        yield f"{matched.ambiguous} without a seed where the run has several, left out"


def _spaced(level: str) -> str:
    return level.replace("_", " ")
