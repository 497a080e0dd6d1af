"""Latents of a real, if tiny, diffusion pipeline: built from configs, with random weights, nothing downloaded."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from editgauge._util.images import read_image
from editgauge.disentanglement._latents import PipelineSettings, make_latents, pipeline_settings
from editgauge.disentanglement.disentangle import disentangle
from editgauge.errors import BadInputError, UnknownNameError

pytestmark = pytest.mark.slow

pytest.importorskip("diffusers", reason="NOT TEST_FRACTION: diffusers is not installed")
pytest.importorskip("torch", reason="NOT TEST_FRACTION: torch is not installed")

WORDS = ("red", "blue", "chair", "ball")
PROMPTS = ("red", "blue", "red chair", "blue ball")
SIZE, STEPS = 16, 3


def tokenizer(folder: Path) -> Any:
    """CLIP's tokenizer over four words and all letters."""
    from transformers import CLIPTokenizer

    letters = [*map(chr, range(33, 127))]
    vocabulary = [*letters, *(f"{letter}</w>" for letter in letters)]
    merges = []
    for word in WORDS:
        whole = word[0]
        for place, letter in enumerate(word[1:], start=1):
            piece = f"{letter}</w>" if place == len(word) - 1 else letter
            merges.append(f"{whole} {piece}")
            whole += piece
            vocabulary.append(whole)
    vocabulary += ["<|startoftext|>", "<|endoftext|>"]
    numbers = {piece: number for number, piece in enumerate(dict.fromkeys(vocabulary))}
    (folder / "vocab.json").write_text(json.dumps(numbers))
    (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *dict.fromkeys(merges)]) + "\n")
    return CLIPTokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"), model_max_length=16)


def components(folder: Path, channels_in: int) -> dict[str, Any]:
    import torch
    from transformers import CLIPTextConfig, CLIPTextModel

    diffusers: Any = import_module("diffusers")
    torch.manual_seed(0)
    words = tokenizer(folder)
    ends = {
        name: words.convert_tokens_to_ids(f"<|{text}|>")
        for name, text in (("bos", "startoftext"), ("eos", "endoftext"))
    }
    text = CLIPTextConfig(
        vocab_size=len(words),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=16,
        bos_token_id=ends["bos"],
        eos_token_id=ends["eos"],
        pad_token_id=ends["eos"],
    )
    unet = diffusers.UNet2DConditionModel(
        sample_size=8,
        in_channels=channels_in,
        out_channels=4,
        block_out_channels=(8, 16),
        layers_per_block=1,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=16,
        attention_head_dim=2,
        norm_num_groups=4,
    )
    coder = diffusers.AutoencoderKL(
        in_channels=3,
        out_channels=3,
        latent_channels=4,
        block_out_channels=(8, 8),
        layers_per_block=1,
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
        norm_num_groups=4,
    )
    return {
        "tokenizer": words,
        "text_encoder": CLIPTextModel(text),
        "unet": unet,
        "vae": coder,
        "scheduler": diffusers.DDIMScheduler(clip_sample=False, set_alpha_to_one=False, steps_offset=1),
        "safety_checker": None,
        "feature_extractor": None,
        "requires_safety_checker": False,
    }


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a pipeline of this class, saved as the library saves it."""
    diffusers: Any = import_module("diffusers")
    made: dict[str, Path] = {}

    def save(kind: str) -> Path:
        if kind not in made:
            place = tmp_path_factory.mktemp(kind)
            parts = components(place, 8 if "InstructPix2Pix" in kind else 4)
            getattr(diffusers, kind)(**parts).save_pretrained(place / "pipeline")
            made[kind] = place / "pipeline"
        return made[kind]

    return save


def small(pipeline: Path, **more: Any) -> PipelineSettings:
    return pipeline_settings(None, {"pipeline": str(pipeline), "steps": STEPS, "size": SIZE, **more})


def latents(folder: Path) -> dict[str, Any]:
    return {prompt: np.load(folder / f"{prompt}.npy") for prompt in PROMPTS}


@pytest.mark.parametrize(
    "kind", ["StableDiffusionInstructPix2PixPipeline", "StableDiffusionImg2ImgPipeline", "StableDiffusionPipeline"]
)
def test_every_prompt_gets_its_latent_and_its_picture(saved: Callable[[str], Path], tmp_path: Path, kind: str) -> None:
    made = make_latents(small(saved(kind)), PROMPTS, tmp_path / "made", quiet=True)
    results = latents(made)
    assert {latent.shape for latent in results.values()} == {(4, SIZE // 2, SIZE // 2)}
    assert {latent.dtype for latent in results.values()} == {np.dtype(np.float32)}
    assert all(np.isfinite(latent).all() for latent in results.values())
    assert not np.array_equal(results["red"], results["blue"])
    assert read_image(made / "red chair.png").shape == (SIZE, SIZE, 3)


def test_the_same_seed_gives_the_same_latents_and_a_stop_costs_nothing(
    saved: Callable[[str], Path], tmp_path: Path
) -> None:
    place = saved("StableDiffusionInstructPix2PixPipeline")
    whole = latents(make_latents(small(place), PROMPTS, tmp_path / "whole", quiet=True))
    begun = make_latents(small(place), PROMPTS[:2], tmp_path / "begun", quiet=True)
    kept = (begun / "red.npy").stat().st_mtime_ns
    resumed = latents(make_latents(small(place), PROMPTS, begun, quiet=True))
    assert (begun / "red.npy").stat().st_mtime_ns == kept
    for prompt in PROMPTS:
        np.testing.assert_array_equal(resumed[prompt], whole[prompt])


def test_settings_are_never_mixed(saved: Callable[[str], Path], tmp_path: Path) -> None:
    place = saved("StableDiffusionInstructPix2PixPipeline")
    make_latents(small(place), PROMPTS[:1], tmp_path / "made", quiet=True)
    with pytest.raises(BadInputError, match="seed: 0 there, 1 asked for"):
        make_latents(small(place), PROMPTS, tmp_path / "made", seed=1, quiet=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "red.npy").write_bytes(b"")
    with pytest.raises(BadInputError, match="not made by `editgauge disentangle`"):
        make_latents(small(place), PROMPTS, tmp_path / "mine", quiet=True)


def test_from_a_pipeline_to_the_page(saved: Callable[[str], Path], tmp_path: Path) -> None:
    words = {
        "objects": ["chair", "ball"],
        "color": ["red", "blue", "green", "pink"],
        "style": ["retro", "modern", "surreal", "vintage"],
    }
    (tmp_path / "words.json").write_text(json.dumps(words))
    result = disentangle(
        [tmp_path / "tiny"],
        out=tmp_path / "out",
        pipeline=str(saved("StableDiffusionInstructPix2PixPipeline")),
        vocabulary=tmp_path / "words.json",
        steps=STEPS,
        size=SIZE,
        quiet=True,
    )
    (model,) = json.loads((tmp_path / "out" / "disentanglement.json").read_text("utf-8"))["models"]
    assert (model["model"], model["size"], model["prompts"]) == ("tiny", 4 * (SIZE // 2) ** 2, 24)
    assert (model["made"]["steps"], model["made"]["seed"]) == (STEPS, 0)
    assert 0 < model["overall"]["error"]["value"] < 10
    assert result.page.read_text("utf-8").count("data:image/png;base64,") == 2 * 2 * 4  # kinds, examples, pictures


@pytest.fixture(scope="module")
def controlnet(saved: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ControlNet that fits the small pipeline, saved by the library."""
    diffusers: Any = import_module("diffusers")
    pipe = diffusers.DiffusionPipeline.from_pretrained(saved("StableDiffusionPipeline"))
    network = diffusers.ControlNetModel.from_unet(pipe.unet, conditioning_embedding_out_channels=(8, 8))
    place = tmp_path_factory.mktemp("controlnet")
    network.save_pretrained(place)
    return place


