"""Looking closely: flip, slider, difference, and zoom and pan in step."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import cv2
import numpy as np
import pytest

from editgauge.studies import Study

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = pytest.mark.slow

Make = Callable[..., Study]
Online = Callable[..., str]
See = Callable[..., "Page"]


@pytest.fixture
def page(make_study: Make, photo_run: Path, online: Online, see: See) -> Page:
    study = make_study(run=photo_run, raters=1)
    opened = see(study.invite()[0].link(online(study)))
    opened.keyboard.press("Enter")
    opened.wait_for_url("**/pages/*")
    opened.wait_for_function("[...document.images].every((image) => image.complete && image.naturalWidth > 0)")
    return opened


def pixels(frame: Locator) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """What is drawn inside of a frame, its round corners aside."""
    picture = cv2.imdecode(np.frombuffer(frame.screenshot(), np.uint8), cv2.IMREAD_COLOR)
    assert picture is not None
    return np.asarray(picture[8:-8, 8:-8], dtype=np.float64)


def apart(one: Locator, other: Locator) -> float:
    first, second = pixels(one), pixels(other)
    height, width = (min(a, b) for a, b in zip(first.shape[:2], second.shape[:2], strict=True))
    return float(np.abs(first[:height, :width] - second[:height, :width]).mean())


def frames(page: Page) -> tuple[Locator, Locator]:
    return page.locator(".stage-source .frame"), page.locator(".stage-edited .frame")


def test_space_shows_the_original_in_place_while_it_is_held(page: Page) -> None:
    source, edited = frames(page)
    assert apart(source, edited) > 1
    page.keyboard.down(" ")
    assert apart(source, edited) < 0.5
    page.keyboard.up(" ")
    assert apart(source, edited) > 1
    page.keyboard.press("f")
    assert apart(source, edited) < 0.5
    assert page.get_by_role("button", name="Flip").get_attribute("aria-pressed") == "true"


def test_the_slider_shows_half_of_each(page: Page) -> None:
    source, edited = frames(page)
    before = pixels(edited)
    page.get_by_role("button", name="Slider").click()
    page.get_by_label("Slider", exact=True).last.fill("100")
    assert apart(source, edited) < 2
    page.get_by_label("Slider", exact=True).last.fill("0")
    assert np.abs(pixels(edited) - before).mean() < 2
    box = edited.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.1 * box["width"], box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.75 * box["width"], box["y"] + 20)
    page.mouse.up()
    assert page.get_by_label("Slider", exact=True).last.input_value() == "75"


def test_the_difference_is_black_where_nothing_changed(page: Page) -> None:
    _, edited = frames(page)
    page.keyboard.press("d")
    seen = pixels(edited)
    assert seen[-20:].mean() < 1
    assert seen.max() > 60


def test_zoom_and_pan_go_in_step(page: Page) -> None:
    source, edited = frames(page)
    page.keyboard.press("+")
    page.keyboard.press("+")
    assert page.locator(".zoomed").inner_text() == "225%"
    source.focus()
    page.keyboard.press("ArrowLeft")
    where = "all => all.map((each) => getComputedStyle(each).transform)"
    moved = page.locator(".sheet img").evaluate_all(where)
    assert len(set(moved)) == 1
    box = edited.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 100, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 160, box["y"] + 130)
    page.mouse.up()
    dragged = page.locator(".sheet img").evaluate_all(where)
    assert len(set(dragged)) == 1
    assert dragged != moved
    page.keyboard.press("r")
    assert page.locator(".zoomed").inner_text() == "100%"


def test_help_lists_the_keys_and_keys_rest_while_it_is_open(page: Page) -> None:
    page.keyboard.press("?")
    help_ = page.get_by_role("dialog")
    assert help_.get_by_text("see the original in place").is_visible()
    page.keyboard.press("1")
    page.keyboard.press("Escape")
    assert not help_.is_visible()
    assert page.locator(".question input:checked").count() == 0


def test_arrows_choose_and_enter_hands_in(page: Page) -> None:
    was = page.url
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.locator(".question input:checked").get_attribute("value") == "1"
    page.keyboard.press("ArrowLeft")
    assert page.locator(".question input:checked").get_attribute("value") == "0"
    page.keyboard.press("Enter")
    page.wait_for_url(lambda address: address != was)
    page.go_back()
    page.wait_for_url(was)
    assert page.get_by_text("You have handed in this page").is_visible()
    assert page.locator(".question input:checked").get_attribute("value") == "0"
