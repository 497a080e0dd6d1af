"""What is scored must be measurable: sizes, shapes, masks, words; and what the loader did is in the evidence."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageCms

from editgauge._util.images import ImageFile, Pixels, read_image, write_png
from editgauge._util.masks import Dilated, Mask, Outside, Polygons, Rectangle, Union
from editgauge.benchmarks import open_benchmark
from editgauge.benchmarks._format import RunLengths
from editgauge.engine._perception import MAX_IMAGE_BYTES, admission_bytes
from editgauge.engine._scoring import build_item, score_protocol
from editgauge.errors import BadImageError, BadInputError
from editgauge.evidence import ImageNote
from editgauge.judges.prompts import open_prompt
from editgauge.methods.command import Command
from editgauge.protocols import open_protocol
from editgauge.protocols.rubric import RubricProtocol
from editgauge.recipes import Move
from editgauge.results.edits import benchmark_entry, describe, read_inputs, write_inputs
from editgauge.types import Edit, Item, Outcome, Position, Score, ScoreSpec

OUTCOME = Outcome(edit_id="a", method="mine", image=Path("a.png"))


def edit(mask: Mask | None = None, **words: Any) -> Edit:
    return Edit(
        id="a", source=ImageFile("s.png", Path("s.png")), **{"type": "color", "instruction": "Red.", **words}, mask=mask
    )


def picture(width: int, height: int) -> Pixels:
    return np.zeros((height, width, 3), np.uint8)


@pytest.mark.parametrize(("width", "height"), [(15, 300), (300, 15), (1, 1), (16, 321), (2_001, 100)])
@pytest.mark.parametrize("side", ["source", "edited"])
def test_tiny_and_very_narrow_pictures_are_refused(width: int, height: int, side: str) -> None:
    pictures = {"source": picture(64, 64), "edited": picture(64, 64), side: picture(width, height)}

    with pytest.raises(BadImageError, match=rf"The {side} image is {width} x {height}"):
        build_item(edit(), OUTCOME, pictures["source"], pictures["edited"])


def test_small_and_narrow_pictures_that_can_be_measured_are_taken() -> None:
    assert build_item(edit(), OUTCOME, picture(16, 320), picture(16, 320)).source.shape == (320, 16, 3)


OUTLINE = Polygons(((10.0, 10.0, 500.0, 10.0, 500.0, 40.0),))


@pytest.mark.parametrize(
    "mask",
    [
        OUTLINE,
        Polygons(((-20.0, 5.0, 30.0, 5.0, 30.0, 30.0),)),
        Rectangle(0, 0, 64, 400),
        Union((Rectangle(0, 0, 5, 5), Dilated(OUTLINE, 3))),
        Outside(OUTLINE),
        RunLengths(((0, 5),), 100, 20),
    ],
)
def test_a_mask_that_was_drawn_on_another_picture_is_refused(mask: Mask) -> None:
    with pytest.raises(BadImageError, match=r"leaves its image of 64 x 64|another shape"):
        build_item(edit(mask), OUTCOME, picture(64, 64), picture(64, 64))


def test_a_mask_may_be_drawn_a_little_over_the_border() -> None:
    mask = Polygons(((-2.0, 0.0, 66.0, 0.0, 66.0, 65.0),))

    assert build_item(edit(mask), OUTCOME, picture(64, 64), picture(64, 64)).mask is not None


def test_an_object_may_be_moved_half_out_of_the_picture() -> None:
    square = Polygons(((20.0, 40.0, 40.0, 40.0, 40.0, 60.0, 20.0, 60.0),))
    footprint = Move(square, (30.0, 0.0)).footprint()

    mask = build_item(edit(footprint), OUTCOME, picture(64, 64), picture(64, 64)).mask

    assert mask is not None
    assert mask[0, 30]
    with pytest.raises(BadImageError, match="leaves its image"):
        build_item(edit(Move(OUTLINE, (30.0, 0.0)).footprint()), OUTCOME, picture(64, 64), picture(64, 64))


@pytest.mark.parametrize("field", ["instruction", "subject", "from_", "to", "source_caption", "target_caption"])
def test_half_a_character_in_the_words_of_an_edit_is_told(field: str) -> None:
    with pytest.raises(BadInputError, match=r"'caf\\udce9' of the edit 'a' holds half a character"):
        edit(None, **{field: "caf\udce9"})
    with pytest.raises(BadInputError, match="half a character"):
        edit(position=Position("left", "caf\udce9"))


def test_a_large_picture_is_measured_at_a_bounded_size_which_the_evidence_tells() -> None:
    large = picture(4_000, 2_000)
    large[500:1_000, 1_000:3_000] = 200

    item = build_item(edit(Rectangle(1_000, 500, 3_000, 1_000)), OUTCOME, large, picture(1_000, 500))

    assert item.source.shape == item.edited.shape == (1_414, 2_828, 3)
    assert item.mask is not None
    bright = item.source[..., 0] > 100
    assert (bright & item.mask).sum() / (bright | item.mask).sum() > 0.99, "the mask must lie over what it lay over"
    assert item.notes == ("Source image: scaled from 4000 x 2000 to 2828 x 1414.",)
    assert item.original is not None
    assert item.original.shape == (500, 1_000, 3)


def test_one_large_item_fills_the_room_of_a_process() -> None:
    assert admission_bytes(2 * 3 * 5_000_000) == MAX_IMAGE_BYTES
    assert admission_bytes(2 * 3 * 25_000_000) > MAX_IMAGE_BYTES
    assert admission_bytes(2 * 3 * 1024 * 1024) == 2 * 3 * 1024 * 1024


class Toy:
    """A protocol that gives one number."""

    name = "toy"
    scores = (ScoreSpec("value", True, (0.0, 1.0)),)

    async def score(self, item: Item, see: object) -> dict[str, Score]:
        return {"value": Score(0.5)}


def test_converted_colors_are_noted_in_the_evidence_of_every_score(tmp_path: Path, photo: Pixels) -> None:
    from editgauge._util.images import load_image

    lab = ImageCms.ImageCmsProfile(ImageCms.createProfile("LAB")).tobytes()
    Image.fromarray(photo).save(tmp_path / "odd.png", icc_profile=lab)
    loaded = load_image(tmp_path / "odd.png")
    item = build_item(edit(), OUTCOME, photo.copy(), loaded)

    (row,) = asyncio.run(score_protocol(Toy(), item, None))  # type: ignore[arg-type]

    assert row.evidence == (ImageNote("Edited image: its color profile does not fit the picture and was ignored."),)


GRAY: Pixels = np.full((40, 60, 3), 120, np.uint8)


@pytest.fixture
def two_source_edit(tmp_path: Path) -> Edit:
    """One edit with a picture of a person and one of a style, from a folder in the project's own format."""
    for name, shade in (("cat.png", 40), ("person.png", 90), ("style.png", 200), ("right.png", 60)):
        write_png(np.full((40, 60, 3), shade, np.uint8), tmp_path / name)
    entry = {
        "id": "both",
        "source": "cat.png",
        "instruction": "Put the person beside the cat.",
        "reference": "right.png",
        "inputs": [{"image": "person.png", "role": "identity"}, {"image": "style.png", "role": "style"}],
    }
    (tmp_path / "edits.jsonl").write_text(json.dumps(entry))
    [read] = open_benchmark(tmp_path).edits
    return read


