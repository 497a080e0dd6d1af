"""Detectors of the hub, as small random networks."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from editgauge._util.images import Pixels
from editgauge.errors import BadInputError, UnscorableError
from editgauge.models.answers import Detections, Features, SegmentPrompt
from editgauge.models.hub._network import around, overlap
from editgauge.models.hub.detectors import (
    MIN_CONFIDENCE,
    GroundingDetector,
    InstanceDetector,
    InstanceSegmenter,
    OwlDetector,
    join_phrases,
    resize_masks,
    tokens_within,
)
from editgauge.models.roles import Detector, Segmenter

pytestmark = pytest.mark.slow

transformers: Any = import_module("transformers")  # hardly any of its functions say their types

WORDS = ("a cat", "the red cup", "a photo of a dog")


@pytest.fixture(scope="module", params=["owlvit", "owlv2"])
def folder(
    request: pytest.FixtureRequest,
    save: Callable[..., Path],
    layer: dict[str, int],
    clip_text: Callable[[int], dict[str, int]],
    clip_tokenizer: Callable[[int], Any],
) -> Path:
    name = {"owlvit": "OwlViT", "owlv2": "Owlv2"}[request.param]
    config = getattr(transformers, f"{name}Config")(
        text_config=clip_text(16), vision_config={**layer, "image_size": 32, "patch_size": 8}, projection_dim=16
    )
    torch.manual_seed(1)
    return save(
        getattr(transformers, f"{name}ForObjectDetection")(config),
        getattr(transformers, f"{name}ImageProcessorPil")(size={"height": 32, "width": 32}),
        clip_tokenizer(16),
    )


@pytest.fixture
def owl(folder: Path) -> OwlDetector:
    return OwlDetector(folder, device="cpu")


def whole_forward(folder: Path, image: Pixels, words: tuple[str, ...]) -> list[dict[str, Any]]:
    """What the library gives: for each word alone, boxes and confidences of all patches, most confident first."""
    model = transformers.AutoModelForZeroShotObjectDetection.from_pretrained(folder)
    processor = transformers.AutoImageProcessor.from_pretrained(folder, backend="pil")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    found = []
    for word in words:
        tokens = tokenizer([word], padding="max_length", max_length=16, return_tensors="pt")
        with torch.inference_mode():
            told = model(pixel_values=processor([image], return_tensors="pt")["pixel_values"], **tokens)
        found += processor.post_process_object_detection(told, threshold=MIN_CONFIDENCE, target_sizes=[image.shape[:2]])
    return found


def ask(owl: OwlDetector, image: Pixels, *words: str) -> Detections:
    return owl.find([(owl.look([image])[0], words)])[0]


@pytest.mark.parametrize("size", [(40, 60), (60, 40), (48, 48)])
def test_the_split_equals_the_whole_forward(
    owl: OwlDetector, folder: Path, picture: Callable[..., Pixels], size: tuple[int, int]
) -> None:
    image = picture(1, *size)
    found = ask(owl, image, *WORDS)
    for word, told in zip(WORDS, whole_forward(folder, image, WORDS), strict=True):
        order = torch.argsort(-told["scores"], stable=True)
        np.testing.assert_allclose(found.of(word).confidences, told["scores"][order], atol=1e-5)
        np.testing.assert_allclose(found.of(word).boxes, told["boxes"][order], atol=1e-3)
    assert len(found) == 3 * 16  # random weights are sure of nothing, and of nothing not


def test_words_do_not_depend_on_each_other(owl: OwlDetector, picture: Callable[..., Pixels]) -> None:
    together = ask(owl, picture(2), *WORDS)
    for word in WORDS:
        alone = ask(owl, picture(2), word)
        np.testing.assert_allclose(together.of(word).confidences, alone.confidences, atol=1e-6)
        np.testing.assert_array_equal(together.of(word).boxes, alone.boxes)


def test_the_batch_does_not_matter(owl: OwlDetector, folder: Path, picture: Callable[..., Pixels]) -> None:
    images = [picture(1, 40, 60), picture(2, 90, 30), picture(3, 32, 32)]
    together = owl.find([(features, WORDS) for features in owl.look(images)])
    other = OwlDetector(folder, device="cpu")
    for image, found in zip(images, together, strict=True):
        for word in reversed(WORDS):
            alone = ask(other, image, word)
            np.testing.assert_allclose(found.of(word).confidences, alone.confidences, atol=1e-5)
            np.testing.assert_allclose(found.of(word).boxes, alone.boxes, atol=1e-3)


def test_surest_first_and_labeled_as_asked(owl: OwlDetector, picture: Callable[..., Pixels]) -> None:
    found = ask(owl, picture(), *WORDS)
    assert (np.diff(found.confidences) <= 0).all()
    assert set(found.phrases) == set(WORDS)
    assert found.phrases == found.words


def test_no_words_no_detections(owl: OwlDetector, picture: Callable[..., Pixels]) -> None:
    assert len(ask(owl, picture())) == 0


def test_the_boxes_of_owlv2_are_fractions_of_the_padded_square(
    owl: OwlDetector, folder: Path, picture: Callable[..., Pixels]
) -> None:
    """A small box of the last patch sits at the lower right of what the network saw: the picture, or its square."""
    tall = owl.look([picture(0, 80, 40)])[0]["boxes"]
    far_right = tall[:, [0, 2]].mean(axis=1).max()
    assert far_right > 45 if "owlv2" in (folder / "config.json").read_text() else far_right < 45


def test_it_is_a_detector_for_any_phrase(owl: OwlDetector) -> None:
    assert isinstance(owl, Detector)
    assert owl.word_for("a purple unicorn") == "a purple unicorn"
    assert owl.card.settings["operating_point"] == 0.1
    assert owl.card.input_size == (32, 32)


def test_what_was_kept_on_disk_and_cannot_be_written_answers_the_same(
    owl: OwlDetector, picture: Callable[..., Pixels]
) -> None:
    image = picture(3)
    image.setflags(write=False)
    features = owl.look([image, picture(4)])[0]
    assert all(array.base is None for array in features.values())  # no row keeps its batch alive
    before = owl.find([(features, WORDS)])[0]
    for array in features.values():
        array.setflags(write=False)
    np.testing.assert_array_equal(owl.find([(features, WORDS)])[0].confidences, before.confidences)


@pytest.fixture(scope="module")
def grounding_folder(save: Callable[..., Path], bert_text: dict[str, int], bert_tokenizer: Callable[[], Any]) -> Path:
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
def detector(grounding_folder: Path) -> GroundingDetector:
    return GroundingDetector(grounding_folder, device="cpu")


def test_boxes_and_confidences_are_those_of_the_library(
    detector: GroundingDetector, grounding_folder: Path, picture: Callable[..., Pixels]
) -> None:
    image = picture(3)
    model = transformers.GroundingDinoForObjectDetection.from_pretrained(grounding_folder)
    processor = transformers.GroundingDinoProcessor(
        transformers.AutoImageProcessor.from_pretrained(grounding_folder, backend="pil"),
        transformers.AutoTokenizer.from_pretrained(grounding_folder),
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


def test_grounding_without_words_detects_nothing(detector: GroundingDetector, picture: Callable[..., Pixels]) -> None:
    assert len(detector.find([(detector.look([picture()])[0], ())])[0]) == 0


@pytest.mark.parametrize("phrase", ["", " . ", "a cat. a dog", "what? that"])
def test_a_phrase_that_would_be_read_as_several_is_refused(detector: GroundingDetector, phrase: str) -> None:
    with pytest.raises(UnscorableError, match="one phrase"):
        detector.word_for(phrase)


def test_a_full_stop_at_the_end_does_no_harm(detector: GroundingDetector) -> None:
    assert isinstance(detector, Detector)
    assert detector.word_for("a cat.") == "a cat."
    assert join_phrases(["a cat.", "A cup"]) == join_phrases(["a cat", "a cup"])


def test_apple_is_not_found_in_pineapple() -> None:
    text, spans = join_phrases(["pineapple", "apple"])
    places = [(0, 0), (0, 9), (9, 10), (11, 16), (16, 17), (0, 0)]
    assert text == "pineapple. apple."
    assert [tokens_within(places, span) for span in spans] == [[1], [3]]


def test_a_text_threshold_asks_every_token_of_a_phrase(grounding_folder: Path, picture: Callable[..., Pixels]) -> None:
    plain, strict = (
        GroundingDetector(grounding_folder, device="cpu"),
        GroundingDetector(grounding_folder, device="cpu"),
    )
    (seen,) = plain.find([({"pixels": picture(3)}, ("a cat",))])
    strict.text_threshold = float(seen.confidences[0]) + 0.01
    (none,) = strict.find([({"pixels": picture(3)}, ("a cat",))])

    assert len(seen) > 0
    assert len(none) == 0
    assert "text_threshold" in strict.card.settings
    assert "text_threshold" not in plain.card.settings


NAMES = {0: "cat", 1: "cup", 2: "N/A", 3: "person"}
NAMED = {"id2label": NAMES, "label2id": {name: place for place, name in NAMES.items()}}
SIZE = {"shortest_edge": 64, "longest_edge": 96}
LAYERS = {
    "encoder_feedforward_dim": 32,
    "dim_feedforward": 32,
    "encoder_layers": 1,
    "decoder_layers": 2,
    "num_attention_heads": 2,
    "num_queries": 12,
    "hidden_dim": 32,
}


@pytest.fixture(scope="module")
def detr(save: Callable[..., Path]) -> Path:
    backbone = transformers.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 8, 16, 16], depths=[1, 1, 1, 1], layer_type="basic", out_indices=[4]
    )
    config = transformers.DetrConfig(
        **NAMED,
        backbone_config=backbone,
        d_model=32,
        encoder_layers=1,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        num_queries=12,
    )
    torch.manual_seed(1)
    return save(transformers.DetrForObjectDetection(config), transformers.DetrImageProcessorPil(size=SIZE))


def swin() -> Any:
    return transformers.SwinConfig(
        image_size=64, embed_dim=8, depths=[1] * 4, num_heads=[1] * 4, window_size=4, out_indices=[1, 2, 3, 4]
    )


@pytest.fixture(scope="module")
def mask2former(save: Callable[..., Path]) -> Path:
    shape = {**LAYERS, **NAMED, "feature_size": 32, "mask_feature_size": 32}
    torch.manual_seed(1)
    model = transformers.Mask2FormerForUniversalSegmentation(
        transformers.Mask2FormerConfig(**shape, backbone_config=swin())
    )
    return save(model, transformers.Mask2FormerImageProcessorPil(size=SIZE, size_divisor=32))


@pytest.fixture(scope="module")
def oneformer(save: Callable[..., Path], clip_tokenizer: Callable[[int], Any]) -> Path:
    text = {"text_encoder_width": 16, "text_encoder_num_layers": 1, "text_encoder_vocab_size": 20}
    shape = {**LAYERS, **NAMED, **text, "conv_dim": 32, "mask_dim": 32, "is_training": False}
    torch.manual_seed(1)
    model = transformers.OneFormerForUniversalSegmentation(
        transformers.OneFormerConfig(**shape, backbone_config=swin())
    )
    folder = save(model, transformers.OneFormerImageProcessorPil(size=SIZE), clip_tokenizer(77))
    told = json.loads((folder / "preprocessor_config.json").read_text())
    published = {"class_info_file": "coco_panoptic.json", "repo_path": "shi-labs/oneformer_demo"}
    (folder / "preprocessor_config.json").write_text(json.dumps({**told, **published}))  # the library would fetch it
    return folder


def everything(detector: InstanceDetector, features: Features) -> Any:
    return detector.find([(features, tuple(NAMES.values()))])[0]


def test_the_boxes_of_detr_are_those_of_the_library(detr: Path, picture: Callable[..., Pixels]) -> None:
    image = picture(2)
    processor = transformers.AutoImageProcessor.from_pretrained(detr, backend="pil")
    model = transformers.DetrForObjectDetection.from_pretrained(detr)
    with torch.inference_mode():
        told = model(**processor([image], return_tensors="pt"))
    theirs = processor.post_process_object_detection(told, threshold=MIN_CONFIDENCE, target_sizes=[(40, 60)])[0]
    order = torch.argsort(-theirs["scores"], stable=True)
    detector = InstanceDetector(detr, device="cpu")
    found = everything(detector, detector.look([image])[0])
    np.testing.assert_allclose(found.confidences, theirs["scores"][order], atol=1e-5)
    np.testing.assert_allclose(found.boxes, theirs["boxes"][order], atol=1e-3)
    assert list(found.words) == [NAMES[place] for place in theirs["labels"][order].tolist()]
    assert found.found


def test_the_confidences_of_mask2former_are_those_of_the_library(
    mask2former: Path, picture: Callable[..., Pixels]
) -> None:
    """The library counts them on masks enlarged to 384 pixels, so they agree as far as the enlarging does."""
    image = picture(2, 64, 96)
    processor = transformers.AutoImageProcessor.from_pretrained(mask2former, backend="pil")
    model = transformers.Mask2FormerForUniversalSegmentation.from_pretrained(mask2former)
    with torch.inference_mode():
        told = model(**processor([image], return_tensors="pt"))
    theirs = processor.post_process_instance_segmentation(
        told, threshold=MIN_CONFIDENCE, target_sizes=[(64, 96)], return_binary_maps=True
    )[0]
    detector = InstanceDetector(mask2former, device="cpu")
    features = detector.look([image])[0]
    kept = sorted((segment["score"] for segment in theirs["segments_info"]), reverse=True)
    np.testing.assert_allclose(np.sort(features["confidences"])[::-1], kept, atol=0.01)
    masks = np.unpackbits(features["masks"], axis=2, count=96).astype(bool)
    best = theirs["segmentation"][int(np.argmax([each["score"] for each in theirs["segments_info"]]))].numpy() > 0
    ours = masks[features["confidences"].argmax()]
    assert (ours & best).sum() / (ours | best).sum() > 0.95


def test_the_logits_of_oneformer_come_from_its_own_task(oneformer: Path, picture: Callable[..., Pixels]) -> None:
    image = picture(2, 64, 96)
    processor = transformers.OneFormerProcessor(
        transformers.AutoImageProcessor.from_pretrained(oneformer, backend="pil", class_info_file=None),
        transformers.AutoTokenizer.from_pretrained(oneformer),
    )
    model = transformers.OneFormerForUniversalSegmentation.from_pretrained(oneformer)
    with torch.inference_mode():
        told = model(**processor([image], ["instance"], return_tensors="pt"))
    fits = told.class_queries_logits[0].softmax(-1)[:, :-1].flatten().topk(12)
    masks = told.masks_queries_logits[0][fits.indices // 4]
    inside = masks > 0
    sure = fits.values * (masks.sigmoid() * inside).sum((1, 2)) / (inside.sum((1, 2)) + 1e-6)
    features = InstanceDetector(oneformer, device="cpu").look([image])[0]
    kept = sure[sure >= MIN_CONFIDENCE].sort(descending=True).values
    np.testing.assert_allclose(np.sort(features["confidences"])[::-1], kept, atol=1e-5)


@pytest.mark.parametrize("kind", ["detr", "mask2former", "oneformer"])
def test_what_else_is_asked_does_not_matter(
    kind: str, picture: Callable[..., Pixels], request: pytest.FixtureRequest
) -> None:
    detector = InstanceDetector(request.getfixturevalue(kind), device="cpu")
    images = [picture(1), picture(2, 70, 30)]
    together = detector.look(images)
    for image, features in zip(images, together, strict=True):
        alone = detector.look([image])[0]
        np.testing.assert_allclose(features["boxes"], alone["boxes"], atol=1e-3)
        np.testing.assert_allclose(features["confidences"], alone["confidences"], atol=1e-5)
    found = everything(detector, together[0])
    assert isinstance(detector, Detector)
    assert (np.diff(found.confidences) <= 0).all()
    cups = detector.find([(together[0], ("cup",))])[0]
    np.testing.assert_array_equal(cups.boxes, found.of("cup").boxes)


def test_a_closed_vocabulary_knows_what_it_does_not_know(detr: Path) -> None:
    detector = InstanceDetector(detr, device="cpu")
    assert detector.vocabulary == ("cat", "cup", "person")
    assert detector.word_for("two cats") == "cat"
    with pytest.raises(UnscorableError) as told:
        detector.word_for("unicorn")
    assert told.value.reason == "unknown_word"


def seen(*masks: np.ndarray[Any, np.dtype[np.bool_]]) -> Features:
    """What a network would keep of a picture with these instances, the first the most confident."""
    stacked = np.stack(masks)
    return {
        "boxes": around(stacked),
        "confidences": np.linspace(0.9, 0.5, len(masks), dtype=np.float32),
        "classes": np.zeros(len(masks), np.int64),
        "size": np.array(stacked.shape[1:]),
        "masks": np.packbits(stacked, axis=2),
    }


def block(top: int, bottom: int, left: int, right: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    mask = np.zeros((40, 60), np.bool_)
    mask[top:bottom, left:right] = True
    return mask


def test_the_mask_that_fits_the_box_or_lies_under_the_point_is_cut(mask2former: Path) -> None:
    segmenter = InstanceSegmenter(mask2former, device="cpu")
    large, small = block(0, 40, 0, 50), block(5, 20, 10, 25)
    boxes = SegmentPrompt(boxes=np.array([[9, 5, 26, 21], [0, 0, 48, 40]], np.float32))
    cut = segmenter.cut([(seen(large, small), boxes)])[0]
    np.testing.assert_array_equal(cut, np.stack([small, large]))
    points = SegmentPrompt(points=np.array([[12, 7], [40, 30]], np.float32))
    cut = segmenter.cut([(seen(small, large), points)])[0]  # under the first point lie both, and the surer is taken
    np.testing.assert_array_equal(cut, np.stack([small, large]))
    assert isinstance(segmenter, Segmenter)


ELSEWHERE = SegmentPrompt(boxes=np.array([[30, 20, 50, 40]], np.float32))
MUCH_LARGER = SegmentPrompt(boxes=np.array([[10, 5, 55, 35]], np.float32))
BESIDE = SegmentPrompt(points=np.array([[59, 39]], np.float32))


@pytest.mark.parametrize("prompt", [ELSEWHERE, MUCH_LARGER, BESIDE])
def test_where_nothing_was_seen_nothing_is_cut(mask2former: Path, prompt: SegmentPrompt) -> None:
    with pytest.raises(UnscorableError) as told:
        InstanceSegmenter(mask2former, device="cpu").cut([(seen(block(5, 20, 10, 25)), prompt)])
    assert told.value.reason == "not_detected"


def test_detr_has_no_outlines(detr: Path) -> None:
    with pytest.raises(BadInputError, match="without outlines"):
        InstanceSegmenter(detr, device="cpu").cut([])


def test_padding_is_not_taken_for_picture() -> None:
    """Of eight columns the last two are padding; the mask covers the third to the sixth, so the picture's last third
    and the one before it.
    """
    masks = torch.full((1, 4, 8), -1.0)
    masks[:, :, 2:6] = 1.0
    large = (resize_masks(masks, (1.0, 0.75), (20, 60)) > 0).numpy()
    assert np.abs(around(large) - [20, 0, 60, 20]).max() <= 1


def test_overlap_is_intersection_over_union() -> None:
    boxes = np.array([[0, 0, 10, 10], [5, 0, 15, 10], [20, 20, 20, 20]], np.float32)
    assert np.abs(overlap(boxes, boxes) - [[1, 1 / 3, 0], [1 / 3, 1, 0], [0, 0, 0]]).max() < 1e-6
