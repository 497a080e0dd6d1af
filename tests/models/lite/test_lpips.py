"""LPIPS against the same networks in torch, against the figures of the original package, and as a distance.

The original package's example pictures are not ours to ship: put `ex_ref.png`, `ex_p0.png` and `ex_p1.png` of
github.com/richzhang/PerceptualSimilarity (its folder `imgs`) into a folder, and name it in `EDITGAUGE_LPIPS_EXAMPLES`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from editgauge._util.images import Pixels, read_image
from editgauge.errors import UnscorableError
from editgauge.models.lite.lpips import LpipsAlex, LpipsVgg
from editgauge.models.roles import PerceptualDistance
from editgauge.models.weights import weights_of
from editgauge.models.weights._pickles import read_numpy_pickle, read_torch_checkpoint

torch: Any = pytest.importorskip("torch")
EXAMPLES = os.environ.get("EDITGAUGE_LPIPS_EXAMPLES")
ALEX, VGG = LpipsAlex(), LpipsVgg()


def noisy(image: Pixels, spread: float, seed: int = 0) -> Pixels:
    noise = np.random.default_rng(seed).normal(0, spread, image.shape)
    return np.clip(image + noise, 0, 255).astype(np.uint8)


@pytest.mark.skipif(EXAMPLES is None, reason="EDITGAUGE_LPIPS_EXAMPLES names no folder with the original's pictures")
@pytest.mark.parametrize(
    ("model", "published"),
    [(ALEX, [0.722, 0.138]), (VGG, [0.569, 0.422])],  # VGG's: README of github.com/moono/lpips-tf2.x
)
def test_the_original_packages_example(model: PerceptualDistance, published: list[float]) -> None:
    reference, first, second = (
        read_image(Path(str(EXAMPLES)) / name) for name in ("ex_ref.png", "ex_p0.png", "ex_p1.png")
    )
    assert model.compare([(reference, first), (reference, second)]) == pytest.approx(published, abs=5e-4)


@pytest.mark.parametrize("seed", range(3))
def test_alex_equals_the_same_network_in_torch(photo: Pixels, seed: int) -> None:
    other = noisy(np.roll(photo, seed, axis=1), 20 * seed, seed)[:, ::-1].copy()
    assert ALEX.compare([(photo, other)]) == pytest.approx([_alex_in_torch(photo, other)], abs=1e-5)


def test_vgg_equals_the_same_network_in_torch(photo: Pixels) -> None:
    small, other = photo[:64, :96], noisy(photo, 30)[:64, :96]
    assert VGG.compare([(small, other)]) == pytest.approx([_vgg_in_torch(small, other)], abs=1e-5)


@pytest.mark.parametrize("model", [ALEX, VGG])
def test_a_distance(model: PerceptualDistance, photo: Pixels) -> None:
    small, flipped = photo[32:96, 32:96], photo[32:96, 96:32:-1]
    same, there, back = model.compare([(small, small), (small, flipped), (flipped, small)])
    assert same == 0
    assert there == pytest.approx(back, abs=1e-6)
    assert there > 0.05
    steps = model.compare([(small, noisy(small, spread)) for spread in (2, 8, 32)])
    assert 0 < steps[0] < steps[1] < steps[2]


def test_features_of_a_source_are_computed_once_for_its_outcomes(
    photo: Pixels, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, seen = LpipsAlex(), list[bytes]()
    features = model._features

    def counted(picture: Pixels) -> list[Any]:
        seen.append(picture.tobytes())
        return list(features(picture))

    monkeypatch.setattr(model, "_features", counted)
    outcomes = [noisy(photo, spread) for spread in (2, 8, 32)]
    assert model.compare([(photo, outcome) for outcome in outcomes]) == [
        LpipsAlex().compare([(photo, outcome)])[0] for outcome in outcomes
    ]
    assert seen.count(photo.tobytes()) == 1
    model.compare([(outcomes[0], photo), (outcomes[1], photo), (photo, outcomes[0])])
    assert seen.count(photo.tobytes()) == 4, "as an outcome, twice; as the source again after two others"


@settings(max_examples=15)
@given(height=st.integers(31, 90), width=st.integers(31, 90), seed=st.integers(0, 99))
def test_any_size_gives_a_distance_that_has_no_neighbors(height: int, width: int, seed: int) -> None:
    before, after = np.random.default_rng(seed).integers(0, 256, (2, height, width, 3), np.uint8)
    together = ALEX.compare([(before, after), (after, after), (after, before)])
    assert together[0] == ALEX.compare([(before, after)])[0]
    assert together[1] == 0
    assert together[0] == pytest.approx(together[2], abs=1e-6)
    assert 0 < together[0] < 2


@pytest.mark.parametrize("model", [ALEX, VGG])
def test_what_cannot_be_compared_is_refused(model: Any, photo: Pixels) -> None:
    with pytest.raises(UnscorableError, match="128 x 128 and 64 x 128"):
        model.compare([(photo, photo[:, :64])])
    least = model.least_side
    with pytest.raises(UnscorableError, match=f"needs {least} pixels"):
        model.compare([(photo[: least - 1], photo[: least - 1])])
    assert model.compare([(photo[:least, :least], photo[:least, :least])]) == [0]


@pytest.mark.parametrize("model", [ALEX, VGG])
def test_it_says_what_it_is(model: PerceptualDistance) -> None:
    assert isinstance(model, PerceptualDistance)
    assert model.card.role == "perceptual_distance"
    assert model.card.input_size is None
    assert len(model.card.sha256) == 64


def _alex_in_torch(before: Pixels, after: Pixels) -> float:
    weights = read_torch_checkpoint(weights_of("lpips-alex").path("lpips_alex_v0.1.pt"))
    planes, distance = _planes(before, after), 0.0
    for depth, settings_of in enumerate([{"stride": 4, "padding": 2}, {"padding": 2}, *([{"padding": 1}] * 3)]):
        if depth in (1, 2):
            planes = torch.nn.functional.max_pool2d(planes, 3, 2)
        kernel, bias = (torch.tensor(weights[f"trunk.{depth}.{part}"]) for part in ("weight", "bias"))
        planes = torch.nn.functional.conv2d(planes, kernel, bias, **settings_of).relu()
        distance += _at_depth(planes, weights[f"lin.{depth}"].ravel())
    return distance


def _vgg_in_torch(before: Pixels, after: Pixels) -> float:
    weights = read_numpy_pickle(weights_of("lpips-vgg").path("vgg16.ckpt"))
    planes, distance, ends = _planes(before, after), 0.0, [1, 3, 6, 9, 12]
    for layer in range(13):
        if layer - 1 in ends:
            planes = torch.nn.functional.max_pool2d(planes, 2)
        kernel = torch.tensor(weights[f"VGG16_0.Conv_{layer}.kernel"].transpose(3, 2, 0, 1).copy())
        bias = torch.tensor(weights[f"VGG16_0.Conv_{layer}.bias"])
        planes = torch.nn.functional.conv2d(planes, kernel, bias, padding=1).relu()
        if layer in ends:
            distance += _at_depth(planes, weights[f"NetLinLayer_{ends.index(layer)}.Conv_0.kernel"].ravel())
    return distance


def _planes(before: Pixels, after: Pixels) -> Any:
    """Colors from -1 to 1, shifted and scaled as LPIPS 0.1 does."""
    both = torch.tensor(np.stack([before, after])).permute(0, 3, 1, 2).float() / 127.5 - 1
    shift, scale = (torch.tensor(item).view(1, 3, 1, 1) for item in ([-0.03, -0.088, -0.188], [0.458, 0.448, 0.45]))
    return (both - shift) / scale


def _at_depth(planes: Any, weight: Any) -> float:
    units = planes / (planes.pow(2).sum(dim=1, keepdim=True).sqrt() + 1e-10)
    return float(((units[0] - units[1]) ** 2 * torch.tensor(weight).view(-1, 1, 1)).sum(dim=0).mean())
