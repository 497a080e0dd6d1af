"""DreamSim: each branch answers as the library's own network does with the same weights; strange files are refused."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file

from editgauge._util.images import Pixels
from editgauge.errors import BadInputError
from editgauge.models.hub._network import IMAGENET_MEAN, IMAGENET_STD
from editgauge.models.hub.dreamsim import CLIP_MEAN, CLIP_STD, DreamSim
from editgauge.models.profiles import make_model
from editgauge.models.roles import PerceptualDistance

pytestmark = pytest.mark.slow

transformers: Any = import_module("transformers")  # hardly any of its functions say their types
SHAPE = {
    "hidden_size": 128, "num_attention_heads": 2, "num_hidden_layers": 2, "intermediate_size": 256,
    "image_size": 224, "patch_size": 56,
}  # fmt: skip
START = "extractor_list.{}.model."


def networks() -> tuple[Any, Any, Any]:
    """DINO, CLIP and OpenCLIP as the library has them, small and random."""
    torch.manual_seed(3)
    dino = transformers.ViTModel(transformers.ViTConfig(**SHAPE, layer_norm_eps=1e-6), add_pooling_layer=False)
    towers = [
        transformers.CLIPVisionModelWithProjection(
            transformers.CLIPVisionConfig(**SHAPE, hidden_act=activation, projection_dim=24)
        )
        for activation in ("quick_gelu", "gelu")
    ]
    for network in (dino, *towers):
        for values in network.parameters():
            torch.nn.init.normal_(values, 0, 0.15)
        network.eval()
    return dino, *towers


def joined(weights: dict[str, torch.Tensor], start: str, kind: str) -> torch.Tensor:
    return torch.cat([weights[f"{start}{part}.{kind}"] for part in ("q_proj", "k_proj", "v_proj")])


def as_dino_code(network: Any, *, clip: bool) -> dict[str, torch.Tensor]:
    """The same weights under the names of DINO's code."""
    given = {name.removeprefix("vision_model."): value for name, value in network.state_dict().items()}
    layers = "encoder.layers" if clip else "layers"
    norms = ("layer_norm1", "layer_norm2") if clip else ("layernorm_before", "layernorm_after")
    out = "out_proj" if clip else "o_proj"
    attention = "self_attn" if clip else "attention"
    tensors: dict[str, torch.Tensor] = {}
    for layer in range(2):
        for kind in ("weight", "bias"):
            old, new = f"{layers}.{layer}.", f"blocks.{layer}."
            tensors[f"{new}attn.qkv.{kind}"] = joined(given, f"{old}{attention}.", kind)
            tensors[f"{new}attn.proj.{kind}"] = given[f"{old}{attention}.{out}.{kind}"]
            for place, norm in enumerate(norms, start=1):
                tensors[f"{new}norm{place}.{kind}"] = given[f"{old}{norm}.{kind}"]
                tensors[f"{new}mlp.fc{place}.{kind}"] = given[f"{old}mlp.fc{place}.{kind}"]
    for kind in ("weight", "bias"):
        tensors[f"norm.{kind}"] = given[f"post_layernorm.{kind}" if clip else f"layernorm.{kind}"]
    if clip:
        tensors["cls_token"] = given["embeddings.class_embedding"].reshape(1, 1, -1)
        tensors["pos_embed"] = given["embeddings.position_embedding.weight"][None]
        tensors["patch_embed.proj.weight"] = given["embeddings.patch_embedding.weight"]
        tensors |= {f"pos_drop.{kind}": given[f"pre_layrnorm.{kind}"] for kind in ("weight", "bias")}
    else:
        tensors["cls_token"] = given["embeddings.cls_token"]
        tensors["pos_embed"] = given["embeddings.position_embeddings"]
        for kind in ("weight", "bias"):
            tensors[f"patch_embed.proj.{kind}"] = given[f"embeddings.patch_embeddings.projection.{kind}"]
    return tensors


