"""The summary of hand-made runs, of which every number is known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from editgauge.analysis.summary import ALL, Cell, edit_types, summarize
from editgauge.results import JournalEntry, Run

Make = Callable[..., JournalEntry]
MakeRun = Callable[..., Path]


def cell(cells: list[Cell], method: str, edit_type: str, name: str = "gain") -> Cell:
    (result,) = [item for item in cells if (item.method, item.edit_type, item.spec.name) == (method, edit_type, name)]
    return result


@pytest.fixture
def cells(make_run: MakeRun, make_record: Make) -> list[Cell]:
    """`mine`: two color edits of one source and one size edit of another; `theirs`: one scored, two not."""
    return summarize(
        Run.open(
            make_run(
                make_record("a", {"gain": 0.2, "loss": "not_applicable"}, source="cat.png"),
                make_record("b", {"gain": 0.4, "loss": 0.0}, place=1, source="cat.png"),
                make_record("c", {"gain": 0.9, "loss": 1.0}, place=2, source="dog.png", edit_type="size"),
                make_record("a", {"gain": 0.5, "loss": 0.5}, method="theirs", source="cat.png"),
                make_record("b", {"gain": "crashed", "loss": "crashed"}, method="theirs", place=1, source="cat.png"),
                make_record("c", {"gain": "refused", "loss": "refused"}, method="theirs", place=2, edit_type="size"),
            )
        )
    )


def test_means_counts_and_clusters_by_edit_type(cells: list[Cell]) -> None:
    color = cell(cells, "mine", "color").mean

    assert color is not None
    assert color.value == pytest.approx(0.3)
    assert (color.n, color.clusters, color.low, color.high) == (2, 1, None, None)
    assert cell(cells, "mine", "size").scored == 1


def test_all_pools_every_scored_edit_once(cells: list[Cell]) -> None:
    """(0.2 + 0.4 + 0.9) / 3, not the mean of the types' means."""
    pooled = cell(cells, "mine", ALL).mean

    assert pooled is not None
    assert pooled.value == pytest.approx(0.5)
    assert (pooled.n, pooled.clusters) == (3, 2)
    assert pooled.low is not None
    assert pooled.high is not None
    assert 0 <= pooled.low < 0.3 < 0.9 < pooled.high <= 1, "two source images say next to nothing"


def test_unscored_is_counted_by_reason_and_never_averaged(cells: list[Cell]) -> None:
    theirs = cell(cells, "theirs", ALL)

    assert theirs.mean is not None
    assert (theirs.mean.value, theirs.scored) == (0.5, 1)
    assert theirs.unscored == {"crashed": 1, "refused": 1}
    assert cell(cells, "mine", "color", "loss").unscored == {"not_applicable": 1}
    assert cell(cells, "mine", "size").unscored == {}


def test_a_cell_in_which_nothing_was_scored_has_no_mean(cells: list[Cell]) -> None:
    nothing = cell(cells, "theirs", "size")

    assert nothing.mean is None
    assert nothing.scored == 0
    assert nothing.unscored == {"refused": 1}


def test_cells_come_in_the_order_of_the_run_and_of_the_edit_types(cells: list[Cell]) -> None:
    assert [(item.spec.name, item.method, item.edit_type) for item in cells] == [
        (name, method, edit_type)
        for name in ("gain", "loss")
        for method in ("mine", "theirs")
        for edit_type in ("size", "color", ALL)
    ]


def test_a_method_without_records_has_no_cells(make_run: MakeRun, make_record: Make) -> None:
    folder = make_run(make_record("a"), methods={"mine": "/m", "later": "/l"}, finish=False)

    assert {item.method for item in summarize(Run.open(folder))} == {"mine"}


def test_an_empty_run_has_no_cells(make_run: MakeRun) -> None:
    run = Run.open(make_run(finish=False))

    assert summarize(run) == []
    assert edit_types(run) == []


def test_the_same_name_in_two_protocols_is_two_scores(make_run: MakeRun, make_record: Make) -> None:
    from dataclasses import replace

    run = Run.open(make_run(make_record("a", {"gain": 0.0})))
    toy = run.manifest.protocols["toy"]
    folder = make_run(
        make_record("a", {"gain": 0.0}),
        make_record("a", {"gain": 1.0}, protocol="other"),
        name="both",
        protocols={"toy": toy, "other": replace(toy, scores=toy.scores[:1])},
    )

    result = {item.protocol: item.mean.value for item in summarize(Run.open(folder)) if item.mean}
    assert result == {"toy": 0.0, "other": 1.0}


def test_the_order_of_writing_moves_no_digit(make_run: MakeRun, make_record: Make) -> None:
    """Records are written as they are ready, which is never twice in the same order."""
    random = np.random.default_rng(0)
    records = [
        make_record(
            f"e{place}",
            {"gain": float(random.random()), "loss": "crashed" if place % 7 == 0 else float(random.random())},
            method=method,
            place=place,
            source=f"photo {random.integers(9)}",
            edit_type=("color", "size", "style")[place % 3],
        )
        for method in ("mine", "theirs")
        for place in range(40)
    ]
    shuffled = [records[place] for place in random.permutation(80)]
    planned = {"methods": {"mine": "/m", "theirs": "/t"}}

    here, there = (make_run(*some, name=name, **planned) for name, some in (("1", records), ("2", shuffled)))

    assert summarize(Run.open(here)) == summarize(Run.open(there))