def test_a_controlnet_joins_a_text_to_image_pipeline(
    saved: Callable[[str], Path], controlnet: Path, tmp_path: Path
) -> None:
    place = saved("StableDiffusionPipeline")
    plain = latents(make_latents(small(place), PROMPTS, tmp_path / "plain", quiet=True))
    joined = make_latents(small(place, controlnet=str(controlnet)), PROMPTS, tmp_path / "joined", quiet=True)
    assert {latent.shape for latent in latents(joined).values()} == {(4, SIZE // 2, SIZE // 2)}
    assert not np.array_equal(latents(joined)["red"], plain["red"])
    assert json.loads((joined / "latents.json").read_text("utf-8"))["controlnet"] == str(controlnet)


@pytest.mark.filterwarnings("ignore:__array__ implementation")  # of a scheduler in diffusers
def test_settings_reach_the_pipeline(saved: Callable[[str], Path], tmp_path: Path) -> None:
    place = saved("StableDiffusionInstructPix2PixPipeline")
    choices: list[dict[str, Any]] = [
        {},
        {"guidance": 25.0},
        {"image_guidance": 1.0},
        {"scheduler": "UniPCMultistepScheduler"},
    ]
    made = [
        latents(make_latents(small(place, **more), PROMPTS, tmp_path / str(number), quiet=True))["red"]
        for number, more in enumerate(choices)
    ]
    assert len({latent.tobytes() for latent in made}) == 4
    with pytest.raises(BadInputError, match="has no parameter strength"):
        make_latents(small(place, strength=0.5), PROMPTS, tmp_path / "strength", quiet=True)
    with pytest.raises(BadInputError, match="no scheduler 'Euler'"):
        make_latents(small(place, scheduler="Euler"), PROMPTS, tmp_path / "scheduler", quiet=True)


def test_a_preset_has_the_settings_of_the_public_code_and_yours_go_before() -> None:
    preset = pipeline_settings("instruct-pix2pix", {"pipeline": None, "steps": 20})
    assert (preset.pipeline, preset.steps, preset.size) == ("timbrooks/instruct-pix2pix", 20, 360)
    assert (preset.guidance, preset.image_guidance) == (25, 1)
    assert pipeline_settings("controlnet", {"pipeline": "my-copy"}).pipeline == "my-copy"
    with pytest.raises(UnknownNameError, match="lmc"):
        pipeline_settings("lmc", {})
    with pytest.raises(BadInputError, match="give `pipeline`"):
        pipeline_settings(None, {"guidance": 3.0})


def test_what_is_no_pipeline_is_told(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInputError, match="cannot be loaded as one that edits an image"):
        make_latents(small(tmp_path / "empty"), PROMPTS, tmp_path / "made", quiet=True)
    with pytest.raises(BadInputError, match="multiple of 8"):
        small(tmp_path / "empty", size=20)
