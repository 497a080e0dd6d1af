"""One entry makes an edit type: a made-up one is read, listed, prompted and scored; no other file lists them."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from editgauge._cli.list import list_names
from editgauge._util.images import ImageFile, write_png
from editgauge.benchmarks import open_benchmark
from editgauge.edit_types import EDIT_TYPES, EditType, read_edit_type, vocabulary
from editgauge.errors import UnknownNameError
from editgauge.methods.prompts import render
from editgauge.protocols.editval import editval
from editgauge.protocols.editval._rules import RULES, EditValScene, rule
from editgauge.types import Edit, Item, Outcome, Score
from tests.source_trees import nodes_of, sources

MOST_NAMES = 6
"""Names of edit types that may stand in one tuple, set or dictionary outside the table."""
EXCEPT = {"_util/phrases.py", "analysis/checklist.py", "benchmarks/magicbrush_pixlens.py"}
"""Tables of papers by edit type: sentences and the checklist of EditVal, counts of PixLens."""


@pytest.fixture
def weather(monkeypatch: pytest.MonkeyPatch) -> Iterator[EditType]:
    entry = EditType(
        name="weather",
        meaning="the weather of the scene changes",
        example="Make it snow.",
        needs=("to",),
        region="everywhere",
        value="attribute",
        names={"gedit": ("weather_change",)},
    )
    monkeypatch.setitem(EDIT_TYPES, entry.name, entry)
    yield entry
    RULES.pop(entry.name, None)


def an_edit(edit_type: str, **parts: Any) -> Edit:
    return Edit(id="e", source=ImageFile("p", Path("p.png")), type=edit_type, instruction="Make it snow.", **parts)


@given(st.sampled_from(sorted(EDIT_TYPES)), st.sampled_from(["_", "-", " "]), st.booleans())
def test_an_edit_type_may_be_spelled_in_several_ways(name: str, joint: str, capitals: bool) -> None:
    word = name.replace("_", joint)
    assert read_edit_type(f" {word.upper() if capitals else word} ") == name


def test_an_unknown_edit_type_gets_a_suggestion() -> None:
    with pytest.raises(UnknownNameError, match=r"no edit type called 'colour'\. Did you mean 'color'\?"):
        read_edit_type("colour")
    with pytest.raises(UnknownNameError, match=r"no edit type called 'weather'"):
        an_edit("weather")


@pytest.mark.parametrize("benchmark", sorted({name for element in EDIT_TYPES.values() for name in element.names}))
def test_a_word_of_a_benchmark_names_one_type(benchmark: str) -> None:
    words = [word for element in EDIT_TYPES.values() for word in element.names.get(benchmark, ())]
    assert sorted(words) == sorted(vocabulary(benchmark))


@pytest.mark.parametrize("entry", EDIT_TYPES.values(), ids=list(EDIT_TYPES))
def test_an_entry_is_complete(entry: EditType) -> None:
    assert entry.meaning
    assert entry.example.endswith(".")
    assert set(entry.needs) <= {"subject", "from", "to", "position"}
    assert (entry.value is not None) == ("to" in entry.needs) == bool(entry.values)


def test_a_new_entry_is_listed_and_read_from_a_file(weather: EditType, tmp_path: Path) -> None:
    write_png(np.zeros((4, 4, 3), np.uint8), tmp_path / "p.png")
    (tmp_path / "benchmark.yaml").write_text(
        "name: mine\nedits:\n- {id: e, source: p.png, type: Weather, instruction: Make it snow.}\n"
    )
    assert [edit.type for edit in open_benchmark(tmp_path).edits] == [weather.name]
    assert weather.meaning in [row.get("about") for row in list_names("edit-types")]
    assert vocabulary("gedit")["weather_change"] == weather.name


def test_a_new_type_is_prompted_by_its_template(weather: EditType, tmp_path: Path) -> None:
    (tmp_path / "caption").mkdir()
    (tmp_path / "caption" / "weather.v1.txt").write_text("a photo in the {to}")
    assert render(an_edit(weather.name, to="snow"), "caption", folder=tmp_path).text == "a photo in the snow"


def test_a_new_type_is_scored_by_the_rule_that_names_it(weather: EditType) -> None:
    pictures = [np.full((8, 8, 3), shade, np.uint8) for shade in (0, 255)]
    outcome = Outcome(edit_id="e", method="m", image=Path("o.png"))
    item = Item(edit=an_edit(weather.name, to="snow"), outcome=outcome, source=pictures[0], edited=pictures[1])

    @rule("weather")
    async def snow(scene: EditValScene) -> Score:
        return Score(float(scene.item.edited.mean() > scene.item.source.mean()))

    assert asyncio.run(editval.score(item, perception=None))["edit"] == Score(1.0)  # type: ignore[arg-type]


def test_only_the_table_lists_the_edit_types() -> None:
    lists = {
        f"{file}:{getattr(node, 'lineno', 0)}": sorted(names)
        for file, source in sources().items()
        if file != "edit_types.py" and file not in EXCEPT
        for node in nodes_of(source)
        if len(names := _edit_types_in(node)) > MOST_NAMES
    }
    assert not lists, "derive these from the properties of the entries in edit_types.py"


def _edit_types_in(node: ast.AST) -> set[str]:
    match node:
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            pass
        case ast.Dict(keys=keys, values=values):
            parts = [*(key for key in keys if key), *values]
        case _:
            return set()
    return {str(part.value) for part in parts if isinstance(part, ast.Constant)} & set(EDIT_TYPES)
