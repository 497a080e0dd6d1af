"""Plain English from parts."""

from __future__ import annotations

import pytest

from editgauge._util.phrases import instruction
from editgauge.types import Position


@pytest.mark.parametrize(
    ("kind", "from_", "to", "position", "expected"),
    [
        ("object_addition", None, "orange", None, "Add an orange to the image."),
        ("positional_addition", None, "books", Position("on", "bench"), "Add books on top of the bench."),
        ("positional_addition", None, "cup", Position("below", "bench"), "Add a cup below the bench."),
        ("object_replacement", "cup", "wine glass", None, "Replace the cup with a wine glass."),
        ("position_replacement", None, "center", None, "Move the bench to the center of the image."),
        ("object_removal", None, "", None, "Remove the bench."),
        ("size", None, "small", None, "Make the bench smaller."),
        ("size", None, "large", None, "Make the bench larger."),
        ("alter_parts", None, "tomato toppings", None, "Add tomato toppings to the bench."),
        ("color", None, "blue", None, "Make the bench blue."),
        ("texture", None, "wooden", None, "Give the bench a wooden texture."),
        ("texture", None, "zebra stripes", None, "Give the bench a texture of zebra stripes."),
        ("shape", None, "heart-shaped", None, "Make the bench heart-shaped."),
        ("shape", None, "square", None, "Make the bench square."),
        ("shape", None, "orange", None, "Make the bench orange-shaped."),
        ("shape", None, "tea cup", None, "Give the bench the shape of a tea cup."),
        ("style", None, "Cubism", None, "Change the style of the image to Cubism."),
        ("background", "house", "forest", None, "Change the background from a house to a forest."),
        ("action", "sit", "lay", None, "Make the bench lie down."),
        ("viewpoint", "side", "front", None, "Show the bench from the front instead of the side."),
    ],
)
def test_instructions(kind: str, from_: str | None, to: str, position: Position | None, expected: str) -> None:
    assert instruction(kind, "bench", from_, to, position) == expected
