"""Print how well scores agree with people: the tables of `agree`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from editgauge._render.tables import Column, EmptyCell, Label, ResultTable, TableCell, ValueCell, directed
from editgauge._render.terminal import make_columns, print_table, print_text
from editgauge._render.text import spaced
from editgauge.analysis.agree import LEVELS

if TYPE_CHECKING:
    from editgauge._cli._output import Options
    from editgauge._stats.agreement import BinaryRates
    from editgauge._stats.intervals import Mean
    from editgauge._stats.pairwise import Complementarity, Paired
    from editgauge._stats.resampling import Estimate
    from editgauge.analysis._evaluators import AgreementOverRuns, Interpolation, ListSimilarity, Stability
    from editgauge.analysis.agree import Agreement
    from editgauge.analysis.binary_agreement import BinaryAgreement, BinaryScore, Dependence, Together
    from editgauge.analysis.choice_agreement import (
        ChoiceScore,
        ChoiceScores,
        JudgeFindings,
        SelectedScore,
        SelectedScores,
    )
    from editgauge.analysis.outcomes import Matched
    from editgauge.analysis.ranking import RankedScore, Ranking
    from editgauge.analysis.rating_agreement import LevelAgreement, People, RatedScore
    from editgauge.types import ScoreSpec

TWO_DECIMALS = "z.2f"  # z: never "-0.00"
MEASURES = {
    "spearman": "Spearman's correlation",
    "pearson": "Pearson's correlation",
    "cosine": "Cosine similarity",
}
"""The measures that EditVal reports (figure 6, section 4.4), and one that does not depend on scales."""
PAGE_ROWS = 24
"""Rows of all tables of the short form together."""
MIN_TABLE_ROWS = 3
PAGE_LEVELS = ("pooled", "per_method", "system")
MAX_TYPE_COLUMNS = 4
"""Columns of a table by edit type; `--metrics` chooses others."""
MAX_RANK_INTERVALS = 6
"""With more methods than this, ranks are printed without intervals, so that the table stays readable."""
GAMMA_STEP = 5
"""Every fifth gamma is printed; the plot and JSON have all."""
ORDER_RULE = (
    "If it names one outcome in one order and the other in the other, that counts as a tie; a tie in one order gives "
    "way to the choice in the other."
)
BINARY_LEGEND = (
    "Yes is what the score calls 1; people's answer is that of more than half. Balanced accuracy is the mean of recall "
    "and specificity: 0.5 is chance. NPV: of what is called no, the share that is."
)


def show_agree(result: Agreement, options: Options) -> None:
    """Print one page, or with `--verbose` every table."""
    if options.get("verbose"):
        show_agreement(result)
    else:
        show_agreement_page(result)


def show_agreement(result: Agreement) -> None:
    """Print every table: ratings, binary agreement, correlations, choices, triplets, the order of methods."""
    for people in result.people:
        _show_people(people)
    if result.binary:
        show_binary(result.binary)
    for question in dict.fromkeys(score.question for score in result.rated):
        _show_ratings(question, [score for score in result.rated if score.question == question])
    if result.rated:
        _explain_levels(result.rated)
    if result.choice_scores:
        _show_choices(result.choice_scores)
    if result.selected:
        _show_triplets(result.selected)
    for judge in result.judges:
        _show_judge(judge)
    for ranking in result.rankings:
        _show_ranking(ranking)
    if result.blend:
        _show_blend(result.blend)
    if result.stability:
        _show_stability(result.stability, result.attributes)
    print_text("Positive is agreement: a score where lower is better (↓) is negated first.")
    print_text("Intervals are clustered by source image. Outcomes without a score are counted, never imputed.")
    _show_counts(result)


def show_agreement_page(result: Agreement) -> None:
    """Print one page: how well people agree, and for each question the scores that agree most."""
    questions = list(dict.fromkeys(score.question for score in result.rated))
    tables = len(questions) + bool(result.choice_scores) + bool(result.selected)
    rows = max(MIN_TABLE_ROWS, PAGE_ROWS // max(1, tables))
    for people in result.people:
        if people.panel is not None:
            name = f"'{people.question}': " if people.question else ""
            ceiling = f"a perfect score would reach {_format(people.possible.with_their_mean)}"
            print_text(f"{name}{people.raters} raters; alpha {_format(people.alpha)}; {ceiling}.")
    hidden = 0
    for question in questions:
        scores = [score for score in result.rated if score.question == question]
        _show_best_rated(question, scores[:rows])
        hidden += len(scores[rows:])
    for shares, title in _shares_by_score(result):
        _show_best_shares(title, shares[:rows])
        hidden += len(shares[rows:])
    print_text("Positive is agreement, whatever a score's direction. 95% confidence intervals over source images.")
    _show_counts(result)
    more = f"{hidden} more rows, and " if hidden else ""
    print_text(f"{more}parts, yes or no, rankings and pairs of scores: --verbose, or --json.", "dim")


# --- cells ------------------------------------------------------------------------------------------------------------


def _cell(result: Estimate | Mean | None, n: int | None = None) -> ValueCell | EmptyCell:
    if result is None or result.value is None:
        return EmptyCell()
    return ValueCell(result.value, result.low, result.high, n, format=TWO_DECIMALS)


def _score_label(protocol: str, spec: ScoreSpec, unscored: int = 0, unit: str = "") -> Label:
    name = f"{protocol}: {directed(spec.name, higher_is_better=spec.higher_is_better)}"
    return Label(name, f"{unscored} {unit} unscored" if unscored else "")


def _interval(result: Estimate | Mean) -> str:
    if result.low is None or result.high is None:
        return "-"
    return f"{result.low:{TWO_DECIMALS}}…{result.high:{TWO_DECIMALS}}"


def _format(result: Estimate | Mean) -> str:
    """Format a value with its interval for a sentence, or say why there is none."""
    if result.value is None:
        return f"none, {getattr(result, 'reason', '')}"
    return f"{result.value:{TWO_DECIMALS}} ({_interval(result)})"


def _p_text(p: float | None) -> str:
    return "-" if p is None else f"{p:.4f}"


# --- ratings ----------------------------------------------------------------------------------------------------------


def _show_best_rated(question: str, scores: Sequence[RatedScore]) -> None:
    rows: list[list[TableCell]] = [
        [
            _score_label(score.protocol, score.spec),
            *(_cell(score.levels[level].spearman) for level in PAGE_LEVELS),
            score.levels["pooled"].spearman.n,
        ]
        for score in scores
    ]
    columns = [Column("score", "left"), *make_columns(numbers=[*map(spaced, PAGE_LEVELS), "n"], wrap=False)]
    title = f"Spearman's correlation with ratings{f' of {question}' if question else ''}"
    print_table(ResultTable(columns, rows, title))


def _show_ratings(question: str, scores: Sequence[RatedScore]) -> None:
    suffix = f" to '{question}'" if question else ""
    columns = [Column("score", "left"), *make_columns(numbers=list(map(spaced, LEVELS)), wrap=False)]
    for measure, title in MEASURES.items():
        rows: list[list[TableCell]] = []
        for score in scores:
            estimates = [getattr(score.levels[level], measure) for level in LEVELS]
            label = _score_label(score.protocol, score.spec, score.unscored, "outcomes")
            rows.append([label, *(_cell(estimate, estimate.n) for estimate in estimates)])
        print_table(ResultTable(columns, rows, f"{title} with ratings{suffix}, and its 95% interval"), stacked=True)
    if len(scores) == 1:
        parts = {name: level.parts for name, level in scores[0].levels.items() if level.parts}
        _show_parts(parts)
        _show_edit_types(scores[0].by_type_within_methods)


def _explain_levels(scores: Sequence[RatedScore]) -> None:
    print_text("; ".join(f"{spaced(level)}: {text}" for level, text in LEVELS.items()) + ".")
    missing = ((level, score.levels[level].spearman.reason) for score in scores for level in LEVELS)
    reasons = dict.fromkeys(f"{spaced(level)}: {reason}" for level, reason in missing if reason)
    if reasons:
        print_text(f"No number: {'; '.join(reasons)}.")


def _show_parts(levels: Mapping[str, Mapping[str, Estimate]]) -> None:
    rows: list[list[TableCell]] = []
    for level, parts in levels.items():
        for name, part in parts.items():
            value = part.reason if part.value is None else f"{part.value:{TWO_DECIMALS}}"
            rows.append([spaced(level), name, value, _interval(part), part.n])
    columns = make_columns(["level", "part"], ["Spearman", "95% interval", "n"])
    print_table(ResultTable(columns, rows, "the parts of the averages"))


def _show_edit_types(edit_types: Mapping[str, LevelAgreement]) -> None:
    """Print the agreement by edit type, averaged over methods (EditVal, figures 6 and 10)."""
    rows: list[list[TableCell]] = [
        [name, *(_cell(getattr(level, measure)) for measure in MEASURES), level.spearman.n]
        for name, level in edit_types.items()
    ]
    columns = make_columns(["edit type"], [*MEASURES, "n"])
    print_table(ResultTable(columns, rows, "within each method, averaged over methods"), stacked=True)


def _show_people(people: People) -> None:
    """Print the mean rating of each method, and how well raters agree with each other."""
    suffix = f" to '{people.question}'" if people.question else ""
    means = ", ".join(f"{method} {_format(mean)}" for method, mean in people.means.items())
    print_text(f"Mean ratings{suffix}: {means}.")
    if people.panel is None:
        return
    panel = people.panel
    parts = [
        f"a majority on {panel.majority.value:.1%} of {panel.majority.n} outcomes ({panel.without_majority} without)",
        f"unanimous on {panel.full_agreement.value:.1%}",
        f"Krippendorff's alpha (ordinal) {_format(people.alpha)}",
        f"each rater against the others {_format(people.ceiling)}",
        f"a perfect score would reach {_format(people.possible.with_one_rater)} with one rater, "
        f"{_format(people.possible.with_their_mean)} with their mean",
    ]
    print_text(f"{people.raters} raters: {'; '.join(parts)}.")


def _show_counts(result: Agreement) -> None:
    """Print how many ratings and choices are about outcomes of this run."""
    for name, matched in (("Ratings", result.ratings), ("Choices", result.choices)):
        if matched:
            print_text(f"{name}: {'; '.join(_match_counts(matched))}.")


def _match_counts(matched: Matched[Any]) -> Iterator[str]:
    yield f"{len(matched.pairs)} of outcomes of this run"
    if matched.unmatched:
        yield f"{matched.unmatched} about other outcomes, excluded, such as {matched.first_unmatched}"
    if matched.ambiguous:
        yield f"{matched.ambiguous} without a seed although the run has several, excluded"


# --- choices and triplets ---------------------------------------------------------------------------------------------


def _shares_by_score(result: Agreement) -> Iterator[tuple[list[tuple[Label, Mean | None]], str]]:
    if result.choice_scores:
        shares = [(_score_label(score.protocol, score.spec), score.share) for score in result.choice_scores.scores]
        yield shares, "share of people's choices that a score agrees with"
    if result.selected:
        both = [(_score_label(score.protocol, score.spec), score.both) for score in result.selected.scores]
        yield both, "share of triplets whose good outcome scores highest"


def _share_cells(share: Mean | None) -> list[TableCell]:
    return ["-", "-", 0] if share is None else [share.value, _interval(share), share.n]


def _show_best_shares(title: str, shares: Sequence[tuple[Label, Mean | None]]) -> None:
    columns = [Column("score", "left"), *make_columns(numbers=["share", "95% interval", "n"], wrap=False)]
    print_table(ResultTable(columns, [[label, *_share_cells(share)] for label, share in shares], title))


def _show_choices(result: ChoiceScores) -> None:
    headers = ["share", "95% interval", "choices", "source images", "equal scores"]
    rows: list[list[TableCell]] = [
        [
            _score_label(score.protocol, score.spec, score.unscored, "choices"),
            *_share_cells(score.share),
            score.share.clusters if score.share else 0,
            score.equal,
        ]
        for score in result.scores
    ]
    title = "share of people's choices that a score agrees with, and its 95% interval"
    print_table(ResultTable(make_columns(["score"], headers), rows, title))
    _show_by_type(result.scores)
    if result.ties:
        print_text(f"Ties, excluded: {result.ties}.")
    print_text("Equal scores count half, as guessing would.")
    _show_paired(result.behind, "choices")
    if result.pairs:
        _show_pairs(result.pairs)


def _show_pairs(pairs: Sequence[Complementarity]) -> None:
    """Print whether two scores err on the same choices."""
    headers = ["both", "only first", "only second", "neither", "oracle", "average"]
    rows: list[list[TableCell]] = []
    for pair in pairs:
        means = (pair.both, pair.only_first, pair.only_second, pair.neither, pair.oracle, pair.average)
        rows.append([f"{pair.first}\n{pair.second}", *map(_cell, means)])
    title = "two scores together: the share of choices that both, one or neither agrees with"
    print_table(ResultTable(make_columns(["first, second"], headers), rows, title), stacked=True)
    print_text("oracle: always trusting the one that is right; average: of both, in units of their spread.")


def _show_paired(comparisons: Sequence[Paired], unit: str) -> None:
    """Print the best evaluator against each other one, on what both can answer."""
    if not comparisons:
        return
    headers = ["difference", "95% interval", "better", "worse", "n", "p", "p (Holm)"]
    rows: list[list[TableCell]] = []
    for pair in comparisons:
        counts = (pair.only_first, pair.only_second, pair.difference.n)
        difference = f"{pair.difference.value:+.3f}", _interval(pair.difference)
        rows.append([pair.second, *difference, *counts, _p_text(pair.p), _p_text(pair.adjusted)])
    title = f"{comparisons[0].first} against the other scores, on the {unit} that both can answer"
    print_table(ResultTable(make_columns(["against"], headers), rows, title))
    print_text("p: paired by question, clustered by source image. The first was selected on them: p is optimistic.")


def _show_by_type(scores: Sequence[ChoiceScore | SelectedScore]) -> None:
    """Print the shares of the first scores by edit type, if there are several types."""
    first = scores[:MAX_TYPE_COLUMNS]
    types = dict.fromkeys(name for score in first for name in score.by_type)
    if len(types) < 2:
        return
    rows: list[list[TableCell]] = []
    for name in types:
        means = [score.by_type.get(name) for score in first]
        rows.append([spaced(name), *(_cell(mean, mean.n if mean else None) for mean in means)])
    headers = [
        f"{score.protocol}:\n{directed(score.spec.name, higher_is_better=score.spec.higher_is_better)}"
        for score in first
    ]
    print_table(ResultTable(make_columns(["edit type"], headers), rows, "the same by edit type"), stacked=True)


def _show_triplets(result: SelectedScores) -> None:
    """Print the accuracy on triplets, over both alternatives and over each."""
    headers = ["both", "over preserved", "over modified", "n", "sources", "equal"]
    rows: list[list[TableCell]] = []
    for score in result.scores:
        counts = (score.both.n, score.both.clusters) if score.both else (0, 0)
        shares = map(_cell, (score.both, score.over_preserved, score.over_modified))
        label = _score_label(score.protocol, score.spec, score.unscored, "triplets")
        rows.append([label, *shares, *counts, score.equal])
    roles = ", ".join(f"{role} {method}" for role, method in result.methods.items())
    title = f"share of triplets whose good outcome scores highest: {roles}"
    print_table(ResultTable(make_columns(["score"], headers), rows, title), stacked=True)
    _show_by_type(result.scores)
    left_out = f"; {result.incomplete} outcomes have no such triplet, excluded" if result.incomplete else ""
    print_text(f"{result.triplets} triplets{left_out}. Equal highest scores count as guessing among them would.")
    _show_paired(result.behind, "triplets")


def _show_judge(judge: JudgeFindings) -> None:
    """Print whether a judge looks at the outcomes or at their order."""
    parts = [f"{judge.pairs} pairs", f"{judge.ties} ties", f"{judge.unanswered} unanswered, excluded"]
    if judge.consistent and judge.towards_first:
        parts.append(f"the same choice in both orders on {_format(judge.consistent)}")
        parts.append(f"bias towards the first one {_format(judge.towards_first)} (0 is none)")
    else:
        parts.append("asked in one order only: the effect of the order is unknown")
    print_text(f"Judge {judge.name}: {'; '.join(parts)}. {ORDER_RULE}")


# --- the order of methods ---------------------------------------------------------------------------------------------


def _show_ranking(ranking: Ranking) -> None:
    """Print the rank of each method by every score, with people's order from left to right."""
    source = "people's choices" if ranking.by == "choices" else f"ratings{f' to {ranking.by!r}' if ranking.by else ''}"
    with_intervals = len(ranking.people) <= MAX_RANK_INTERVALS
    people = [str(rank) if with_intervals else str(rank.value) for rank in ranking.people.values()]
    rows: list[list[TableCell]] = [[Label("people", style="strong"), *people, "", ""]]
    for score in ranking.scores:
        ranks = _rank_cells(score, ranking, with_intervals=with_intervals)
        rows.append([_score_label(score.protocol, score.spec), *ranks, _cell(score.kendall), _cell(score.spearman)])
    columns = make_columns(["score"], [*ranking.people, "Kendall", "Spearman"])
    print_table(ResultTable(columns, rows, f"rank of each method, by {source} and by every score"), stacked=True)
    print_text("1 is best; in brackets the 95% range of ranks; * differs from people. Correlations are of the means.")


