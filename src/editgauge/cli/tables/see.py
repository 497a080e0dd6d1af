"""The table of `editgauge see`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from editgauge.cli.tables.common import new_table, show

if TYPE_CHECKING:
    from editgauge.look.see import Sight


def show_sight(sight: Sight) -> None:
    """What was seen, surest first; then what was not, what cannot be told, and by which models."""
    if sight.seen:
        table = new_table()
        for column in ("phrase", "seen as", "confidence", "box (left top right bottom)", "covers"):
            table.add_column(column, justify="right" if column in {"confidence", "covers"} else "left", no_wrap=True)
        for one in sight.seen:
            covers = "" if one.share is None else f"{one.share:.1%}"
            box = " ".join(f"{side:.0f}" for side in one.box)
            table.add_row(one.phrase, one.word, f"{one.confidence:.2f}", box, covers)
        show(table)
    for phrase in sight.not_seen:
        show(Text(f"not seen: {phrase}"))
    for phrase, why in sight.cannot_tell.items():
        show(Text(f"cannot tell: {phrase}: {why}"))
    for role, card in sight.models.items():
        show(Text(f"{role}: {card['name']} ({card['licence']})", style="dim"))
    for remark in sight.remarks:
        show(Text(remark, style="dim"))
