"""A benchmark's own groups: chosen, averaged, and the named figures that papers print."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from editgauge._stats.agreement import nested_mean
from editgauge._util.images import ImageFile, Pixels, write_png
from editgauge._util.masks import Rectangle
from editgauge.analysis._groups import divisions, group_cells, read_selection, turn_tables
from editgauge.analysis.aggregation import declared_figures, measured_figures
from editgauge.analysis.compare import compare
from editgauge.benchmarks import with_turns
from editgauge.engine._scoring import build_item
from editgauge.errors import BadInputError, UnknownNameError, UnscorableError
from editgauge.models.answers import Detections, Patches
from editgauge.protocols import open_protocol
from editgauge.reports.context import Context
from editgauge.reports.export import export, means_of
from editgauge.reports.leaderboard import leaderboard
from editgauge.reports.sections.numbers import turns_section
from editgauge.reports.sections.standard import groups as groups_section
from editgauge.results import JournalEntry, Run
from editgauge.results._records import SetScore, write_sets
from editgauge.results.manifest import ProtocolEntry
from editgauge.types import Benchmark, Edit, Outcome, Score, ScoreSpec, Unscored

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
    [figure] = [
        measured_figure
        for measured_figure in measured_figures(Run.open(gedit))
        if measured_figure.figure.name == "GEdit G_O, EN, full set"
    ]
    assert figure.methods["mine"].value == (5.0 + 9.0) / 2
    assert figure.methods["theirs"].value == (4.0 + 8.0) / 2
    assert figure.alternatives["every value once"]["mine"].value == 6.0
    assert figure.title == "GEdit G_O, EN, full set (4 of 606 edits)"
    assert "by language" not in figure.alternatives  # all of them are English
    low, high = figure.methods["mine"].low, figure.methods["mine"].high
    assert low is not None
    assert high is not None
    assert low <= 7.0 <= high


def test_a_figure_of_groups_that_the_run_does_not_have_is_left_out(gedit: Path) -> None:
    names = [measured_figure.figure.name for measured_figure in measured_figures(Run.open(gedit))]
    assert "GEdit G_O, CN, full set" in names
    assert not [name for name in names if "intersection" in name or "G_SC" in name]


def test_where_the_protocol_gives_no_number_there_is_none(gedit: Path) -> None:
    none = SetScore(JUDGED, "g_o_en", "mine", "all", None, 0, True, "", "not_applicable", "no outcome of a task")
    write_sets(gedit, [none])
    figure = measured_figures(Run.open(gedit))[0]
    assert figure.methods["mine"].value is None
    assert figure.methods["mine"].reason == "no outcome of a task"
    [row] = [element for element in means_of(Run.open(gedit)) if element["name"] == "g_o_en"]
    assert (row["mean"], row["reasons"]) == (None, "not_applicable: no outcome of a task")
    assert figure.methods["theirs"].value == 6.0


def test_groups_are_chosen_by_name_and_value(gedit: Path) -> None:
    run = Run.open(gedit)
    assert divisions(run) == {"task": ["text_change", "subject-add"], "language": ["en", "cn"]}
    assert read_selection(["language=en", "task=subject-add"], run) == {"language": "en", "task": "subject-add"}
    for text, error, message in [
        ("english", BadInputError, "NAME=VALUE, such as task=text_change; got 'english'"),
        ("lang=en", UnknownNameError, "Did you mean 'language'"),
        ("language=english", UnknownNameError, "language in this run"),
    ]:
        with pytest.raises(error, match=message):
            read_selection([text], run)
    with pytest.raises(BadInputError, match="two values for language: en and cn"):
        read_selection(["language=en", "language=cn"], run)


def test_a_run_without_groups_says_so(make_record: Callable[..., JournalEntry], make_run: Callable[..., Path]) -> None:
    run = Run.open(make_run(make_record("a")))
    assert divisions(run) == {}
    assert group_cells(run) == []
    with pytest.raises(BadInputError, match="have no groups"):
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
    page = groups_section.render(Context(Run.open(gedit)))
    assert page is not None
    assert page.count("<table") == 2
    assert 'href="#gallery?group-task=subject-add"' in page
    assert 'value="9.0"' in page


def test_the_report_has_no_such_table_without_groups(make_record: Make, make_run: Make) -> None:
    assert groups_section.render(Context(Run.open(make_run(make_record("a"))))) is None


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
    assert [element.value for element in figure.methods.values()] == [pytest.approx((0.6 + 1.0) / 2)]


TOLD = ProtocolEntry("about", "paper", "1", (), (ScoreSpec("edit", True, (0.0, 1.0)),))


@pytest.fixture
def run(make_record: Make, make_run: Make) -> Run:
    """Three sessions of three turns; what is done of them: yes yes yes; yes no yes; yes unscored yes."""
    values: dict[str, tuple[float | str, ...]] = {
        "a": (1.0, 1.0, 1.0),
        "b": (1.0, 0.0, 1.0),
        "c": (1.0, "not_detected", 1.0),
    }
    records: list[JournalEntry] = []
    links: dict[str, dict[str, Any]] = {}
    for session, scores in values.items():
        for turn, value in enumerate(scores, start=1):
            edit = f"{session}{turn}"
            links[edit] = {"turn": turn, **({"follows": f"{session}{turn - 1}"} if turn > 1 else {})}
            records.append(make_record(edit, {"edit": value}, protocol="editval", source=session, place=len(records)))
    return Run.open(make_run(*records, fields=links, protocols={"editval": TOLD}))


def test_one_failed_turn_is_enough_to_know_and_an_unknown_one_is_not(run: Run) -> None:
    by_name = {table.name: table.cells["mine"] for table in turn_tables(run)}
    shown = {
        name: {
            turn: (cell.mean.value if cell.mean else None, cell.mean.n if cell.mean else 0, cell.unknown)
            for turn, cell in cells.items()
        }
        for name, cells in by_name.items()
    }
    assert shown["success"] == {1: (1.0, 3, 0), 2: (0.5, 2, 1), 3: (1.0, 3, 0)}
    assert shown["success_so_far"] == {1: (1.0, 3, 0), 2: (0.5, 2, 1), 3: (0.5, 2, 1)}


def test_the_report_draws_a_line_over_turns(run: Run) -> None:
    page = turns_section.render(Context(run))
    assert page is not None
    assert "editval success_so_far" in page
    assert page.count("<svg") == 2
    assert "turn 3" in page


def test_a_run_of_single_turns_has_no_such_section(make_record: Make, make_run: Make) -> None:
    run = Run.open(make_run(make_record("a")))
    assert turn_tables(run) == []
    assert turns_section.render(Context(run)) is None


class Seeing:
    """A perception for tests only: a token is the mean color of its patch, and one object stands on the left."""

    async def detect(self, image: Pixels, *phrases: str) -> Detections:
        if phrases == ("unicorn",):
            raise UnscorableError("unknown_word", "'unicorn'")
        box = np.array([[0, 0, 20, 40]], np.float32)
        return Detections(box, np.ones(1, np.float32), phrases, phrases)

    async def patches(self, image: Pixels) -> Patches:
        rows = [np.array_split(row, 4, axis=1) for row in np.array_split(image, 4, axis=0)]
        tokens = np.array([[patch.mean(axis=(0, 1)) for patch in row] for row in rows], np.float16)
        return Patches(tokens, tokens.mean(axis=(0, 1)))


def _scores(tmp_path: Path, masks: tuple[Rectangle | None, ...], unchanged: list[str]) -> dict[str, Score | Unscored]:
    """The second of two turns: the first made the left quarter white, the second the right one black."""
    first = np.full((40, 80, 3), 100, np.uint8)
    before, after = first.copy(), first.copy()
    before[:, :20] = after[:, :20] = 255
    after[:, 60:] = 0
    after[:20, 20:40] = 110  # nobody asked for this
    for name, pixels in (("first", first), ("before", before)):
        write_png(pixels, tmp_path / f"{name}.png")
    start = Edit(
        id="a1", source=ImageFile("first.png", tmp_path / "first.png"), type="color", instruction="x", mask=masks[0]
    )
    extras = {"unchanged_objects": unchanged}
    edits = [start, replace(start, id="a2", mask=masks[1], turn=2, follows="a1", extras=extras)]
    second = with_turns(Benchmark("turns", edits)).edits[1]
    item = build_item(second, Outcome(edit_id="a2", method="m", image=tmp_path / "x.png"), before, after)
    see: Any = Seeing()
    return dict(asyncio.run(open_protocol("drift").score(item, see)))


LEFT, RIGHT = Rectangle(0, 0, 20, 40), Rectangle(60, 0, 80, 40)


def test_drift_looks_outside_the_masks_of_all_turns_and_at_the_first_picture(tmp_path: Path) -> None:
    scores = _scores(tmp_path, (LEFT, RIGHT), [])
    changed = 10 / 255 / 4  # a quarter of the middle half
    assert isinstance(scores["unchanged_l1"], Score)
    assert scores["unchanged_l1"].value == pytest.approx(1 - changed, abs=1e-6)
    assert isinstance(scores["unchanged_tokens"], Score)
    assert scores["unchanged_tokens"].value == pytest.approx(1, abs=1e-3)  # the same gray, somewhat lighter
    assert scores["object_l1"] == Unscored("not_applicable", "the benchmark names no object that should stay")


def test_without_a_mask_of_every_turn_nothing_says_what_should_stay(tmp_path: Path) -> None:
    score = _scores(tmp_path, (None, RIGHT), [])["unchanged_l1"]
    assert isinstance(score, Unscored)
    assert score.reason == "not_applicable"


def test_objects_that_should_stay_are_looked_for_in_the_first_picture(tmp_path: Path) -> None:
    scores = _scores(tmp_path, (LEFT, RIGHT), ["dog"])
    assert isinstance(scores["object_l1"], Score)
    assert scores["object_l1"].value == pytest.approx(1 - 155 / 255, abs=1e-6)  # EdiVal: 1 - mean |first - last|
    assert isinstance(scores["object_tokens"], Score)
    unknown = _scores(tmp_path, (LEFT, RIGHT), ["unicorn"])["object_l1"]
    assert isinstance(unknown, Unscored)
    assert unknown.reason == "unknown_word"
