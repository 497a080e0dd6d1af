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
from editgauge.models.hub.dino import DinoEmbedder
from editgauge.models.roles import ImageEmbedder

pytestmark = pytest.mark.slow

transformers: Any = import_module("transformers")  # hardly any of its functions say their types

SQUARE = {"height": 32, "width": 32}
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


@pytest.fixture(scope="module", params=["vit", "dinov2", "dinov2_with_registers", "dinov3_vit"])
def folder(request: pytest.FixtureRequest, save: Callable[..., Path], layer: dict[str, int]) -> Path:
    shape = {**layer, "image_size": 32, "patch_size": 8}
    torch.manual_seed(1)
    if request.param == "vit":
        model = transformers.ViTModel(transformers.ViTConfig(**shape), add_pooling_layer=False)
        return save(model, transformers.ViTImageProcessorPil(size=SQUARE))
    if request.param == "dinov3_vit":
        folder = save(transformers.DINOv3ViTModel(transformers.DINOv3ViTConfig(**shape, num_register_tokens=2)))
        told = {"size": SQUARE, "image_mean": MEAN, "image_std": STD, "resample": 2}
        (folder / "preprocessor_config.json").write_text(json.dumps(told))
        return folder
    crop = transformers.BitImageProcessorPil(size={"shortest_edge": 36}, crop_size=SQUARE)
    if request.param == "dinov2":
        return save(transformers.Dinov2Model(transformers.Dinov2Config(**shape)), crop)
    registers = transformers.Dinov2WithRegistersConfig(**shape, num_register_tokens=2)
    return save(transformers.Dinov2WithRegistersModel(registers), crop)


def as_the_library_sees(folder: Path, image: Pixels) -> torch.Tensor:
    if "dinov3" in (folder / "config.json").read_text():
        small = np.asarray(Image.fromarray(image).resize((32, 32), Image.Resampling.BILINEAR), np.float64)
        return torch.tensor(((small / 255 - MEAN) / STD).transpose(2, 0, 1)[None], dtype=torch.float32)
    processor = transformers.AutoImageProcessor.from_pretrained(folder, backend="pil")
    values: torch.Tensor = processor([image], return_tensors="pt")["pixel_values"]
    return values


def test_vectors_are_the_class_tokens_of_the_library(folder: Path, picture: Callable[..., Pixels]) -> None:
    model = transformers.AutoModel.from_pretrained(folder).eval()
    images = [picture(1), picture(2, 70, 30), picture(3, 32, 32)]
    with torch.inference_mode():
        told = torch.cat([model(as_the_library_sees(folder, image)).last_hidden_state[:, 0] for image in images])
    embedder = DinoEmbedder(folder, device="cpu")
    together = embedder.embed(images)
    assert isinstance(embedder, ImageEmbedder)
    assert together.dtype == np.float32
    np.testing.assert_allclose(together, told, atol=1e-5)
    np.testing.assert_allclose(np.concatenate([embedder.embed([image]) for image in images]), together, atol=1e-5)
    assert np.linalg.norm(together[0] - together[1]) > 0.1
    assert embedder.embed([]).shape == (0, 16)


def test_the_card_says_which_token_is_taken(folder: Path) -> None:
    card = DinoEmbedder(folder, device="cpu").card
    assert card.role == "image_embedder"
    assert card.input_size == (32, 32)
    assert card.settings == {"precision": "float32", "layer": "last", "token": "class"}
