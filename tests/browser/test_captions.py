"""The plots and tables of difference captions, as one sees them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from editgauge.reports.report import report
from editgauge.results.manifest import ProtocolEntry
from editgauge.types import ScoreSpec

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from editgauge.results import JournalEntry

pytestmark = pytest.mark.slow

NAME = "difference-captions[a judge with a name that no phone shows in one line]".replace(" ", "-")
SCORES = tuple(ScoreSpec(name, True, (0.0, 100.0)) for name in ("main_matched", "mp", "hr", "objects", "differences"))
ENTRY = ProtocolEntry(about="", paper="", version="1", deviations=(), scores=SCORES)


@pytest.fixture
def captions(make_run: Callable[..., Path], make_record: Callable[..., JournalEntry], tmp_path: Path) -> Path:
    records = [
        make_record(
            f"e{n}",
            {"main_matched": 1.0, "mp": n / 20, "hr": "not_applicable" if n == 7 else 0.5}
            | {"objects": float(n), "differences": 2.0},
            protocol=NAME,
            source=f"{n}.png",
            place=n,
        )
        for n in range(20)
    ]
    actions = ("Add", "Remove")
    extras = {f"e{n}": {"action": actions[n % 2], "majority": {"accuracy": 3 * (n % 2)}} for n in range(20)}
    return report(make_run(*records, protocols={NAME: ENTRY}, extras=extras), out=tmp_path / "report", quiet=True)


def test_the_plots_are_shown_in_the_colors_of_the_page(open_page: Callable[..., Page], captions: Path) -> None:
    page = open_page(captions, "#captions")
    assert page.locator("#captions .panel svg").is_visible()
    line = page.locator("#captions .mp.line")
    assert line.evaluate("path => getComputedStyle(path).fill") == "none"
    assert line.evaluate("path => getComputedStyle(path).stroke") != "none"


def test_actions_come_first_and_then_what_people_say(open_page: Callable[..., Page], captions: Path) -> None:
    page = open_page(captions, "#captions")
    assert page.locator("#captions tbody th").all_inner_texts() == ["Add", "Remove", "people: not done", "people: done"]


def test_a_long_name_of_a_judge_does_not_widen_the_page(open_page: Callable[..., Page], captions: Path) -> None:
    page = open_page(captions, "#captions", size=(390, 844))
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
