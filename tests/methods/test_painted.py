"""The editor that has a network fill the holes: the same work as `classical`, except for what comes into view."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skimage.data

from editgauge._util.images import ImageFile, Pixels
from editgauge._util.masks import Polygons
from editgauge.errors import BadInputError, CannotEditError, UnknownNameError
from editgauge.methods.reference.editors import Painted, classical, painted
from editgauge.methods.reference.operations import recipe_mask
from editgauge.models.weights import MissingWeightsError, available
from editgauge.recipes import Move, Recipe, Recolor, Remove, Resize
from editgauge.types import Edit

photographs: Any = skimage.data
ROCKET = Polygons(((306, 150, 312, 130, 320, 126, 328, 130, 336, 150, 336, 405, 306, 405),))
SOURCE: Pixels = np.asarray(photographs.rocket(), np.uint8)
needs_weights = pytest.mark.skipif(not available("migan"), reason="NOT TESTED: run `editgauge models pull migan`")


def asked(recipe: Recipe | None) -> Edit:
    source = ImageFile("rocket", Path("rocket.jpg"))
    return Edit(id="asked", source=source, type="color", instruction="as asked", recipe=recipe)


@pytest.mark.slow
@needs_weights
@pytest.mark.parametrize("recipe", [Remove(ROCKET), Move(ROCKET, (480, 268)), Resize(ROCKET, 0.6)])
def test_holes_are_filled_by_the_network_and_the_outside_stays(recipe: Recipe) -> None:
    outcome, footprint = painted.edit(asked(recipe), SOURCE, 0), recipe_mask(recipe, SOURCE)
    assert np.array_equal(outcome[~footprint], SOURCE[~footprint])
    assert not np.array_equal(outcome, classical.edit(asked(recipe), SOURCE, 0))
    hole = ROCKET.render(640, 427) & (np.arange(427) < 250)[:, None]
    assert outcome[hole].mean() < 0.8 * SOURCE[hole].mean(), "the bright rocket gave way to the dark sky"


def test_where_there_is_no_hole_it_does_what_classical_does() -> None:
    edit = asked(Recolor(ROCKET, "red"))
    assert np.array_equal(painted.edit(edit, SOURCE, 0), classical.edit(edit, SOURCE, 0))


@needs_weights
def test_the_model_is_on_record() -> None:
    assert painted.settings()["inpainter"]["name"] == "migan"
    assert len(painted.settings()["inpainter"]["sha256"]) == 64


def test_nothing_is_left_of_a_picture_that_is_all_object() -> None:
    everything = Polygons(((-5, -5, 700, -5, 700, 500, -5, 500),))
    with pytest.raises(CannotEditError, match="whole picture"):
        Painted().edit(asked(Remove(everything)), SOURCE, 0)


def test_without_weights_the_command_that_brings_them_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITGAUGE_CACHE", str(tmp_path))
    with pytest.raises(MissingWeightsError, match="editgauge models pull migan"):
        Painted().edit(asked(Remove(ROCKET)), SOURCE, 0)


def test_options_and_recipes_are_checked() -> None:
    with pytest.raises(CannotEditError, match="has no recipe"):
        painted.edit(asked(None), SOURCE, 0)
    with pytest.raises(BadInputError, match="no option 'model'"):
        painted.variant({"model": "migan"})
    with pytest.raises(UnknownNameError, match="Did you mean 'migan'"):
        painted.variant({"inpainter": "migann"}).settings()
