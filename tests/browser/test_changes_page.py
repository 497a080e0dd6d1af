"""The page of what changed between two runs, on a laptop and on a phone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from editgauge.reports.diff import diff
from tests.browser.conftest import LAPTOP, PHONE, make_synthetic_run
from tests.browser.test_page import violations

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow

OpenPage = Callable[..., "Page"]
SIZES = {"laptop": LAPTOP, "phone": PHONE}
SIDEWAYS = """() => [document.documentElement, ...document.querySelectorAll("*")]
  .filter((each) => each.clientWidth && each.scrollWidth > each.clientWidth + 1)
  .map((each) => `${each.tagName} ${each.className}`)"""


@pytest.fixture(scope="module")
def changes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("changes")
    first, second = (make_synthetic_run(folder / name, 24, seed=seed) for seed, name in enumerate(("old", "new")))
    diff(first, second, report=folder / "changes.html")
    return folder / "changes.html"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_axe_finds_nothing(open_page: OpenPage, changes: Path, scheme: str, size: str) -> None:
    assert violations(open_page(changes, size=SIZES[size], color_scheme=scheme)) == []


def test_nothing_scrolls_sideways_on_a_phone(open_page: OpenPage, changes: Path) -> None:
    page = open_page(changes, size=PHONE)
    page.locator("details").evaluate_all("(all) => all.forEach((each) => { each.open = true; })")
    assert page.evaluate(SIDEWAYS) == []
    verdict = page.get_by_text("not significant").first.bounding_box()
    assert verdict is not None
    assert verdict["x"] + verdict["width"] <= PHONE[0]
