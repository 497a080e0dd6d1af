from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from editgauge._util.images import Pixels
from editgauge.errors import UnscorableError
from editgauge.models.hub.grounding_dino import MIN_CONFIDENCE, GroundingDetector, joined, tokens_within
from editgauge.models.roles import Detector

pytestmark = pytest.mark.slow

transformers: Any = import_module("transformers")  # hardly any of its functions say their types


@pytest.fixture(scope="module")
def folder(save: Callable[..., Path], bert_text: dict[str, int], bert_tokenizer: Callable[[], Any]) -> Path:
    swin = transformers.SwinConfig(
        image_size=64, embed_dim=8, depths=[1] * 4, num_heads=[1] * 4, window_size=4, out_indices=[2, 3, 4]
    )
    config = transformers.GroundingDinoConfig(
        backbone_config=swin,
        text_config={**bert_text, "model_type": "bert"},
        d_model=32,
        encoder_layers=1,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        num_queries=12,
        num_feature_levels=3,
        max_text_len=20,
    )
    torch.manual_seed(1)
    return save(
        transformers.GroundingDinoForObjectDetection(config),
        transformers.GroundingDinoImageProcessorPil(size={"shortest_edge": 64, "longest_edge": 96}),
        bert_tokenizer(),
    )


@pytest.fixture(scope="module")
def detector(folder: Path) -> GroundingDetector:
    return GroundingDetector(folder, device="cpu")


def test_boxes_and_confidences_are_those_of_the_library(
    detector: GroundingDetector, folder: Path, picture: Callable[..., Pixels]
) -> None:
    image = picture(3)
    model = transformers.GroundingDinoForObjectDetection.from_pretrained(folder)
    processor = transformers.GroundingDinoProcessor(
        transformers.AutoImageProcessor.from_pretrained(folder, backend="pil"),
        transformers.AutoTokenizer.from_pretrained(folder),
    )
    inputs = processor(images=image, text=[["a cat", "red cups"]], return_tensors="pt")
    with torch.inference_mode():
        told = model(**inputs)
    boxes = processor.post_process_grounded_object_detection(told, threshold=0, target_sizes=[(40, 60)])[0]["boxes"]
    tokens = inputs["input_ids"][0].tolist()
    assert tokens == [101, 200, 203, 1012, 207, 204, 213, 1012, 102]  # [CLS] a cat . red cup ##s . [SEP]
    fits = told.logits[0].sigmoid()

    found = detector.find([(detector.look([image])[0], ("A cat.", "red cups"))])[0]
    for word, sure in (("A cat.", fits[:, 1:3].amax(1)), ("red cups", fits[:, 4:7].amax(1))):
        order = torch.argsort(-sure, stable=True)[: int((sure >= MIN_CONFIDENCE).sum())]
        np.testing.assert_allclose(found.of(word).confidences, sure[order], atol=1e-5)
        np.testing.assert_allclose(found.of(word).boxes, boxes[order], atol=1e-3)
    assert found.of("A cat.").found


def test_what_else_is_asked_at_the_same_time_does_not_matter(
    detector: GroundingDetector, picture: Callable[..., Pixels]
) -> None:
    wide, tall = detector.look([picture(1, 40, 60), picture(2, 70, 30)])
    both = detector.find([(wide, ("a cat", "a cup")), (tall, ("the dog",))])
    alone = detector.find([(tall, ("the dog",))])[0]
    np.testing.assert_allclose(both[1].confidences, alone.confidences, atol=1e-5)
    np.testing.assert_allclose(both[1].boxes, alone.boxes, atol=1e-3)


def test_more_words_than_one_text_can_hold_are_asked_in_several(
    detector: GroundingDetector, picture: Callable[..., Pixels]
) -> None:
    words = ("a cat", "a cup", "the dog", "red people", "hot dog", "blue cup", "left person")
    features = detector.look([picture(4)])[0]
    found = detector.find([(features, words)])[0]
    assert set(found.phrases) == set(words)
    first = detector.find([(features, words[:6])])[0]  # 2 + 6 x 3 = 20 tokens: just as many as fit
    np.testing.assert_allclose(found.of("a cat").confidences, first.of("a cat").confidences, atol=1e-6)
    last = detector.find([(features, words[6:])])[0]
    np.testing.assert_allclose(found.of("left person").confidences, last.confidences, atol=1e-6)


def test_no_words_no_detections(detector: GroundingDetector, picture: Callable[..., Pixels]) -> None:
    assert len(detector.find([(detector.look([picture()])[0], ())])[0]) == 0


@pytest.mark.parametrize("phrase", ["", " . ", "a cat. a dog", "what? that"])
def test_a_phrase_that_would_be_read_as_several_is_refused(detector: GroundingDetector, phrase: str) -> None:
    with pytest.raises(UnscorableError, match="one phrase"):
        detector.word_for(phrase)


def test_a_full_stop_at_the_end_does_no_harm(detector: GroundingDetector) -> None:
    assert isinstance(detector, Detector)
    assert detector.word_for("a cat.") == "a cat."
    assert joined(["a cat.", "A cup"]) == joined(["a cat", "a cup"])


def test_apple_is_not_found_in_pineapple() -> None:
    text, spans = joined(["pineapple", "apple"])
    places = [(0, 0), (0, 9), (9, 10), (11, 16), (16, 17), (0, 0)]
    assert text == "pineapple. apple."
    assert [tokens_within(places, span) for span in spans] == [[1], [3]]


def test_a_text_threshold_asks_every_token_of_a_phrase(folder: Path, picture: Callable[..., Pixels]) -> None:
    plain, strict = GroundingDetector(folder, device="cpu"), GroundingDetector(folder, device="cpu")
    (seen,) = plain.find([({"pixels": picture(3)}, ("a cat",))])
    strict.text_threshold = float(seen.confidences[0]) + 0.01
    (none,) = strict.find([({"pixels": picture(3)}, ("a cat",))])

    assert len(seen) > 0
    assert len(none) == 0
    assert "text_threshold" in strict.card.settings
    assert "text_threshold" not in plain.card.settings
