"""A benchmark's own groups: chosen, averaged, and the named figures that papers print."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from editgauge._stats.levels import nested_mean
from editgauge.analysis.compare import compare
from editgauge.analysis.groups.figures import declared_figures, measured_figures
from editgauge.analysis.groups.selection import divisions, group_cells, read_selection
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.protocols import open_protocol
from editgauge.reports.context import Context
from editgauge.reports.export.export import export, means_of
from editgauge.reports.leaderboard import leaderboard
from editgauge.reports.sections.standard import groups as section
from editgauge.results import JournalEntry, Run
from editgauge.results.manifest import ProtocolEntry
from editgauge.results.sets import SetScore, write_sets
from editgauge.types import ScoreSpec

Make = Callable[..., Any]
JUDGED = "rubric:gedit[gpt-4o]"
GEDIT = ProtocolEntry("about", "paper", "1", (), (ScoreSpec("overall", True, (0, 10)),))
TASKS = {"text_change": (4.0, 6.0, 5.0), "subject-add": (9.0,)}
"""Task to the values of its English edits."""


@pytest.fixture
def gedit(make_record: Callable[..., JournalEntry], make_run: Callable[..., Path]) -> Path:
    """Four English edits of two tasks and one Chinese, two methods; the second is a point worse."""
    records, groups = [], {}
    values = [(task, "en", value) for task, some in TASKS.items() for value in some] + [("text_change", "cn", 1.0)]
    for place, (task, language, value) in enumerate(values):
        edit = f"e{place}"
        groups[edit] = {"task": task, "language": language}
        records += [
            make_record(
                edit, {"overall": value - step}, method=method, protocol=JUDGED, place=place, source=f"{place}.png"
            )
            for step, method in enumerate(("mine", "theirs"))
        ]
    return make_run(*records, groups=groups, benchmark="gedit", protocols={JUDGED: GEDIT})


def test_a_mean_of_means_level_by_level() -> None:
    tasks = np.array(["a", "a", "a", "b", "b", "b"])
    kinds = np.array(["x", "x", "y", "x", "y", "y"])
    values = [1.0, 3.0, 4.0, 10.0, 0.0, 4.0]
    assert nested_mean(values, [tasks, kinds], np.arange(6)).value == ((2 + 4) / 2 + (10 + 2) / 2) / 2
    assert nested_mean(values, [tasks], np.arange(6)).value == (8 / 3 + 14 / 3) / 2
    assert nested_mean(values, [], np.arange(6)).value == pytest.approx(22 / 6)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_an_average_by_level_of_equal_values_has_an_interval_with_width(value: float) -> None:
    equal = nested_mean(np.full(9, value), [np.arange(9) % 3], np.arange(9), (0.0, 1.0))
    assert equal.value == value
    assert equal.low is not None
    assert equal.high is not None
    assert equal.high - equal.low > 0.2


def test_the_named_figure_is_averaged_as_the_paper_does(gedit: Path) -> None:
    [figure] = [each for each in measured_figures(Run.open(gedit)) if each.figure.name == "GEdit G_O, EN, full set"]
    assert figure.methods["mine"].value == (5.0 + 9.0) / 2
    assert figure.methods["theirs"].value == (4.0 + 8.0) / 2
    assert figure.others["every value once"]["mine"].value == 6.0
    assert figure.title == "GEdit G_O, EN, full set (4 of 606 edits)"
    assert "by language" not in figure.others  # all of them are English
    low, high = figure.methods["mine"].low, figure.methods["mine"].high
    assert low is not None
    assert high is not None
    assert low <= 7.0 <= high


def test_a_figure_of_groups_that_the_run_does_not_have_is_left_out(gedit: Path) -> None:
    names = [each.figure.name for each in measured_figures(Run.open(gedit))]
    assert "GEdit G_O, CN, full set" in names
    assert not [name for name in names if "intersection" in name or "G_SC" in name]


def test_where_the_protocol_gives_no_number_there_is_none(gedit: Path) -> None:
    none = SetScore(JUDGED, "g_o_en", "mine", "all", None, 0, True, "", "not_applicable", "no outcome of a task")
    write_sets(gedit, [none])
    figure = measured_figures(Run.open(gedit))[0]
    assert figure.methods["mine"].value is None
    assert figure.methods["mine"].reason == "no outcome of a task"
    [row] = [each for each in means_of(Run.open(gedit)) if each["name"] == "g_o_en"]
    assert (row["mean"], row["reasons"]) == (None, "not_applicable: no outcome of a task")
    assert figure.methods["theirs"].value == 6.0


def test_groups_are_chosen_by_name_and_value(gedit: Path) -> None:
    run = Run.open(gedit)
    assert divisions(run) == {"task": ["text_change", "subject-add"], "language": ["en", "cn"]}
    assert read_selection(["language=en", "task=subject-add"], run) == {"language": "en", "task": "subject-add"}
    for text, error, message in [
        ("english", BadInputError, r"--group takes NAME=VALUE, such as task=text_change; got 'english'"),
        ("lang=en", UnknownNameError, "Did you mean 'language'"),
        ("language=english", UnknownNameError, "language in this run"),
    ]:
        with pytest.raises(error, match=message):
            read_selection([text], run)
    with pytest.raises(BadInputError, match="two values for language, en and cn"):
        read_selection(["language=en", "language=cn"], run)


def test_a_run_without_groups_says_so(make_record: Callable[..., JournalEntry], make_run: Callable[..., Path]) -> None:
    run = Run.open(make_run(make_record("a")))
    assert divisions(run) == {}
    assert group_cells(run) == []
    with pytest.raises(BadInputError, match="have no groups: --group language=en chooses nothing"):
        read_selection(["language=en"], run)


def test_compare_looks_at_the_edits_of_a_group_only(gedit: Path) -> None:
    [all_edits] = compare(gedit, methods=("mine", "theirs"))
    [english] = compare(gedit, methods=("mine", "theirs"), group=["language=en"])
    assert all_edits.difference
    assert english.difference
    assert (all_edits.difference.n, english.difference.n) == (5, 4)
    assert english.first_mean == 6.0


def test_exports_carry_groups_and_figures(gedit: Path) -> None:
    run = Run.open(gedit)
    rows = list(csv.DictReader(io.StringIO(export(gedit, format="csv").decode())))
    assert {(row["edit"], row["group_task"], row["group_language"]) for row in rows} >= {("e4", "text_change", "cn")}
    lines = [json.loads(line) for line in export(gedit, format="jsonl").decode().splitlines()]
    assert lines[0]["group_task"] == "text_change"
    means = {(row["group"], row["figure"], row["method"]): row["mean"] for row in means_of(run)}
    assert means["task=text_change", "", "mine"] == 4.0
    assert means["language=en", "GEdit G_O, EN, full set (4 of 606 edits)", "mine"] == 7.0
    text = export(gedit, format="markdown").decode()
    assert "GEdit G_O, EN, full set (4 of 606 edits)" in text
    [subject_add] = [line for line in text.splitlines() if line.startswith("| task=subject-add ")]
    assert subject_add.split("|")[2].split()[0] == "9.000"
    assert "task=text\\_change" in export(gedit, format="latex").decode()
    assert export(gedit, format="parquet", summary=True)


def test_the_report_has_a_table_of_every_division_that_leads_to_its_edits(gedit: Path) -> None:
    page = section.render(Context(Run.open(gedit)))
    assert page is not None
    assert page.count("<table") == 2
    assert 'href="#gallery?group-task=subject-add"' in page
    assert 'value="9.0"' in page


def test_the_report_has_no_such_table_without_groups(make_record: Make, make_run: Make) -> None:
    assert section.render(Context(Run.open(make_run(make_record("a"))))) is None


def test_the_leaderboard_prints_the_figure_and_is_limited_to_a_group(gedit: Path, tmp_path: Path) -> None:
    page = leaderboard([gedit], out=tmp_path / "board").read_text("utf-8")
    assert "GEdit G_O, EN, full set (4 of 606 edits)" in page
    english = leaderboard([gedit], out=tmp_path / "english", group=["language=en"]).read_text("utf-8")
    assert "limited to edits with language=en" in english
    assert "4 scored" in english
    assert "5 scored" not in english
    assert "5 edits and 2 methods" in page
    assert "4 edits and 2 methods" in english


def test_every_declared_figure_is_one_of_a_protocol_there_is() -> None:
    figures = declared_figures()
    assert len({figure.name for figure in figures}) == len(figures)
    for figure in figures:
        protocol = open_protocol(figure.protocol)
        known = {spec.name for spec in protocol.scores}
        assert set(figure.scores) <= known, figure.name
        assert figure.set is None or figure.set in {spec.name for spec in protocol.sets}, figure.name


def test_a_figure_finds_its_score_whatever_model_made_it(
    make_record: Callable[..., JournalEntry], make_run: Callable[..., Path]
) -> None:
    name = "local_clip_i[clip-l14]"
    entry = ProtocolEntry("about", "paper", "1", (), (ScoreSpec(name, True, (-1, 1)),))
    tasks = {"e0": "add", "e1": "add", "e2": "remove"}
    values = {"e0": 0.5, "e1": 0.7, "e2": 1.0}
    records = [
        make_record(edit, {name: value}, protocol="local-clip", place=place, source=f"{place}.png")
        for place, (edit, value) in enumerate(values.items())
    ]
    groups = {edit: {"task": task} for edit, task in tasks.items()}
    run = make_run(*records, groups=groups, benchmark="compbench", protocols={"local-clip": entry})
    [figure] = measured_figures(Run.open(run))
    assert figure.figure.name == "CompBench LC-I"
    assert [each.value for each in figure.methods.values()] == [pytest.approx((0.6 + 1.0) / 2)]
