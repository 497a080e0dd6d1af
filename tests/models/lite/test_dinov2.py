"""DINOv2: the published network's tokens, and pictures of the same thing close together."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest
import skimage.data

from editgauge._util.concurrency import run_async
from editgauge._util.images import Pixels
from editgauge._vision.redrawn_changes import semantic_change
from editgauge.errors import UnscorableError
from editgauge.models.lite._runtime import imagenet_scaled, onnx_session
from editgauge.models.lite.embedders import DINO_FILE, DINO_LENGTH, LAST_NORM, DinoV2Small, _cut_at, _dino_square
from editgauge.models.perception import ModelService
from editgauge.models.roles import ImageEmbedder, PatchEmbedder
from editgauge.models.weights import available, weights_of

pytestmark = pytest.mark.skipif(not available("dinov2-s14"), reason="NOT TESTED: run `editgauge models pull lite`")
photographs: Any = skimage.data
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
