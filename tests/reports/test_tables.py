from __future__ import annotations

from editgauge.core.types import REASONS, ScoreSpec
from editgauge.findings.summary import ALL, FEW_SOURCES, Cell, headlines
from editgauge.render.words import MEANINGS, meaning
from editgauge.reports.tables import SHADES, overview, score_tables
from editgauge.stats.intervals import Mean


def cell(
    name: str = "gain",
    value: float | None = 0.5,
    *,
    protocol: str = "toy",
    method: str = "mine",
    edit_type: str = ALL,
    higher: bool = True,
    clusters: int = 30,
) -> Cell:
    mean = None if value is None else Mean(value, value - 0.01, value + 0.01, 40, clusters)
    return Cell(protocol, ScoreSpec(name, higher, (0.0, 1.0)), method, edit_type, mean, {"refused": 2})


def test_every_reason_has_a_meaning() -> None:
    assert set(MEANINGS) == set(REASONS)
    assert meaning("refused") == "A judge or a filter refused."
    assert meaning("of a later version") == ""


def test_headlines_are_the_telling_scores_that_were_scored() -> None:
    names = ["l1", "ssim", "odd", "edit", "ssim_outside"]
    cells = [cell(name, None if name == "ssim_outside" else 0.5) for name in names]
    assert headlines(cells) == [("toy", "edit"), ("toy", "ssim"), ("toy", "l1")]


def test_a_protocol_with_other_names_shows_its_first_scores() -> None:
    assert headlines([cell(name) for name in "abcd"]) == [("toy", "a"), ("toy", "b"), ("toy", "c")]


def test_many_protocols_share_the_overview() -> None:
    cells = [cell(name, protocol=protocol) for protocol in ("one", "two") for name in "abcd"]
    assert headlines(cells) == [("one", "a"), ("one", "b"), ("two", "a"), ("two", "b")]


def test_headline_scores_come_first_and_nothing_is_lost() -> None:
    tables = score_tables([cell("a"), cell("b"), cell("c"), cell("d"), cell("edit")], ["mine"], [])
    assert [table.spec.name for table in tables] == ["edit", "a", "b", "c", "d"]


def test_a_method_without_outcomes_has_an_empty_place() -> None:
    (table,) = score_tables([cell(), cell(edit_type="size")], ["mine", "other"], ["size"])
    assert list(table.rows) == [ALL, "size"]
    assert [shown is None for shown in table.rows["size"]] == [False, True]


def test_shades_go_from_worst_to_best_in_either_direction() -> None:
    for higher in (True, False):
        cells = [cell(value=value, method=str(value), higher=higher) for value in (0.0, 0.5, 1.0)]
        (table,) = overview(cells, ["0.0", "0.5", "1.0"])
        shades = [shown.shade for shown in table.rows[ALL] if shown]
        assert shades == sorted(shades, reverse=not higher)
        assert {0, SHADES - 1} <= set(shades)


def test_few_source_images_are_marked() -> None:
    cells = [cell(clusters=FEW_SOURCES), cell(clusters=FEW_SOURCES - 1, method="other")]
    (table,) = overview(cells, ["mine", "other"])
    many, few = table.rows[ALL]
    assert many
    assert few
    assert (many.few, few.few) == (False, True)
    assert "unsure" not in str(many.mark)
    assert "unsure" in str(few.mark)


def test_a_cell_without_a_score_says_why() -> None:
    (table,) = score_tables([cell(value=None)], ["mine"], [])
    (shown,) = table.rows[ALL]
    assert shown
    assert shown.mark is None
    assert shown.unscored == "2 unscored: refused 2"


def test_nothing_at_all() -> None:
    assert overview([], ["mine"]) == []
    assert score_tables([], ["mine"], ["size"]) == []