def _rows(name: str, two_source_edit: Edit) -> dict[str, Any]:
    outcome = Outcome(edit_id="both", method="mine", image=two_source_edit.source.path)
    item = build_item(two_source_edit, outcome, GRAY, GRAY)
    see: Any = None
    return {row.name: row for row in asyncio.run(score_protocol(open_protocol(name), item, see))}


def test_the_format_holds_further_pictures(two_source_edit: Edit, tmp_path: Path) -> None:
    assert [(element.picture.name, element.role) for element in two_source_edit.inputs] == [
        ("person.png", "identity"),
        ("style.png", "style"),
    ]
    assert benchmark_entry(two_source_edit)["inputs"] == [
        {"image": "person.png", "role": "identity"},
        {"image": "style.png", "role": "style"},
    ]
    before = describe(two_source_edit)["inputs_sha256"]
    write_png(np.full((40, 60, 3), 1, np.uint8), tmp_path / "style.png")
    assert describe(two_source_edit)["inputs_sha256"] != before  # another picture makes another edit


def test_faults_of_further_pictures_are_told(tmp_path: Path) -> None:
    write_png(GRAY, tmp_path / "cat.png")
    entry = {"id": "a", "source": "cat.png", "instruction": "x", "inputs": [{"image": "no.png", "role": "face"}]}
    (tmp_path / "edits.jsonl").write_text(json.dumps(entry))
    with pytest.raises(BadInputError) as caught:
        open_benchmark(tmp_path)
    problems = "\n".join(caught.value.problems)
    assert "the image 'no.png' does not exist" in problems
    assert "unknown role 'face'. There are: background, identity, image, style, subject." in problems


def test_a_protocol_of_one_source_does_not_apply(two_source_edit: Edit) -> None:
    rows = _rows("preservation", two_source_edit)
    assert {row.reason for row in rows.values()} == {"not_applicable"}
    assert "several source pictures" in next(iter(rows.values())).detail
    assert _rows("reference", two_source_edit)["l1"].value is not None


def test_a_further_picture_that_cannot_be_read_is_told(two_source_edit: Edit) -> None:
    two_source_edit.inputs[0].picture.path.write_bytes(b"no picture")
    with pytest.raises(BadImageError):
        build_item(
            two_source_edit, Outcome(edit_id="both", method="mine", image=two_source_edit.source.path), GRAY, GRAY
        )


def test_a_judge_is_shown_every_picture_with_what_it_is_for(two_source_edit: Edit) -> None:
    class Asking:
        prompt = staticmethod(open_prompt)

    rubric = open_protocol("rubric:viescore")
    assert isinstance(rubric, RubricProtocol)
    item = build_item(
        two_source_edit, Outcome(edit_id="both", method="mine", image=two_source_edit.source.path), GRAY, GRAY
    )
    see: Any = Asking()
    shown = rubric.question(rubric._rubric.questions[0], item, see).images
    assert [element.label for element in shown] == [
        "The picture before the edit:",
        "Picture 2 that the edit starts from (identity):",
        "Picture 3 that the edit starts from (style):",
        "The picture after the edit:",
    ]


def test_a_command_gets_the_files(two_source_edit: Edit) -> None:
    program = "import sys, shutil; shutil.copy(sys.argv[3], sys.argv[1])"
    command = Command("mix", f'{sys.executable} -c "{program}" {{output}} {{inputs}} {{source}}')
    assert command.takes_inputs
    assert (
        int(command.edit(two_source_edit, read_image(two_source_edit.source.path), 0)[0, 0, 0]) == 200
    )  # the second input
    with pytest.raises(BadInputError, match="write it alone"):
        Command("mix", f"{sys.executable} --all={{inputs}} {{source}} {{output}}")


def test_where_the_pictures_lie_is_kept_with_the_run(two_source_edit: Edit, tmp_path: Path) -> None:
    write_inputs(tmp_path, [two_source_edit])
    assert [read_input["role"] for read_input in read_inputs(tmp_path)["both"]] == ["identity", "style"]
    assert read_inputs(tmp_path / "elsewhere") == {}
