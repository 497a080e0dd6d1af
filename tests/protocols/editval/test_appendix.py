"""`editval@appendix`: appendix C as printed, where it differs from the other two readings."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from editgauge.protocols import open_protocol
from editgauge.types import Position, Score

Make = Callable[..., tuple[Any, Any]]
LEFT, RIGHT, WIDE = (20, 200, 120, 300), (500, 200, 600, 300), (10, 200, 400, 300)
ADD = {"type": "object_addition", "subject": "bench", "to": "dog"}
REPLACE = {"type": "object_replacement", "subject": "horse", "from_": "horse", "to": "zebra"}
MOVE = {"type": "position_replacement", "subject": "dog", "to": "right", "extras": {"to": "right"}}
GROW = {"type": "size", "subject": "dog", "to": "large", "extras": {"to": "large"}}
PART = {"type": "alter_parts", "subject": "pizza", "to": "tomato"}


def edit(staging: tuple[Any, Any], protocol: str = "editval@appendix") -> float | str:
    item, perception = staging
    score = asyncio.run(open_protocol(protocol).score(item, perception))["edit"]
    return score.value if isinstance(score, Score) else score.reason


def place(relation: str) -> dict[str, Any]:
    position = Position(relation, "bench")  # type: ignore[arg-type]
    return {"type": "positional_addition", "subject": "bench", "to": "cup", "position": position}


def test_an_added_object_counts_without_the_class(staged: Make) -> None:
    assert edit(staged(ADD, {}, {"dog": [LEFT]})) == 1
    assert edit(staged(ADD, {}, {"bench": [LEFT]})) == 0


def test_a_replaced_object_must_be_gone(staged: Make) -> None:
    assert edit(staged(REPLACE, {"horse": [LEFT]}, {"zebra": [LEFT]})) == 1
    assert edit(staged(REPLACE, {"horse": [LEFT]}, {"zebra": [LEFT], "horse": [RIGHT]})) == 0


def test_positions_are_compared_by_left_edges(staged: Make) -> None:
    assert edit(staged(place("left"), {"bench": [LEFT]}, {"cup": [WIDE]})) == 1, "its center is on the right"
    assert edit(staged(place("left"), {"bench": [LEFT]}, {"cup": [WIDE]}), "editval") == 0
    assert edit(staged(place("above"), {"bench": [LEFT]}, {"cup": [(20, 10, 120, 60)]})) == 0


def test_moves_are_measured_at_the_left_edge(staged: Make) -> None:
    assert edit(staged(MOVE, {"dog": [LEFT]}, {"dog": [RIGHT]})) == 1
    assert edit(staged(MOVE, {"dog": [LEFT]}, {"dog": [(200, 200, 300, 300)]})) == 0


def test_size_and_parts(staged: Make) -> None:
    assert edit(staged(GROW, {"dog": [LEFT]}, {"dog": [WIDE]})) == 1
    assert edit(staged(PART, {}, {"pizza": [WIDE], "tomato": [(20, 210, 30, 220)]})) == 1
    assert edit(staged(PART, {}, {"pizza": [LEFT], "tomato": [RIGHT]})) == 0


@pytest.mark.parametrize("request_", [MOVE, GROW, place("left")])
def test_what_is_not_detected_in_the_source_gives_0(staged: Make, request_: dict[str, Any]) -> None:
    staging = staged(request_, {}, {"dog": [RIGHT], "cup": [LEFT]})
    assert edit(staging) == 0
    assert edit(staging, "editval") == "not_detected"
