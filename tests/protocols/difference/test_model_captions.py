"""The caption pipeline: zooms, the choice of captions, and the whole way with a real small BLIP and a real endpoint."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from editgauge._util.images import ImageFile, Pixels
from editgauge._util.masks import BoolMask
from editgauge.engine._judges import read_judge_config
from editgauge.engine._perception import RunPerception
from editgauge.errors import UnscorableError
from editgauge.models.hub.captions import HubCaptioner
from editgauge.models.vocabulary import wordnet_here
from editgauge.options import JudgeOptions
from editgauge.protocols._objects import crop
from editgauge.protocols.difference import difference_captions
from editgauge.protocols.difference._model_captions import (
    MAX_REGION_FRACTION,
    MIN_FRAME_SIDE,
    EditedRegion,
    closest_to,
    find_edited_region,
    nouns,
    zoom_frames,
)
from editgauge.types import Edit, Item, Outcome, Score, Scores
from tests.endpoint import MODEL, Served

SAID = {
    "caption": "A sleeping cat was added to the sofa.",
    "action": "Add",
    "source_object": None,
    "target_object": "cat",
    "source_attributes": [],
    "target_attributes": ["sleeping"],
}


def box_mask(size: tuple[int, int], left: int, top: int, right: int, bottom: int) -> BoolMask:
    mask = np.zeros(size, np.bool_)
    mask[top:bottom, left:right] = True
    return mask


SIZES = st.tuples(st.integers(2, 200), st.integers(2, 200))


@given(SIZES, st.data())
def test_each_look_lies_in_the_one_before_and_holds_the_mask(size: tuple[int, int], data: st.DataObject) -> None:
    height, width = size
    left, top = data.draw(st.integers(0, width - 1)), data.draw(st.integers(0, height - 1))
    right, bottom = data.draw(st.integers(left + 1, width)), data.draw(st.integers(top + 1, height))
    frames = zoom_frames(box_mask(size, left, top, right, bottom))
    assert frames[0] == (0, 0, width, height)
    for wide, near in zip(frames, (*frames[1:], (left, top, right, bottom)), strict=True):
        assert wide[0] <= near[0] < near[2] <= wide[2]
        assert wide[1] <= near[1] < near[3] <= wide[3]


def test_the_closest_look_is_never_too_small_to_see_anything() -> None:
    left, top, right, bottom = zoom_frames(box_mask((100, 100), 97, 50, 98, 51))[2]
    assert (right - left, bottom - top) == (MIN_FRAME_SIDE, MIN_FRAME_SIDE)


def test_a_look_is_what_lies_in_its_frame() -> None:
    picture = np.arange(4 * 5 * 3, dtype=np.uint8).reshape(4, 5, 3)
    assert np.array_equal(crop(picture, (1, 2, 4, 4)), picture[2:4, 1:4])


def test_synonyms_ground_a_caption_and_verbs_do_not() -> None:
    wordnet = wordnet_here()
    if wordnet is None:
        pytest.skip("NOT TESTED: WordNet is not on this machine (editgauge models pull wordnet)")

    def told(text: str) -> list[frozenset[str]]:
        return nouns(text, wordnet)

    captions = ["a kitchen with a table", "an automobile on a street", "a tree"]
    assert closest_to(told("let the car have a spoiler"), captions, told) == captions[1]
    assert closest_to(told("put it there"), captions, told) == captions[-1]
    assert nouns("let it be there", wordnet) == []


def item(mask: BoolMask | None, edited: Pixels | None = None) -> Item:
    source = np.random.default_rng(0).integers(0, 256, (64, 96, 3), dtype=np.uint8)
    after = source if edited is None else edited
    edit = Edit(
        id="e",
        source=ImageFile("p", Path("/p")),
        type="object_addition",
        instruction="let there be a cat on the sofa",
        extras={"differences": ["A grey cat was added to the couch."]},
    )
    outcome = Outcome(edit_id="e", method="m", image=Path("/o"))
    return Item(edit=edit, outcome=outcome, source=source, edited=after, mask=mask)


def place(about: Item, perception: Any = None) -> EditedRegion:
    async def found() -> EditedRegion:
        async with RunPerception({}) as blind:
            return await find_edited_region(about, perception or blind)

    return asyncio.run(found())


def test_without_a_mask_the_place_is_the_strongest_change() -> None:
    before = np.full((64, 96, 3), 90, np.uint8)
    after = before.copy()
    after[20:50, 30:70] = (250, 20, 20)
    after[2:8, 2:10] = (120, 120, 120)
    there = item(None, after)
    result = place(Item(edit=there.edit, outcome=there.outcome, source=before, edited=after))
    assert result.origin == "the strongest change"
    assert result.mask[20:50, 30:70].mean() > 0.8
    assert not result.mask[:10, :12].any()
    with pytest.raises(UnscorableError, match="do not differ"):
        place(Item(edit=there.edit, outcome=there.outcome, source=before, edited=before))


def test_where_nearly_everything_changed_the_place_is_where_most_did() -> None:
    before = np.full((90, 120, 3), 90, np.uint8)
    after = before.copy()
    after[:, :] = (90, 150, 90)
    after[60:80, 80:110] = (255, 0, 0)
    there = item(None, after)
    result = place(Item(edit=there.edit, outcome=there.outcome, source=before, edited=after))
    assert "where most changed" in result.origin
    assert result.mask.mean() < MAX_REGION_FRACTION / 3
    assert result.mask[60:80, 80:110].mean() > 0.8


def test_without_a_mask_the_place_is_the_object_that_the_edit_names(staged: Callable[..., tuple[Item, Any]]) -> None:
    removal = {"type": "object_removal", "subject": "dog"}
    about, perception = staged(removal, source={"dog": [(10, 20, 60, 90)]}, edited={"dog": [(200, 200, 240, 240)]})
    result = place(about, perception)
    assert result.origin == "the box of dog in the source"
    assert result.mask[20:90, 10:60].all()
    assert result.mask.sum() == 70 * 50
    exchange = {"type": "object_replacement", "subject": "dog", "to": "cat"}
    about, perception = staged(exchange, source={"dog": [(10, 20, 60, 90)]}, edited={"cat": [(5, 10, 50, 80)]})
    assert place(about, perception).origin == "the box of dog in the source and of cat in the edited image"
    color = {"type": "color", "subject": "dog", "to": "red"}
    about, perception = staged(color, source={}, edited={"dog": [(5, 10, 50, 80)], "red": [(0, 0, 9, 9)]})
    assert place(about, perception).origin == "the box of dog in the edited image"


@pytest.fixture(scope="module")
def blip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BLIP of two layers that knows a dozen words, with weights drawn at random."""
    torch, library, parts = import_module("torch"), import_module("transformers"), import_module("tokenizers")
    library.utils.logging.disable_progress_bar()
    library.utils.logging.set_verbosity_error()
    words = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "cat", "dog", "sofa", "on", "the", "red", "room")
    pieces = parts.Tokenizer(
        parts.models.WordPiece({word: place for place, word in enumerate(words)}, unk_token="[UNK]")
    )  # fmt: skip
    pieces.pre_tokenizer = parts.pre_tokenizers.Whitespace()
    layer = {"num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 16, "intermediate_size": 32}
    marks = {"bos_token_id": 2, "eos_token_id": 3, "sep_token_id": 3, "pad_token_id": 0}
    text = {**layer, **marks, "vocab_size": len(words), "max_position_embeddings": 64, "encoder_hidden_size": 16}
    config = library.BlipConfig(
        text_config=text,
        vision_config={**layer, "image_size": 32, "patch_size": 8},
        projection_dim=16,
        image_text_hidden_size=16,
    )
    torch.manual_seed(3)
    folder = tmp_path_factory.mktemp("blip")
    model = library.BlipForConditionalGeneration(config)
    with torch.no_grad():
        for weights in model.parameters():
            if weights.ndim > 1:
                weights.normal_(0, 0.4 / weights[0].numel() ** 0.25)
    model.eval().save_pretrained(folder)
    library.BlipImageProcessorPil(size={"height": 32, "width": 32}).save_pretrained(folder)
    library.BertTokenizerFast(tokenizer_object=pieces, model_max_length=64).save_pretrained(folder)
    return folder


def scored(served: Served, blip: Path, about: Item) -> Scores:
    async def score() -> Scores:
        jury = read_judge_config(JudgeOptions(judge=f"openai:{MODEL}@{served.url}"))
        async with RunPerception({"captioner": f"captioner:{blip}"}, judge_config=jury) as perception:
            return await difference_captions.variant({"pipeline": "", MODEL: "", "grader": MODEL}).score(
                about, perception
            )

    return asyncio.run(score())


def test_captions_of_the_place_become_one_difference(served: Served, blip: Path) -> None:
    def answer(text: str, seen: int) -> str:
        if "Answer:" in text:
            return json.dumps(SAID)
        if "Turn the description" in text:
            return '{"triplets": [{"source": null, "target": "grey cat", "action": "Add"}]}'
        return "yes"

    served.plan = answer
    about = item(box_mask((64, 96), 40, 20, 70, 50))
    scores = scored(served, blip, about)
    result = {name: entry.value if isinstance(entry, Score) else entry.reason for name, entry in scores.items()}
    assert (result["mp"], result["hr"], result["differences"], result["main_matched"]) == (1, 0, 1, 1)
    (asked,) = [text for text in served.seen if "Answer:" in text]
    captioner = HubCaptioner(blip, device="cpu")
    looks = captioner.caption([crop(about.source, frame) for frame in zoom_frames(about.mask)])  # type: ignore[arg-type]
    (before,) = re.findall(r"^Before: (.*)$", asked, re.MULTILINE)[1:]
    assert before in looks
    assert "Request: let there be a cat on the sofa\n" in asked
    assert all(isinstance(entry["messages"][0]["content"], str) for entry in served.requests)


def test_the_judge_may_caption_the_looks_itself(served: Served) -> None:
    def answer(text: str, seen: int) -> str:
        if "Answer:" in text:
            return json.dumps(SAID)
        if "Describe the picture in one sentence" in text:
            return "A cat on a sofa."
        return '{"triplets": []}' if "Turn the description" in text else "no"

    async def score() -> Scores:
        async with RunPerception(
            {}, judge_config=read_judge_config(JudgeOptions(judge=f"openai:{MODEL}@{served.url}"))
        ) as perception:
            about = item(box_mask((64, 96), 40, 20, 70, 50), np.full((64, 96, 3), 9, np.uint8))
            return await difference_captions.variant({"pipeline": "judge", MODEL: "", "grader": MODEL}).score(
                about, perception
            )

    served.plan = answer
    scores = asyncio.run(score())
    assert scores["main_matched"] == Score(0.0, scores["main_matched"].evidence)
    looks = [entry for entry in served.requests if isinstance(entry["messages"][0]["content"], list)]
    assert len(looks) == 6  # three of each picture, one at a time
    (asked,) = [text for text in served.seen if "Answer:" in text]
    assert "Before: A cat on a sofa.\nAfter: A cat on a sofa.\n" in asked


def test_metadata_of_another_form_is_not_guessed_at(served: Served, blip: Path) -> None:
    served.plan = lambda text, seen: json.dumps({**SAID, "action": "Appear"})
    with pytest.raises(UnscorableError, match="unparsable"):
        scored(served, blip, item(box_mask((64, 96), 40, 20, 70, 50)))


def test_without_a_captioner_it_says_so(served: Served) -> None:
    async def score() -> Any:
        async with RunPerception(
            {}, judge_config=read_judge_config(JudgeOptions(judge=f"openai:{MODEL}@{served.url}"))
        ) as perception:
            about = item(box_mask((64, 96), 40, 20, 70, 50))
            return await difference_captions.variant({"pipeline": "", MODEL: "", "grader": MODEL}).score(
                about, perception
            )

    with pytest.raises(UnscorableError, match="captioner"):
        asyncio.run(score())
