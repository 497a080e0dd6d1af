"""Segmenters of the hub, as small random networks."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from editgauge._util.images import Pixels
from editgauge.models.answers import SegmentPrompt
from editgauge.models.hub.segmenters import ClassMapper, SamSegmenter
from editgauge.models.roles import Segmenter, SemanticSegmenter

pytestmark = pytest.mark.slow

transformers: Any = import_module("transformers")  # hardly any of its functions say their types

BOXES = np.array([[5, 5, 30, 30], [10, 10, 50, 40], [0, 0, 60, 40]], np.float32)
POINTS = np.array([[10, 12], [50, 30]], np.float32)
DECODER = {"mlp_dim": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "iou_head_hidden_dim": 16}


@pytest.fixture(scope="module")
def sam_folder(save: Callable[..., Path], layer: dict[str, int]) -> Path:
    patches = {"image_size": 64, "patch_size": 8}
    config = transformers.SamConfig(
        vision_config={
            **layer,
            **patches,
            "output_channels": 16,
            "mlp_dim": 32,
            "window_size": 4,
            "global_attn_indexes": [1],
            "num_pos_feats": 8,
        },
        prompt_encoder_config={**patches, "hidden_size": 16, "image_embedding_size": 8, "mask_input_channels": 4},
        mask_decoder_config={**DECODER, "hidden_size": 16, "iou_head_depth": 2},
    )
    torch.manual_seed(1)
    processor = transformers.SamImageProcessorPil(size={"longest_edge": 64}, pad_size={"height": 64, "width": 64})
    return save(transformers.SamModel(config), processor)


@pytest.fixture(scope="module")
def sam2_folder(save: Callable[..., Path]) -> Path:
    backbone = transformers.Sam2HieraDetConfig(
        hidden_size=8,
        num_attention_heads=1,
        image_size=[64, 64],
        blocks_per_stage=[1, 1, 2, 1],
        embed_dim_per_stage=[8, 16, 32, 64],
        num_attention_heads_per_stage=[1, 1, 1, 1],
        window_size_per_stage=[4, 4, 4, 4],
        global_attention_blocks=[3],
        window_positional_embedding_background_size=[4, 4],
    )
    config = transformers.Sam2Config(
        vision_config=transformers.Sam2VisionConfig(
            backbone_config=backbone,
            backbone_channel_list=[64, 32, 16, 8],
            backbone_feature_sizes=[[16, 16], [8, 8], [4, 4]],
            fpn_hidden_size=32,
        ),
        prompt_encoder_config=transformers.Sam2PromptEncoderConfig(
            hidden_size=32, image_size=64, mask_input_channels=4
        ),
        mask_decoder_config=transformers.Sam2MaskDecoderConfig(**DECODER, hidden_size=32),
    )
    torch.manual_seed(1)
    folder = save(transformers.Sam2Model(config))
    told = {
        "size": {"height": 64, "width": 64},
        "image_mean": [0.485, 0.456, 0.406],
        "image_std": [0.229, 0.224, 0.225],
    }
    (folder / "preprocessor_config.json").write_text(json.dumps(told))
    return folder


@pytest.fixture(params=["sam", "sam2"])
def segmenter(request: pytest.FixtureRequest) -> SamSegmenter:
    return SamSegmenter(request.getfixturevalue(f"{request.param}_folder"), device="cpu")


def test_the_masks_of_sam_are_those_of_the_library(sam_folder: Path, picture: Callable[..., Pixels]) -> None:
    image = picture(5)
    model = transformers.SamModel.from_pretrained(sam_folder)
    processor = transformers.SamProcessor(transformers.AutoImageProcessor.from_pretrained(sam_folder, backend="pil"))
    ours = SamSegmenter(sam_folder, device="cpu")
    features = ours.look([image])[0]

    def theirs(multimask: bool, **prompt: Any) -> Any:
        inputs = processor(image, return_tensors="pt", **prompt)
        sizes = inputs.pop("original_sizes"), inputs.pop("reshaped_input_sizes")
        inputs = {name: value.float() if value.is_floating_point() else value for name, value in inputs.items()}
        with torch.inference_mode():
            told = model(**inputs, multimask_output=multimask)
        return processor.post_process_masks(told.pred_masks, *sizes)[0], told.iou_scores[0]

    masks, _ = theirs(False, input_boxes=[BOXES.tolist()])
    cut = ours.cut([(features, SegmentPrompt(boxes=BOXES))])[0]
    assert cut.shape == (3, 40, 60)
    assert (cut == masks[:, 0].numpy()).mean() > 0.999  # a pixel may lie on the very edge

    masks, sure = theirs(True, input_points=[POINTS[:, None].tolist()])
    cut = ours.cut([(features, SegmentPrompt(points=POINTS))])[0]
    assert (cut == masks[torch.arange(2), sure.argmax(1)].numpy()).mean() > 0.999
    assert 0 < cut.mean() < 1


def test_the_masks_of_sam2_are_those_of_the_library(sam2_folder: Path, picture: Callable[..., Pixels]) -> None:
    image = picture(5)
    small = np.asarray(Image.fromarray(image).resize((64, 64), Image.Resampling.BILINEAR), np.float32) / 255
    ready = ((small - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]).transpose(2, 0, 1)[None]
    scale = np.array([64 / 60, 64 / 40] * 2, np.float32)
    model = transformers.Sam2Model.from_pretrained(sam2_folder)
    with torch.inference_mode():
        told = model(
            pixel_values=torch.tensor(ready, dtype=torch.float32),
            input_boxes=torch.tensor(BOXES * scale)[None],
            multimask_output=False,
        )
        masks = torch.nn.functional.interpolate(told.pred_masks[0], (40, 60), mode="bilinear", align_corners=False)
    ours = SamSegmenter(sam2_folder, device="cpu")
    cut = ours.cut([(ours.look([image])[0], SegmentPrompt(boxes=BOXES))])[0]
    assert (cut == (masks[:, 0] > 0).numpy()).mean() > 0.999
    assert 0 < cut.mean() < 1


@pytest.mark.parametrize("prompt", [SegmentPrompt(boxes=BOXES), SegmentPrompt(points=POINTS)])
def test_the_batch_does_not_matter(
    segmenter: SamSegmenter, picture: Callable[..., Pixels], prompt: SegmentPrompt
) -> None:
    images = [picture(1), picture(2, 70, 50), picture(3, 64, 64)]
    together = segmenter.cut([(features, prompt) for features in segmenter.look(images)])
    for image, masks in zip(images, together, strict=True):
        assert masks.shape[1:] == image.shape[:2]
        alone = segmenter.cut([(segmenter.look([image])[0], prompt)])[0]
        assert (masks == alone).mean() > 0.999


def test_prompts_of_one_question_do_not_depend_on_each_other(
    segmenter: SamSegmenter, picture: Callable[..., Pixels]
) -> None:
    features = segmenter.look([picture(4), picture(5)])[0]
    for array in features.values():
        array.setflags(write=False)  # as the service hands them out
    assert all(array.base is None for array in features.values())  # no row keeps its batch alive
    together = segmenter.cut([(features, SegmentPrompt(boxes=BOXES))])[0]
    single = [segmenter.cut([(features, SegmentPrompt(boxes=box[None]))])[0][0] for box in BOXES]
    assert (together == np.stack(single)).mean() > 0.999


def test_nothing_asked_nothing_cut(segmenter: SamSegmenter, picture: Callable[..., Pixels]) -> None:
    assert isinstance(segmenter, Segmenter)
    features = segmenter.look([picture()])[0]
    assert segmenter.cut([(features, SegmentPrompt(boxes=np.zeros((0, 4), np.float32)))])[0].shape == (0, 40, 60)
    assert segmenter.card.input_size == (64, 64)


NAMES = {0: "sky", 1: "grass", 2: "cat"}


def test_the_classes_are_those_of_the_library(save: Callable[..., Path], picture: Callable[..., Pixels]) -> None:
    config = transformers.SegformerConfig(
        depths=[1] * 4, hidden_sizes=[8, 8, 16, 16], decoder_hidden_size=16, num_labels=3, id2label=NAMES
    )
    torch.manual_seed(1)
    processor = transformers.SegformerImageProcessorPil(size={"height": 64, "width": 64})
    folder = save(transformers.SegformerForSemanticSegmentation(config), processor)
    images = [picture(1), picture(2, 70, 30)]
    model = transformers.SegformerForSemanticSegmentation.from_pretrained(folder)
    mapper = ClassMapper(folder, device="cpu")
    assert isinstance(mapper, SemanticSegmenter)
    for image, found in zip(images, mapper.label(images), strict=True):
        with torch.inference_mode():
            told = model(**processor([image], return_tensors="pt"))
        theirs = processor.post_process_semantic_segmentation(told, target_sizes=[image.shape[:2]])[0].numpy()
        assert found.labels.shape == image.shape[:2]
        assert (found.labels == theirs).mean() > 0.999
        assert found.classes == ("sky", "grass", "cat")
        np.testing.assert_array_equal(found.mask("cat"), found.labels == 2)
    assert len(np.unique(mapper.label(images)[0].labels)) > 1
