"""Points in a plane, drawn in the gallery's larger view."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from editgauge.evidence import Scatter, ScatterPoint, to_json

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow

NASTY = "<img src=x onerror=alert(1)>"
POINTS = (
    ScatterPoint("red cat", "source attributes", -1.0, 0.5),
    ScatterPoint(NASTY, "source attributes", -0.5, -0.5),
    ScatterPoint("blue cat", "target attributes", 1.0, 0.0),
    ScatterPoint("ideal edit", "ideal edit", 0.0, 0.25),
)


def test_points_are_drawn_within_the_frame_on_their_side_of_the_line_and_told_in_words(
    open_page: Callable[..., Page], small_report: Path
) -> None:
    page = open_page(small_report)
    chart = to_json(Scatter("where things lie", POINTS, (0.0, -0.5, 0.0, 0.5)))
    page.evaluate("chart => scatter(document.querySelector('main'), chart)", chart)
    figure = page.locator("figure.scatter")
    assert figure.locator(":scope > svg .point").count() == len(POINTS)
    assert figure.locator("li").all_inner_texts() == ["source attributes", "target attributes", "ideal edit"]
    spoken = figure.get_by_role("img").first.get_attribute("aria-label") or ""
    assert (
        spoken
        == f"where things lie. source attributes: red cat, {NASTY}. target attributes: blue cat. ideal edit: ideal edit"
    )
    assert page.locator("figure.scatter img").count() == 0
    frame, line = (figure.locator(part).first.bounding_box() for part in (":scope > svg", ".boundary"))
    boxes = [each.bounding_box() for each in figure.locator(":scope > svg .point").all()]
    assert frame
    assert line
    for box in boxes:
        assert box
        assert frame["x"] <= box["x"] <= box["x"] + box["width"] <= frame["x"] + frame["width"]
    centers = [box["x"] + box["width"] / 2 for box in boxes if box]
    middle = line["x"] + line["width"] / 2  # with the width of its stroke
    assert centers[0] < centers[1] < middle < centers[2]
    assert abs(centers[3] - middle) < 1


def test_a_single_point_stands_in_the_middle(open_page: Callable[..., Page], small_report: Path) -> None:
    page = open_page(small_report)
    page.evaluate("chart => scatter(document.querySelector('main'), chart)", to_json(Scatter("one", POINTS[:1])))
    figure = page.locator("figure.scatter")
    assert figure.locator(".boundary").count() == 0
    assert "NaN" not in (figure.locator(":scope > svg .point").get_attribute("d") or "NaN")
