"""What differs between two runs: found, and laid at the right door."""

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

from editgauge.analysis.diff import CAUSES, Attribution, Cause, RunDifference, attribute, difference
from editgauge.results import ImageStamp, JournalEntry, Run

Make = Callable[..., JournalEntry]
MakeRun = Callable[..., Path]
SOURCE, EDITED = ImageStamp("/s.png", 1, 1, "aaa"), ImageStamp("/e.png", 1, 1, "bbb")


@pytest.fixture
def two(make_run: MakeRun, make_record: Make) -> Callable[..., RunDifference]:
    """Compares a run of two records with another, in which the first record is what is given."""
    names = iter(range(100))

    def compare(changed: dict[str, Any] | None = None, drop: bool = False, **manifest: Any) -> RunDifference:
        first = {"edit": "a", "scores": {"gain": 0.5, "loss": "refused"}}
        images = {"source_image": SOURCE, "edited_image": EDITED}
        second = make_record("b", {"gain": 0.25, "loss": 0.125}, place=1, **images)
        here = make_run(make_record(**{**first, **images}), second, name=f"{next(names)}")
        others = [second] if drop else [make_record(**{**first, **images, **(changed or {})}), second]
        there = make_run(*others, name=f"{next(names)}", **manifest)
        return difference(here, there)

    return compare


def moved(found: RunDifference) -> list[str]:
    return [shift.name for shift in found.shifts if not shift.same]


def test_equal_runs_are_the_same(two: Callable[..., RunDifference]) -> None:
    result = two()

    assert result.settings == {}
    assert result.images_changed == 0
    assert result.same_scores
    assert [(shift.name, shift.common) for shift in result.shifts] == [("gain", 2), ("loss", 1)]


def test_a_run_is_the_same_as_itself(make_run: MakeRun, make_record: Make) -> None:
    folder = make_run(make_record("a"))

    assert difference(folder, str(folder)).same_scores


def test_a_changed_score_is_found_and_its_means_told(two: Callable[..., RunDifference]) -> None:
    result = two({"scores": {"gain": 0.75, "loss": "refused"}})
    (gain,) = [shift for shift in result.shifts if not shift.same]

    assert (gain.protocol, gain.name, gain.method) == ("toy", "gain", "mine")
    assert (gain.common, gain.changed, gain.only_first, gain.only_second) == (2, 1, 0, 0)
    assert (gain.mean_first, gain.mean_second) == (0.375, 0.5)
    assert (result.settings, result.images_changed) == ({}, 0)
    assert not result.same_scores


def test_the_last_digit_counts(two: Callable[..., RunDifference]) -> None:
    import math

    assert moved(two({"scores": {"gain": math.nextafter(0.5, 1), "loss": "refused"}})) == ["gain"]


@pytest.mark.parametrize("side", ["source_image", "edited_image"])
def test_a_changed_image_is_counted(side: str, two: Callable[..., RunDifference]) -> None:
    result = two({side: replace(SOURCE, pixels="ccc")})

    assert result.images_changed == 1
    assert result.same_scores


def test_an_image_that_was_only_copied_elsewhere_is_the_same_image(two: Callable[..., RunDifference]) -> None:
    assert two({"edited_image": ImageStamp("/other/e.png", 1, 99, "bbb")}).images_changed == 0


def test_a_missing_item_is_found(two: Callable[..., RunDifference]) -> None:
    result = two(drop=True)
    (gain,) = [shift for shift in result.shifts if shift.name == "gain"]

    assert (gain.common, gain.only_first, gain.only_second) == (1, 1, 0)
    assert (gain.mean_first, gain.mean_second) == (0.25, 0.25)
    assert "gain" in moved(result)


def test_a_score_that_became_unscored_is_found(two: Callable[..., RunDifference]) -> None:
    result = two({"scores": {"gain": "crashed", "loss": 1.0}})

    assert [(shift.only_first, shift.only_second) for shift in result.shifts] == [(1, 0), (0, 1)]


def test_another_reason_for_having_no_score_is_found(two: Callable[..., RunDifference]) -> None:
    result = two({"scores": {"gain": 0.5, "loss": "crashed"}})
    (loss,) = [shift for shift in result.shifts if not shift.same]

    assert (loss.name, loss.changed, loss.other_reason) == ("loss", 0, 1)


