"""Maps over a picture in the gallery's larger view."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from editgauge._util.images import Pixels, write_png
from editgauge.evidence import Heat, Note, to_json
from editgauge.reports.report import report
from editgauge.results import ImageStamp, JournalEntry

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = pytest.mark.slow

OpenPage = Callable[..., "Page"]
NASTY = "<img src=x onerror=alert(1)>"


@pytest.fixture
def mapped(
    make_run: Callable[..., Path], make_record: Callable[..., JournalEntry], photo: Pixels, tmp_path: Path
) -> Path:
    """The page of one edit with two methods, each with a map on the edited image and a signed one on the source."""
    write_png(photo, tmp_path / "before.png")
    write_png(np.ascontiguousarray(photo[:, ::-1]), tmp_path / "after.png")
    rows, columns = np.mgrid[:16, :16] / 15 - 0.5
    hill = np.exp(-8 * (rows**2 + columns**2)).astype(np.float32)
    pieces = (
        Note("Seen."),
        Heat("edited", hill, f"relevancy of {NASTY}"),
        Heat("source", (2 * columns).astype(np.float32), "edited minus source", signed=True),
    )
    record = make_record(
        source_image=ImageStamp.of(tmp_path / "before.png"),
        edited_image=ImageStamp.of(tmp_path / "after.png"),
        evidence=tuple(to_json(piece) for piece in pieces),
    )
    other = replace(record, method="other")
    return report(make_run(record, other), out=tmp_path / "report", quiet=True)


def opened(page: Page) -> Locator:
    page.get_by_role("button", name="edited by mine, larger").first.click()
    return page.locator("dialog[open]")


def test_a_map_is_laid_over_its_picture_and_taken_away(open_page: OpenPage, mapped: Path) -> None:
    page = open_page(mapped, "#gallery")
    view = opened(page)
    first, second = (view.get_by_role("button", name=name) for name in ("Map: relevancy", "Map: edited minus"))
    assert view.locator(".over").count() == 0
    first.click()
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == f"Map: relevancy of {NASTY}"
    assert first.get_attribute("aria-pressed") == "true"
    over, stage = (view.locator(part).bounding_box() for part in (".over", ".stage"))
    assert over == pytest.approx(stage)
    assert view.locator(".over").evaluate("each => [each.naturalWidth, each.naturalHeight]") == [16, 16]
    assert view.locator(".stage > img").first.evaluate("each => getComputedStyle(each).filter") == "grayscale(1)"
    second.click()
    assert view.get_by_role("button", name="source", exact=True).get_attribute("aria-pressed") == "true"
    assert first.get_attribute("aria-pressed") == "false"
    assert view.locator(".over").get_attribute("alt") == "edited minus source"
    assert view.locator("figure.map.signed .ends").inner_text().split() == ["−1", "0", "+1"]
    second.click()
    assert view.locator(".over").count() == 0


def test_a_map_stays_on_while_one_goes_through_outcomes_and_lies_on_its_own_form_only(
    open_page: OpenPage, mapped: Path
) -> None:
    view = opened(open_page(mapped, "#gallery"))
    view.get_by_role("button", name="Map: relevancy").click()
    view.get_by_role("button", name="Next outcome").click()
    assert view.locator(".title b").inner_text() == "other"
    assert view.locator(".over").count() == 1
    view.get_by_role("button", name="difference").click()
    assert view.locator(".over").count() == 0


def test_the_source_can_be_flipped_in_without_the_map(open_page: OpenPage, mapped: Path) -> None:
    page = open_page(mapped, "#gallery")
    view = opened(page)
    view.get_by_role("button", name="Map: relevancy").click()
    page.keyboard.down("f")
    assert not view.locator(".over").is_visible()
    page.keyboard.up("f")
    assert view.locator(".over").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_is_open_is_what_is_printed_map_and_scale_included(open_page: OpenPage, mapped: Path, scheme: str) -> None:
    page = open_page(mapped, "#gallery", color_scheme=scheme)
    view = opened(page)
    view.get_by_role("button", name="Map: relevancy").click()
    page.emulate_media(media="print")
    for part in (".over", "figure.map.plain .colors", "figure.map.plain figcaption"):
        assert view.locator(part).is_visible()
    assert not view.get_by_role("button", name="Map: relevancy").is_visible()
    assert not view.locator("figure.map.signed").is_visible()
    assert not page.locator("main").is_visible()
    assert page.evaluate("getComputedStyle(document.querySelector('dialog')).backgroundColor") == "rgb(255, 255, 255)"
