"""A score does not depend on what else was in the batch: held to 1e-5 with a real architecture."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from editgauge._util.images import Pixels
from editgauge.models import BUILT_IN
from editgauge.models.perception import ModelService

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

TOLERANCE = 1e-5
FOLDER: list[Path] = []


def small_vit() -> object:
    """A ViT of the real architecture with random weights, which mean nothing."""
    from editgauge.models.hub.dino import DinoEmbedder

    return DinoEmbedder(FOLDER[0], device="cpu")


@pytest.fixture(scope="module", autouse=True)
def weights(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("vit")
    torch.manual_seed(3)
    shape = {"hidden_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 96}
    config = transformers.ViTConfig(**shape, image_size=64, patch_size=8)
    network = transformers.ViTModel(config, add_pooling_layer=False).eval()
    with torch.no_grad():
        for values in network.parameters():
            values.mul_(1 if values.ndim < 2 else 5)  # as initialized, a small network hardly tells pictures apart
    network.save_pretrained(folder)
    transformers.ViTImageProcessorPil(size={"height": 64, "width": 64}).save_pretrained(folder)
    FOLDER.append(folder)
    yield
    FOLDER.clear()


@pytest.mark.slow
@pytest.mark.parametrize("batch", [3, 8])
def test_likeness_is_the_same_in_any_batch(batch: int, photo: Pixels, monkeypatch: pytest.MonkeyPatch) -> None:
    from editgauge.models.hub.dino import DinoEmbedder

    monkeypatch.setitem(BUILT_IN, "small-vit", f"{__name__}:small_vit")
    pictures = [photo[4 * number :, : 60 + number] for number in range(11)]

    def scores(size: int, order: list[int]) -> dict[tuple[int, int], float]:
        monkeypatch.setattr(DinoEmbedder, "batch", size)

        async def all_pairs() -> dict[int, np.ndarray]:
            with ModelService({"image_embedder": "small-vit"}) as see:
                found = await asyncio.gather(*(see.embed_image(pictures[place]) for place in order))
                return dict(zip(order, found, strict=True))

        vectors = asyncio.run(all_pairs())
        return {(one, two): float(vectors[one] @ vectors[two]) for one in order for two in order}

    alone = scores(1, list(range(11)))
    together = scores(batch, [*range(10, -1, -1)])
    assert together == {pair: pytest.approx(score, abs=TOLERANCE) for pair, score in alone.items()}
    assert len({round(score, 3) for score in alone.values()}) > 20, "the network does tell pictures apart"
