"""The page of an audit in a browser: people, judges and protocols on it, at any width."""

from __future__ import annotations

from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from editgauge.audits._card_page import write_page
from editgauge.audits._probe_questions import PairAnswers, ProbePair, findings
from editgauge.audits._probe_set import Probe, read_probes, write_probes
from editgauge.audits.audit_card import Cost, card_of
from editgauge.engine.run import run
from tests.audits.conftest import RedBoxes, red_boxes  # noqa: F401

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow

SIZES = {"laptop": (1280, 900), "phone": (390, 844)}
OpenPage = Callable[..., "Page"]


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory, red_boxes: RedBoxes) -> Path:  # noqa: F811
    """A card with everything on it that does not need a model."""
    index = tmp_path_factory.mktemp("audit")
    folder = red_boxes(index / "probes", 10)
    probes = list(read_probes(folder))
    people = Probe("0--right", "0", "photo 0", "color", "right", True, split=probes[0].split, over={"0--nothing": 0.8})
    write_probes(folder, [people, *probes[1:]])
    scored = run(
        folder, outcomes={"probes": folder / "edited"}, protocol=["preservation"], out=index / "run", quiet=True
    )
    pairs = [ProbePair("a", "b", True, f"photo {number}", "nothing") for number in range(9)]
    text = [PairAnswers("one", "two" if number % 3 else "one", "one") for number in range(9)]
    output = findings(pairs, text, Cost(27, 900, 90, 0.01, 3.0))
    card = card_of(
        [scored], read_probes(folder), seconds={"preservation": 3.0}, pairs={"judge": output}, against="ssim"
    )
    return write_page(card, folder, index)


def violations(page: Page) -> list[str]:
    page.evaluate((resources.files("axe_playwright_python") / "axe.min.js").read_text("utf-8"))
    results: list[dict[str, Any]] = page.evaluate("axe.run().then((result) => result.violations)")
    return [f"{result['id']}: {node['html'][:120]}" for result in results for node in result["nodes"][:3]]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_the_open_page(open_page: OpenPage, page_file: Path, scheme: str, size: str) -> None:
    page = open_page(page_file, size=SIZES[size], color_scheme=scheme)
    assert violations(page) == []
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("size", SIZES)
def test_every_section_is_there_and_nothing_is_clipped(
    open_page: OpenPage, page_file: Path, size: str, load_all_pictures: Callable[[Page], None]
) -> None:
    page = open_page(page_file, size=SIZES[size])
    titles = page.locator("h2").all_inner_texts()
    for title in (
        "Every protocol at a glance",
        "What people prefer",
        "Judges between two outcomes",
        "The worst failures",
    ):
        assert title in titles
    clipped = "[...document.querySelectorAll('.scroll')].filter((each) => each.scrollWidth > each.clientWidth).length"
    assert page.evaluate(clipped) == 0
    load_all_pictures(page)
    assert page.evaluate("[...document.images].filter((image) => image.naturalWidth === 0).length") == 0


def test_intervals_are_drawn_where_their_numbers_are(open_page: OpenPage, page_file: Path) -> None:
    page = open_page(page_file, size=SIZES["laptop"])
    rendered = page.evaluate("""() => [...document.querySelectorAll("td[data-label]:has(.drawn)")]
      .filter((cell) => cell.dataset.label !== "Difference")
      .map((cell) => [cell.querySelector(".mean").textContent, cell.querySelector(".dot").getAttribute("cx")])
      .map(([told, drawn]) => [Number(told), Number(drawn) / 120])""")
    assert len(rendered) > 1
    assert np.allclose([output for output, _ in rendered], [drawn for _, drawn in rendered], atol=0.006)
