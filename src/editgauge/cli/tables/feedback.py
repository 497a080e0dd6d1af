"""What people complain about, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from editgauge.cli.tables.common import new_table, show

if TYPE_CHECKING:
    from editgauge.findings.people.feedback import Feedback


def show_feedback(found: Sequence[Feedback]) -> None:
    """For each question the share of remarks that speak of each kind of issue."""
    for each in found:
        table = new_table(f"{each.question}: kinds of issue in {each.remarks} remarks, share and 95 % interval")
        table.add_column("kind", no_wrap=True)
        for column in ("share", "95 % interval"):
            table.add_column(column, justify="right", no_wrap=True)
        for label, share in each.kinds.items():
            between = "-" if share.low is None or share.high is None else f"{share.low:.1%}…{share.high:.1%}"
            table.add_row(label, f"{share.value:.1%}", between)
        show(table)
        show(Text(f"{each.unsorted} remarks have none of the words; one may speak of several kinds.", style="dim"))