def ensemble(three: tuple[Any, Any, Any]) -> dict[str, torch.Tensor]:
    tensors: dict[str, torch.Tensor] = {}
    for place, network in enumerate(three):
        of_one = as_dino_code(network, clip=place > 0)
        tensors |= {START.format(place) + name: value.clone() for name, value in of_one.items()}
        if place:
            tensors[f"extractor_list.{place}.proj"] = network.state_dict()["visual_projection.weight"].T.clone()
    return tensors


def write(folder: Path, tensors: dict[str, torch.Tensor]) -> Path:
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "dreamsim"}')
    save_file({name: value.contiguous() for name, value in tensors.items()}, folder / "model.safetensors")
    return folder


def distance_by_the_paper(three: tuple[Any, Any, Any], one: Pixels, other: Pixels) -> float:
    """Section 4 and the released code: class token of the last layer of DINO, embeddings of both CLIPs, joined,
    without their mean; one minus the cosine.
    """
    vectors = []
    for image in (one, other):
        small = np.asarray(Image.fromarray(image).resize((224, 224), Image.Resampling.BICUBIC), np.float64) / 255
        parts = []
        for place, network in enumerate(three):
            mean, std = (CLIP_MEAN, CLIP_STD) if place else (IMAGENET_MEAN, IMAGENET_STD)
            pixels = torch.tensor(((small - mean) / std).transpose(2, 0, 1)[None], dtype=torch.float32)
            with torch.inference_mode():
                answer = network(pixel_values=pixels, output_hidden_states=True)
            parts.append(answer.image_embeds[0] if place else answer.hidden_states[-1][0, 0])
        vectors.append(torch.cat(parts).double())
    first, second = (vector - vector.mean() for vector in vectors)
    return 1 - float(torch.nn.functional.cosine_similarity(first, second, dim=0))


def test_distances_are_those_of_the_paper(tmp_path: Path, picture: Callable[..., Pixels]) -> None:
    three = networks()
    folder = write(tmp_path / "dreamsim", ensemble(three))
    model = make_model(f"dreamsim:{folder}")
    assert isinstance(model, PerceptualDistance)
    images = [picture(1), picture(2, 70, 30), picture(3, 300, 240)]
    pairs = [(images[0], images[1]), (images[0], images[2]), (images[1], images[1])]
    expected = [distance_by_the_paper(three, *pair) for pair in pairs]
    np.testing.assert_allclose(model.compare(pairs), expected, atol=1e-5)
    assert model.compare(pairs)[2] == pytest.approx(0, abs=1e-6)
    assert min(model.compare(pairs)[:2]) > 1e-3
    assert model.compare([]) == []
    assert model.card.role == "perceptual_distance"
    assert model.card.input_size == (224, 224)


def test_one_branch_alone_and_the_head_of_dino_in_the_file_are_fine(
    tmp_path: Path, picture: Callable[..., Pixels]
) -> None:
    dino = as_dino_code(networks()[0], clip=False)
    head = {"proj.mlp.0.weight": torch.ones(4, 4), "proj.last_layer.weight_v": torch.ones(4, 4)}
    model = DreamSim(write(tmp_path / "one", {**dino, **head}), device="cpu")
    assert len(model.branches) == 1
    assert model.compare([(picture(1), picture(2))])[0] > 1e-3


def test_files_of_another_network_are_refused_with_every_reason(tmp_path: Path) -> None:
    tensors = ensemble(networks())
    del tensors["extractor_list.0.model.blocks.1.mlp.fc2.bias"]
    del tensors["extractor_list.2.proj"]
    tensors["adapter.lora_A.weight"] = torch.ones(2, 2)
    model = DreamSim(write(tmp_path / "gaps", tensors), device="cpu")
    with pytest.raises(BadInputError) as refused:
        model.branches  # noqa: B018 - loading is what is tested
    for reason in ("blocks.1.mlp.fc2.bias' is missing", "2 towers of CLIP and 1 projections", "lora_A.weight' is not"):
        assert reason in str(refused.value)
