from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch

from editgauge._util.images import Pixels
from editgauge.models.hub.captions import BEAMS, MAX_TOKENS, HubCaptioner
from editgauge.models.roles import Captioner as CaptionerRole

pytestmark = pytest.mark.slow

transformers: Any = import_module("transformers")  # hardly any of its functions say their types

GENERATE = {"num_beams": BEAMS, "max_new_tokens": MAX_TOKENS, "do_sample": False}


@pytest.fixture(scope="module")
def blip(
    save: Callable[..., Path], layer: dict[str, int], bert_text: dict[str, int], bert_tokenizer: Callable[[], Any]
) -> Path:
    marks = {"bos_token_id": 101, "eos_token_id": 102, "sep_token_id": 102, "pad_token_id": 0}
    config = transformers.BlipConfig(
        text_config={**bert_text, **marks, "encoder_hidden_size": 16},
        vision_config={**layer, "image_size": 32, "patch_size": 8},
        projection_dim=16,
        image_text_hidden_size=16,
    )
    torch.manual_seed(1)
    return save(
        transformers.BlipForConditionalGeneration(config),
        transformers.BlipImageProcessorPil(size={"height": 32, "width": 32}),
        bert_tokenizer(),
    )


@pytest.fixture(scope="module")
def florence(
    save: Callable[..., Path], clip_text: Callable[[int], dict[str, int]], clip_tokenizer: Callable[[int], Any]
) -> Path:
    told = clip_text(128)
    text = transformers.BartConfig(
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        decoder_start_token_id=told["eos_token_id"],
        forced_eos_token_id=told["eos_token_id"],
        **{name: told[name] for name in told if "token" in name or name in ("vocab_size", "max_position_embeddings")},
    )
    vision = transformers.Florence2VisionConfig(
        depths=[1, 1, 1, 1],
        embed_dim=[8, 8, 16, 16],
        num_heads=[1, 1, 2, 2],
        num_groups=[1, 1, 2, 2],
        window_size=4,
        projection_dim=16,
        max_position_embeddings=8,
        max_temporal_embeddings=4,
    )
    config = transformers.Florence2Config(text_config=text, vision_config=vision, image_token_id=told["vocab_size"] - 1)
    square = {"height": 64, "width": 64}
    processor = transformers.CLIPImageProcessorPil(size=square, crop_size=square, do_center_crop=False)
    processor.image_seq_length = 5  # four places, and one for the whole
    torch.manual_seed(1)
    return save(transformers.Florence2ForConditionalGeneration(config), processor, clip_tokenizer(64))


def test_the_sentences_of_blip_are_those_of_the_library(blip: Path, picture: Callable[..., Pixels]) -> None:
    images = [picture(1), picture(2, 70, 30)]
    processor = transformers.BlipProcessor(
        transformers.AutoImageProcessor.from_pretrained(blip, backend="pil"),
        transformers.AutoTokenizer.from_pretrained(blip),
    )
    model = transformers.BlipForConditionalGeneration.from_pretrained(blip)
    told = [
        processor.decode(model.generate(**processor(images=image, return_tensors="pt"), **GENERATE)[0], True).strip()
        for image in images
    ]
    captioner = HubCaptioner(blip, device="cpu")
    assert captioner.caption(images) == told
    assert told[0] != told[1]
    assert isinstance(captioner, CaptionerRole)


def test_the_sentences_of_florence_are_those_of_the_library(florence: Path, picture: Callable[..., Pixels]) -> None:
    image = picture(1)
    processor = transformers.Florence2Processor(
        transformers.AutoImageProcessor.from_pretrained(florence, backend="pil"),
        transformers.AutoTokenizer.from_pretrained(florence),
    )
    model = transformers.Florence2ForConditionalGeneration.from_pretrained(florence)
    inputs = processor(text="<CAPTION>", images=image, return_tensors="pt")
    told = processor.batch_decode(model.generate(**inputs, **GENERATE), skip_special_tokens=True)[0].strip()
    captioner = HubCaptioner(florence, device="cpu")
    assert captioner.caption([image]) == [told]
    assert captioner.caption([image, picture(2)])[0] == told
    assert told


def test_no_pictures_no_sentences(blip: Path) -> None:
    assert HubCaptioner(blip, device="cpu").caption([]) == []
