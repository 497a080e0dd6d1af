"""Right outcomes with an artifact: where it lies, and that more severe is worse."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skimage.data
from hypothesis import given, settings
from hypothesis import strategies as st

from editgauge._util.images import ImageFile, Pixels, read_image, resize_image
from editgauge._util.masks import BoolMask, Polygons, dilate_mask
from editgauge.benchmarks import open_benchmark
from editgauge.errors import BadInputError, CannotEditError, UnknownNameError
from editgauge.methods.reference.artifacts import ARTIFACTS, ArtifactSite, add_artifact
from editgauge.methods.reference.editors import Flawed, artifact_site, classical, flawed, make_rng, recipe_of
from editgauge.methods.reference.operations import apply_recipe, recipe_mask
from editgauge.recipes import MARGIN, Background, Move, Recipe, Recolor, Remove, Resize, Restyle, Texture
from editgauge.types import Edit

photographs: Any = skimage.data
ROCKET = Polygons(((153, 75, 156, 65, 160, 63, 164, 65, 168, 75, 168, 202, 153, 202),))
SOURCE: Pixels = resize_image(np.asarray(photographs.rocket(), np.uint8), 320, 214)
RECIPES: dict[str, Recipe] = {
    "recolor": Recolor(ROCKET, "red"),
    "texture": Texture(ROCKET, "stripes"),
    "remove": Remove(ROCKET),
    "move": Move(ROCKET, (240, 134)),
    "resize": Resize(ROCKET, 0.6),
    "restyle": Restyle("sketch"),
    "background": Background((ROCKET,), "brick"),
}
LEAVE_THE_FOOTPRINT = {"shifted", "duplicated"}
UNSEEN = {("remove", "blurred"), ("remove", "duplicated")}
"""The sky that fills the hole is smooth already, and nothing is left that could be seen twice."""
PAIRS = [(kind, flaw) for kind in RECIPES for flaw in ARTIFACTS if (kind, flaw) not in UNSEEN]


def asked(kind: str) -> Edit:
    source = ImageFile("rocket", Path("rocket.jpg"))
    return Edit(id=kind, source=source, type="color", instruction=kind, recipe=RECIPES[kind])


@cache
def right(kind: str) -> Pixels:
    return classical.edit(asked(kind), SOURCE, 0)


@cache
def work(kind: str, seed: int) -> ArtifactSite:
    return artifact_site(RECIPES[kind], SOURCE, right(kind), make_rng(asked(kind), seed))


def made(kind: str, flaw: str, severity: float, seed: int = 0) -> Pixels:
    """As the method makes it, but without following the recipe again each time."""
    return add_artifact(work(kind, seed), flaw, severity)


def difference(one: Pixels, other: Pixels) -> float:
    return float(np.abs(one.astype(np.int16) - other).mean())


def footprint(kind: str) -> BoolMask:
    return recipe_mask(RECIPES[kind], SOURCE)


@pytest.mark.parametrize(("kind", "flaw"), PAIRS)
class TestEveryArtifact:
    def test_is_not_there_at_severity_0(self, kind: str, flaw: str) -> None:
        assert np.array_equal(made(kind, flaw, 0), right(kind))

    @pytest.mark.slow
    def test_grows_with_its_severity(self, kind: str, flaw: str) -> None:
        worse = [difference(made(kind, flaw, severity), right(kind)) for severity in (0, 0.25, 0.5, 0.75, 1)]
        assert all(less < more for less, more in pairwise(worse))

    def test_stays_where_the_edit_may_change_the_picture(self, kind: str, flaw: str) -> None:
        changed = (made(kind, flaw, 1) != SOURCE).any(axis=2)
        if flaw in LEAVE_THE_FOOTPRINT:
            assert not changed[~dilate_mask(footprint(kind), 30)].any()
        else:
            assert not changed[~footprint(kind)].any()


@settings(max_examples=15)
@given(
    pair=st.sampled_from([pair for pair in PAIRS if pair[0] in {"recolor", "texture", "restyle", "background"}]),
    severities=st.tuples(st.integers(0, 10), st.integers(0, 10)),
    seed=st.integers(0, 5),
)
def test_the_more_severe_is_never_nearer_to_the_right_outcome(
    pair: tuple[str, str], severities: tuple[int, int], seed: int
) -> None:
    less, more = (difference(made(*pair, each / 10, seed), right(pair[0])) for each in sorted(severities))
    assert less <= more + 0.05, "except for whole pixels and rounded colors"


def test_the_method_leaves_the_artifact_that_it_is_asked_for() -> None:
    outcome = flawed.variant({"flaw": "shifted", "severity": "0.7"}).edit(asked("move"), SOURCE, 3)
    assert np.array_equal(outcome, made("move", "shifted", 0.7, seed=3))
    assert not np.array_equal(outcome, made("move", "shifted", 0.7, seed=4)), "the seed turns the direction"


def test_a_halo_lies_around_the_object_and_not_on_it() -> None:
    changed = (made("recolor", "halo", 1) != right("recolor")).any(axis=2)
    inside = ROCKET.render(320, 214)
    assert changed[dilate_mask(inside, MARGIN - 2) & ~dilate_mask(inside, 2)].mean() > 0.9
    assert not changed[~dilate_mask(~inside, 6)].any()


def test_a_ghost_looks_like_what_was_there() -> None:
    inside = ROCKET.render(320, 214)
    haunted = made("remove", "ghost", 1)
    assert difference(haunted[inside], SOURCE[inside]) < difference(right("remove")[inside], SOURCE[inside])


def test_a_shadow_makes_the_place_darker() -> None:
    inside = ROCKET.render(320, 214)
    assert made("move", "shadow", 1)[inside].mean() < right("move")[inside].mean() - 5


def test_an_artifact_that_nobody_could_see_is_none() -> None:
    flat = np.full((120, 160, 3), 90, np.uint8)
    edit = Edit(
        id="flat", source=asked("remove").source, type="object_removal", instruction="", recipe=Remove(_square())
    )
    with pytest.raises(CannotEditError, match="'blurred' could not be seen"):
        Flawed("blurred", 0.5).edit(edit, flat, 0)


def _square() -> Polygons:
    return Polygons(((60, 40, 100, 40, 100, 80, 60, 80),))


def test_a_removed_object_cannot_be_doubled() -> None:
    with pytest.raises(CannotEditError, match="After a removal"):
        Flawed("duplicated", 0.5).edit(asked("remove"), SOURCE, 0)


def test_options_are_read_and_checked() -> None:
    assert flawed.variant({"flaw": "seam", "severity": "0.8"}).settings() == {"flaw": "seam", "severity": 0.8}
    with pytest.raises(UnknownNameError, match="Did you mean 'halo'"):
        flawed.variant({"flaw": "hallo"})
    with pytest.raises(BadInputError, match=r"between 0 and 1, got 1\.5"):
        flawed.variant({"severity": "1.5"})
    with pytest.raises(BadInputError, match="did you mean 'severity'"):
        flawed.variant({"severety": "1"})


@pytest.mark.slow
def test_every_artifact_on_every_edit_of_the_sample_grows_or_is_refused() -> None:
    families, refused = 0, 0
    for edit in open_benchmark("sample").edits:
        source = read_image(edit.source.path)
        recipe = recipe_of(edit, source)
        done = artifact_site(recipe, source, apply_recipe(recipe, source), make_rng(edit, 0))
        for flaw in ARTIFACTS:
            if isinstance(recipe, Remove) and flaw == "duplicated":
                continue
            try:
                graded = [add_artifact(done, flaw, severity) for severity in (0, 0.25, 0.5, 0.75, 1)]
            except CannotEditError:
                refused += 1
                continue
            families += 1
            worse = [difference(each, done.result) for each in graded]
            assert all(less < more for less, more in pairwise(worse)), (edit.id, flaw, worse)
    assert (families, refused) == (524, 7), "documented in docs/explanation/reference-editors.md"
