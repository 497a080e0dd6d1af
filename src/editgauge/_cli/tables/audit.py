"""The tables of `editgauge audit`, at most a hundred columns wide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from editgauge._cli.tables.common import new_table, show
from editgauge._render.text import percent
from editgauge.audits.people.ground import both_grounds

if TYPE_CHECKING:
    from editgauge._stats.resampling import Estimate
    from editgauge.audits.cards.card import ScoreCard
    from editgauge.audits.cards.result import AuditCard, Cost, PeopleAgreement

MOST = 24
"""This many scores are shown; the page has all."""


def show_card(card: AuditCard) -> None:
    """The scores, best at telling what was done first; then what judges are like, and how to read it."""
    heads = card.heads
    rest = [each for each in card.scores if each not in heads]
    if heads and card.held_back:
        _show_scores(card, [*_by_auroc(heads), *_by_auroc(rest)][:MOST])
        _show_against(heads)
    for sentence in both_grounds(card):
        show(Text(sentence))
    if card.people:
        _show_people(card, card.people)
    if card.pairs:
        _show_pairs(card)
    if card.ahead and card.held_back:
        _show_ahead(card)
    for name, estimate in card.steadiness.items():
        show(Text(f"{name}: {_formatted(estimate)}"))
    for name, side in card.sides.items():
        sides = f"left {_formatted(side.left)}, right {_formatted(side.right)}"
        show(Text(f"{name} left from right: {sides}; {side.answered} of {side.pictures} pictures answered."))
    if card.blend:
        show(_blend_line(card))
    if card.costs:
        show(_spent("Judges", card.costs))
    for name, findings in card.pairs.items():
        show(_spent(f"{name}, shown pairs", findings.cost))
    below = "AUROC below 0.5 prefers what was not done. " if card.held_back and heads else ""
    show(Text(f"{below}95% intervals, clustered by photograph."))
    if len(card.scores) > MOST:
        show(Text(f"{len(card.scores) - MOST} more scores are on the page."))


def _show_scores(card: AuditCard, scores: list[ScoreCard]) -> None:
    title = f"'Edit done' on {card.held_back:,} held-out probes of {card.photos} photographs"
    columns = ["AUROC", "accuracy", "better one chosen", "sensitivity to JPEG 90", "ignores text", "unscored"]
    table = new_table(title, ["score"], columns)
    for each in scores:
        table.add_row(
            _name(each),
            _formatted(each.auroc),
            _formatted(each.accuracy),
            _formatted(each.chosen),
            _short(each.moves.get("jpeg-90")),
            _short(each.deaf),
            percent((each.probes - each.scored) / each.probes) if each.probes else "-",
        )
    show(table)


def _show_against(heads: list[ScoreCard]) -> None:
    kinds = list(dict.fromkeys(kind for each in heads for kind in each.against))
    columns = [kind.replace("_", " ") for kind in kinds]
    table = new_table("How often the right outcome has the better score than …", ["score"], columns)
    for each in heads:
        table.add_row(f"{each.protocol}/{each.name}", *(_short(each.against.get(kind)) for kind in kinds))
    show(table)


def _show_ahead(card: AuditCard) -> None:
    columns = ["probes", "first", "second", "difference"]
    table = new_table("AUROC where both have a score", ["first", "second"], columns)
    for pair in card.ahead:
        alone = (_short(each) for each in (pair.first_auroc, pair.second_auroc))
        table.add_row(pair.first, pair.second, f"{pair.difference.n:,}", *alone, _formatted(pair.difference, "+"))
    show(table)


def _show_people(card: AuditCard, people: PeopleAgreement) -> None:
    title = f"{people.pairs:,} pairs that people compared, on {people.photos} photographs"
    table = new_table(title, ["score"], ["their choice has the better score", "pairs without"])
    for each in sorted(card.scores, key=lambda each: -_value(each.people))[:MOST]:
        table.add_row(_name(each), _formatted(each.people), f"{people.pairs - each.people.n:,}")
    table.add_row("people themselves", _formatted(people.agree), "")
    show(table)


def _show_pairs(card: AuditCard) -> None:
    columns = ["better one chosen", "first shown chosen", "order changes it", "same again", "ties", "no answer"]
    table = new_table("Judges, shown two outcomes of which the better one is known", ["judge"], columns)
    for name, each in card.pairs.items():
        shares = (each.right, each.first_shown, each.order_changes, each.same_again)
        table.add_row(
            f"{name}, {each.pairs:,} pairs",
            *map(_formatted, shares),
            f"{each.ties} of {each.answers}",
            str(sum(each.unanswered.values())),
        )
    show(table)


def _blend_line(card: AuditCard) -> Text:
    mix = card.blend
    if mix is None or mix.ahead is None:
        return Text("The mix has no pair that both scores can answer.")
    ahead = mix.ahead.difference
    ends = "" if ahead.low is None or ahead.high is None else f" [{ahead.low:+.3f}, {ahead.high:+.3f}]"
    return Text(
        f"{mix.preservation} mixed with {mix.modification} (weight {mix.gamma:g}): better one chosen "
        f"{_formatted(mix.chosen)}; {ahead.value:+.3f}{ends} against {mix.ahead.second} alone."
    )


def _spent(who: str, cost: Cost) -> Text:
    tokens = cost.prompt_tokens + cost.completion_tokens
    money = f", cost {cost.cost:.4f}" if cost.cost else ""
    return Text(f"{who}: {cost.calls:,} calls, {tokens:,} tokens{money}.")


def _by_auroc(scores: list[ScoreCard]) -> list[ScoreCard]:
    return sorted(scores, key=lambda each: -_value(each.auroc))


def _value(estimate: Estimate) -> float:
    return -1.0 if estimate.value is None else estimate.value


def _name(card: ScoreCard) -> str:
    return f"{card.protocol}/{card.name} {'↑' if card.higher_is_better else '↓'}"


def _formatted(estimate: Estimate, sign: str = "") -> str:
    if estimate.value is None:
        return "–"
    low, high = estimate.low, estimate.high
    ends = "" if low is None or high is None else f" [{low:{sign}.2f}, {high:{sign}.2f}]"
    return f"{estimate.value:{sign}.2f}{ends}"


def _short(estimate: Estimate | None) -> str:
    return "–" if estimate is None or estimate.value is None else f"{estimate.value:.2f}"
