"""Scores of whole sets of outcomes, such as FID: one table per score, methods by edit types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from editgauge.core.run import SetScore
from editgauge.core.run.sets import ALL
from editgauge.render.words import number


@dataclass(frozen=True, slots=True)
class SetTable:
    """One score of one protocol."""

    protocol: str
    name: str
    about: str
    higher_is_better: bool
    kinds: tuple[str, ...]
    rows: dict[str, tuple[tuple[str, str], ...]]
    """Method to one value per edit type, and how many outcomes it rests on."""
    warnings: tuple[str, ...]


def set_tables(scores: Sequence[SetScore], methods: Sequence[str]) -> list[SetTable]:
    """The tables of a run; none when no protocol scored sets."""
    return [
        _table(protocol, name, scores, methods)
        for protocol, name in dict.fromkeys((s.protocol, s.name) for s in scores)
    ]


def _table(protocol: str, name: str, scores: Sequence[SetScore], methods: Sequence[str]) -> SetTable:
    mine = [score for score in scores if (score.protocol, score.name) == (protocol, name)]
    kinds = (ALL, *sorted({score.edit_type for score in mine} - {ALL}))
    by_cell = {(score.method, score.edit_type): score for score in mine}
    rows = {method: tuple(_told(by_cell.get((method, kind))) for kind in kinds) for method in methods}
    warnings = dict.fromkeys(score.detail for score in mine if score.edit_type == ALL and score.detail)
    return SetTable(protocol, name, mine[0].about, mine[0].higher_is_better, kinds, rows, tuple(warnings))


def _told(score: SetScore | None) -> tuple[str, str]:
    if score is None:
        return "", ""
    count = f"n {score.n:,}" + (f", {score.missing:,} missing{_why(score)}" if score.missing else "")
    return "unscored" if score.value is None else number(score.value, 3), count


def _why(score: SetScore) -> str:
    told = (f"{reason.replace('_', ' ')} {count:,}" for reason, count in score.reasons.items())
    return f" ({', '.join(told)})" if score.reasons else ""
