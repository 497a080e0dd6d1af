"""How the gallery says that an instruction was understood."""

from __future__ import annotations

from typing import Any

import pytest

from editgauge.instructions import parse_instruction as understand
from editgauge.reports._gallery import how_surely_read
from editgauge.results.edits import parsed_to_json


@pytest.mark.parametrize(
    ("instruction", "shown"),
    [
        ("replace the horse with a zebra", "without doubt"),
        ("Can we have a blue airplane?", "doubtful"),
        ("make it nicer", "not understood"),
    ],
)
def test_doubtful_readings_can_be_filtered(instruction: str, shown: str) -> None:
    edit: dict[str, Any] = {"reading": parsed_to_json(understand(instruction))}
    assert how_surely_read(edit) == shown


def test_an_edit_with_fields_of_its_own_was_not_read() -> None:
    assert how_surely_read({"type": "color"}) == ""