@pytest.mark.parametrize(
    ("manifest", "settings"),
    [
        ({"seed": 3}, {"seed": (0, 3)}),
        ({"benchmark": "others"}, {"benchmark": ("toys", "others")}),
        ({"edits_sha256": "f0" * 32}, {"edits_sha256": None}),
        ({"environment": {"numpy": "1.26.0"}}, {"version of numpy": ("2.0.0", "1.26.0")}),
        ({"environment": {}}, {"version of numpy": ("2.0.0", None)}),
        ({"editgauge": "0.2.0"}, {"version of editgauge": ("0.1.0", "0.2.0")}),
        ({"models": {"detector": {"id": "owl"}}}, {"model detector": (None, {"id": "owl"})}),
        ({"methods": {"mine": "/m", "new": "/n"}}, {"methods": (["mine"], ["mine", "new"])}),
    ],
)
def test_a_changed_setting_is_named_and_nothing_else(
    manifest: dict[str, Any], settings: dict[str, Any], two: Callable[..., RunDifference]
) -> None:
    result = two(**manifest)

    assert list(result.settings) == list(settings)
    for name, values in settings.items():
        assert values is None or result.settings[name] == values
    assert result.same_scores


def test_other_rules_of_a_protocol_are_named(
    two: Callable[..., RunDifference], make_run: MakeRun, make_record: Make
) -> None:
    toy = Run.open(make_run(make_record(), name="plain")).manifest.protocols["toy"]

    assert list(two(protocols={"toy": replace(toy, version="2")}).settings) == ["protocol toy"]


def test_runs_of_different_methods_have_nothing_in_common(make_run: MakeRun, make_record: Make) -> None:
    result = difference(
        make_run(make_record(scores={"gain": 0.5}), name="1"),
        make_run(make_record(scores={"gain": 0.5}, method="theirs"), name="2"),
    )

    assert [(shift.method, shift.common, shift.only_first, shift.only_second) for shift in result.shifts] == [
        ("mine", 0, 1, 0),
        ("theirs", 0, 0, 1),
    ]
    assert result.shifts[0].mean_first is None
    assert not result.same_scores


def test_an_unfinished_run_is_told(make_run: MakeRun, make_record: Make) -> None:
    result = difference(make_run(make_record(), name="1"), make_run(make_record(), name="2", finish=False))

    assert result.settings == {"finished": (True, False)}


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
    result = attribute(first, second, shared, lambda _: data.draw(st.sampled_from(CAUSES)))

    assert result is not None
    assert sum(part.change for part in result.parts.values()) == pytest.approx(result.change, abs=1e-6)
    assert result.before == pytest.approx(sum(first.values()) / len(first))
    assert result.after == pytest.approx(sum(second.values()) / len(second))
    touched = [place for place in first.keys() | second.keys() if first.get(place) != second.get(place)]
    assert sum(part.items for part in result.parts.values()) == len(touched)


@given(values=RUN_OF_VALUES)
def test_a_run_and_itself_have_no_causes(values: dict[tuple[str, int], float]) -> None:
    result = attribute(values, values, {edit for edit, _ in values}, lambda _: "software")

    assert result is not None
    assert (result.parts, result.change) == ({}, 0.0)


def test_by_hand() -> None:
    """0.4 over a, b, c becomes 0.7 over a, b, d; d is a new edit and b has other pixels."""
    first = {("a", 0): 0.2, ("b", 0): 0.4, ("c", 0): 0.6}
    second = {("a", 0): 0.2, ("b", 0): 0.8, ("d", 0): 1.1}

    result = attribute(first, second, {"a", "b", "c"}, lambda _: "images")
    assert result is not None
    assert {cause: (round(part.change, 9), part.items) for cause, part in result.parts.items()} == {
        "edits": (0.2, 1),  # 0.5 over a and b becomes 0.7 with d
        "missing": (-0.1, 1),  # 0.4 becomes 0.3 without c
        "images": (0.2, 1),  # 0.3 becomes 0.5 as b does better
    }


def test_a_run_without_a_score_has_no_mean_to_explain() -> None:
    assert attribute({}, {("a", 0): 1.0}, {"a"}, lambda _: "software") is None


def causes(first: Path, second: Path, name: str = "gain") -> Attribution:
    (result,) = [shift.causes for shift in difference(first, second).shifts if shift.name == name]
    assert result is not None
    return result


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
    record: dict[str, Any],
    manifest: dict[str, Any],
    cause: Cause,
    make_run: MakeRun,
    make_record: Make,
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
    assert "The causes add up to the change" in table
    assert "+0.4000" in table
    told = json.loads(editgauge("diff", here, there, "--json", code=1).stdout)
    (shift,) = told["shifts"]
    assert shift["causes"]["parts"] == {"images": {"change": 0.4, "items": 1}}
    assert editgauge("diff", here, here, "--json").stdout.startswith("{")
