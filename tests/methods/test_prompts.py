"""Prompts for methods: every edit type in every form, what is missing, and that nothing in a part is ever obeyed."""

from __future__ import annotations

import doctest
import re
from collections.abc import Callable
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from editgauge._util.images import ImageFile
from editgauge._util.text import to_gerund
from editgauge.benchmarks import open_benchmark
from editgauge.edit_types import EDIT_TYPES
from editgauge.engine.edit import edit as edit_benchmark
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.methods._prompt_templates import NAMES, find_problems, find_template, with_a
from editgauge.methods.outcomes import find_outcomes
from editgauge.methods.prompts import FORMS, families, family, read_wording, render, render_for
from editgauge.methods.reference.editors import Identity
from editgauge.types import Edit, Position, Relation

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "prompts.md"
PICTURE = ImageFile("cat.png", Path("cat.png"))


def an_edit(kind: str, subject: str | None = None, **parts: Any) -> Edit:
    return Edit(**{"id": "e1", "source": PICTURE, "type": kind, "instruction": "", "subject": subject, **parts})


GOLDEN: dict[str, dict[str, Any]] = yaml.safe_load("""
object_addition:
  edit:        {subject: bench, to: ball}
  instruction: add a ball to the scene with the bench
  caption:     a bench and a ball
  source:      a bench
  token:       a sks bench and a ball
positional_addition:
  edit:        {subject: bench, to: wine_glass, left of: bench}
  instruction: place a wine glass to the left of the bench
  caption:     a wine glass to the left of the bench
  source:      a bench
  token:       a wine glass to the left of the sks bench
object_replacement:
  edit:        {subject: cup, from: cup, to: orange}
  instruction: swap the cup for an orange
  caption:     an orange
  source:      a cup
  token:       a sks orange
position_replacement:
  edit:        {subject: stop_sign, from: center, to: left}
  instruction: put the stop sign on the left side of the picture
  caption:     a stop sign on the left side of the picture
  source:      a stop sign in the center of the picture
  token:       a sks stop sign on the left side of the picture
object_removal:
  edit:        {subject: dog}
  instruction: remove the dog from the picture
  caption:     a scene without the dog
  source:      a scene with the dog
  token:       a scene without the sks dog
single_instance_removal:
  edit:        {subject: airplane, left of: null}
  instruction: remove only one airplane, the one on the left side of the picture, and keep the others
  caption:     a scene with one airplane missing
  source:      a scene with more than one airplane
  token:       a scene with one sks airplane missing
size:
  edit:        {subject: kite, from: small, to: enormous}
  instruction: make the kite enormous
  caption:     an enormous kite
  source:      a small kite
  token:       an enormous sks kite
alter_parts:
  edit:        {subject: bird, from: short tail, to: long tail}
  instruction: give the bird a long tail instead of a short tail
  caption:     a bird with a long tail
  source:      a bird with a short tail
  token:       a sks bird with a long tail
color:
  edit:        {subject: cat, from: orange, to: black}
  instruction: make the cat black instead of orange
  caption:     a black cat
  source:      an orange cat
  token:       a black sks cat
texture:
  edit:        {subject: apple, from: glossy, to: zebra stripes}
  instruction: give the apple a zebra stripes texture
  caption:     an apple with a zebra stripes texture
  source:      an apple with a glossy texture
  token:       a sks apple with a zebra stripes texture
shape:
  edit:        {subject: pizza, from: round, to: heart-shaped}
  instruction: give the pizza a heart-shaped form
  caption:     a pizza with a heart-shaped form
  source:      a pizza with a round form
  token:       a sks pizza with a heart-shaped form
style:
  edit:        {subject: dog, from: a photograph, to: an oil painting}
  instruction: redraw the picture in the style of an oil painting
  caption:     a picture of a dog in the style of an oil painting
  source:      a picture of a dog in the style of a photograph
  token:       a picture of a sks dog in the style of an oil painting
background:
  edit:        {subject: potted_plant, from: house, to: green grass}
  instruction: replace the background with green grass
  caption:     a potted plant with green grass in the background
  source:      a potted plant with a house in the background
  token:       a sks potted plant with green grass in the background
text:
  edit:        {subject: sign, from: CLOSED, to: OPEN}
  instruction: change the text on the sign from "CLOSED" to "OPEN"
  caption:     a sign with the text "OPEN"
  source:      a sign with the text "CLOSED"
  token:       a sks sign with the text "OPEN"
action:
  edit:        {subject: person, from: stand, to: ride a bike}
  instruction: show the person riding a bike
  caption:     a person riding a bike
  source:      a person standing
  token:       a sks person riding a bike
viewpoint:
  edit:        {subject: airplane, from: front, to: side}
  instruction: show the airplane from the side
  caption:     an airplane seen from the side
  source:      an airplane seen from the front
  token:       a sks airplane seen from the side
""")


