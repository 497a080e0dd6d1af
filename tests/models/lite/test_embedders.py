"""Embedders: AugNet, Inception, MiniLM and DINOv2."""

from __future__ import annotations

import sys
from typing import Any

import cv2
import numpy as np
import pytest
import skimage.data

from editgauge._util.batching import run_async
from editgauge._util.images import Pixels
from editgauge._vision.redrawn_changes import semantic_change
from editgauge.errors import MissingExtraError, UnscorableError
from editgauge.models.lite._runtime import imagenet_scaled, onnx_session
from editgauge.models.lite.embedders import (
    DINO_FILE,
    DINO_LENGTH,
    LAST_NORM,
    AugNet,
    DinoV2Small,
    InceptionFid,
    MiniLm,
    _cut_at,
    _dino_square,
    scaled_from_corner,
)
from editgauge.models.perception import ModelService
from editgauge.models.roles import ImageEmbedder, PatchEmbedder, TextEmbedder
from editgauge.models.weights import available, weights_of

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


pytestmark = pytest.mark.skipif(not available("dinov2-s14"), reason="NOT TESTED: run `editgauge models pull lite`")
DINO = DinoV2Small()


def test_the_weights_have_the_shapes_of_the_published_vit_s14() -> None:
    onnx: Any = pytest.importorskip("onnx")
    shapes = {
        each.name: tuple(each.dims) for each in onnx.load(weights_of("dinov2-s14").path(DINO_FILE)).graph.initializer
    }
    named = {name.removeprefix("model."): shape for name, shape in shapes.items()}
    assert named["patch_embed.proj.weight"] == (384, 3, 14, 14)
    assert named["cls_token"] == (1, 1, 384)
    assert (1, 37 * 37, 384) in named.values()  # positions for squares of 518 pixels, as trained
    blocks = {name.split(".")[1] for name in named if name.startswith("blocks.")}
    assert blocks == {str(number) for number in range(12)}
    assert {shape for name, shape in named.items() if name.endswith("attn.qkv.bias")} == {(1152,)}
    assert {shape for name, shape in named.items() if name.endswith("ls1.gamma")} == {(384,)}
    numbers = sum(int(np.prod(shape)) for shape in shapes.values())
    # the published backbone has 22,056,576; the mask token, the position of the class token and constants are elsewhere
    assert abs(numbers - 22_056_576) < 2_000


def test_tokens_come_out_normalized_one_per_patch() -> None:
    patches = DINO.patches([photographs.chelsea()])[0]
    assert patches.tokens.shape == (16, 16, 384)
    assert patches.class_token.shape == (384,)
    assert np.isfinite(patches.tokens).all()
    np.testing.assert_allclose(DINO.embed([photographs.chelsea()])[0], patches.class_token)
    assert DINO.embed([]).shape == (0, 384)


def test_tokens_in_whole_numbers_are_those_of_the_published_network() -> None:
    published = onnx_session(
        _cut_at(weights_of("dinov2-s14").path(DINO_FILE), LAST_NORM, DINO_LENGTH).SerializeToString(), "DINOv2", 1
    )
    for picture in (photographs.chelsea(), photographs.coffee(), photographs.astronaut()):
        expected = published.run(None, {"input": imagenet_scaled(_dino_square(picture))})[0][0]
        patches = DINO.patches([picture])[0]
        tokens = np.vstack([patches.class_token, patches.tokens.reshape(-1, DINO_LENGTH)]).astype(np.float32)
        cosines = (_units(tokens) * _units(expected)).sum(axis=1)
        assert cosines.mean() > 0.993
        assert cosines.min() > 0.95


def test_a_picture_has_the_same_tokens_in_any_company() -> None:
    one, other = photographs.chelsea(), photographs.coffee()
    np.testing.assert_array_equal(DINO.patches([one, other])[1].tokens, DINO.patches([other])[0].tokens)


@pytest.mark.slow
def test_changed_pictures_of_a_thing_stay_its_nearest_neighbors() -> None:
    things = {name: getattr(photographs, name)() for name in ("chelsea", "coffee", "astronaut", "rocket")}
    known = _units(DINO.embed(list(things.values())))
    for place, picture in enumerate(things.values()):
        small = cv2.resize(picture, None, fx=0.4, fy=0.4, interpolation=cv2.INTER_AREA)
        mirrored = np.ascontiguousarray(small[:, ::-1])
        dark = (mirrored * 0.6).astype(np.uint8)
        likeness = known @ _units(DINO.embed([dark]))[0]
        assert likeness.argmax() == place
        assert sorted(likeness)[-2] < 0.6 < likeness[place]


def test_the_patches_that_changed_meaning_are_found() -> None:
    room: Pixels = photographs.coffee().copy()
    room.setflags(write=False)
    changed = room.copy()
    cat = cv2.resize(photographs.chelsea()[:, 100:400], (150, 150), interpolation=cv2.INTER_AREA)
    changed[20:170, 420:570] = cat
    before, after = DINO.patches([room, changed])
    likeness = 1 - semantic_change(before.tokens, after.tokens)
    height, width = room.shape[:2]
    inside = np.zeros((16, 16), bool)
    inside[int(16 * 20 / height) + 1 : int(16 * 170 / height), int(16 * 420 / width) + 1 : int(16 * 570 / width)] = True
    assert likeness[inside].mean() < 0.35 < 0.8 < np.median(likeness[~inside])


def test_the_service_gives_vectors_and_patches_from_one_pass() -> None:
    assert isinstance(DINO, PatchEmbedder | ImageEmbedder)
    cat = photographs.chelsea()
    with ModelService({"image_embedder": "dinov2-s14"}) as see:
        vector, patches = run_async(see.embed_image(cat)), run_async(see.patches(cat))
    np.testing.assert_allclose(np.linalg.norm(vector), 1, atol=1e-5)
    np.testing.assert_allclose(vector, _units(patches.class_token[np.newaxis].astype(np.float32))[0], atol=1e-5)


@pytest.mark.skipif(not available("augnet"), reason="NOT TESTED: run `editgauge models pull augnet`")
def test_an_embedder_without_patches_says_which_one_has_them() -> None:
    with (
        ModelService({"image_embedder": "augnet"}) as see,
        pytest.raises(UnscorableError, match="image_embedder=dinov2-s14"),
    ):
        run_async(see.patches(photographs.chelsea()))


def _units(vectors: Any) -> Any:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
