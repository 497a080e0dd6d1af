from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from editgauge._util.images import Pixels
from editgauge.models.hub.semantic import ClassMapper
from editgauge.models.roles import SemanticSegmenter

pytestmark = pytest.mark.slow

transformers: Any = import_module("transformers")  # hardly any of its functions say their types

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