def _rank_cells(score: RankedScore, ranking: Ranking, *, with_intervals: bool) -> Iterator[str]:
    for method, people in ranking.people.items():
        rank = score.ranks.get(method)
        if rank is None:
            yield "-"
        else:
            differs = "" if rank.value == people.value else "*"
            yield f"{rank if with_intervals else rank.value}{differs}"


def _show_blend(result: Interpolation) -> None:
    """Print the agreement of a few mixtures of two scores, and of the best."""
    indices = range(0, len(result.gammas), GAMMA_STEP)
    rows: list[list[TableCell]] = []
    for curve in result.curves:
        best: TableCell = EmptyCell()
        if curve.best is not None:
            value = curve.points[result.gammas.index(curve.best)].value or 0.0
            best = Label(f"γ = {curve.best:g}", f"{value:{TWO_DECIMALS}}")
        rows.append([f"{curve.target}\n{curve.measure}", *(_cell(curve.points[index]) for index in indices), best])
    headers = [*(f"γ = {result.gammas[index]:g}" for index in indices), "best"]
    title = f"γ x {result.preservation} + (1 - γ) x {result.modification}: agreement along γ"
    print_table(ResultTable(make_columns(["compared with"], headers), rows, title), stacked=True)
    print_text(
        f"Both are scaled to 0 … 1 by the minimum and maximum of this run ({result.outcomes} outcomes have both). "
        "The best γ was selected on the same answers, so its agreement is optimistic."
    )


