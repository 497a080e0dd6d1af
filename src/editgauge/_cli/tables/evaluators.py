"""What `agree` says about evaluators compared with known truth, of their order of methods, and of what moves them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from editgauge._cli.tables.common import named, new_table, show

if TYPE_CHECKING:
    from editgauge._stats.intervals import Mean
    from editgauge._stats.pairwise import Paired
    from editgauge._stats.resampling import Estimate
    from editgauge.analysis._evaluators import AgreementOverRuns, Interpolation, ListSimilarity, Stability
    from editgauge.analysis.choice_agreement import ChoiceScore, JudgeFindings, SelectedScore, SelectedScores
    from editgauge.analysis.ranking import RankedScore, Ranking
    from editgauge.types import ScoreSpec

MOST_SCORES = 4
"""Columns of a table by edit type; `--metrics` chooses others."""
MOST_METHODS = 6
"""With more methods than this the places stand without their intervals, so that a table stays readable."""
ORDER = (
    "Where it names one and then the other, it counts as finding both alike; a tie in one order gives way to what it "
    "names in the other."
)
"""How the answers of two orders become one."""
GAMMAS_SHOWN = 5
"""Every few steps of gamma; the picture and JSON have all."""


def show_behind(behind: Sequence[Paired], what: str) -> None:
    """The best evaluator against the others, on what both can answer."""
    if not behind:
        return
    title = f"{behind[0].first} against the others, on the {what} that both can answer"
    columns = ["difference", "95% interval", "better", "worse", "n", "p", "p (Holm)"]
    table = new_table(title, ["against"], columns)
    for each in behind:
        counts = (each.only_first, each.only_second, each.difference.n)
        numbers = (f"{each.difference.value:+.3f}", interval(each.difference), *map(str, counts))
        table.add_row(each.second, *numbers, _p(each.p), _p(each.adjusted))
    show(table)
    show(Text("p: paired by question, clustered by source image. The first was chosen on them: p is optimistic."))


def show_types(scores: Sequence[ChoiceScore | SelectedScore]) -> None:
    """The same by edit type, for the scores that come first; nothing where there is one type only."""
    first = scores[:MOST_SCORES]
    types = dict.fromkeys(name for score in first for name in score.by_type)
    if len(types) < 2:
        return
    columns = [f"{score.protocol}:\n{named(score.spec)}" for score in first]
    table = new_table("the same by edit type", ["edit type"], columns)
    for name in types:
        table.add_row(name.replace("_", " "), *(_of_type(score.by_type.get(name)) for score in first))
    show(table)


def _of_type(mean: Mean | None) -> Text:
    return cell(mean) if mean is None else Text(f"{short(mean.value)} n {mean.n}\n{interval(mean)}")


def show_triplets(result: SelectedScores) -> None:
    """Acc_both and its halves."""
    roles = ", ".join(f"{role} {method}" for role, method in result.methods.items())
    columns = ["both", "over preserved", "over modified", "n", "sources", "equal"]
    table = new_table(f"share of triplets whose good outcome scores highest: {roles}", ["score"], columns)
    for score in result.scores:
        counts = (score.both.n, score.both.clusters) if score.both else (0, 0)
        shares = map(cell, (score.both, score.over_preserved, score.over_modified))
        title = titled(score.protocol, score.spec, score.unscored, "triplets")
        table.add_row(title, *shares, *map(str, counts), str(score.equal))
    show(table)
    show_types(result.scores)
    left_out = f"; {result.incomplete} outcomes have no such triplet, left out" if result.incomplete else ""
    show(Text(f"{result.triplets} triplets{left_out}. Equal highest scores count as guessing among them would."))
    show_behind(result.behind, "triplets")


def show_judge(judge: JudgeFindings) -> None:
    """Whether a judge looks at the outcomes or at their order."""
    parts = [f"{judge.pairs} pairs", f"{judge.ties} found alike", f"{judge.unanswered} without an answer, left out"]
    if judge.consistent and judge.towards_first:
        parts.append(f"the same verdict in both orders on {formatted(judge.consistent)}")
        parts.append(f"drawn towards the one shown first by {formatted(judge.towards_first)} (0 is not at all)")
    else:
        parts.append("asked in one order only: nothing is known about what the order does")
    show(Text(f"Judge {judge.name}: {'; '.join(parts)}. {ORDER}"))


def show_ranking(ranking: Ranking) -> None:
    """The places of the methods, a column each, people's order from left to right."""
    by = "people's choices" if ranking.by == "choices" else f"ratings to '{ranking.by}'" if ranking.by else "ratings"
    columns = [*ranking.people, "Kendall", "Spearman"]
    table = new_table(f"the order of the methods, by {by} and by every score", ["score"], columns)
    few = len(ranking.people) <= MOST_METHODS
    people = [str(rank) if few else str(rank.value) for rank in ranking.people.values()]
    table.add_row(Text("people", style="bold"), *people, "", "")
    for score in ranking.scores:
        correlations = cell(score.kendall), cell(score.spearman)
        table.add_row(titled(score.protocol, score.spec), *_places(score, ranking, few), *correlations)
    show(table)
    show(Text("1 is best; in brackets the places that a method may have instead. Correlations are of the means."))