def described(kind: str) -> Edit:
    """The edit of that type in the table."""
    parts: dict[str, str] = GOLDEN[kind]["edit"]
    place = Position("left", parts["left of"]) if "left of" in parts else None
    return an_edit(kind, parts["subject"], from_=parts.get("from"), to=parts.get("to"), position=place)


EDITS = {kind: described(kind) for kind in GOLDEN}
TYPES = tuple(EDITS)


def test_the_table_holds_every_edit_type_and_the_set_every_template() -> None:
    assert {*TYPES} == {*EDIT_TYPES} - {"unspecified"}
    absent = [(kind, name) for kind, names in NAMES.items() for name in names if not find_template("plain", kind, name)]
    assert absent == [(kind, "unspecified") for kind in ("instruction", "caption", "source")]


@pytest.mark.parametrize("kind", TYPES)
def test_every_form_of_every_edit_type(kind: str) -> None:
    told = {form: render(EDITS[kind], form) for form in FORMS}
    rows = {"instruction": "instruction", "caption": "caption", "captions": "caption", "token": "token"}
    assert {form: prompt.text for form, prompt in told.items()} == {f: GOLDEN[kind][row] for f, row in rows.items()}
    sources = {**dict.fromkeys(FORMS), "captions": GOLDEN[kind]["source"]}
    assert {form: prompt.source for form, prompt in told.items()} == sources


@pytest.mark.parametrize(
    ("position", "phrase"),
    [
        (Position("left", "table"), "to the left of the table"),
        (Position("right", "the_dining_table"), "to the right of the dining table"),
        (Position("above", "table"), "above the table"),
        (Position("below", "her chair"), "below her chair"),
        (Position("on", "table"), "on top of the table"),
        (Position("center", "table"), "in the middle of the table"),
        (Position("next to", "table"), "next to the table"),
        (Position("in", "box"), "inside the box"),
        (Position("behind", "table"), "behind the table"),
        (Position("in front of", "table"), "in front of the table"),
        (Position("left"), "on the left side of the picture"),
        (Position("right"), "on the right side of the picture"),
        (Position("above"), "at the top of the picture"),
        (Position("below"), "at the bottom of the picture"),
        (Position("center"), "in the center of the picture"),
    ],
)
def test_positions_are_said_in_words(position: Position, phrase: str) -> None:
    assert render(an_edit("position_replacement", "cup", position=position), "caption").text == f"a cup {phrase}"


def test_something_added_is_placed_by_the_subject_when_no_anchor_is_named() -> None:
    for kind in ("object_addition", "positional_addition"):
        edit = an_edit(kind, "bench", to="bag", position=Position("on"))
        assert render(edit, "token", token="*").text == "a bag on top of the * bench"


@pytest.mark.parametrize("empty", [None, "", "  ", "_"])
@pytest.mark.parametrize("kind", TYPES)
def test_an_empty_from_leaves_no_trace(kind: str, empty: str | None) -> None:
    for form in FORMS:
        prompt = render(replace(EDITS[kind], from_=empty), form)
        for text in (prompt.text, prompt.source or ""):
            assert "  " not in text
            assert text == text.strip()
            assert not re.search(r"instead of|from (to|$)|with( a)?$|of$", text)


def test_own_words_are_used_as_they_are() -> None:
    edit = an_edit("color", "cat", to="black", instruction="Paint  it {black}!", target_caption="one [dark] cat")
    edit = replace(edit, source_caption="one cat")
    assert render(edit, "instruction").text == "Paint  it {black}!"
    assert render(edit, "caption").text == "one [dark] cat"
    assert render(edit, "captions").source == "one cat"
    assert render(edit, "captions").templates == ()
    assert render(replace(edit, source_caption=" "), "captions").templates == ("plain/source/color.v1.txt",)


@pytest.mark.parametrize(
    ("caption", "told"),
    [
        ("an apple on a dark shelf", "a <toy> apple on a dark shelf"),
        ("An apple", "A <toy> apple"),
        ("two green Apples", "two green <toy> Apples"),
        ("my <toy> apple", "my <toy> apple"),
        ("a pineapple", "a red <toy> apple"),  # does not name the class: the template does
        (None, "a red <toy> apple"),
    ],
)
def test_the_token_stands_before_the_class_word(caption: str | None, told: str) -> None:
    edit = an_edit("color", "apple", to="red", target_caption=caption)
    assert render(edit, "token", token=" <toy> ").text == told


