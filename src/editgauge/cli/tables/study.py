"""How far a study is, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from editgauge.cli.tables.common import new_table, show
from editgauge.core.text import counted

if TYPE_CHECKING:
    from editgauge.studies.analysis.status import Status

DAY, HOUR, MINUTE = 86400, 3600, 60


def show_status(status: Status) -> None:
    """The whole, then every rater."""
    share = f"{status.done} of {status.wanted} answers, {status.complete} of {status.items} items complete"
    more = f"{status.claimed} being answered, {status.surplus} surplus"
    show(Text(f"{share}; {more}; {_left(status.seconds_left)}."))
    table = new_table("raters")
    for column in ("name", "label", "state", "answers", "void", "surplus", "gold failed", "flagged", "why"):
        numeric = column in {"answers", "void", "surplus", "gold failed", "flagged"}
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for rater in status.raters:
        gold = f"{rater.gold_failed} of {rater.gold_seen}"
        counts = (str(rater.done), str(rater.void), str(rater.surplus), gold, str(rater.flagged))
        table.add_row(rater.name, rater.label or "", rater.state, *counts, rater.reason)
    if status.raters:
        show(table)
    else:
        show(Text("Nobody is invited yet: `editgauge study invite`."))


def _left(seconds: float | None) -> str:
    """The time left, in words.

    >>> _left(7300), _left(None), _left(0)
    ('about 2 hours to go at the pace of the last day', 'too few answers to tell when it is done', 'complete')
    """
    if seconds is None:
        return "too few answers to tell when it is done"
    if seconds <= 0:
        return "complete"
    units = ((DAY, "day"), (HOUR, "hour"), (MINUTE, "minute"))
    size, unit = next(((n, u) for n, u in units if seconds >= n), (1, "second"))
    return f"about {counted(max(1, round(seconds / size)), unit)} to go at the pace of the last day"
