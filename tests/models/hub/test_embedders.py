"""CLIP and DINO, as small random networks."""

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
from editgauge.errors import BadInputError
from editgauge.models.hub.embedders import ClipEmbedder, DinoEmbedder, attention_pooled
from editgauge.models.roles import ImageEmbedder, JointEmbedder

pytestmark = pytest.mark.slow

transformers: Any = import_module("transformers")  # hardly any of its functions say their types

TEXTS = ["a cat", "The red dog of a cat", "people " * 40]
SQUARE = {"height": 32, "width": 32}
PROCESSORS = {
    "clip": lambda: transformers.CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size=SQUARE),
    "siglip": lambda: transformers.SiglipImageProcessorPil(size=SQUARE),
}


@pytest.fixture(scope="module", params=["clip", "siglip"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def build(layer: dict[str, int], clip_text: Callable[[int], dict[str, int]]) -> Callable[[str], Any]:
    def make(kind: str) -> Any:
        vision = {**layer, "image_size": 32, "patch_size": 8}
        torch.manual_seed(1)
        if kind == "clip":
            joint = {"text_config": clip_text(20), "vision_config": vision, "projection_dim": 12}
            return transformers.CLIPModel(transformers.CLIPConfig(**joint))
        text = transformers.SiglipTextConfig(**clip_text(20))
        return transformers.SiglipModel(transformers.SiglipConfig(text_config=text, vision_config=vision))

    return make


@pytest.fixture(scope="module")
def folder(
    kind: str, build: Callable[[str], Any], save: Callable[..., Path], clip_tokenizer: Callable[[int], Any]
) -> Path:
    return save(build(kind), PROCESSORS[kind](), clip_tokenizer(20))


@pytest.fixture
def embedder(folder: Path) -> ClipEmbedder:
    return ClipEmbedder(folder, device="cpu")


def test_vectors_are_those_of_the_library(
    embedder: ClipEmbedder, folder: Path, kind: str, picture: Callable[..., Pixels]
) -> None:
    model = transformers.AutoModel.from_pretrained(folder)
    processor = transformers.AutoImageProcessor.from_pretrained(folder, backend="pil")
    texts = [text.lower() for text in TEXTS] if kind == "siglip" else TEXTS
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tokens = tokenizer(texts, padding="max_length", max_length=20, truncation=True, return_tensors="pt")
    if kind == "siglip":
        tokens = {"input_ids": tokens["input_ids"]}
    images = [picture(1), picture(2, 70, 30)]
    with torch.inference_mode():
        told = model(pixel_values=processor(images, return_tensors="pt")["pixel_values"], **tokens)
    np.testing.assert_allclose(embedder.embed_images(images), told.image_embeds, atol=1e-5)
    np.testing.assert_allclose(embedder.embed_texts(TEXTS), told.text_embeds, atol=1e-5)


def test_unit_vectors_whatever_the_batch(embedder: ClipEmbedder, picture: Callable[..., Pixels]) -> None:
    assert isinstance(embedder, JointEmbedder)
    images = [picture(1), picture(2, 70, 30), picture(3, 32, 32)]
    seen, read = embedder.embed_images(images), embedder.embed_texts(TEXTS)
    for vectors in (seen, read):
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(np.concatenate([embedder.embed_images([image]) for image in images]), seen, atol=1e-5)
    np.testing.assert_allclose(np.concatenate([embedder.embed_texts([text]) for text in TEXTS]), read, atol=1e-5)
    assert embedder.embed_images([]).shape == (0, seen.shape[1])
    assert embedder.embed_texts([]).shape == (0, read.shape[1])


def test_looking_at_attention_leaves_the_vectors_alone(embedder: ClipEmbedder, picture: Callable[..., Pixels]) -> None:
    before = embedder.embed_images([picture(1)])
    first, second = (embedder.explain([(picture(1), embedder.embed_texts(["a cat"])[0])])[0] for _ in range(2))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(embedder.embed_images([picture(1)]), before)


def test_a_map_covers_the_picture_and_is_nowhere_negative(
    embedder: ClipEmbedder, picture: Callable[..., Pixels]
) -> None:
    towards = embedder.embed_texts(["a red cup"])[0]
    images = [picture(1, 40, 60), picture(2, 70, 30)]
    for array in (towards, *images):
        array.setflags(write=False)  # as the service hands them out
    maps = embedder.explain([(image, towards) for image in images])
    for image, shown in zip(images, maps, strict=True):
        assert shown.shape == image.shape[:2]
        assert shown.min() >= 0
        assert shown.max() > 0
    np.testing.assert_allclose(maps[1], embedder.explain([(images[1], towards)])[0], atol=1e-5)


def reads_colors(model: Any, kind: str) -> Any:
    """Turns the network into one that can be worked out by hand.

    A patch becomes its red, green and blue; every token attends to all others alike; the picture is the mean of its
    patches. So the share of a patch in the likeness with "red" is how red it is.
    """
    with torch.no_grad():
        for name, values in model.named_parameters():
            values.fill_(1.0 if "norm" in name and name.endswith("weight") else 0.0)
        tower = model.vision_model
        for color in range(3):
            tower.embeddings.patch_embedding.weight[color, color] = 1.0
        if kind == "clip":
            for layer in tower.encoder.layers:
                layer.self_attn.v_proj.weight.copy_(torch.eye(16))
                layer.self_attn.out_proj.weight.copy_(torch.eye(16))
            tower.embeddings.class_embedding[3] = 1.0
            model.visual_projection.weight[:12, :12] = torch.eye(12)
        else:
            tower.head.attention.in_proj_weight[32:] = torch.eye(16)
            tower.head.attention.out_proj.weight.copy_(torch.eye(16))
    return model


@pytest.mark.parametrize(("row", "column"), [(0, 0), (1, 2), (3, 1)])
def test_the_patch_that_alone_carries_the_likeness_is_the_most_relevant(
    kind: str, build: Callable[[str], Any], tmp_path: Path, row: int, column: int
) -> None:
    reads_colors(build(kind), kind).save_pretrained(tmp_path)
    PROCESSORS[kind]().save_pretrained(tmp_path)
    image = np.zeros((64, 64, 3), np.uint8)
    image[..., 2] = 200
    image[16 * row : 16 * row + 16, 16 * column : 16 * column + 16] = [250, 0, 0]
    red = np.eye(12 if kind == "clip" else 16, dtype=np.float32)[0]
    shown = ClipEmbedder(tmp_path, device="cpu").explain([(image, red)])[0]
    patches = shown.reshape(4, 16, 4, 16).mean(axis=(1, 3))
    assert np.unravel_index(patches.argmax(), patches.shape) == (row, column)
    assert np.sort(patches.ravel())[-2] < 0.8 * patches.max()


def test_what_clip_does_not_see_has_no_share(kind: str, embedder: ClipEmbedder, picture: Callable[..., Pixels]) -> None:
    """CLIP cuts the square out of the middle, SigLIP squeezes the whole picture into one."""
    shown = embedder.explain([(picture(1, 40, 100), embedder.embed_texts(["a cat"])[0])])[0]
    outside = np.concatenate([shown[:, :30], shown[:, 70:]], axis=1)
    assert (outside == 0).all() if kind == "clip" else outside.max() > 0


def test_the_pooling_written_out_is_the_pooling_of_siglip(build: Callable[[str], Any]) -> None:
    head = build("siglip").vision_model.head
    tokens = torch.randn(1, 16, 16, generator=torch.Generator().manual_seed(3))
    torch.nn.init.normal_(head.attention.in_proj_bias)
    pooled, attention = attention_pooled(head, tokens)
    torch.testing.assert_close(pooled, head(tokens), atol=1e-5, rtol=0)
    assert attention.shape == (1, 2, 1, 16)


def test_int8_explains_nothing(folder: Path, picture: Callable[..., Pixels]) -> None:
    with pytest.raises(BadInputError, match="gradients"):
        ClipEmbedder(folder, device="cpu", precision="int8").explain([(picture(), np.zeros(12, np.float32))])


MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


@pytest.fixture(scope="module", params=["vit", "dinov2", "dinov2_with_registers", "dinov3_vit"])
def dino_folder(request: pytest.FixtureRequest, save: Callable[..., Path], layer: dict[str, int]) -> Path:
    shape = {**layer, "image_size": 32, "patch_size": 8}
    torch.manual_seed(1)
    if request.param == "vit":
        model = transformers.ViTModel(transformers.ViTConfig(**shape), add_pooling_layer=False)
        return save(model, transformers.ViTImageProcessorPil(size=SQUARE))
    if request.param == "dinov3_vit":
        dino_folder = save(transformers.DINOv3ViTModel(transformers.DINOv3ViTConfig(**shape, num_register_tokens=2)))
        told = {"size": SQUARE, "image_mean": MEAN, "image_std": STD, "resample": 2}
        (dino_folder / "preprocessor_config.json").write_text(json.dumps(told))
        return dino_folder
    crop = transformers.BitImageProcessorPil(size={"shortest_edge": 36}, crop_size=SQUARE)
    if request.param == "dinov2":
        return save(transformers.Dinov2Model(transformers.Dinov2Config(**shape)), crop)
    registers = transformers.Dinov2WithRegistersConfig(**shape, num_register_tokens=2)
    return save(transformers.Dinov2WithRegistersModel(registers), crop)


def as_the_library_sees(dino_folder: Path, image: Pixels) -> torch.Tensor:
    if "dinov3" in (dino_folder / "config.json").read_text():
        small = np.asarray(Image.fromarray(image).resize((32, 32), Image.Resampling.BILINEAR), np.float64)
        return torch.tensor(((small / 255 - MEAN) / STD).transpose(2, 0, 1)[None], dtype=torch.float32)
    processor = transformers.AutoImageProcessor.from_pretrained(dino_folder, backend="pil")
    values: torch.Tensor = processor([image], return_tensors="pt")["pixel_values"]
    return values


def test_vectors_are_the_class_tokens_of_the_library(dino_folder: Path, picture: Callable[..., Pixels]) -> None:
    model = transformers.AutoModel.from_pretrained(dino_folder).eval()
    images = [picture(1), picture(2, 70, 30), picture(3, 32, 32)]
    with torch.inference_mode():
        told = torch.cat([model(as_the_library_sees(dino_folder, image)).last_hidden_state[:, 0] for image in images])
    embedder = DinoEmbedder(dino_folder, device="cpu")
    together = embedder.embed(images)
    assert isinstance(embedder, ImageEmbedder)
    assert together.dtype == np.float32
    np.testing.assert_allclose(together, told, atol=1e-5)
    np.testing.assert_allclose(np.concatenate([embedder.embed([image]) for image in images]), together, atol=1e-5)
    assert np.linalg.norm(together[0] - together[1]) > 0.1
    assert embedder.embed([]).shape == (0, 16)


def test_the_card_says_which_token_is_taken(dino_folder: Path) -> None:
    card = DinoEmbedder(dino_folder, device="cpu").card
    assert card.role == "image_embedder"
    assert card.input_size == (32, 32)
    assert card.settings == {"precision": "float32", "layer": "last", "token": "class"}