def _show_stability(result: Sequence[Stability], attributes: Sequence[ListSimilarity]) -> None:
    """Print how far scores and their agreement move over reruns."""
    rows: list[list[TableCell]] = []
    for score in result:
        variance = "-" if score.variance is None else f"{score.variance.value:.2g}"
        share = "-" if score.of_all is None else f"{score.of_all:.1%}"
        rows.append([score.score, score.outcomes, variance, share, *map(_moved_text, score.agreement)])
    agreement = [f"{moved.target}:\nmean, variance" for moved in result[0].agreement]
    columns = make_columns(["score"], ["outcomes", "variance", "of all variance", *agreement])
    title = f"over {result[0].runs} runs: how far scores and their agreement move"
    print_table(ResultTable(columns, rows, title))
    for side in attributes:
        overlap = f"ROUGE-L {_format(side.joined)} as one text, {_format(side.itemwise)} attribute by attribute"
        print_text(f"Attributes of the {side.side}, any two runs, {side.edits} edits: {overlap}.")


def _moved_text(moved: AgreementOverRuns) -> str:
    values = [value for value in moved.values if value is not None]
    if not values or moved.variance is None:
        return "-"
    return f"{sum(values) / len(values):{TWO_DECIMALS}}, {moved.variance:.2g}"


