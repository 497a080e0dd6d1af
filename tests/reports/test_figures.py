"""The heat map and the small multiples."""

from __future__ import annotations

import re
from importlib import resources
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from editgauge._render.svg import scale_for
from editgauge._stats.intervals import Mean
from editgauge.analysis.summary import ALL, Cell
from editgauge.reports._figures import plot_method_profile, plot_type_profile, trade_off
from editgauge.reports._score_tables import score_tables
from editgauge.reports.sections.edit_types import COLOR_STEPS, heat_map
from editgauge.types import ScoreSpec

if TYPE_CHECKING:
    from editgauge.reports._score_tables import ScoreTable


METHODS = ["one", "two", "three"]


def table(*, higher: bool = True) -> ScoreTable:
    """`one` 0.2, `two` 0.9 everywhere; `three` has no score at `size` and no outcomes at `color`."""
    values = {"one": 0.2, "two": 0.9, "three": 0.5}
    cells = [
        Cell(
            "toy",
            ScoreSpec("gain", higher, (0.0, 1.0)),
            method,
            kind,
            None
            if (method, kind) == ("three", "size")
            else Mean(value, value - 0.1, value + 0.1, 20, 5 if kind == "size" else 20),
            {"refused": 1} if method == "three" else {},
        )
        for method, value in values.items()
        for kind in (ALL, "size", "color")
        if (method, kind) != ("three", "color")
    ]
    (made,) = score_tables(cells, METHODS, ["size", "color"])
    return made


@pytest.mark.parametrize("higher", [True, False])
def test_darker_is_better_in_either_direction(higher: bool) -> None:
    heat = heat_map(table(higher=higher), METHODS)
    best, worst = ("two", "one") if higher else ("one", "two")
    assert {cell.step for cell in heat.rows[best]} == {COLOR_STEPS - 1}
    assert {cell.step for cell in heat.rows[worst]} == {0}
    assert (heat.worst, heat.best) == (("0.200", "0.900") if higher else ("0.900", "0.200"))


def test_what_has_no_score_is_a_gap_and_says_why() -> None:
    _, size, color = heat_map(table(), METHODS).rows["three"]
    assert (size.step, size.tooltip) == (None, "size: no score; 1 unscored: refused")
    assert (color.step, color.tooltip) == (None, "color: no outcomes")
    assert heat_map(table(), METHODS).has_gaps


def test_a_field_tells_its_interval_and_few_source_images() -> None:
    every, size, _ = heat_map(table(), METHODS).rows["one"]
    assert every.tooltip == "all edits: 0.200, 95% interval 0.100 to 0.300, 20 scored"
    assert (every.few, size.few) == (False, True)


def test_equal_means_are_neither_dark_nor_light() -> None:
    cells = [Cell("toy", ScoreSpec("gain", True, (0.0, 1.0)), m, ALL, Mean(0.5, 0.4, 0.6, 9, 9), {}) for m in "ab"]
    (made,) = score_tables(cells, ["a", "b"], [])
    assert {cell.step for row in heat_map(made, ["a", "b"]).rows.values() for cell in row} == {COLOR_STEPS // 2}


def drawn(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def named(svg: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [item for item in svg if name in (item.get("class") or "").split()]


def test_a_profile_has_a_line_for_every_edit_type_and_the_others_in_gray() -> None:
    svg = drawn(plot_method_profile(table(), METHODS, "one"))
    assert [item.text for item in named(svg, "label")] == ["all edits", "size", "color"]
    assert [len(re.findall("h0", item.get("d") or "")) for item in named(svg, "others")] == [2, 1, 1]
    assert [("unsure" in (dot.get("class") or "")) for dot in named(svg, "dot")] == [False, True, False]
    assert svg.get("aria-label") == "gain of one by edit type: all edits 0.200, size 0.200, color 0.200"


def test_an_edit_type_has_a_line_for_every_method() -> None:
    svg = drawn(plot_type_profile(table(), METHODS, "size"))
    assert [item.text for item in named(svg, "label")] == METHODS
    assert [item.text for item in named(svg, "number")] == ["0.200", "0.900", "none"]
    assert len(named(svg, "dot")) == 2


def test_all_plots_of_a_score_share_one_axis() -> None:
    ends = {
        tuple(item.text for item in named(drawn(plot), "end-label"))
        for plot in (
            *(plot_method_profile(table(), METHODS, m) for m in METHODS),
            plot_type_profile(table(), METHODS, "color"),
        )
    }
    assert len(ends) == 1


def test_a_long_or_nasty_name_stays_in_its_place() -> None:
    name = "<script>alert('a very long name')</script>"
    cells = [
        Cell("toy", ScoreSpec("gain", True, (0.0, 1.0)), name, kind, Mean(0.5, 0.4, 0.6, 9, 9), {})
        for kind in (ALL, "size")
    ]
    (made,) = score_tables(cells, [name], ["size"])
    (label,) = named(drawn(plot_type_profile(made, [name], "size")), "label")
    assert (label.text or "").startswith("<script>alert(")
    assert (label.text or "").endswith("…")


def test_means_that_differ_by_rounding_alone_get_a_scale_all_the_same() -> None:
    """An unchanged copy scored 1.0 on one edit and 0.9999999999999999 on another, and the report could not be drawn."""
    nearly = Mean(0.9999999999999999, None, None, 1, 1)
    scale = scale_for([Mean(1.0, None, None, 1, 1), nearly], (-1.0, 1.0))

    assert scale.high > scale.low
    assert 0 <= scale.share(nearly.value) <= 1


def test_numbers_stand_out_from_every_color_of_the_heat_map() -> None:
    style = resources.files("editgauge.reports").joinpath("templates/style/plots.css").read_text("utf-8")
    form = r"\.step-\d \{ background: light-dark\((\S+), (\S+)\); color: light-dark\((\S+), (\S+)\); \}"
    steps = re.findall(form, style)
    assert len(steps) == 7
    for light, dark, on_light, on_dark in steps:
        assert min(_contrast(light, on_light), _contrast(dark, on_dark)) >= 4.5


def _contrast(one: str, other: str) -> float:
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(color: str) -> float:
    digits = color.lstrip("#")
    pairs = re.findall("..", digits if len(digits) == 6 else "".join(2 * digit for digit in digits))
    parts = [int(pair, 16) / 255 for pair in pairs]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_names_that_fit_only_at_the_usual_size_are_marked_so_that_phones_leave_them_out() -> None:
    methods = {"alone": 0.9, "first of two, long name": 0.5, "second of two, long name": 0.5}
    cells = [
        Cell("toy", ScoreSpec(score, True, (0.0, 1.0)), method, ALL, Mean(value, 0.0, 1.0, 20, 20), {})
        for method, value in methods.items()
        for score in ("done", "kept")
    ]
    plot = trade_off(cells, ("toy", "done"), ("toy", "kept"), list(methods), ())
    styles = re.findall(r'class="method-name([^"]*)"', str(plot))
    assert styles[0] == ""
    assert " crowded" in styles[1:]
