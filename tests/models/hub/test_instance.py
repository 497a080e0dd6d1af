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
from editgauge.models.answers import Features, SegmentPrompt
from editgauge.models.hub._network import around, overlap
from editgauge.models.hub.instance import MIN_CONFIDENCE, InstanceDetector, InstanceSegmenter, resize_masks
from editgauge.models.roles import Detector, Segmenter

pytestmark = pytest.mark.slow

transformers: Any = import_module("transformers")  # hardly any of its functions say their types

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