# --- yes or no --------------------------------------------------------------------------------------------------------


def show_binary(result: BinaryAgreement) -> None:
    """Print a table per yes-or-no question, then dependences, then which scores err on different outcomes."""
    for question in dict.fromkeys(score.question for score in result.scores):
        _show_binary_question([score for score in result.scores if score.question == question])
    if result.scores:
        print_text(BINARY_LEGEND)
    dependent = [(score, condition, part) for score in result.scores for condition, part in score.conditional.items()]
    if dependent:
        _show_dependence(dependent)
    if result.together:
        _show_together(result.together)


def _show_binary_question(scores: Sequence[BinaryScore]) -> None:
    first = scores[0]
    rows: list[list[TableCell]] = []
    for score in scores:
        missing = ", ".join(f"{count} {reason}" for reason, count in score.unscored.items())
        name = f"{score.protocol}: {directed(score.spec.name, higher_is_better=score.spec.higher_is_better)}"
        label = Label(name, f"unscored: {missing}" if missing else "")
        rows.append([label, *_binary_cells(score.rates), score.n])
        if len(score.by_action) > 1:
            for action, rates in score.by_action.items():
                n = rates.balanced_accuracy.n
                rows.append([Label(f"  {action}", style="weak"), *_binary_cells(rates), n])
    headers = ["balanced\naccuracy", "precision", "recall", "specificity", "NPV", "n"]
    split = f", {first.without_majority} without a majority" if first.without_majority else ""
    good = f"people: good from {first.good_from:g} on"
    title = f"yes or no to '{first.question}', with 95% intervals ({good}{split})"
    print_table(ResultTable(make_columns(["score"], headers), rows, title), stacked=True)