def test_the_token_follows_a_determiner() -> None:
    assert render(an_edit("color", "her jacket", to="red"), "token").text == "her red sks jacket"


def test_missing_parts_are_named_with_the_edit() -> None:
    with pytest.raises(BadInputError, match=r"Edit 'e1' lacks parts for 'plain/instruction/color\.v1\.txt'") as caught:
        render(an_edit("color"), "instruction")
    assert caught.value.problems == ("subject", "to")
    with pytest.raises(BadInputError) as caught:
        render(an_edit("position_replacement", "cup", to="somewhere"), "caption")
    assert caught.value.problems == ("position",)
    with pytest.raises(BadInputError) as caught:
        render(an_edit("position_replacement", "cup", position=Position("on")), "caption")
    assert caught.value.problems == ("position.anchor",)
    with pytest.raises(BadInputError, match="or its own target_caption that names its class") as caught:
        render(an_edit("object_removal", target_caption="an empty street"), "token")
    assert caught.value.problems == ("subject",)


def test_an_edit_of_no_type_needs_words_of_its_own() -> None:
    edit = an_edit("unspecified", "cat", instruction="surprise me", target_caption="a happy cat")
    assert render(edit, "instruction").text == "surprise me"
    assert render(edit, "token").text == "a happy sks cat"
    with pytest.raises(BadInputError, match="Edit 'e1' is 'unspecified', for which there is no template") as caught:
        render(edit, "captions")
    assert caught.value.problems == ("source_caption",)


@pytest.mark.parametrize(
    ("phrase", "told"),
    [
        ("apple", "an apple"),
        ("an apple", "an apple"),
        ("the unicorn", "a unicorn"),
        ("uninvited guest", "an uninvited guest"),
        ("utensil", "a utensil"),
        ("hour hand", "an hour hand"),
        ("SUV", "an SUV"),
        ("8-ball", "an 8-ball"),
        ("books", "books"),
        ("old shoes", "old shoes"),
        ("wine glass", "a wine glass"),
        ("bus", "a bus"),
        ("camera lens", "a camera lens"),
        ("people", "people"),
        ("cup of books", "a cup of books"),
        ("snow on a hill", "snow on a hill"),
        ("3 cats", "3 cats"),
        ("猫", "a 猫"),
    ],
)
def test_articles(phrase: str, told: str) -> None:
    assert with_a(phrase) == told


def test_verbs() -> None:
    verbs = "jump hit lay swim eat quit be dye hop"
    assert [to_gerund(verb) for verb in verbs.split()] == (
        ["jumping", "hitting", "laying", "swimming", "eating", "quitting", "being", "dyeing", "hopping"]
    )


def test_a_folder_of_ones_own_comes_first_and_its_newest_version_counts(tmp_path: Path) -> None:
    (tmp_path / "instruction").mkdir()
    for version in (2, 9, 10):
        (tmp_path / "instruction" / f"color.v{version}.txt").write_text(f"v{version}:\n  {{to}}\n  please\n", "utf-8")
    (tmp_path / "README.md").write_text("mine")
    prompt = render(EDITS["color"], "instruction", folder=tmp_path)
    assert prompt.text == "v10: black please"
    assert prompt.templates == (f"{tmp_path.name}/instruction/color.v10.txt",)
    assert render(EDITS["color"], "caption", folder=str(tmp_path)).templates == ("plain/caption/color.v1.txt",)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (" \n", "it says nothing"),
        ("[{from}] [{to}]", "may say nothing"),
        ("{colour}", "there is no part 'colour'"),
        ("{to.__class__}", "there is no part 'to.__class__'"),
        ("{a}", "'{a}' names no part"),
        ("[V*] {to}", "leaves nothing to choose"),
        ("{to", "no partner"),
        ("[a {to}|[{from}]]", "no partner"),
    ],
)
def test_a_template_that_cannot_be_used_is_named(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "caption").mkdir()
    (tmp_path / "caption" / "color.v1.txt").write_text(text, "utf-8")
    with pytest.raises(BadInputError, match=r"caption/color\.v1\.txt' cannot be used") as caught:
        render(EDITS["color"], "caption", folder=tmp_path)
    assert problem in "\n".join(caught.value.problems)


