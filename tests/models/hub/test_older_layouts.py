"""Checkpoints as older repositories of the hub hold them: pickled weights, `vocab.json` with `merges.txt`, plain sizes.

The same small network is saved twice, as the library writes it today and in the older layout; both must answer alike.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from editgauge._util.images import Pixels
from editgauge.models.hub.clip import ClipEmbedder
from editgauge.models.hub.dino import DinoEmbedder

pytestmark = pytest.mark.slow

transformers: Any = import_module("transformers")  # hardly any of its functions say their types
SIDE = 32
MEAN, STD = [0.48, 0.46, 0.41], [0.27, 0.26, 0.28]
LETTERS = [chr(place) for place in range(ord("a"), ord("z") + 1)]
MERGES = ["c a", "ca t</w>", "d o", "do g</w>"]


def older(folder: Path, network: Any, preprocessing: dict[str, Any]) -> Path:
    """The network's folder beside the given one, with pickled weights and one number for a size."""
    place = folder.with_name(f"{folder.name}-older")
    place.mkdir()
    shutil.copy(folder / "config.json", place)
    torch.save(network.state_dict(), place / "pytorch_model.bin")
    (place / "preprocessor_config.json").write_text(json.dumps(preprocessing))
    return place


def write_vocabulary(folder: Path) -> int:
    """CLIP's two files for a handful of words; gives the number of tokens."""
    tokens = [*LETTERS, *(f"{letter}</w>" for letter in LETTERS), *(merge.replace(" ", "") for merge in MERGES)]
    tokens += ["<|startoftext|>", "<|endoftext|>"]
    (folder / "vocab.json").write_text(json.dumps({token: place for place, token in enumerate(tokens)}))
    (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *MERGES, ""]))
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "CLIPTokenizer", "model_max_length": 20})
    )
    return len(tokens)


@pytest.fixture(scope="module")
def clips(
    save: Callable[..., Path], layer: dict[str, int], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path]:
    count = write_vocabulary(words := tmp_path_factory.mktemp("words"))
    special = {"bos_token_id": count - 2, "eos_token_id": count - 1, "pad_token_id": count - 1}
    text = {**layer, **special, "vocab_size": count, "max_position_embeddings": 20}
    vision = {**layer, "image_size": SIDE, "patch_size": 8}
    torch.manual_seed(1)
    made = transformers.CLIPModel(transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=24))
    square = {"height": SIDE, "width": SIDE}
    looks = {"image_mean": MEAN, "image_std": STD}
    processor = transformers.CLIPImageProcessorPil(size={"shortest_edge": SIDE}, crop_size=square, **looks)
    newer = save(made, processor)
    told = {"feature_extractor_type": "CLIPFeatureExtractor", "size": SIDE, "crop_size": SIDE, "resample": 3, **looks}
    folder = older(newer, made, {**told, "do_resize": True, "do_center_crop": True, "do_normalize": True})
    for file in words.iterdir():
        shutil.copy(file, folder)
        shutil.copy(file, newer)
    return newer, folder


def test_clip_answers_alike_from_either_layout(clips: tuple[Path, Path], picture: Callable[..., Pixels]) -> None:
    newer, older_one = (ClipEmbedder(folder, device="cpu") for folder in clips)

    assert not (clips[1] / "model.safetensors").exists()
    assert older_one.card.input_size == (SIDE, SIDE)
    images = [picture(seed) for seed in range(3)]
    assert np.allclose(older_one.embed_images(images), newer.embed_images(images), atol=1e-6)
    texts = older_one.embed_texts(["cat", "a dog"])
    assert np.allclose(texts, newer.embed_texts(["cat", "a dog"]), atol=1e-6)
    assert not np.allclose(texts[0], texts[1])


def test_words_are_joined_by_the_merges(clips: tuple[Path, Path]) -> None:
    tokens = ClipEmbedder(clips[1], device="cpu").tokenizer("a cat")["input_ids"]
    vocabulary = json.loads((clips[1] / "vocab.json").read_text())

    assert tokens[1:-1] == [vocabulary["a</w>"], vocabulary["cat</w>"]]


def test_dino_answers_alike_from_either_layout(
    save: Callable[..., Path], layer: dict[str, int], picture: Callable[..., Pixels]
) -> None:
    torch.manual_seed(2)
    made = transformers.ViTModel(
        transformers.ViTConfig(**layer, image_size=SIDE, patch_size=8), add_pooling_layer=False
    )
    looks = {"image_mean": MEAN, "image_std": STD}
    newer = save(made, transformers.ViTImageProcessorPil(size={"height": SIDE, "width": SIDE}, resample=2, **looks))
    told = {"feature_extractor_type": "ViTFeatureExtractor", "size": SIDE, "resample": 2, **looks}
    folder = older(newer, made, {**told, "do_resize": True, "do_normalize": True})
    images = [picture(seed) for seed in range(3)]

    answers = [DinoEmbedder(place, device="cpu").embed(images) for place in (newer, folder)]

    assert np.allclose(answers[0], answers[1], atol=1e-6)
