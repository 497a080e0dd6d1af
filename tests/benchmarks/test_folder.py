"""The folder format: what is read, and that everything wrong is reported at once, with file and line."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from editgauge._util.documents import Document, Location
from editgauge._util.fields import BenchmarkFields, EditFields, SourceFields
from editgauge._util.images import ImageFile
from editgauge._util.masks import Dilated, Mask, MaskFile, Outside, Polygons, Rectangle, Union
from editgauge.benchmarks import open_benchmark
from editgauge.benchmarks._format import FORMS, RECIPES, Names, read_mask
from editgauge.benchmarks.folder import load
from editgauge.engine.run import run
from editgauge.errors import BadInputError
from editgauge.recipes import Background, Cutout, Move, Paste, Recolor, Remove, Replace, Resize, Restyle, Texture
from editgauge.types import Benchmark, Position

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "own-benchmark.md"
KEYS = [key for model in (BenchmarkFields, SourceFields, EditFields) for key in model.model_fields]
SQUARE = [[2, 2, 12, 2, 12, 12, 2, 12]]
LINE = {"id": "a", "source": "cat.png", "type": "color", "instruction": "Make it black."}
Make = Callable[..., Path]


@pytest.fixture
def folder(tmp_path: Path) -> Make:
    """Makes a benchmark folder with two images and that file; other images can be asked for."""

    def make(text: str | bytes, file: str = "benchmark.yaml", images: tuple[str, ...] = ("cat.png", "dog.png")) -> Path:
        for image in images:
            (tmp_path / image).parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (200, 150), "gray").save(tmp_path / image)
        (tmp_path / file).write_bytes(text.encode() if isinstance(text, str) else text)
        return tmp_path

    return make


def problems(folder: Path) -> tuple[str, ...]:
    with pytest.raises(BadInputError) as caught:
        load(folder)
    return caught.value.problems


def one_edit(**fields: Any) -> str:
    """A benchmark of one edit on line 4, with two sources that have objects."""
    objects = json.dumps({"cat": SQUARE, "tail": [[20, 20, 30, 20, 30, 30]], "spot": {"box": [1, 1, 5, 5]}})
    return (
        f"sources:\n  cat: {{image: cat.png, caption: a cat, objects: {objects}}}\n"
        f"  dog: {{image: dog.png, objects: {{dog: {SQUARE}}}}}\n"
        f"edits: [{json.dumps({**LINE, 'source': 'cat', **fields})}]\n"
    )


def test_an_instruction_alone_is_enough(folder: Make) -> None:
    """The type and its fields are then read from the words; a field that is given wins."""
    text = one_edit(instruction="Add two hats to the cat.", count=3)
    benchmark = load(folder(text.replace('"type": "color", ', "")))
    (edit,) = benchmark.edits
    assert (edit.type, edit.subject, edit.to, edit.count) == ("object_addition", "cat", "hats", 3)
    assert benchmark.about == "instructions understood: 1 of 1, 1 of them without doubt"


def test_every_field_is_read(folder: Make) -> None:
    text = one_edit(
        id="猫-black",
        type="Positional-Addition",
        subject="cat",
        **{"from": "gray", "to": "no"},
        position={"relation": "on", "anchor": "mat"},
        target_caption="a black cat",
        mask="cat",
        reference="dog.png",
        turn=2,
        extras={"weight": [1, None]},
    )
    benchmark = load(folder(f"name: mine\nabout: two pets\nlicense: CC0-1.0\n{text}"))
    (edit,) = benchmark.edits
    assert (benchmark.name, benchmark.about, benchmark.license) == ("mine", "two pets", "CC0-1.0")
    assert (edit.id, edit.type, edit.instruction) == ("猫-black", "positional_addition", "Make it black.")
    assert (edit.subject, edit.from_, edit.to) == ("cat", "gray", "no")
    assert edit.position == Position("on", "mat")
    assert (edit.source_caption, edit.target_caption) == ("a cat", "a black cat")
    assert edit.source.name == "cat.png"
    assert edit.source.path.is_file()
    assert edit.reference is not None
    assert edit.reference.name == "dog.png"
    assert (edit.turn, edit.extras) == (2, {"weight": [1, None]})
    assert edit.mask == edit.objects["cat"] == Polygons(((2, 2, 12, 2, 12, 12, 2, 12),))
    assert set(edit.objects) == {"cat", "tail", "spot"}


def test_a_benchmark_without_a_name_is_called_after_its_folder(folder: Make) -> None:
    path = folder(json.dumps(LINE) + "\n\n", "edits.jsonl")
    assert load(path).name == path.name
    assert open_benchmark(path).edits[0].source.path == path / "cat.png"


def test_plain_words_of_yaml_mean_what_they_say(folder: Make) -> None:
    """In YAML 1.1 `on` is true, `no` is false and 12:30 a number; a benchmark wants none of these."""
    text = (
        "edits:\n"
        "- {id: 2026-11-15, source: cat.png, type: color, instruction: 12:30, to: no, position: {relation: on}}\n"
        "- {id: x, source: ./cat.png, type: color, instruction: ! a, extras: {a: 1, b: .5, c: ~, d: true, e: 1e2}}\n"
    ).replace("! a", "'a'")
    first, second = load(folder(text)).edits
    assert (first.id, first.instruction, first.to, first.position) == ("2026-11-15", "12:30", "no", Position("on"))
    assert second.extras == {"a": 1, "b": 0.5, "c": None, "d": True, "e": 100.0}
    assert second.source.name == first.source.name


@pytest.mark.parametrize("word", ["0e0", "-.5", "1.5e3", "08", "-09", "tRue", "nULL"])
def test_a_text_that_yaml_1_1_writes_without_quotes_is_read_as_that_text(folder: Make, word: str) -> None:
    """YAML 1.2 calls some of these numbers; PyYAML, which writes most files, takes them for text."""
    text = yaml.safe_dump({"edits": [{**LINE, "instruction": word}]})
    assert f"instruction: {word}\n" in text
    assert load(folder(text)).edits[0].instruction == word


@pytest.mark.parametrize(
    ("recipe", "expected"),
    [
        ({"recolor": "cat", "to": "red"}, lambda cat, dog: Recolor(cat, "red")),
        ({"texture": "cat", "with": "brick"}, lambda cat, dog: Texture(cat, "brick")),
        ({"remove": "cat"}, lambda cat, dog: Remove(cat)),
        ({"move": "cat", "to": [50, 60]}, lambda cat, dog: Move(cat, (50, 60))),
        ({"resize": "cat", "by": 1.5}, lambda cat, dog: Resize(cat, 1.5)),
        ({"paste": "dog/dog", "at": [90, 80], "height": 20}, lambda cat, dog: Paste(dog, (90, 80), 20)),
        ({"replace": "cat", "with": "dog/dog"}, lambda cat, dog: Replace(cat, dog)),
        ({"style": "sketch"}, lambda cat, dog: Restyle("sketch")),
        ({"background": ["cat"], "with": "blur"}, lambda cat, dog: Background((cat,), "blur")),
        ({"background": ["cat"], "with": "dog"}, lambda cat, dog: Background((cat,), dog.picture)),
    ],
)
def test_recipes_are_read_and_give_the_mask(folder: Make, recipe: Any, expected: Callable[..., Any]) -> None:
    path = folder(one_edit(recipe=recipe))
    (edit,) = load(path).edits
    square = Polygons(((2, 2, 12, 2, 12, 12, 2, 12),))
    wanted = expected(square, Cutout(ImageFile("dog.png", path / "dog.png"), square))
    assert edit.recipe == wanted
    assert edit.mask == wanted.footprint()


def test_a_given_mask_wins_over_the_recipe(folder: Make) -> None:
    (edit,) = load(folder(one_edit(recipe={"remove": "cat"}, mask="tail"))).edits
    assert edit.mask == Polygons(((20, 20, 30, 20, 30, 30),))


MANY_FAULTS = """\
nme: mine
sources:
  cat:
    image: cat.png
    objects:
      cat: [[1, 2, 3, 4, 5], [0, 0, 5, 5]]
      tail:
        box: [9, 9, 3, 3]
  dog: {image: gone.png, captoin: a dog}
  out: {image: ../secret.png}
  root: {image: /etc/passwd}
