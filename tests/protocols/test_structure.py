"""Structure distance: the published formula on given keys, and the real keys of a real network."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skimage.data
from numpy.typing import NDArray

from editgauge._util.images import ImageFile, Pixels
from editgauge.engine._perception import RunPerception
from editgauge.models.lite._runtime import imagenet_scaled
from editgauge.models.lite.embedders import DINO_FILE, DINO_LENGTH, DINO_SIDE, DinoV2Small
from editgauge.models.weights import available, weights_of
from editgauge.protocols import open_protocol
from editgauge.types import Edit, Item, Outcome, Score, Scores, Unscored

photographs: Any = skimage.data
with_dino = pytest.mark.skipif(not available("dinov2-s14"), reason="NOT TESTED: run `editgauge models pull lite`")


def item(source: Pixels, edited: Pixels) -> Item:
    edit = Edit(id="e", source=ImageFile("p", Path("/p")), type="style", instruction="make it a painting")
    return Item(edit=edit, outcome=Outcome(edit_id="e", method="m", image=Path("/o")), source=source, edited=edited)


class GivenKeys:
    """Perception for tests only: keys by the first pixel of a picture, others for pixels from 0 to 255."""

    def __init__(self, keys: dict[tuple[int, bool], NDArray[np.float64]]) -> None:
        self._keys = keys

    async def keys(self, image: Pixels, *, of_bytes: bool = False) -> NDArray[np.float64]:
        return self._keys[int(image[0, 0, 0]), of_bytes]


def by_the_released_code(before: NDArray[np.float64], after: NDArray[np.float64]) -> float:
    """PnPInversion, evaluation/matrics_calculator.py, attn_cosine_sim and calculate_global_ssim_loss, on arrays."""
    maps = []
    for keys in (before, after):
        norms = np.linalg.norm(keys, axis=1, keepdims=True)
        maps.append(keys @ keys.T / np.maximum(norms @ norms.T, 1e-8))
    return float(((maps[0] - maps[1]) ** 2).mean())


@pytest.mark.parametrize(("name", "of_bytes"), [("structure", False), ("structure@released", True)])
def test_the_distance_is_the_published_formula(name: str, of_bytes: bool) -> None:
    random = np.random.default_rng(4)
    keys = {(first, way): random.normal(size=(17, 12)) for first in (0, 9) for way in (False, True)}
    black, gray = np.zeros((8, 8, 3), np.uint8), np.full((8, 8, 3), 9, np.uint8)
    perception: Any = GivenKeys(keys)
    protocol = open_protocol(name)
    score = asyncio.run(protocol.score(item(black, gray), perception))["structure_distance"]
    assert isinstance(score, Score)
    assert score.value == pytest.approx(by_the_released_code(keys[0, of_bytes], keys[9, of_bytes]), rel=1e-12)
    (spec,) = protocol.scores
    assert spec.range[0] < score.value < spec.range[1]
    assert not spec.higher_is_better
    same = asyncio.run(protocol.score(item(gray, gray), perception))["structure_distance"]
    assert isinstance(same, Score)
    assert same.value == 0


def test_an_embedder_without_keys_says_so() -> None:
    async def ask() -> Scores:
        async with RunPerception({}) as perception:
            return (
                await open_protocol("structure")
                .with_models({})
                .score(item(*[np.zeros((8, 8, 3), np.uint8)] * 2), perception)
            )

    score = asyncio.run(ask())["structure_distance"]
    assert isinstance(score, Unscored)
    assert score.reason == "no_model"


@pytest.mark.slow
@with_dino
def test_keys_are_what_the_attention_of_the_last_layer_compares_queries_with() -> None:
    """The file's own node of keys, head by head, joined as PnPInversion joins them."""
    onnx, runtime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    image = np.ascontiguousarray(photographs.chelsea()[:DINO_SIDE, :DINO_SIDE])
    network = onnx.load(str(weights_of("dinov2-s14").path(DINO_FILE)))
    del network.graph.output[:]
    node = onnx.helper.make_tensor_value_info("/blocks.11/attn/Gather_4_output_0", onnx.TensorProto.FLOAT, None)
    network.graph.output.append(node)
    session = runtime.InferenceSession(network.SerializeToString(), providers=["CPUExecutionProvider"])
    heads = session.run(None, {"input": imagenet_scaled(image)})[0][0]
    expected = heads.transpose(1, 0, 2).reshape(257, DINO_LENGTH)
    model = DinoV2Small()
    np.testing.assert_allclose(model.keys([image])[0], expected, atol=0.02, rtol=0.01)
    assert np.abs(model.keys_of_bytes([image])[0] - expected).mean() > 0.1
    assert np.abs(model.patches([image])[0].class_token - expected[0]).mean() > 0.1, "keys are no tokens"


@pytest.mark.slow
@with_dino
def test_a_filter_keeps_the_layout_and_another_picture_does_not() -> None:
    cat, cup = photographs.chelsea()[:300, :300], photographs.coffee()[:300, :300]
    darker = (cat * 0.8).astype(np.uint8)

    async def ask(edited: Pixels) -> float:
        async with RunPerception({"image_embedder": "dinov2-s14"}) as perception:
            scores = (
                await open_protocol("structure")
                .with_models({"image_embedder": "dinov2-s14"})
                .score(item(np.ascontiguousarray(cat), np.ascontiguousarray(edited)), perception)
            )
        score = scores["structure_distance[dinov2-s14]"]
        assert isinstance(score, Score)
        return score.value

    filtered, mirrored, other = (asyncio.run(ask(entry)) for entry in (darker, cat[:, ::-1], cup))
    assert 3 * filtered < mirrored
    assert 3 * filtered < other
