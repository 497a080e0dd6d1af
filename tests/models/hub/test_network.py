"""Loading of hub networks: folders, errors, precision, and file layouts of earlier releases."""

from __future__ import annotations

import hashlib
import json
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from editgauge._util.images import Pixels
from editgauge.errors import BadInputError, MissingExtraError
from editgauge.models.hub._network import NO_HASH
from editgauge.models.hub.embedders import ClipEmbedder, DinoEmbedder
from editgauge.models.profiles import FAMILIES, by_address
from editgauge.models.weights import MissingWeightsError

pytestmark = pytest.mark.slow

transformers: Any = import_module("transformers")  # hardly any of its functions say their types

COMMIT = "f205d5d8e640a89a2b8ef0369670dfc37cc07fc2"


@pytest.fixture(scope="module")
def original(
    save: Callable[..., Path],
    layer: dict[str, int],
    clip_text: Callable[[int], dict[str, int]],
    clip_tokenizer: Callable[[int], Any],
) -> Path:
    vision = {**layer, "image_size": 32, "patch_size": 8}
    config = transformers.CLIPConfig(text_config=clip_text(20), vision_config=vision, projection_dim=12)
    torch.manual_seed(1)
    processor = transformers.CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32})
    return save(transformers.CLIPModel(config), processor, clip_tokenizer(20))


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    """A copy to do harm to."""
    return Path(shutil.copytree(original, tmp_path / "clip"))


def embed(folder: Path | str, image: Pixels) -> Any:
    return ClipEmbedder(folder, device="cpu").embed_images([image])


def test_a_folder_that_is_not_there(tmp_path: Path, picture: Callable[..., Pixels]) -> None:
    with pytest.raises(BadInputError, match="no folder"):
        embed(tmp_path / "nowhere", picture())


def test_a_folder_of_something_else(tmp_path: Path, picture: Callable[..., Pixels]) -> None:
    with pytest.raises(BadInputError, match=r"holds no config\.json"):
        embed(tmp_path, picture())


def test_a_model_of_another_kind(folder: Path, picture: Callable[..., Pixels]) -> None:
    with pytest.raises(BadInputError, match="of the kind 'clip'; wanted is one of: dinov2"):
        DinoEmbedder(folder, device="cpu").embed([picture()])


@pytest.mark.parametrize(
    ("lost", "told"),
    [
        ("model.safetensors", "holds no weights"),
        ("preprocessor_config.json", "image processor of the model .* cannot be loaded"),
        ("tokenizer.json", "tokenizer of the model .* cannot be loaded"),
    ],
)
def test_a_folder_that_lacks_a_file(folder: Path, picture: Callable[..., Pixels], lost: str, told: str) -> None:
    (folder / lost).unlink()
    embedder = ClipEmbedder(folder, device="cpu")
    with pytest.raises(BadInputError, match=told):
        embedder.embed_texts(["a cat"]) if lost == "tokenizer.json" else embedder.embed_images([picture()])