def _show_dependence(dependences: Sequence[tuple[BinaryScore, str, Dependence]]) -> None:
    rows: list[list[TableCell]] = []
    for score, condition, part in dependences:
        suffix = "" if score.question == score.spec.name else f" to '{score.question}'"
        name = f"{score.protocol}: {score.spec.name}{suffix}"
        shares = map(_binary_cell, (part.where_good, part.where_bad, part.difference))
        rows.append([name, condition, *shares])
    columns = make_columns(["score", "given"], ["where good", "where bad", "difference"])
    title = "share of right answers, given people's answer to another question"
    print_table(ResultTable(columns, rows, title), stacked=True)


def _show_together(pairs: Sequence[Together]) -> None:
    rows: list[list[TableCell]] = []
    for pair in pairs:
        shares = pair.shares
        means = map(_binary_cell, (shares.both, shares.only_first, shares.only_second, shares.neither))
        oracle = _binary_cell(pair.oracle.balanced_accuracy)
        rows.append([f"{shares.first}\n{shares.second}\n'{pair.question}'", *means, oracle])
    headers = ["both", "only first", "only second", "neither", "oracle,\nbalanced"]
    title = "two scores on one question: the share of outcomes on which both, one or neither is right"
    print_table(ResultTable(make_columns(["first, second"], headers), rows, title), stacked=True)
    print_text("oracle: balanced accuracy when always trusting the one that is right.")


def _binary_cells(rates: BinaryRates) -> list[TableCell]:
    return [
        _binary_cell(rate)
        for rate in (
            rates.balanced_accuracy,
            rates.precision,
            rates.recall,
            rates.specificity,
            rates.negative_predictive_value,
        )
    ]


def _binary_cell(rate: Estimate | Mean) -> TableCell:
    if rate.value is None:
        return EmptyCell()
    if rate.low is None or rate.high is None or rate.low >= rate.high:  # all equal: no information on other outcomes
        return ValueCell(rate.value)
    return ValueCell(rate.value, rate.low, rate.high)
