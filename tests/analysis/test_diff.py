"""What differs between two runs: found, and laid at the right door."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from editgauge.analysis.diff import Difference, difference
from editgauge.results import ImageStamp, JournalEntry, Run

Make = Callable[..., JournalEntry]
MakeRun = Callable[..., Path]
SOURCE, EDITED = ImageStamp("/s.png", 1, 1, "aaa"), ImageStamp("/e.png", 1, 1, "bbb")


@pytest.fixture
def two(make_run: MakeRun, make_record: Make) -> Callable[..., Difference]:
    """Compares a run of two records with another, in which the first record is what is given."""
    names = iter(range(100))

    def compare(changed: dict[str, Any] | None = None, drop: bool = False, **manifest: Any) -> Difference:
        first = {"edit": "a", "scores": {"gain": 0.5, "loss": "refused"}}
        images = {"source_image": SOURCE, "edited_image": EDITED}
        second = make_record("b", {"gain": 0.25, "loss": 0.125}, place=1, **images)
        here = make_run(make_record(**{**first, **images}), second, name=f"{next(names)}")
        others = [second] if drop else [make_record(**{**first, **images, **(changed or {})}), second]
        there = make_run(*others, name=f"{next(names)}", **manifest)
        return difference(here, there)

    return compare


def moved(found: Difference) -> list[str]:
    return [shift.name for shift in found.shifts if not shift.same]


def test_equal_runs_are_the_same(two: Callable[..., Difference]) -> None:
    found = two()

    assert found.settings == {}
    assert found.images_changed == 0
    assert found.same_scores
    assert [(shift.name, shift.common) for shift in found.shifts] == [("gain", 2), ("loss", 1)]


def test_a_run_is_the_same_as_itself(make_run: MakeRun, make_record: Make) -> None:
    folder = make_run(make_record("a"))

    assert difference(folder, str(folder)).same_scores


def test_a_changed_score_is_found_and_its_means_told(two: Callable[..., Difference]) -> None:
    found = two({"scores": {"gain": 0.75, "loss": "refused"}})
    (gain,) = [shift for shift in found.shifts if not shift.same]

    assert (gain.protocol, gain.name, gain.method) == ("toy", "gain", "mine")
    assert (gain.common, gain.changed, gain.only_first, gain.only_second) == (2, 1, 0, 0)
    assert (gain.mean_first, gain.mean_second) == (0.375, 0.5)
    assert (found.settings, found.images_changed) == ({}, 0)
    assert not found.same_scores


def test_the_last_digit_counts(two: Callable[..., Difference]) -> None:
    import math

    assert moved(two({"scores": {"gain": math.nextafter(0.5, 1), "loss": "refused"}})) == ["gain"]


@pytest.mark.parametrize("side", ["source_image", "edited_image"])
def test_a_changed_image_is_counted(side: str, two: Callable[..., Difference]) -> None:
    found = two({side: replace(SOURCE, pixels="ccc")})

    assert found.images_changed == 1
    assert found.same_scores


def test_an_image_that_was_only_copied_elsewhere_is_the_same_image(two: Callable[..., Difference]) -> None:
    assert two({"edited_image": ImageStamp("/other/e.png", 1, 99, "bbb")}).images_changed == 0


def test_a_missing_item_is_found(two: Callable[..., Difference]) -> None:
    found = two(drop=True)
    (gain,) = [shift for shift in found.shifts if shift.name == "gain"]

    assert (gain.common, gain.only_first, gain.only_second) == (1, 1, 0)
    assert (gain.mean_first, gain.mean_second) == (0.25, 0.25)
    assert "gain" in moved(found)


def test_a_score_that_became_unscored_is_found(two: Callable[..., Difference]) -> None:
    found = two({"scores": {"gain": "crashed", "loss": 1.0}})

    assert [(shift.only_first, shift.only_second) for shift in found.shifts] == [(1, 0), (0, 1)]


def test_another_reason_for_having_no_score_is_found(two: Callable[..., Difference]) -> None:
    found = two({"scores": {"gain": 0.5, "loss": "crashed"}})
    (loss,) = [shift for shift in found.shifts if not shift.same]

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
    manifest: dict[str, Any], settings: dict[str, Any], two: Callable[..., Difference]
) -> None:
    found = two(**manifest)

    assert list(found.settings) == list(settings)
    for name, values in settings.items():
        assert values is None or found.settings[name] == values
    assert found.same_scores


def test_other_rules_of_a_protocol_are_named(
    two: Callable[..., Difference], make_run: MakeRun, make_record: Make
) -> None:
    toy = Run.open(make_run(make_record(), name="plain")).manifest.protocols["toy"]

    assert list(two(protocols={"toy": replace(toy, version="2")}).settings) == ["protocol toy"]


def test_runs_of_different_methods_have_nothing_in_common(make_run: MakeRun, make_record: Make) -> None:
    found = difference(
        make_run(make_record(scores={"gain": 0.5}), name="1"),
        make_run(make_record(scores={"gain": 0.5}, method="theirs"), name="2"),
    )

    assert [(shift.method, shift.common, shift.only_first, shift.only_second) for shift in found.shifts] == [
        ("mine", 0, 1, 0),
        ("theirs", 0, 0, 1),
    ]
    assert found.shifts[0].mean_first is None
    assert not found.same_scores


def test_an_unfinished_run_is_told(make_run: MakeRun, make_record: Make) -> None:
    found = difference(make_run(make_record(), name="1"), make_run(make_record(), name="2", finish=False))

    assert found.settings == {"finished": (True, False)}