@pytest.mark.parametrize("harm", [lambda content: content[: len(content) // 2], lambda _: b"", lambda _: b"\0" * 99])
def test_weights_cut_short(folder: Path, picture: Callable[..., Pixels], harm: Callable[[bytes], bytes]) -> None:
    weights = folder / "model.safetensors"
    weights.write_bytes(harm(weights.read_bytes()))
    with pytest.raises(BadInputError, match=r"network of the model .* cannot be loaded"):
        embed(folder, picture())


def test_a_config_that_is_no_table(folder: Path, picture: Callable[..., Pixels]) -> None:
    for content in ("[]", "{", "\0"):
        (folder / "config.json").write_text(content)
        with pytest.raises(BadInputError, match=r"config\.json"):
            embed(folder, picture())


def test_random_numbers_never_stand_in_for_weights(folder: Path, picture: Callable[..., Pixels]) -> None:
    """The library itself would fill the gap with random numbers, and answer."""
    weights = load_file(folder / "model.safetensors")
    del weights["visual_projection.weight"]
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(BadInputError, match=r"lack 1 of the network's tensors, such as 'visual_projection\.weight'"):
        embed(folder, picture())


def test_weights_of_another_size_are_refused(folder: Path, picture: Callable[..., Pixels]) -> None:
    weights = load_file(folder / "model.safetensors")
    weights["visual_projection.weight"] = torch.zeros(5, 16)
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(BadInputError, match=r"visual_projection\.weight|cannot be loaded"):
        embed(folder, picture())


def test_a_pickle_is_read_without_running_it(folder: Path, tmp_path: Path, picture: Callable[..., Pixels]) -> None:
    before = embed(folder, picture())
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    np.testing.assert_allclose(embed(folder, picture()), before, atol=1e-6)

    trace = tmp_path / "was here"

    class Harmful:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (trace,)

    torch.save({"visual_projection.weight": Harmful()}, folder / "pytorch_model.bin")
    with pytest.raises(BadInputError, match="cannot be loaded"):
        embed(folder, picture())
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Harmful()))
    with pytest.raises(BadInputError, match="cannot be loaded"):
        embed(folder, picture())
    assert not trace.exists()


def test_the_card_of_a_folder(folder: Path) -> None:
    (folder / "README.md").write_text("---\ntags:\n- vision\nlicense: apache-2.0\n---\n# A model\n")
    card = ClipEmbedder(folder, device="cpu").card
    content = (folder / "model.safetensors").read_bytes()
    assert card.sha256 == hashlib.sha256(content).hexdigest()
    assert (card.id, card.revision, card.license, card.device) == ("clip", "local", "apache-2.0", "cpu")
    assert card.input_size == (32, 32)
    assert str(folder.parent) not in repr(card)


def test_a_hash_is_remembered_until_the_file_changes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = ClipEmbedder(folder).card.sha256
    with monkeypatch.context() as patched:
        patched.setattr("editgauge.models.hub._network.sha256_of", lambda _: pytest.fail("it was remembered"))
        assert ClipEmbedder(folder).card.sha256 == first
    with (folder / "model.safetensors").open("ab") as file:
        file.write(b"more")
    assert ClipEmbedder(folder).card.sha256 != first


def test_the_card_of_what_was_not_pulled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EDITGAUGE_WEIGHTS", raising=False)
    model = DinoEmbedder("facebook/dino-vitb16", device="cpu")
    assert not model.available
    assert (model.card.id, model.card.revision, model.card.license) == ("facebook/dino-vitb16", COMMIT, "Apache-2.0")
    assert model.card.sha256 == NO_HASH


@pytest.mark.parametrize("name", ["facebook/dino-vitb16", "someone/their-model"])
def test_nothing_is_downloaded_when_it_is_asked(
    name: str, picture: Callable[..., Pixels], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EDITGAUGE_WEIGHTS", raising=False)
    with pytest.raises(MissingWeightsError, match="editgauge models pull"):
        DinoEmbedder(name, device="cpu").embed([picture()])


def test_a_model_of_the_hub_in_a_folder_of_weights(
    original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, picture: Callable[..., Pixels]
) -> None:
    shutil.copytree(original, tmp_path / "weights" / "openai" / "clip-vit-base-patch16")
    monkeypatch.setenv("EDITGAUGE_WEIGHTS", str(tmp_path / "weights"))
    model = ClipEmbedder("openai/clip-vit-base-patch16", device="cpu")
    np.testing.assert_array_equal(model.embed_images([picture()]), embed(original, picture()))
    assert (model.card.id, model.card.license) == ("openai/clip-vit-base-patch16", "MIT")
    assert model.card.sha256 == ClipEmbedder(original, device="cpu").card.sha256


@pytest.mark.parametrize("family", FAMILIES)
def test_without_the_extra_one_line_says_what_to_install(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, picture: Callable[..., Pixels]
) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "any"}))
    monkeypatch.setitem(sys.modules, "torch", None)
    model: Any = by_address(f"{family}:{tmp_path}")
    questions = {
        "grounding-dino": lambda: model.find([({"pixels": picture()}, ("a cat",))]),
        "clip": lambda: model.embed_texts(["a cat"]),
        "dino": lambda: model.embed([picture()]),
        "captioner": lambda: model.caption([picture()]),
        "segformer": lambda: model.label([picture()]),
        "dreamsim": lambda: model.compare([(picture(), picture())]),
    }
    with pytest.raises(MissingExtraError, match=r"pip install 'editgauge\[torch\]'"):
        questions.get(family, lambda: model.look([picture()]))()


def test_the_precisions_agree_as_far_as_they_can(original: Path, picture: Callable[..., Pixels]) -> None:
    images = [picture(seed) for seed in range(4)]
    full = ClipEmbedder(original, device="cpu").embed_images(images)
    half = ClipEmbedder(original, device="cpu", precision="float16").embed_images(images)
    rounded = ClipEmbedder(original, device="cpu", precision="int8").embed_images(images)
    assert half.dtype == rounded.dtype == np.float32
    assert 0 < np.abs(half - full).max() < 0.01
    assert 0.01 > 1 - (rounded * full).sum(axis=1).min() > 0


def test_a_precision_that_does_not_exist_or_does_not_fit(original: Path, picture: Callable[..., Pixels]) -> None:
    with pytest.raises(BadInputError, match="float32, float16, int8"):
        ClipEmbedder(original, precision="int4")  # type: ignore[arg-type]
    with pytest.raises(BadInputError, match="CPU only"):
        ClipEmbedder(original, device="cuda", precision="int8").embed_images([picture()])


def test_older_files_give_the_input_size_as_numbers(folder: Path) -> None:
    told = json.loads((folder / "preprocessor_config.json").read_text())
    for size, crop in ((32, 28), ([40, 30], [40, 30])):
        (folder / "preprocessor_config.json").write_text(json.dumps({**told, "size": size, "crop_size": crop}))
        assert ClipEmbedder(folder).card.input_size == ((28, 28) if size == 32 else (30, 40))


def test_importing_and_making_models_costs_no_torch() -> None:
    program = """
        import sys
        from editgauge.models.catalog import MODELS
        from editgauge.models.profiles import by_address
        made = [by_address(row.target) for row in MODELS.values() if row.is_of_hub]
        made.append(by_address("owl:google/owlv2-large-patch14"))
        assert len(made) > 25 and not {"torch", "transformers"} & sys.modules.keys()
    """
    subprocess.run([sys.executable, "-c", "\n".join(line.strip() for line in program.splitlines())], check=True)


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
