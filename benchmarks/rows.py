"""A row of ratios, how it is measured, and the table that rows make: on the terminal, as Markdown, as JSON."""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

TURNS = 11
HEADINGS = ("what", "against", "took", "ours", "took", "ratio")


class Row(NamedTuple):
    """Two ways to the same end, or two sizes of the same thing."""

    what: str
    plain: str
    plain_took: float
    ours: str
    ours_took: float
    unit: str = "s"

    @property
    def cells(self) -> tuple[str, ...]:
        """As they are printed."""
        first, second = (
            f"{each:,.{2 if each < 100 else 0}f} {self.unit}" for each in (self.plain_took, self.ours_took)
        )
        return self.what, self.plain, first, self.ours, second, f"{self.ratio:.2f}"

    @property
    def ratio(self) -> float:
        """Above 1 where ours takes less."""
        return self.plain_took / self.ours_took


def in_milliseconds(what: str, plain: str, theirs: Callable[[], object], ours: Callable[[], object]) -> Row:
    """Two functions timed in turns."""
    seconds = medians_in_turns(theirs, ours)
    return Row(what, plain, 1e3 * seconds[0], "ours", 1e3 * seconds[1], "ms")


def medians_in_turns(*works: Callable[[], object]) -> list[float]:
    """Seconds of processor time: other work on the machine matters little, and to all alike."""
    for work in works:
        work()
    turns = [[seconds(work) for work in works] for _ in range(TURNS)]
    return [statistics.median(column) for column in zip(*turns, strict=True)]


def seconds(work: Callable[[], object]) -> float:
    """Of processor time."""
    start = time.process_time()
    work()
    return time.process_time() - start


def title(load: float) -> str:
    """On what machine, and how busy it was."""
    return f"Ratios of one run, {os.cpu_count()} cores, {load:.1f} processes at work when it began"


def show(rows: Sequence[Row], load: float) -> None:
    """Print the table."""
    table = Table(title=title(load))
    for heading in HEADINGS:
        table.add_column(heading, justify="right" if heading in {"took", "ratio"} else "left")
    for row in rows:
        table.add_row(*row.cells)
    Console(width=150).print(table)


def write(rows: Sequence[Row], load: float, out: Path) -> None:
    """Write the table as JSON if the file name ends in .json, otherwise as Markdown."""
    if out.suffix == ".json":
        told = {"cores": os.cpu_count(), "load": load, "rows": [{**row._asdict(), "ratio": row.ratio} for row in rows]}
        out.write_text(json.dumps(told, indent=1) + "\n")
        return
    lines = [HEADINGS, tuple("--:" if each in {"took", "ratio"} else "---" for each in HEADINGS)]
    lines += [row.cells for row in rows]
    out.write_text(f"{title(load)}.\n\n" + "".join(f"| {' | '.join(cells)} |\n" for cells in lines))
