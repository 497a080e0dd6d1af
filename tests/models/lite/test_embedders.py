"""Vectors of pictures and texts: AugNet, Inception and MiniLM."""

from __future__ import annotations

import sys
from typing import Any

import cv2
import numpy as np
import pytest
import skimage.data

from editgauge._util.images import Pixels
from editgauge.errors import MissingExtraError
from editgauge.models.lite.embedders import AugNet, InceptionFid, MiniLm, scaled_from_corner
from editgauge.models.roles import ImageEmbedder, TextEmbedder
from editgauge.models.weights import weights_of

torch: Any = pytest.importorskip("torch")
photographs: Any = skimage.data
AUGNET, INCEPTION, MINILM = AugNet(), InceptionFid(), MiniLm()


def likeness(vectors: Any) -> Any:
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return units @ units.T


@pytest.mark.slow
def test_augnet_equals_the_same_network_in_torch(photo: Pixels) -> None:
    wide = np.concatenate([photo, photo[:, ::-1]], axis=1)[:, :180]
    np.testing.assert_allclose(AUGNET.embed([wide])[0], _augnet_in_torch(wide), atol=1e-4)


@pytest.mark.slow
def test_augnet_puts_alike_pictures_close_together(photo: Pixels) -> None:
    cat, coffee = photographs.chelsea(), photographs.coffee()
    brighter = np.clip(cat * 1.2, 0, 255).astype(np.uint8)
    alike = likeness(AUGNET.embed([cat, cat[:, ::-1].copy(), brighter, photo, coffee]))[0]
    assert min(alike[1:3]) > 0.85
    assert max(alike[3:]) < 0.6


@pytest.mark.slow
@pytest.mark.parametrize(("model", "length"), [(AUGNET, 768), (INCEPTION, 2048)])
def test_a_picture_has_the_same_vector_in_any_company(model: ImageEmbedder, length: int, photo: Pixels) -> None:
    other = np.ascontiguousarray(photo[:, ::-1][:100])
    together = model.embed([photo, other])
    assert together.shape == (2, length)
    assert together.dtype == np.float32
    np.testing.assert_array_equal(together[1], model.embed([other])[0])
    assert model.embed([]).shape == (0, length)


def test_pictures_are_scaled_as_tensorflow_1_did() -> None:
    column = np.zeros((2, 1, 3), np.uint8)
    column[1] = 100
    np.testing.assert_allclose(
        scaled_from_corner(column, 4)[:, 0, 0], [0, 50, 100, 100]
    )  # 0, ½, 1, and beyond the last
    ramp = np.repeat(np.arange(0, 240, 40, dtype=np.uint8)[np.newaxis, :, np.newaxis], 3, axis=2)
    np.testing.assert_allclose(scaled_from_corner(ramp, 4)[0, :, 0], [0, 60, 120, 180])  # at 0, 1½, 3, 4½
    same = np.random.default_rng(0).integers(0, 256, (9, 9, 3), np.uint8)
    np.testing.assert_array_equal(scaled_from_corner(same, 9), same)


def test_inception_features_tell_pictures_apart(photo: Pixels) -> None:
    features = INCEPTION.embed([photo, np.ascontiguousarray(photo[:, ::-1]), photographs.coffee()])
    assert (features >= 0).all()
    alike = likeness(features)
    assert alike[0, 1] > alike[0, 2]


@pytest.mark.parametrize("length", [64, 192, 768])
def test_shallow_features_are_the_mean_over_places_of_a_layer(photo: Pixels, length: int) -> None:
    shallow = InceptionFid(length=length)
    (features,) = shallow.embed([photo])
    (mirrored,) = shallow.embed([np.ascontiguousarray(photo[:, ::-1])])
    assert features.shape == (length,)
    assert np.corrcoef(features, mirrored)[0, 1] > 0.95
    assert shallow.card.settings["layer"] != InceptionFid(length=64 if length != 64 else 192).card.settings["layer"]
    assert "layer" not in INCEPTION.card.settings


