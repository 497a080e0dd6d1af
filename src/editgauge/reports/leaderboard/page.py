"""The verb `leaderboard`: the methods of several runs on one page, ranked where they can be compared."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from editgauge.core.errors import BadInput
from editgauge.core.run import Run
from editgauge.reports.assets import page_in
from editgauge.reports.context import write_page
from editgauge.reports.leaderboard.standings import standings, why_apart

PAGE = "leaderboard.html"
STYLES = ("base", "first", "tables", "leaderboard", "media")
SCRIPTS = ("theme", "leaderboard")


def leaderboard(runs: Sequence[str | Path], *, out: str | Path, group: Sequence[str] = ()) -> Path:
    """Rank the methods of several runs on one page; runs that are not comparable get separate tables.

    Runs share a table only if their edits, the protocol's rules and the models are the same.

    Example:
        $ editgauge leaderboard run-of-ada run-of-grace --out board
        $ editgauge leaderboard run-of-ada run-of-grace --out board --group language=en
        >>> editgauge.leaderboard(["run-of-ada", "run-of-grace"], out="board")

    Args:
        runs: run folders.
        out: folder to write `leaderboard.html` into.
        group: limit to the edits of one of the benchmark's own groups, as NAME=VALUE; repeat for edits in all of them.
    """
    folders = [Path(each) for each in ([runs] if isinstance(runs, str | Path) else runs)]
    twice = [str(folder) for place, folder in enumerate(folders) if folder.resolve() in _resolved(folders[:place])]
    if twice or not folders:
        raise BadInput(f"The run '{twice[0]}' is given twice." if twice else "Give at least one run folder.")
    page = page_in(out, PAGE)
    boards = standings([Run.open(folder) for folder in folders], group)
    return write_page(
        page,
        "leaderboard.html.j2",
        STYLES,
        SCRIPTS,
        standings=boards,
        apart=why_apart(boards),
        runs=len(folders),
        group=list(group),
    )


def _resolved(folders: Sequence[Path]) -> list[Path]:
    return [folder.resolve() for folder in folders]
