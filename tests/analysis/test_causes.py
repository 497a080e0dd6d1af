"""The change of a mean is taken apart into causes that add up to it, each laid at the right door."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from editgauge._stats.attribution import CAUSES, Attribution, Cause, attribute
from editgauge.analysis.diff import difference
from editgauge.results import ImageStamp, JournalEntry, Run

Make = Callable[..., JournalEntry]
MakeRun = Callable[..., Path]
SOURCE, EDITED = ImageStamp("/s.png", 1, 1, "aaa"), ImageStamp("/e.png", 1, 1, "bbb")
IMAGES: dict[str, Any] = {"source_image": SOURCE, "edited_image": EDITED}
RUN_OF_VALUES = st.dictionaries(
    st.tuples(st.sampled_from("abcdef"), st.integers(0, 2)),
    st.floats(-1e6, 1e6),
    min_size=1,
)


@given(first=RUN_OF_VALUES, second=RUN_OF_VALUES, shared=st.sets(st.sampled_from("abcdef")), data=st.data())
def test_the_causes_add_up_to_the_change(
    first: dict[tuple[str, int], float], second: dict[tuple[str, int], float], shared: set[str], data: st.DataObject
) -> None:
    found = attribute(first, second, shared, lambda _: data.draw(st.sampled_from(CAUSES)))

    assert found is not None
    assert sum(part.change for part in found.parts.values()) == pytest.approx(found.change, abs=1e-6)
    assert found.before == pytest.approx(sum(first.values()) / len(first))
    assert found.after == pytest.approx(sum(second.values()) / len(second))
    touched = [place for place in first.keys() | second.keys() if first.get(place) != second.get(place)]
    assert sum(part.items for part in found.parts.values()) == len(touched)


@given(values=RUN_OF_VALUES)
def test_a_run_and_itself_have_no_causes(values: dict[tuple[str, int], float]) -> None:
    found = attribute(values, values, {edit for edit, _ in values}, lambda _: "software")

    assert found is not None
    assert (found.parts, found.change) == ({}, 0.0)


def test_by_hand() -> None:
    """0.4 over a, b, c becomes 0.7 over a, b, d; d is a new edit and b has other pixels."""
    first = {("a", 0): 0.2, ("b", 0): 0.4, ("c", 0): 0.6}
    second = {("a", 0): 0.2, ("b", 0): 0.8, ("d", 0): 1.1}

    found = attribute(first, second, {"a", "b", "c"}, lambda _: "images")
    assert found is not None
    assert {cause: (round(part.change, 9), part.items) for cause, part in found.parts.items()} == {
        "edits": (0.2, 1),  # 0.5 over a and b becomes 0.7 with d
        "missing": (-0.1, 1),  # 0.4 becomes 0.3 without c
        "images": (0.2, 1),  # 0.3 becomes 0.5 as b does better
    }


def test_a_run_without_a_score_has_no_mean_to_explain() -> None:
    assert attribute({}, {("a", 0): 1.0}, {"a"}, lambda _: "software") is None


def causes(first: Path, second: Path, name: str = "gain") -> Attribution:
    (found,) = [shift.causes for shift in difference(first, second).shifts if shift.name == name]
    assert found is not None
    return found


OTHER_MODEL = {"models": {"detector": {"name": "owl", "id": "owl", "revision": "2"}}}
OTHER_PIXELS = {"edited_image": replace(EDITED, pixels="ccc")}


@pytest.mark.parametrize(
    ("record", "manifest", "cause"),
    [
        ({}, {}, "software"),
        (OTHER_PIXELS, {}, "images"),
        ({}, OTHER_MODEL, "models"),
        (OTHER_PIXELS, OTHER_MODEL, "several"),
        ({}, {"environment": {"numpy": "9"}}, "software"),
    ],
)
def test_another_value_is_laid_at_the_right_door(
    record: dict[str, Any], manifest: dict[str, Any], cause: Cause, make_run: MakeRun, make_record: Make
) -> None:
    same = make_record("b", {"gain": 0.3}, place=1, **IMAGES)
    here = make_run(make_record("a", {"gain": 0.5}, **IMAGES), same, name="1")
    there = make_run(make_record("a", {"gain": 0.9}, **{**IMAGES, **record}), same, name="2", **manifest)

    (only,) = causes(here, there).parts.items()
    assert only[0] == cause
    assert only[1] == pytest.approx((0.2, 1))


def test_other_rules_are_a_cause(make_run: MakeRun, make_record: Make) -> None:
    here = make_run(make_record("a", {"gain": 0.5}, **IMAGES), name="1")
    toy = replace(Run.open(here).manifest.protocols["toy"], version="2")
    there = make_run(make_record("a", {"gain": 0.9}, **IMAGES), name="2", protocols={"toy": toy})

    assert list(causes(here, there).parts) == ["rules"]


def test_an_item_that_lost_its_score_and_an_edit_that_is_new(make_run: MakeRun, make_record: Make) -> None:
    kept = make_record("a", {"gain": 0.5}, **IMAGES)
    here = make_run(kept, make_record("b", {"gain": 0.1}, place=1, **IMAGES), name="1")
    there = make_run(
        kept,
        make_record("b", {"gain": "crashed"}, place=1, **IMAGES),
        make_record("new", {"gain": 0.9}, place=2, **IMAGES),
        name="2",
    )

    parts = causes(here, there).parts
    assert {cause: (round(part.change, 9), part.items) for cause, part in parts.items()} == {
        "edits": (0.2, 1),
        "missing": (0.2, 1),
    }


def test_the_command_shows_the_causes_as_a_table_and_as_json(
    make_run: MakeRun, make_record: Make, editgauge: Callable[..., CompletedProcess[str]]
) -> None:
    here = make_run(make_record("a", {"gain": 0.5}, **IMAGES), name="1")
    there = make_run(make_record("a", {"gain": 0.9}, **{**IMAGES, **OTHER_PIXELS}), name="2")

    table = editgauge("diff", here, there, code=1).stdout
    assert "where the change of each mean comes from" in table
    assert "+0.4000" in table
    told = json.loads(editgauge("diff", here, there, "--json", code=1).stdout)
    (shift,) = told["shifts"]
    assert shift["causes"]["parts"] == {"images": {"change": 0.4, "items": 1}}
    assert editgauge("diff", here, here, "--json").stdout.startswith("{")