def test_a_folder_that_would_not_be_obeyed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="no folder of templates"):
        render(EDITS["color"], "caption", folder=tmp_path / "absent")
    for name in ("color.v1.txt", "caption/colour.v1.txt", "caption/color.txt", "captions/color.v1.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{to}")
    with pytest.raises(BadInputError) as caught:
        render(EDITS["color"], "caption", folder=tmp_path)
    astray = ("caption/color.txt", "caption/colour.v1.txt", "captions/color.v1.txt", "color.v1.txt")
    assert caught.value.problems == astray
    (tmp_path / "bytes" / "caption").mkdir(parents=True)
    (tmp_path / "bytes" / "caption" / "color.v1.txt").write_bytes(b"\xff{to}")
    with pytest.raises(BadInputError, match="cannot be read"):
        render(EDITS["color"], "caption", folder=tmp_path / "bytes")


def test_unknown_names_are_told() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'captions'"):
        render(EDITS["color"], "captionss")
    with pytest.raises(UnknownNameError, match=r"There are: caption, captions, instruction, token\.$"):
        render(EDITS["color"], "words")
    with pytest.raises(UnknownNameError, match=r"no set of prompt templates called '\.\./plain'"):
        render(EDITS["color"], "caption", "../plain")
    with pytest.raises(UnknownNameError, match="Did you mean 'dreambooth'"):
        render_for(EDITS["color"], "dreamboth")
    with pytest.raises(BadInputError, match="token is empty"):
        render(EDITS["color"], "token", token=" ")


def test_families_are_prompted_as_in_table_3_of_editval() -> None:
    edit = EDITS["color"]
    told = {
        "Instruct-Pix2Pix": "make the cat black instead of orange",
        "SDE-Edit": "make the cat black instead of orange",
        "Textual-Inversion": "a black * cat",
        "Dreambooth": "a black sks cat",
        "SINE": "a black cat",
        "Diff-Edit": "a black cat",
        "Null-Text": "a black cat",
        "Imagic": "a black cat",
    }
    assert {name: render_for(edit, name).text for name in told} == told
    assert render_for(edit, "null_text").source == render_for(edit, "DiffEdit").source == "an orange cat"
    assert render_for(edit, "sdedit", form="caption").text == "a black cat"
    assert render_for(edit, "dreambooth", token="zwx").text == "a black zwx cat"


def test_the_table_of_families_is_sound_and_the_page_shows_it() -> None:
    page = PAGE.read_text("utf-8")
    names = [re.sub(r"[^a-z0-9]", "", name) for key, row in families().items() for name in (key, *row.also)]
    assert len(names) == len(set(names))
    for name, row in families().items():
        assert family(name) is row
        assert row.form in FORMS
        assert (row.token is not None) == (row.form == "token")
        assert render_for(EDITS["color"], name).text
        form = f"`{row.form}`" + (f", `{row.token}`" if row.token else "")
        assert f"| {name} | {form} | {row.after} |" in page, name


def test_the_example_on_the_page_is_true() -> None:
    assert doctest.testfile(str(PAGE), module_relative=False).failed == 0


INJECTIONS = ["{to}", "{subject.real}", "[{from}|x]", "{{ 7 * 7 }}", "{% raw %}", "\\1 \\g<0>", "%s $to", "a | b]"]


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("words", INJECTIONS)
def test_what_looks_like_a_template_inside_a_part_is_inert(kind: str, words: str) -> None:
    edit = replace(EDITS[kind], subject=words, from_="X", to=words, position=Position("left", words))
    for form in FORMS:
        assert re.search(re.escape(words) + r"|" + re.escape(words.removeprefix("a ")), render(edit, form).text)


words = st.text(st.characters(exclude_characters="{}[]|"), max_size=12) | st.sampled_from(["a", "the  cat", "_x_"])
places = st.builds(Position, st.sampled_from(get_args(Relation)), st.none() | words)


@given(st.sampled_from(TYPES), st.sampled_from(FORMS), st.tuples(words, words, words), st.none() | places)
def test_prompts_are_tidy_whatever_the_parts(
    kind: str, form: str, parts: tuple[str, str, str], position: Position | None
) -> None:
    try:
        prompt = render(an_edit(kind, parts[0], from_=parts[1], to=parts[2], position=position), form)
    except BadInputError:
        return
    for text in (prompt.text, prompt.source or "x"):
        assert text
        assert text == " ".join(text.split())
        assert not set("{}[]|") & set(text)