def _places(score: RankedScore, ranking: Ranking, few: bool) -> list[Text]:
    ranks = [(score.ranks.get(method), rank.value) for method, rank in ranking.people.items()]
    return [
        Text("-" if rank is None else str(rank) if few else str(rank.value), style="" if own else "yellow")
        for rank, place in ranks
        for own in [rank is not None and rank.value == place]
    ]


def show_blend(result: Interpolation) -> None:
    """Agreement at a few mixes, and at the best."""
    title = f"γ x {result.preservation} + (1 - γ) x {result.modification}: agreement along γ"
    shown = range(0, len(result.gammas), GAMMAS_SHOWN)
    columns = [*(f"γ = {result.gammas[place]:g}" for place in shown), "best"]
    table = new_table(title, ["compared with"], columns)
    for curve in result.curves:
        cells = [cell(curve.points[place]) for place in shown]
        best = Text("-", style="dim") if curve.best is None else Text(f"γ = {curve.best:g}\n")
        if curve.best is not None:
            best.append_text(Text(short(curve.points[result.gammas.index(curve.best)].value or 0.0)))
        table.add_row(Text(f"{curve.asked}\n{curve.measure}"), *cells, best)
    show(table)
    show(
        Text(
            f"Both are scaled to 0 … 1 by the least and greatest of this run ({result.outcomes} outcomes have both). "
            "The best γ was selected on the same answers, so its agreement is optimistic."
        )
    )


def show_steadiness(result: Sequence[Stability], attributes: Sequence[ListSimilarity]) -> None:
    """How far scores and their agreement move over reruns."""
    agreement = [f"{moved.asked}:\nmean, variance" for moved in result[0].agreement]
    columns = ["outcomes", "variance", "of all variance", *agreement]
    table = new_table(f"over {result[0].runs} runs: how far scores and their agreement move", ["score"], columns)
    for each in result:
        variance = "-" if each.variance is None else f"{each.variance.value:.2g}"
        share = "-" if each.of_all is None else f"{each.of_all:.1%}"
        table.add_row(each.score, str(each.outcomes), variance, share, *map(_moved, each.agreement))
    show(table)
    for side in attributes:
        joined, by_itself = formatted(side.joined), formatted(side.each)
        words = f"Attributes of the {side.side}, any two runs, {side.edits} edits: ROUGE-L {joined} as one text"
        show(Text(f"{words}, {by_itself} attribute by attribute."))


def _moved(moved: AgreementOverRuns) -> str:
    parts = [value for value in moved.values if value is not None]
    if not parts or moved.variance is None:
        return "-"
    return f"{short(sum(parts) / len(parts))}, {moved.variance:.2g}"


def titled(protocol: str, spec: ScoreSpec, unscored: int = 0, what: str = "") -> Text:
    """A score's name, and below it how much of it is missing."""
    title = Text(f"{protocol}: {named(spec)}")
    if unscored:
        title.append(f"\n{unscored} {what} unscored", style="dim italic")
    return title


def cell(result: Estimate | Mean | None, before_interval: str = "\n") -> Text:
    """A value with its interval below; a dash where there is none."""
    if result is None or result.value is None:
        return Text("-", style="dim")
    return Text(f"{short(result.value)}{before_interval}").append(interval(result), style="dim")


def interval(result: Estimate | Mean) -> str:
    """From where to where, or a dash."""
    return "-" if result.low is None or result.high is None else f"{short(result.low)}…{short(result.high)}"


def short(value: float) -> str:
    """Two digits, and never minus nothing."""
    return f"{round(value, 2) + 0.0:.2f}"


def formatted(result: Estimate | Mean) -> str:
    """A value with its interval for a sentence, or why there is none."""
    if result.value is None:
        return f"none, {getattr(result, 'reason', '')}"
    return f"{short(result.value)} ({interval(result)})"


def _p(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
