"""Counts: how many there should be, worked by hand, and what is seen."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from editgauge.protocols.counts import counts
from editgauge.types import Score, Unscored

Make = Callable[..., tuple[Any, Any]]


def boxes(number: int) -> list[tuple[int, int, int, int]]:
    return [(60 * place, 10, 60 * place + 40, 50) for place in range(number)]


def scores(staged: Make, edit: dict[str, Any], thing: str, before: int, after: int) -> dict[str, Score | Unscored]:
    item, perception = staged(edit, source={thing: boxes(before)}, edited={thing: boxes(after)})
    return dict(asyncio.run(counts.score(item, perception)))


ADD = {"type": "object_addition", "instruction": "add two cups", "to": "cup", "count": 2}
IN_ALL = {"type": "object_addition", "instruction": "there should be four cups", "to": "cup", "count": 4}
ONE_LESS = {"type": "single_instance_removal", "instruction": "remove one of the cups", "subject": "cup", "count": 1}
NONE_LEFT = {"type": "object_removal", "instruction": "remove the cups", "subject": "cup"}


@pytest.mark.parametrize(
    ("edit", "before", "after", "error"),
    [
        (ADD, 0, 2, 0),
        (ADD, 1, 3, 0),
        (ADD, 1, 2, 1),
        (IN_ALL, 1, 4, 0),
        (IN_ALL, 1, 5, 1),
        (ONE_LESS, 3, 2, 0),
        (ONE_LESS, 3, 0, 2),
        (NONE_LEFT, 2, 0, 0),
        (NONE_LEFT, 2, 2, 2),
    ],
)
def test_numbers_are_compared_with_what_was_asked(
    staged: Make, edit: dict[str, Any], before: int, after: int, error: int
) -> None:
    seen = scores(staged, edit, "cup", before, after)
    right, off = seen["count_right"], seen["count_error"]
    assert isinstance(right, Score)
    assert isinstance(off, Score)
    assert (off.value, right.value) == (error, float(not error))
    assert f"{before} before, {after} now" in str(right.evidence[0])


@pytest.mark.parametrize(
    ("edit", "before", "reason"),
    [
        ({"type": "object_addition", "instruction": "add cups", "to": "cup"}, 0, "not_applicable"),
        ({"type": "color", "instruction": "make the cup red", "subject": "cup", "to": "red"}, 1, "not_applicable"),
        (NONE_LEFT, 0, "not_detected"),
        ({**ONE_LESS, "count": 2}, 1, "not_detected"),
    ],
)
def test_without_a_number_or_things_to_take_away_nothing_is_scored(
    staged: Make, edit: dict[str, Any], before: int, reason: str
) -> None:
    for score in scores(staged, edit, "cup", before, 0).values():
        assert isinstance(score, Unscored)
        assert score.reason == reason