def instruction_in(prompts: str | Path, edit: Edit) -> str:
    return read_wording(None, None, prompts).tell(Identity(), edit).edit.instruction


@pytest.mark.parametrize(
    ("prompts", "told"),
    [
        ("editval", "Change the color of the bench to brown"),
        ("pixlens", "Change the color of the bench to brown"),
        ("unibench", "Change the color of the bench to brown"),
        ("plain", "make the bench brown"),
    ],
)
def test_a_set_by_name_comes_before_the_words_of_the_benchmark(prompts: str, told: str) -> None:
    edit = replace(an_edit("color", "bench", to="brown"), instruction="paint it brown")

    assert render(edit, "instruction", "plain").text == "paint it brown"
    assert instruction_in(prompts, edit) == told


def test_a_type_that_a_set_lacks_keeps_the_words_of_the_benchmark() -> None:
    edit = replace(an_edit("style", "bench", to="cubism"), instruction="as Braque would")

    assert instruction_in("unibench", edit) == "as Braque would"


def test_annotated_captions_of_unibench_are_kept() -> None:
    edit = replace(
        an_edit("object_replacement", "cat", to="bench"), target_caption="A bicycle next to a bench outside."
    )
    caption = read_wording("caption", None, "unibench").tell(Identity(), edit).edit.target_caption
    assert caption == "A bicycle next to a bench outside."
    assert (
        read_wording("caption", None, "unibench")
        .tell(Identity(), replace(edit, target_caption=None))
        .edit.target_caption
        == "a bench"
    )
    assert read_wording("caption", None, "pixlens").tell(Identity(), edit).edit.target_caption == "bench"


def test_a_folder_overrides_only_the_types_that_it_has(tmp_path: Path) -> None:
    (tmp_path / "instruction").mkdir()
    (tmp_path / "instruction" / "color.v1.txt").write_text("{to} for {the subject}!")
    color = replace(an_edit("color", "bench", to="brown"), instruction="paint it brown")
    size = replace(an_edit("size", "bench", to="small"), instruction="shrink it")

    assert instruction_in(tmp_path, color) == "brown for the bench!"
    assert instruction_in(tmp_path, size) == "shrink it"


def test_a_csv_gives_the_prompts_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "edits.csv"
    file.write_text(
        "edit_id,edit_type,category,image_id,from_attribute,to_attribute,instruction_prompt\n"
        "0,color,stop_sign,000123,,brown,Change  it to brown\n"
    )
    extras = {"class": "stop_sign", "image_id": "123", "to": "brown"}
    edit = replace(an_edit("color", "stop sign", to="brown"), instruction="x", extras=extras)

    assert instruction_in(file, edit) == "Change  it to brown"
    with pytest.raises(BadInputError, match="has no prompt for the edit"):
        instruction_in(file, replace(edit, type="size"))


def test_a_rewritten_prompt_keeps_the_original_instruction(tmp_path: Path, make_benchmark: Callable[..., Path]) -> None:
    benchmark = make_benchmark(tmp_path / "photos", edits=2, size=48, instruction=["blue", "red"])
    file = tmp_path / "rewritten.csv"
    file.write_text("edit_id,prompt,rewriter\nedit-000,Make the sky blue.,gpt\nedit-001,Make the sky red.,gpt\n")
    edit_benchmark(
        benchmark, method="copy", command="cp {source} {output}", prompts=file, out=tmp_path / "out", quiet=True
    )
    result = find_outcomes("copy", tmp_path / "out", open_benchmark(benchmark).edits)
    assert [(outcome.prompt, outcome.instruction, outcome.rewriter) for outcome in result.outcomes] == [
        ("Make the sky blue.", "blue", "gpt"),
        ("Make the sky red.", "red", "gpt"),
    ]
    assert "2 with a prompt rewritten by gpt" in result.sentence("copy")


def test_prompts_that_are_nowhere_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="takes editval, pixlens, plain, unibench, a folder of templates or a CSV"):
        read_wording(None, None, tmp_path / "nowhere")
    with pytest.raises(BadInputError, match="both choose a set"):
        read_wording(None, "plain", "pixlens")


@pytest.mark.parametrize("name", ["editval", "pixlens", "unibench"])
def test_every_template_of_every_set_can_be_read(name: str) -> None:
    folder = Path(str(resources.files("editgauge.methods"))) / "data" / "templates" / name

    assert all(not find_problems(file.read_text("utf-8")) for file in folder.glob("*/*.txt"))