edits:
  - {id: cat-black, source: cat, type: colour, instruction: Make it black.}
  - id: two
    source: catt
    type: color
    instrution: Make it black.
  - {id: cat-black, source: cat, type: color, instruction: Again.}
  - {id: ../x, source: cat, type: color, instruction: Escape.}
  - {id: 12, source: cat, type: color, instruction: A number.}
  - id: mask
    source: cat
    type: color
    instruction: Odd masks.
    mask:
      union:
        - paw
        - {grow: cat, by: -3}
    position: {relation: besides}
  - id: recipe
    source: cat
    type: color
    instruction: Odd recipes.
    recipe: {recolor: cat, to: greeen}
    turn: 0
  - just a word
  - {id: late, source: nowhere.png, type: color, instruction: " "}
"""


def test_all_problems_are_told_at_once_with_their_lines(folder: Make) -> None:
    path = folder(MANY_FAULTS)
    found = problems(path)
    assert list(found) == [
        "benchmark.yaml:1: unknown key 'nme'. Did you mean 'name'?",
        "benchmark.yaml:6: source 'cat': a polygon has an odd count of numbers (5); it needs pairs of x and y",
        "benchmark.yaml:6: source 'cat': a polygon has 2 points; it needs at least 3",
        "benchmark.yaml:8: source 'cat': a box needs left < right and top < bottom, got [9, 9, 3, 3]",
        "benchmark.yaml:9: source 'dog': unknown key 'captoin'. Did you mean 'caption'?",
        "benchmark.yaml:9: source 'dog': the image 'gone.png' does not exist",
        "benchmark.yaml:10: source 'out': the path '../secret.png' leaves the benchmark folder; "
        "give one relative to it, without '..'",
        "benchmark.yaml:11: source 'root': the path '/etc/passwd' leaves the benchmark folder; "
        "give one relative to it, without '..'",
        "benchmark.yaml:13: edit 'cat-black': unknown edit type 'colour'. Did you mean 'color'?",
        "benchmark.yaml:14: edit 'two': 'instruction' is missing",
        "benchmark.yaml:15: edit 'two': unknown source 'catt'. Did you mean 'cat'?",
        "benchmark.yaml:17: edit 'two': unknown key 'instrution'. Did you mean 'instruction'?",
        "benchmark.yaml:18: edit 'cat-black': the id is used twice, on lines 13 and 18",
        "benchmark.yaml:19: edit '../x': id '../x' holds a path separator",
        "benchmark.yaml:20: edit number 5: 'id' must be text, got 12; write it in quotes",
        "benchmark.yaml:27: edit 'mask': unknown object 'paw'. There are: cat, tail.",
        "benchmark.yaml:28: edit 'mask': 'by' is a whole number of pixels from 0 to 500, got -3",
        "benchmark.yaml:29: edit 'mask': unknown relation 'besides'. Did you mean 'behind'?",
        "benchmark.yaml:34: edit 'recipe': unknown color 'greeen'. Did you mean 'green'?",
        "benchmark.yaml:35: edit 'recipe': 'turn': input should be greater than or equal to 1, got 0",
        "benchmark.yaml:36: edit number 8: must be a mapping with 'id', 'source', 'instruction', got 'just a word'",
        "benchmark.yaml:37: edit 'late': 'instruction' is empty",
        "benchmark.yaml:37: edit 'late': the image 'nowhere.png' does not exist",
    ]
    with pytest.raises(
        BadInputError, match=f"The benchmark in '{path}' has 23 problems:\n  - benchmark.yaml:1: unknown key"
    ):
        load(path)


def test_each_bad_line_of_jsonl_is_told(folder: Make) -> None:
    lines = [
        json.dumps(LINE),
        '{"id": "b", "source": "cat.png", ',
        "",
        "[1, 2]",
        json.dumps({**LINE, "id": "A"}),
        '{"id": "c", "id": "d"}',
        '{"id": NaN}',
        json.dumps({**LINE, "id": "e", "source": "cat"}),
        json.dumps({**LINE, "id": "f", "extras": {"lone": "\ud800"}}),
        "[" * 100_000,
        json.dumps({**LINE, "id": "g", "instruction": "a \u2028 line separator is not a line end"}, ensure_ascii=False),
        json.dumps({**LINE, "id": "h"}),
        json.dumps({**LINE, "id": "h"}) + "\r",
    ]
    found = problems(folder("\n".join(lines), "edits.jsonl"))
    places = [problem.split(":")[1] for problem in found]
    assert places == ["2", "4", "5", "6", "7", "8", "9", "10", "13"]
    for words, problem in zip(
        ["not valid JSON", "must be a mapping", "used twice, on lines 1 and 5", "'id' is given twice", "NaN"],
        found,
        strict=False,
    ):
        assert words in problem
    assert found[5].endswith("edit 'e': unknown source 'cat'. There are none.")
    assert "'extras' cannot be written as JSON" in found[6]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ":1: the file is empty"),
        ("# only a comment\n", ":1: the file is empty"),
        ("edits: []", ":1: there are no edits"),
        ("sources: {}", ":1: 'edits' is missing"),
        ("edits: word", ":1: 'edits' must be a list, got 'word'"),
        ("sources: 3", ":1: 'sources' must be a mapping, got 3"),
        ("edits:\n- {position: left}", ":2: edit number 1: 'position' must be a mapping, got 'left'"),
        ("- a\n- b", ":1: must be a mapping with 'edits', got ['a', 'b']"),
        ("a: 1\n  b: 2", ":2: not valid YAML: "),
        ("a: 1\nb: \x07", ":2: not valid YAML: control characters are not allowed"),
        ("a: &x [1]\nb: *x", ":2: the alias '*x' is not allowed; write the value out"),
        ("a: &x [*x]", ":1: the alias '*x' is not allowed"),
        (
            "a: 1\nb: !!python/object/apply:os.system [ls]",
            ":2: the tag 'tag:yaml.org,2002:python/object/apply:os.system'",
        ),
        ("a: 1\n? [b]\n: 2", ":2: a key must be a word"),
        ("a: 1\n---\nb: 2", ":2: a second YAML document begins here"),
        ("[" * 100_000, ":1: nested more than 30 levels deep"),
        ("a: 1\nb: 2\na: 3", ":3: the key 'a' was given before, on line 1"),
        ("sources: {a/b: {image: cat.png}}\nedits: [1]", ":1: source 'a/b': a source's name must not look like a path"),
        ("name: ../x\nedits: [1]", ":1: name '../x' holds a path separator"),
    ],
)
def test_files_that_cannot_be_read(folder: Make, text: str, words: str) -> None:
    assert any(f"benchmark.yaml{words}" in problem for problem in problems(folder(text)))


def test_an_alias_bomb_is_refused_at_once(folder: Make) -> None:
    levels = [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, 30)]
    started = time.perf_counter()
    assert "the alias '*l0' is not allowed" in problems(folder("\n".join(["l0: &l0 [x]", *levels])))[0]
    assert time.perf_counter() - started < 1


@pytest.mark.parametrize("file", ["benchmark.yaml", "benchmark.yml", "edits.jsonl"])
def test_text_must_be_utf8(folder: Make, file: str) -> None:
    content = "\n# é".encode("latin-1")
    assert problems(folder(content, file)) == (f"{file}:2: not UTF-8 text (byte 0xe9); save it as UTF-8",)


def test_a_byte_order_mark_is_no_problem(folder: Make) -> None:
    assert len(load(folder("\ufeff" + json.dumps(LINE), "edits.jsonl")).edits) == 1


def test_folders_that_are_none(tmp_path: Path) -> None:
    example = "A benchmark folder holds images and a benchmark.yaml"
    with pytest.raises(BadInputError, match=rf"There is no folder '.*missing'. {example}"):
        load(tmp_path / "missing")
    with pytest.raises(BadInputError, match=f"is empty. {example}"):
        load(tmp_path)
    (tmp_path / "cat.png").touch()
    with pytest.raises(BadInputError, match=f"has no benchmark file. {example}"):
        load(tmp_path)
    with pytest.raises(BadInputError, match="is a file; give the folder it is in"):
        load(tmp_path / "cat.png")
    (tmp_path / "benchmark.yaml").touch()
    (tmp_path / "edits.jsonl").touch()
    with pytest.raises(BadInputError, match=r"has both benchmark\.yaml and edits\.jsonl; keep one"):
        load(tmp_path)
    with pytest.raises(BadInputError):
        load(Path("a\0b"))


def test_the_example_in_the_message_is_itself_a_benchmark(folder: Make) -> None:
    with pytest.raises(BadInputError) as caught:
        load(Path("missing"))
    example = "\n".join(line[4:] for line in str(caught.value).splitlines()[1:])
    assert example.count("\n") == 3
    assert load(folder(example)).edits[0].id == "cat-black"


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("../cat.png", "leaves the benchmark folder"),
        ("a/../../cat.png", "leaves the benchmark folder"),
        ("/cat.png", "leaves the benchmark folder"),
        ("C:/cat.png", "leaves the benchmark folder"),
        ("a\\cat.png", "holds a backslash"),
        ("a\x00.png", "control character"),
        ("link.png", "is a link that leaves the benchmark folder"),
        ("loop.png", "'loop.png'"),
        ("nested/gone.png", "does not exist"),
        ("pictures/", "is not a file"),
        ("a" * 300 + ".png", "cannot be looked at"),
        ("cat.png/x.png", "does not exist"),
    ],
)
def test_paths_stay_in_the_folder(
    folder: Make, tmp_path_factory: pytest.TempPathFactory, path: str, words: str
) -> None:
    secret = tmp_path_factory.mktemp("elsewhere") / "secret.png"
    secret.touch()
    home = folder(json.dumps({**LINE, "source": path}), "edits.jsonl")
    (home / "link.png").symlink_to(secret)
    (home / "loop.png").symlink_to(home / "loop.png")
    (home / "pictures").mkdir()
    (problem,) = problems(home)
    assert problem.startswith("edits.jsonl:1: edit 'a': the ")
    assert words in problem


def test_a_link_inside_the_folder_is_fine(folder: Make) -> None:
    home = folder(json.dumps({**LINE, "source": "same.png"}), "edits.jsonl")
    (home / "same.png").symlink_to("cat.png")
    assert load(home).edits[0].source.name == "same.png"


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        ([], "a mask without any polygon"),
        ([1, 2, 3, 4, 5, 6], "write [[x0, y0, x1, y1, ...]]"),
        ([["a", 1, 2, 3, 4, 5]], "a polygon is a list of pixel positions"),
        ([[True, 1, 2, 3, 4, 5]], "a polygon is a list of pixel positions"),
        ([[1e9, 1, 2, 3, 4, 5]], "a polygon is a list of pixel positions"),
        ([[1, 1, 5, 1, 9, 1]], "has no area"),
        (12, "a mask is a list of polygons, a name, a path or one of union"),
        ("cta", "unknown object 'cta'. Did you mean 'cat'?"),
        ("masks/gone.png", "the image 'masks/gone.png' does not exist"),
        ({}, "unknown mask ''"),
        ({"unoin": ["cat"]}, "unknown mask 'unoin'. Did you mean 'union'?"),
        ({"union": []}, "'union' is a list of masks"),
        ({"box": [1, 2, 3]}, "a box is [left, top, right, bottom]"),
        ({"grow": "cat"}, "a mask 'grow' has the keys grow, by, got 'grow'"),
        ({"outside": "cat", "by": 3}, "a mask 'outside' has the keys outside, got 'outside', 'by'"),
        ({"grow": "cat", "by": 1.5}, "'by' is a whole number"),
    ],
)
def test_bad_masks(folder: Make, mask: Any, words: str) -> None:
    (problem,) = problems(folder(one_edit(mask=mask)))
    assert problem.startswith("benchmark.yaml:4: edit 'a': ")
    assert words in problem


@pytest.mark.parametrize(
    ("recipe", "words"),
    [
        ("remove", "a recipe is a mapping with one of recolor, move"),
        ({}, "a recipe is a mapping"),
        ({"recolour": "cat", "to": "red"}, "unknown recipe 'recolour'. Did you mean 'recolor'?"),
        ({"recolor": "cat"}, "a recipe 'recolor' has the keys recolor, to, got 'recolor'"),
        ({"recolor": "cat", "to": ["red"]}, "unknown color"),
        ({"remove": "dog"}, "unknown object 'dog'. There are: cat, spot, tail."),
        ({"remove": ["cat"]}, "unknown object"),
        ({"remove": "spot"}, "the object 'spot' is no list of polygons; a recipe needs an outline"),
        ({"move": "cat", "to": [1]}, "'to' is a pixel position [x, y], got [1]"),
        ({"resize": "cat", "by": 0}, "'by' is a number over 0, got 0"),
        ({"paste": "dog", "at": [1, 2], "height": 9}, "written SOURCE/OBJECT, got 'dog'"),
        ({"paste": "dgo/dog", "at": [1, 2], "height": 9}, "unknown source 'dgo'. Did you mean 'dog'?"),
        ({"replace": "cat", "with": "dog/dgo"}, "unknown object 'dgo'. Did you mean 'dog'?"),
        ({"texture": "cat", "with": "bricks"}, "unknown material 'bricks'. Did you mean 'brick'?"),
        ({"style": "sketchy"}, "unknown style 'sketchy'. Did you mean 'sketch'?"),
        ({"background": "cat", "with": "blur"}, "a background keeps a list of the source's objects, got 'cat'"),
        ({"background": ["cat"], "with": "blurr"}, "unknown scene or source 'blurr'. Did you mean 'blur'?"),
    ],
)
def test_bad_recipes(folder: Make, recipe: Any, words: str) -> None:
    (problem,) = problems(folder(one_edit(recipe=recipe)))
    assert problem.startswith("benchmark.yaml:4: edit 'a': ")
    assert words in problem


def test_a_faulty_source_is_told_once_and_not_again_by_its_edits(folder: Make) -> None:
    text = (
        "sources:\n  cat: {image: gone.png, objects: {cat: [[1, 2]]}}\n  dog: 12\nedits:\n"
        "- {id: a, source: cat, type: color, instruction: x, recipe: {remove: cat}}\n"
        "- {id: b, source: dog, type: color, instruction: x, recipe: {remove: dog}}\n"
        "- {id: c, source: cat, type: color, instruction: x, recipe: {paste: dog/dog, at: [1, 1], height: 3}}\n"
        "- {id: d, source: cat, type: color, instruction: x, recipe: {background: [cat], with: dog}}\n"
    )
    assert [problem.split(":")[1] for problem in problems(folder(text))] == ["2", "2", "3"]


@pytest.mark.parametrize("name", ["", " ", ".x", "a/b", "a\\b", "a:b", "é" * 101, "a\x1b[2J", "a\u202eb", "\ud800"])
def test_bad_ids_are_refused_without_upsetting_the_terminal(folder: Make, name: str) -> None:
    found = problems(folder(json.dumps({**LINE, "id": name}), "edits.jsonl"))
    assert len(found) == 1
    assert found[0].isprintable()


def masks() -> st.SearchStrategy[Mask]:
    number = st.integers(-50, 250) | st.floats(-50, 250)
    ring = st.lists(st.tuples(number, number), min_size=3, max_size=6).map(
        lambda points: tuple(float(value) for point in points for value in point)
    )
    has_area = ring.filter(lambda ring: len(set(ring[0::2])) > 1 and len(set(ring[1::2])) > 1)
    polygons = st.lists(has_area, min_size=1, max_size=3).map(lambda rings: Polygons(tuple(rings)))
    boxes = st.tuples(st.floats(-9, 90), st.floats(-9, 90), st.floats(1, 50), st.floats(1, 50)).map(
        lambda box: Rectangle(box[0], box[1], box[0] + box[2], box[1] + box[3])
    )
    files = st.just(MaskFile(Path("masks/mask.png"), "masks/mask.png"))
    return st.recursive(
        polygons | boxes | files,
        lambda part: (
            st.lists(part, min_size=1, max_size=3).map(lambda parts: Union(tuple(parts)))
            | part.map(Outside)
            | st.builds(Dilated, part, st.integers(0, 9))
        ),
        max_leaves=5,
    )


@given(masks())
def test_a_described_mask_is_read_back_the_same(mask: Mask) -> None:
    document = Document("test")
    described = json.loads(json.dumps(mask.describe()))
    again = read_mask(described, Location(document), Names({}, Path))
    assert document.faults == []
    assert again == mask


def words_and_values() -> st.SearchStrategy[Any]:
    keys = st.sampled_from(sorted({*KEYS, *FORMS, *RECIPES, "by", "to", "at", "height", "with", "relation", "anchor"}))
    words = st.sampled_from(["cat", "cat.png", "color", "red", "cat/cat", "", "../x", "on"]) | st.text(max_size=5)
    leaves = st.none() | st.booleans() | st.integers() | st.floats() | words
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=5),
        max_leaves=25,
    )


def nearly_edits() -> st.SearchStrategy[dict[str, Any]]:
    """Edits of which each part is sometimes right and sometimes not."""
    anything = words_and_values()
    recipes = st.sampled_from([{"style": "oil"}, {"remove": "cat"}, {"move": "cat", "to": [5, 5]}])
    parts = {
        "mask": masks().map(lambda mask: mask.describe()) | st.just("cat") | anything,
        "recipe": recipes | anything,
        "position": st.just({"relation": "left"}) | anything,
        "extras": st.just({}) | anything,
        "turn": st.integers(1, 3) | anything,
        "to": st.text() | anything,
    }
    return st.fixed_dictionaries({}, optional=parts).map(lambda some: {**LINE, "source": "cat.png", **some})


@pytest.mark.parametrize("file", ["benchmark.yaml", "edits.jsonl"])
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(
    text=st.text()
    | st.binary().map(lambda content: content.decode("utf-8", "replace"))
    | words_and_values().map(json.dumps)
    | words_and_values().map(lambda value: json.dumps({"sources": {"cat": value}, "edits": [value]}))
    | nearly_edits().map(json.dumps)
    | nearly_edits().map(lambda edit: json.dumps({"edits": [edit]}))
)
def test_garbage_gives_a_benchmark_or_a_clear_no(folder: Make, text: str, file: str) -> None:
    home = folder(text.encode("utf-8", "replace"), file)
    with suppress(BadInputError):
        assert isinstance(load(home), Benchmark)


@pytest.mark.slow
def test_ten_thousand_edits_load_in_seconds(folder: Make) -> None:
    images = tuple(f"images/{number}.png" for number in range(100))
    lines = [
        json.dumps({**LINE, "id": str(n), "source": images[n % 100], "mask": SQUARE, "recipe": {"style": "oil"}})
        for n in range(10_000)
    ]
    home = folder("\n".join(lines), "edits.jsonl", images)
    started = time.process_time()
    assert len(load(home).edits) == 10_000
    assert time.process_time() - started < 5


def fenced(language: str) -> str:
    return PAGE.read_text(encoding="utf-8").split(f"```{language}\n")[1].split("```")[0]


@pytest.mark.parametrize(("language", "file", "edits"), [("yaml", "benchmark.yaml", 4), ("jsonl", "edits.jsonl", 2)])
def test_the_example_of_the_manual_is_a_benchmark(folder: Make, language: str, file: str, edits: int) -> None:
    images = ("images/cat.png", "images/kitchen.jpg", "images/kitchen-mask.png")
    benchmark = load(folder(fenced(language), file, images))
    assert len(benchmark.edits) == edits
    for edit in benchmark.edits:
        assert edit.mask is not None
        assert np.any(edit.mask.render(200, 150))


def test_the_manual_shows_messages_as_they_are(folder: Make) -> None:
    wrong = fenced("yaml").replace("type: color", "type: colour").replace("union: [bowl", "union: [boll")
    images = ("images/cat.png", "images/kitchen.jpg", "images/kitchen-mask.png")
    shown = [line.removeprefix("  - ") for line in fenced("text").splitlines()[1:]]
    assert list(problems(folder(wrong, images=images))) == shown


def test_the_manual_names_every_word_of_the_recipes() -> None:
    from editgauge.recipes import COLORS, MATERIALS, SCENES, STYLES

    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    for title, words in {"Colors": COLORS, "Materials": MATERIALS, "Styles": STYLES, "Scenes": SCENES}.items():
        assert f"{title}: {', '.join(words)}." in text


def test_a_file_that_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "benchmark.yaml").mkdir()
    with pytest.raises(BadInputError, match=r"benchmark\.yaml' cannot be read: Is a directory"):
        load(tmp_path)


@pytest.mark.parametrize("file", ["benchmark.yaml", "edits.jsonl"])
def test_broken_edits_are_skipped_and_stay_in_the_counts(file: str, folder: Make, tmp_path: Path) -> None:
    edits = [
        {"id": "good", "source": "cat.png", "type": "color", "instruction": "Make it blue."},
        {"id": "missing", "source": "gone.png", "type": "color", "instruction": "Make it blue."},
        {"id": "wrong", "source": "dog.png", "type": "colour!", "instruction": "Make it blue."},
    ]
    text = json.dumps({"edits": edits}) if file == "benchmark.yaml" else "\n".join(map(json.dumps, edits))
    path = folder(text, file)
    assert len(problems(path)) == 2
    opened = open_benchmark(path, skip_broken=True)
    assert [edit.id for edit in opened.edits] == ["good", "missing"]
    assert len(opened.broken) == 2
    for name in ("good", "missing"):
        (tmp_path / "outcomes").mkdir(exist_ok=True)
        Image.new("RGB", (200, 150), "blue").save(tmp_path / "outcomes" / f"{name}.png")
    result = run(
        path,
        outcomes={"mine": tmp_path / "outcomes"},
        out=tmp_path / "run",
        protocol=["preservation"],
        skip_broken=True,
        processes=1,
        quiet=True,
    )
    assert result.manifest.broken == list(opened.broken)
    assert result.manifest.edits == 2
    frame = result.to_frame()
    assert set(frame.loc[frame["edit"] == "missing", "value"].isna()) == {True}