@pytest.mark.parametrize(
    ("text", "near", "far"),
    [
        ("a cat", "a kitten", "a car"),
        ("a man rides a horse", "someone is riding a horse", "a bowl of fruit on a table"),
        ("make the sky darker", "darken the sky", "add a dog"),
    ],
)
def test_texts_that_mean_the_same_lie_close_together(text: str, near: str, far: str) -> None:
    alike = MINILM.embed([text, near, far]) @ MINILM.embed([text])[0]
    assert alike[1] > 0.6 > alike[2]


def test_a_text_has_the_same_unit_vector_in_any_company() -> None:
    texts = ["a cat", "", "words " * 500, "猫 🐈"]
    together = MINILM.embed(texts)
    assert together.shape == (4, 384)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    for text, vector in zip(texts, together, strict=True):
        np.testing.assert_array_equal(MINILM.embed([text])[0], vector)
    assert MINILM.embed([]).shape == (0, 384)


def test_they_say_what_they_are() -> None:
    roles = {model.card.role: model.card for model in (AUGNET, INCEPTION, MINILM)}
    assert set(roles) == {"image_embedder", "fid_features", "text_similarity"}
    assert all(len(card.sha256) == 64 and card.license for card in roles.values())
    assert isinstance(AUGNET, ImageEmbedder)
    assert isinstance(INCEPTION, ImageEmbedder)
    assert isinstance(MINILM, TextEmbedder)


def test_without_torch_inception_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, photo: Pixels) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"needs torch.*pip install 'editgauge\[torch\]'"):
        InceptionFid().embed([photo])


def test_augnet_and_minilm_need_no_torch(monkeypatch: pytest.MonkeyPatch, photo: Pixels) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert AugNet().embed([photo]).shape == (1, 768)
    assert MiniLm().embed(["a cat"]).shape == (1, 384)


def _augnet_in_torch(image: Pixels) -> Any:
    """ResNet-50 with its batch normalization as layers of their own, on the picture prepared as published."""
    loaded = torch.load(weights_of("augnet").path("model.pth"), map_location="cpu", weights_only=True)
    weights = {name.removeprefix("module.pre."): array for name, array in loaded.items()}
    functional = torch.nn.functional

    def layer(planes: Any, conv: str, norm: str, **how: int) -> Any:
        planes = functional.conv2d(planes, weights[f"{conv}.weight"], **how)
        kept = [weights[f"{norm}.{part}"] for part in ("running_mean", "running_var", "weight", "bias")]
        return functional.batch_norm(planes, *kept)

    scale = 350 / min(image.shape[:2])
    size = tuple(int(max(side * scale, 350)) for side in image.shape[1::-1])
    colors = (cv2.resize(image, size) / 255.0 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
    planes = torch.tensor(colors.transpose(2, 0, 1)[np.newaxis], dtype=torch.float32)
    planes = functional.max_pool2d(layer(planes, "conv1", "bn1", stride=2, padding=3).relu(), 3, 2, 1)
    for stage, blocks in ((1, 3), (2, 4), (3, 6), (4, 3)):
        for block in range(blocks):
            name, stride = f"layer{stage}.{block}", 2 if stage > 1 and block == 0 else 1
            around = planes
            if block == 0:
                around = layer(planes, f"{name}.downsample.0", f"{name}.downsample.1", stride=stride)
            inner = layer(planes, f"{name}.conv1", f"{name}.bn1").relu()
            inner = layer(inner, f"{name}.conv2", f"{name}.bn2", stride=stride, padding=1).relu()
            planes = (layer(inner, f"{name}.conv3", f"{name}.bn3") + around).relu()
    told = functional.linear(planes.mean(dim=(2, 3)), weights["fc.weight"], weights["fc.bias"]).tanh()
    return told[0].numpy()
