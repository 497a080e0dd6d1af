from __future__ import annotations

from editgauge._render.text import MEANINGS, meaning
from editgauge._stats.intervals import Mean
from editgauge.analysis.summary import ALL, FEW_SOURCES, Cell, answers, headlines
from editgauge.reports._score_tables import SHADES, overview, score_tables
from editgauge.types import REASONS, Question, ScoreSpec


def cell(
    name: str = "gain",
    value: float | None = 0.5,
    *,
    protocol: str = "toy",
    method: str = "mine",
    edit_type: str = ALL,
    higher: bool = True,
    clusters: int = 30,
    question: Question | None = None,
    n: int = 40,
) -> Cell:
    mean = None if value is None else Mean(value, value - 0.01, value + 0.01, n, clusters)
    return Cell(protocol, ScoreSpec(name, higher, (0.0, 1.0), "", question), method, edit_type, mean, {"refused": 2})


def test_every_reason_has_a_meaning() -> None:
    assert set(MEANINGS) == set(REASONS)
    assert meaning("refused") == "A judge or a filter refused."
    assert meaning("of a later version") == ""


def test_every_question_has_one_primary_score_whatever_the_order_of_protocols() -> None:
    cells = [
        cell("odd", protocol="a"),
        cell("edit", protocol="a", question="done", n=10),
        cell("kept", protocol="a", question="kept", n=40),
        cell("edit", protocol="b", question="done", n=30),
        cell("edit", None, protocol="c", question="done"),
        cell("preservation", protocol="editgauge", question="kept", n=40),
    ]
    expected = [("b", "edit"), ("editgauge", "preservation")]
    assert headlines(cells) == headlines(cells[::-1]) == expected
    assert answers(cells) == {"done": [("b", "edit"), ("a", "edit")], "kept": [expected[1], ("a", "kept")]}


def test_a_protocol_that_answers_no_question_shows_its_first_scores() -> None:
    assert headlines([cell(name) for name in "abcd"]) == [("toy", "a"), ("toy", "b"), ("toy", "c")]
    of_two = [cell(name, protocol=protocol) for protocol in ("one", "two") for name in "abcd"]
    assert headlines(of_two) == [("one", "a"), ("two", "a")]
    assert headlines([*of_two, cell("edit", question="done")]) == [("toy", "edit"), ("one", "a"), ("two", "a")]


def test_primary_scores_come_first_and_nothing_is_lost() -> None:
    tables = score_tables([cell("a"), cell("b"), cell("edit", question="done")], ["mine"], [])
    assert [(table.spec.name, table.question) for table in tables] == [("edit", "edit done"), ("a", ""), ("b", "")]


def test_a_method_without_outcomes_has_an_empty_place() -> None:
    (table,) = score_tables([cell(), cell(edit_type="size")], ["mine", "other"], ["size"])
    assert list(table.rows) == [ALL, "size"]
    assert [rendered is None for rendered in table.rows["size"]] == [False, True]


def test_shades_go_from_worst_to_best_in_either_direction() -> None:
    for higher in (True, False):
        cells = [cell(value=value, method=str(value), higher=higher) for value in (0.0, 0.5, 1.0)]
        (table,) = overview(cells, ["0.0", "0.5", "1.0"])
        shades = [rendered.shade for rendered in table.rows[ALL] if rendered]
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
    (rendered,) = table.rows[ALL]
    assert rendered
    assert rendered.mark is None
    assert rendered.unscored == "2 unscored: refused"


def test_nothing_at_all() -> None:
    assert overview([], ["mine"]) == []
    assert score_tables([], ["mine"], ["size"]) == []
