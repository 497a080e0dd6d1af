from __future__ import annotations

import math
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from editgauge._render.svg import MARK_MARGIN, AxisRange, axis, outline, scale_for, whisker
from editgauge._stats.intervals import MIN_SOURCES, Mean

WIDTH = 200


def mean(value: float, low: float | None = None, high: float | None = None) -> Mean:
    return Mean(value, low, high, n=20, clusters=20)


@pytest.mark.parametrize(
    ("means", "limits", "expected"),
    [
        ([mean(0.5, 0.4, 0.6), mean(0.9, 0.85, 0.95)], (0, 1), AxisRange(0.4, 1.0)),
        ([mean(31.2, 28.0, 35.5)], (0, 100), AxisRange(28, 36)),
        ([mean(0.9, 0.81, 1.0)], (-1, 1), AxisRange(0.8, 1.0)),
        ([mean(0.0)], (0, 1), AxisRange(0, 0.002)),
        ([mean(100.0, 100.0, 100.0)], (0, 100), AxisRange(80, 100)),
        ([], (0, 1), AxisRange(0, 1)),
        ([], (0, math.inf), AxisRange(0, 1)),
        ([mean(7.0, 3.0, 12.0)], (0, math.inf), AxisRange(0, 15)),
    ],
)
def test_a_scale_has_round_ends_and_holds_everything(
    means: list[Mean], limits: tuple[float, float], expected: AxisRange
) -> None:
    assert scale_for(means, limits) == expected


@pytest.mark.parametrize("value", [1e-9, 0.1 + 0.2, 1 / 3, 12345.678, -4.2])
def test_a_scale_is_never_empty(value: float) -> None:
    scale = scale_for([mean(value)], (-math.inf, math.inf))
    assert scale.low < scale.high
    assert scale.low <= value <= scale.high


def test_a_value_outside_lies_at_the_end() -> None:
    assert AxisRange(0, 1).share(-3) == 0
    assert AxisRange(0, 1).share(3) == 1


def drawn(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def test_the_whisker_spans_the_interval_and_the_dot_is_the_mean() -> None:
    svg = drawn(whisker(mean(0.5, 0.25, 1.0), AxisRange(0, 1), WIDTH, "half"))
    inside = WIDTH - 2 * MARK_MARGIN
    line = next(item for item in svg if item.get("class") == "whisker")
    dot = next(item for item in svg if item.get("class") == "dot")
    assert float(line.get("x1", "")) == pytest.approx(MARK_MARGIN + 0.25 * inside, abs=0.1)
    assert float(line.get("x2", "")) == pytest.approx(MARK_MARGIN + inside, abs=0.1)
    assert float(dot.get("cx", "")) == pytest.approx(MARK_MARGIN + 0.5 * inside, abs=0.1)
    assert svg.get("aria-label") == "half"
    assert svg.get("class") == "mark"


def test_without_an_interval_there_is_only_a_dot() -> None:
    svg = drawn(whisker(replace(mean(0.5), clusters=MIN_SOURCES - 1), AxisRange(0, 1), WIDTH, ""))
    assert {item.get("class") for item in svg} == {"track", "dot"}
    assert svg.get("class") == "mark unsure"


def test_a_name_cannot_leave_its_attribute() -> None:
    svg = whisker(mean(0.5), AxisRange(0, 1), WIDTH, '"><script>')
    assert drawn(svg).get("aria-label") == '"><script>'


def test_the_axis_names_its_ends() -> None:
    texts = [item.text for item in drawn(axis(AxisRange(-0.5, 20), WIDTH)) if item.tag == "text"]
    assert texts == ["−0.5", "20"]


def test_the_outline_of_a_box_is_its_four_corners() -> None:
    mask = np.zeros((100, 120), dtype=np.bool_)
    mask[20:41, 30:61] = True
    corners = re.findall(r"(\d+) (\d+)", outline(mask))
    assert {(int(x), int(y)) for x, y in corners} == {(30, 20), (60, 20), (60, 40), (30, 40)}


def test_a_hole_is_a_ring_of_its_own() -> None:
    mask = np.zeros((100, 100), dtype=np.bool_)
    mask[10:90, 10:90] = True
    mask[40:60, 40:60] = False
    assert outline(mask).count("Z") == 2


def test_an_empty_mask_has_no_outline() -> None:
    assert outline(np.zeros((10, 10), dtype=np.bool_)) == ""
