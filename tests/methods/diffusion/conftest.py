"""Small pipelines built from configs: real schedulers, networks and tokenizers, random weights, nothing fetched."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from editgauge._util.images import ImageFile, Pixels
from editgauge.types import Edit

diffusers: Any = pytest.importorskip("diffusers", reason="NOT TESTED: diffusers is not installed")
torch: Any = pytest.importorskip("torch", reason="NOT TESTED: torch is not installed")
transformers: Any = pytest.importorskip("transformers", reason="NOT TESTED: transformers is not installed")

WORDS = ("red", "blue", "cat", "dog", "photo", "sks")
LENGTH = 24
WIDTH = 32

Saved = Callable[[str], Path]


@pytest.fixture(scope="session")
def source() -> Pixels:
    """A picture with edges whose sides are no multiples of anything."""
    rows, columns = np.mgrid[0:60, 0:70]
    picture = np.stack([rows * 4, columns * 3, 255 - rows * 2], axis=-1).astype(np.uint8)
    picture[15:40, 20:50] = (200, 30, 40)
    return picture


@pytest.fixture(scope="session")
def request_() -> Edit:
    return Edit(
        id="cat-blue",
        source=ImageFile("cat.png", Path("cat.png")),
        type="color",
        instruction="make the cat blue",
        subject="cat",
        from_="red",
        to="blue",
        source_caption="a photo of a red cat",
        target_caption="a photo of a blue cat",
    )


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Saved:
    """The folder of a small model of this kind, as the library saves it."""
    place = tmp_path_factory.mktemp("models")

    def save(kind: str) -> Path:
        folder = place / kind
        if not folder.is_dir():
            MAKERS[kind](place / f"{kind}-parts").save_pretrained(folder)
        return folder

    return save


def clip_tokenizer(folder: Path) -> Any:
    """CLIP's tokenizer over a few words and all letters."""
    folder.mkdir(parents=True, exist_ok=True)
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
    return transformers.CLIPTokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"), model_max_length=LENGTH)


def clip_text(words: Any) -> Any:
    end = words.convert_tokens_to_ids("<|endoftext|>")
    return transformers.CLIPTextModel(
        transformers.CLIPTextConfig(
            vocab_size=len(words),
            hidden_size=WIDTH,
            intermediate_size=WIDTH,
            num_hidden_layers=2,
            num_attention_heads=2,
            max_position_embeddings=LENGTH,
            bos_token_id=words.convert_tokens_to_ids("<|startoftext|>"),
            eos_token_id=end,
            pad_token_id=end,
        )
    )


def autoencoder(**more: Any) -> Any:
    options: dict[str, Any] = {
        "latent_channels": 4,
        "block_out_channels": (8, 8, 8),
        "layers_per_block": 1,
        "down_block_types": ("DownEncoderBlock2D",) * 3,
        "up_block_types": ("UpDecoderBlock2D",) * 3,
        "norm_num_groups": 4,
        **more,
    }
    return diffusers.AutoencoderKL(**options)


BLOCKS: dict[str, Any] = {
    "block_out_channels": (8, 8, 16),
    "layers_per_block": 1,
    "down_block_types": ("CrossAttnDownBlock2D",) * 3,
    "cross_attention_dim": WIDTH,
    "attention_head_dim": 2,
    "norm_num_groups": 4,
}


def stable_diffusion(folder: Path, kind: str = "StableDiffusionPipeline", channels: int = 4, **more: Any) -> Any:
    """A Stable Diffusion pipeline with a picture's side 4 times that of its latents."""
    torch.manual_seed(0)
    words = clip_tokenizer(folder)
    unet = diffusers.UNet2DConditionModel(
        sample_size=16,
        in_channels=channels,
        out_channels=4,
        up_block_types=("CrossAttnUpBlock2D",) * 3,
        **BLOCKS,
        **more.pop("unet", {}),
    )
    parts = {
        "tokenizer": words,
        "text_encoder": clip_text(words),
        "unet": unet,
        "vae": autoencoder(),
        "scheduler": diffusers.PNDMScheduler(
            beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear", skip_prk_steps=True, steps_offset=1
        ),
        "safety_checker": None,
        "feature_extractor": None,
        "requires_safety_checker": False,
        **more,
    }
    return getattr(diffusers, kind)(**parts)


