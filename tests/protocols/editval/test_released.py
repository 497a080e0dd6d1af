"""Where the authors' two scripts read an edit differently."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from editgauge.protocols import open_protocol
from editgauge.types import Position, Score

Make = Callable[..., tuple[Any, Any]]
LOW_LEFT, HIGH_RIGHT, LOW_RIGHT = (20, 200, 120, 300), (300, 100, 400, 200), (60, 220, 160, 320)


def scores(staging: tuple[Any, Any]) -> tuple[float, float]:
    """Return the scores of `auto_eval.py` and of `evaluate_edits.py`."""
    item, perception = staging
    results = [
        asyncio.run(open_protocol(f"editval@{script}").score(item, perception))["edit"]
        for script in ("auto_eval", "evaluate_edits")
    ]
    first, second = (result.value for result in results if isinstance(result, Score))
    return first, second


@pytest.mark.parametrize(
    ("end", "expected"),
    [(HIGH_RIGHT, (1, 0)), (LOW_RIGHT, (0, 1)), ((500, 300, 600, 400), (1, 1)), (LOW_LEFT, (0, 0))],
)
def test_moves_by_distance_or_by_both_coordinates(staged: Make, end: Any, expected: tuple[int, int]) -> None:
    move = {"type": "position_replacement", "subject": "dog", "to": "right", "extras": {"to": "right", "class": "dog"}}
    assert scores(staged(move, {"dog": [LOW_LEFT]}, {"dog": [end]})) == expected


def test_a_placed_object_is_its_first_word_or_its_joined_words(staged: Make) -> None:
    place = {
        "type": "positional_addition",
        "subject": "bench",
        "to": "wine glass",
        "position": Position("left", "bench"),
        "extras": {"to": "wine glass to left", "class": "bench"},
    }
    edited = {"bench": [HIGH_RIGHT]}
    assert scores(staged(place, {}, edited | {"wine": [LOW_LEFT]})) == (1, 0)
    assert scores(staged(place, {}, edited | {"wineglass": [LOW_LEFT]})) == (0, 1)


def test_a_part_is_asked_with_or_without_its_verb(staged: Make) -> None:
    part = {"type": "alter_parts", "subject": "cat", "to": "tie", "extras": {"to": "add tie", "class": "cat"}}
    assert scores(staged(part, {}, {"cat": [LOW_LEFT], "add tie": [LOW_RIGHT]})) == (1, 0)
    assert scores(staged(part, {}, {"cat": [LOW_LEFT], "tie": [LOW_RIGHT]})) == (0, 1)


def test_a_class_is_asked_as_spoken_or_as_spelled(staged: Make) -> None:
    grow = {
        "type": "size",
        "subject": "stop sign",
        "to": "large",
        "extras": {"to": "large", "class": "stop_sign"},
    }
    spoken, spelled = {"stop sign": [LOW_LEFT]}, {"stop_sign": [LOW_LEFT]}
    larger = (20, 200, 320, 400)
    assert scores(staged(grow, spoken, {"stop sign": [larger]})) == (1, 0)
    assert scores(staged(grow, spelled, {"stop_sign": [larger]})) == (0, 1)


def test_the_released_name_is_an_alias_of_auto_eval() -> None:
    released, auto_eval = (open_protocol(f"editval@{name}") for name in ("released", "auto_eval"))
    assert released.deviations == auto_eval.deviations
