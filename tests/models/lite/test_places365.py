"""Places365: the network, its scenes and attributes on photographs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skimage.data
import yaml

from editgauge._util.concurrency import run_async
from editgauge._util.images import Pixels, read_image
from editgauge.errors import UnscorableError
from editgauge.models.answers import MIN_ATTRIBUTE_MARGIN, MIN_SCENE_SHARE, SceneScores
from editgauge.models.lite.classifiers import Places365
from editgauge.models.perception import ModelService
from editgauge.models.roles import SceneClassifier
from editgauge.models.weights import available, weights_of
from tests.shared_data import shared_data

photographs: Any = skimage.data
LABELS = Path(__file__).parents[1] / "labels" / "scenes.yaml"
needs_weights = pytest.mark.skipif(
    not available("places365"), reason="NOT TESTED: run `editgauge models pull places365`"
)


@needs_weights
def test_a_service_answers_with_scenes(photo: Pixels) -> None:
    with ModelService({"scene_classifier": "places365"}) as perception:
        scores = run_async(perception.scenes(photo))
        assert perception.knows_scene("a snowy forest")
        assert perception.knows_scene("grass")
        assert not perception.knows_scene("a zebra")
    assert scores.probabilities.shape == (365,)
    assert scores.margins.shape == (102,)
    assert scores.probabilities.sum() == pytest.approx(1, abs=1e-4)


def test_without_a_scene_classifier_no_scene_is_known(photo: Pixels) -> None:
    with ModelService({}) as perception:
        assert not perception.knows_scene("forest")
        with pytest.raises(UnscorableError, match="scene_classifier"):
            run_async(perception.scenes(photo))


@needs_weights
def test_answers_do_not_depend_on_the_batch(photo: Pixels) -> None:
    model = Places365()
    coffee = photographs.coffee()
    batch = model.classify_scenes([photo, coffee])
    np.testing.assert_array_equal(batch[1].probabilities, model.classify_scenes([coffee])[0].probabilities)
    assert isinstance(model, SceneClassifier)


@needs_weights
@pytest.mark.slow
def test_network_equals_the_same_network_in_torch(photo: Pixels) -> None:
    torch: Any = pytest.importorskip("torch")
    functional = torch.nn.functional
    path = weights_of("places365").path("wideresnet18_places365.pth.tar")
    state = torch.load(path, weights_only=True, map_location="cpu")["state_dict"]
    weights = {name.removeprefix("module."): tensor for name, tensor in state.items()}

    def layer(values: Any, conv: str, norm: str, stride: int = 1) -> Any:
        kernel = weights[f"{conv}.weight"]
        values = functional.conv2d(values, kernel, stride=stride, padding=kernel.shape[2] // 2)
        names = ("running_mean", "running_var", "weight", "bias")
        return functional.batch_norm(values, *(weights[f"{norm}.{name}"] for name in names))

    square = photographs.coffee()[:224, :224]
    values = torch.tensor(square / 255, dtype=torch.float32).permute(2, 0, 1)[None]
    mean, std = (torch.tensor(item)[None, :, None, None] for item in ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]))
    values = functional.relu(layer((values - mean) / std, "conv1", "bn1", 2))
    for stage in (1, 2, 3, 4):
        for index in (0, 1):
            name, stride = f"layer{stage}.{index}", 2 if stage > 1 and index == 0 else 1
            inner = functional.relu(layer(values, f"{name}.conv1", f"{name}.bn1", stride))
            inner = layer(inner, f"{name}.conv2", f"{name}.bn2")
            shortcut = layer(values, f"{name}.downsample.0", f"{name}.downsample.1", stride) if stride == 2 else values
            values = functional.relu(inner + shortcut)
    logits = values.mean(dim=(2, 3)) @ weights["fc.weight"].T + weights["fc.bias"]
    expected = logits.softmax(dim=1)[0].numpy()
    np.testing.assert_allclose(Places365().classify_scenes([square])[0].probabilities, expected, atol=1e-4)


@pytest.fixture(scope="module")
def labeled() -> dict[str, SceneScores]:
    """Scores of the labeled photographs by number."""
    model = Places365()
    files = sorted(shared_data("coco128").rglob("*.jpg"))
    return {path.stem.lstrip("0"): model.classify_scenes([read_image(path)])[0] for path in files}


@needs_weights
@pytest.mark.slow
@pytest.mark.parametrize(
    ("section", "threshold", "min_recall", "max_false_positives"),
    [("scenes", MIN_SCENE_SHARE, 0.7, 0.01), ("attributes", MIN_ATTRIBUTE_MARGIN, 0.7, 0.015)],
)
def test_operating_points_on_labeled_photographs(
    section: str, threshold: float, min_recall: float, max_false_positives: float, labeled: dict[str, SceneScores]
) -> None:
    present: list[float] = []
    absent: list[float] = []
    for phrase, labels in yaml.safe_load(LABELS.read_text("utf-8"))[section].items():
        excluded = {str(number) for number in labels["unsure"]}
        positives = {str(number) for number in labels["present"]}
        for number, scores in labeled.items():
            value = scores.share(phrase) if section == "scenes" else scores.margin(phrase)
            if number not in excluded:
                (present if number in positives else absent).append(value)
    assert np.mean(np.array(present) >= threshold) >= min_recall
    assert np.mean(np.array(absent) >= threshold) <= max_false_positives