def flagging_everything(folder: Path) -> Any:
    """Stable Diffusion with its real safety checker, set so low that any picture is flagged."""
    safety = import_module("diffusers.pipelines.stable_diffusion.safety_checker")

    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    checker = safety.StableDiffusionSafetyChecker(
        transformers.CLIPConfig(
            vision_config={**sizes, "image_size": 32, "patch_size": 16}, text_config=sizes, projection_dim=16
        )
    )
    with torch.no_grad():
        checker.concept_embeds_weights.fill_(-2.0)
    extractor = transformers.CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32})
    return stable_diffusion(folder, safety_checker=checker, feature_extractor=extractor, requires_safety_checker=True)


def control(_folder: Path) -> Any:
    torch.manual_seed(1)
    network = diffusers.ControlNetModel(conditioning_embedding_out_channels=(8, 8, 16), **BLOCKS)
    for parameter in network.parameters():  # an untrained one answers nothing but zeros
        torch.nn.init.normal_(parameter, std=0.1)
    return network


def lcm(folder: Path) -> Any:
    return stable_diffusion(
        folder,
        "LatentConsistencyModelImg2ImgPipeline",
        unet={"time_cond_proj_dim": 16},
        scheduler=diffusers.LCMScheduler(),
    )


def t5_tokenizer() -> Any:
    """T5's tokenizer over a few words and all letters."""
    letters = [*map(chr, range(33, 127)), "\u2581"]
    pieces = ["<pad>", "</s>", "<unk>", *letters, *(f"\u2581{word}" for word in WORDS)]
    vocabulary = [(piece, -float(len(letters)) if piece in letters else -1.0) for piece in pieces]
    return transformers.T5Tokenizer(vocab=vocabulary, extra_ids=0)


def flux_kontext(folder: Path) -> Any:
    torch.manual_seed(0)
    words, more_words = clip_tokenizer(folder), t5_tokenizer()
    sizes = {"d_model": WIDTH, "d_kv": 8, "d_ff": WIDTH, "num_layers": 1, "num_heads": 2}
    return diffusers.FluxKontextPipeline(
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(),
        vae=autoencoder(use_quant_conv=False, use_post_quant_conv=False, shift_factor=0.1),
        text_encoder=clip_text(words),
        tokenizer=words,
        text_encoder_2=transformers.T5EncoderModel(transformers.T5Config(vocab_size=len(more_words), **sizes)),
        tokenizer_2=more_words,
        transformer=diffusers.FluxTransformer2DModel(
            in_channels=16,
            num_layers=1,
            num_single_layers=1,
            attention_head_dim=16,
            num_attention_heads=2,
            joint_attention_dim=WIDTH,
            pooled_projection_dim=WIDTH,
            guidance_embeds=True,
            axes_dims_rope=(4, 4, 8),
        ),
    )


def flux2_klein(_folder: Path) -> Any:
    torch.manual_seed(0)
    bytes_ = import_module("transformers.convert_slow_tokenizer").bytes_to_unicode().values()
    pieces = [*bytes_, "<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    words = transformers.Qwen2Tokenizer(vocab={piece: number for number, piece in enumerate(pieces)}, merges=[])
    words.chat_template = "{% for message in messages %}{{ message.content }}{% endfor %}"
    size, layers = 16, 28  # the pipeline reads the 9th, 18th and 27th layer
    reader = transformers.Qwen3Config(
        vocab_size=len(words),
        hidden_size=size,
        intermediate_size=size,
        num_hidden_layers=layers,
        num_attention_heads=1,
        num_key_value_heads=1,
        head_dim=size,
        max_position_embeddings=512,
    )
    return diffusers.Flux2KleinPipeline(
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(),
        vae=diffusers.AutoencoderKLFlux2(
            block_out_channels=(8, 8, 8),
            down_block_types=("DownEncoderBlock2D",) * 3,
            up_block_types=("UpDecoderBlock2D",) * 3,
            layers_per_block=1,
            latent_channels=4,
            norm_num_groups=4,
        ),
        text_encoder=transformers.Qwen3ForCausalLM(reader),
        tokenizer=words,
        transformer=diffusers.Flux2Transformer2DModel(
            in_channels=16,
            num_layers=1,
            num_single_layers=1,
            attention_head_dim=16,
            num_attention_heads=2,
            joint_attention_dim=3 * size,
            axes_dims_rope=(4, 4, 4, 4),
            guidance_embeds=False,
        ),
        is_distilled=True,
    )


MAKERS: dict[str, Callable[[Path], Any]] = {
    "stable": stable_diffusion,
    "instruct": lambda folder: stable_diffusion(folder, "StableDiffusionInstructPix2PixPipeline", 8),
    "flagging": flagging_everything,
    "control": control,
    "lcm": lcm,
    "flux": flux_kontext,
    "flux2": flux2_klein,
}
