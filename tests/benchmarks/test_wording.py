"""Plain English from parts, and the type that an instruction names beyond doubt."""

from __future__ import annotations

import pytest

from editgauge.benchmarks._text.wording import guess_type, instruction
from editgauge.core.types import Position


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


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ("add a boat", "object_addition"),
        ("Let's add a boat on the lake!", "object_addition"),
        ("Can you put a boat on the lake?", "object_addition"),
        ("put boats on the lake", "object_addition"),
        ("put the boat on the lake", "unspecified"),  # the boat may be there already
        ("put a boat instead of the swan", "object_replacement"),
        ("place a boat in the place of the swan", "object_replacement"),
        ("remove the boat", "object_removal"),
        ("Get rid of the boat.", "object_removal"),
        ("remove one of the boats", "single_instance_removal"),
        ("remove one of its sails", "object_removal"),
        ("remove the boat and add a swan", "unspecified"),
        ("replace the boat with a swan", "object_replacement"),
        ("turn the boat into a swan", "object_replacement"),
        ("change the boats into swans", "object_replacement"),
        ("change the boat to a swan", "object_replacement"),
        ("change the boat to swan lake", "unspecified"),
        ("change the boat to a sailing boat", "unspecified"),  # the same thing, of another kind
        ("turn the photo into a painting", "unspecified"),
        ("turn day into night", "unspecified"),
        ("change the boat to red", "color"),
        ("make the boat red", "color"),
        ("let the boat be red", "color"),
        ("The boat should be red.", "color"),
        ("change the color of the boat", "color"),
        ("make the boat an orange", "unspecified"),
        ("let the man wear red", "unspecified"),
        ("make the boat small and red", "unspecified"),
        ("change the background to a harbour", "background"),
        ("replace the boat in the background with a swan", "object_replacement"),
        ("paint the boat in the style of Monet", "style"),
        ("let the dog yawn", "unspecified"),
        ("What if the man had a hat?", "unspecified"),
        ("", "unspecified"),
    ],
)
def test_only_what_is_beyond_doubt_gets_a_type(told: str, expected: str) -> None:
    assert guess_type(told) == expected
    assert guess_type(told.upper()) == expected
