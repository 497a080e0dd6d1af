"""Classifiers: EfficientNet-Lite with ImageNet phrases, and Places365."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skimage.data
import yaml

from editgauge._util.batching import run_async
from editgauge._util.images import Pixels, read_image
from editgauge.errors import UnscorableError
from editgauge.models.answers import MIN_ATTRIBUTE_MARGIN, MIN_SCENE_SHARE, ClassScores, SceneScores
from editgauge.models.lite.classifiers import EfficientNetLite2, EfficientNetLite3, Places365
from editgauge.models.perception import ModelService
from editgauge.models.roles import Classifier, SceneClassifier
from editgauge.models.vocabulary import wordnet_here
from editgauge.models.vocabulary.imagenet import ImageNetVocabulary, class_names, class_words, classes_of, coverage_of
from editgauge.models.weights import available, weights_of
from tests.shared_data import shared_data

photographs: Any = skimage.data
needs_wordnet = pytest.mark.skipif(not available("wordnet"), reason="NOT TESTED: run `editgauge models pull wordnet`")
LITE2 = pytest.param(
    EfficientNetLite2(), marks=pytest.mark.skipif(not available("efficientnet-lite2"), reason="NOT TESTED, not pulled")
)
LITE3 = pytest.param(
    EfficientNetLite3(), marks=pytest.mark.skipif(not available("efficientnet-lite3"), reason="NOT TESTED, not pulled")
)


@pytest.fixture(scope="module")
def room() -> Pixels:
    """A coffee cup, and a cat beside it."""
    picture: Pixels = photographs.coffee().copy()
    picture[100:400, 300:600] = photographs.chelsea()[:300, 100:400]
    picture.setflags(write=False)
    return picture


@needs_wordnet
@pytest.mark.parametrize("model", [LITE2, LITE3])
@pytest.mark.parametrize(
    ("photo", "phrase", "wrong"),
    [("chelsea", "cat", "dog"), ("coffee", "coffee", "cat"), ("camera", "tripod", "dog")],
)
def test_photographs_are_named_rightly(model: Classifier, photo: str, phrase: str, wrong: str) -> None:
    scores = model.classify([np.dstack([getattr(photographs, photo)()] * (3 if photo == "camera" else 1))])[0]
    assert scores.share(phrase) > 0.2 > model.operating_point > scores.share(wrong)


@pytest.mark.parametrize("model", [LITE2, LITE3])
def test_probabilities_add_up_and_do_not_depend_on_company(model: Classifier) -> None:
    cat, coffee = photographs.chelsea(), photographs.coffee()
    together = model.classify([cat, coffee])
    assert together[0].probabilities.shape == (1000,)
    np.testing.assert_allclose([each.probabilities.sum() for each in together], 1, atol=1e-4)
    np.testing.assert_array_equal(together[1].probabilities, model.classify([coffee])[0].probabilities)
    assert isinstance(model, Classifier)


@needs_wordnet
@pytest.mark.skipif(not available("efficientnet-lite2"), reason="NOT TESTED: run `editgauge models pull lite`")
def test_what_is_in_a_box_is_named_by_itself(room: Pixels) -> None:
    with ModelService({"classifier": "efficientnet-lite2"}) as see:
        cat = run_async(see.classify(room, (300, 100, 600, 400)))
        cup = run_async(see.classify(room, (0, 40, 290, 330)))
        assert cat.share("cat") > 0.5 > cup.share("cat")
        assert see.knows("a castle")
        assert not see.knows("happiness")
        with pytest.raises(UnscorableError, match="holds no pixel"):
            run_async(see.classify(room, (700, 0, 900, 50)))


@needs_wordnet
def test_without_a_classifier_nothing_is_known() -> None:
    with ModelService({}) as see:
        assert not see.knows("cat")
        with pytest.raises(UnscorableError, match="`model=classifier=NAME`"):
            run_async(see.classify(np.zeros((8, 8, 3), np.uint8)))


def test_the_list_of_classes_is_whole() -> None:
    assert len(class_words()) == 1000
    assert [class_names()[place] for place in (0, 281, 985, 999)] == ["tench", "tabby", "daisy", "toilet tissue"]
    scores = ClassScores(np.eye(1000, dtype=np.float32)[281], "imagenet")
    assert scores.top(1) == [("tabby", 1.0)]


@needs_wordnet
@pytest.mark.parametrize(
    ("phrase", "names"),
    [
        ("hat", {"cowboy hat", "sombrero", "bonnet", "bearskin"}),
        ("two red Sandwiches", {"hotdog", "cheeseburger"}),
        ("a castle", {"castle"}),
        ("a skirt", {"hoopskirt", "miniskirt", "overskirt", "sarong"}),
        ("cutlery", {"wooden spoon"}),
        ("tiger", {"tiger"}),
        ("t-shirt", {"jersey"}),
        ("tv", {"television"}),
        ("a turtle", {"loggerhead", "leatherback turtle", "mud turtle", "terrapin", "box turtle"}),
        ("a coffee cup", {"cup"}),
        ("fridge", {"refrigerator"}),
        ("bike", {"bicycle-built-for-two", "mountain bike"}),
        ("tarantula", {"tarantula"}),
        ("a nautilus", {"chambered nautilus"}),
        (
            "a kitten on the couch",
            {"tabby", "tiger cat", "Persian cat", "Siamese cat", "Egyptian cat", "cougar", "lynx"},
        ),
    ],
)
def test_phrases_cover_the_classes_below_their_meaning(phrase: str, names: set[str]) -> None:
    assert {class_names()[place] for place in classes_of(phrase)} == names


@needs_wordnet
def test_dog_covers_every_breed_and_no_wolf() -> None:
    dog = coverage_of("dogs")
    assert len(dog.classes) == 118
    assert dog.completeness > 0.75
    assert not dog.classes & classes_of("wolf")
    assert classes_of("golden retriever") < dog.classes
    assert classes_of("puppy") <= dog.classes


@needs_wordnet
@pytest.mark.parametrize(
    ("phrase", "reason"),
    [
        ("animal", "too general, it covers 398"),
        ("thing", "no classes for 'thing'"),
        ("person", "too few of all the kinds"),
        ("flower", "too few of all the kinds"),
        ("happiness", "nothing that can be seen"),
        ("toy car", "with 'toy' before it"),
        ("cat and dog", "more than one thing"),
        ("", "holds no word"),
        ("qwertz", "WordNet has no such noun"),
        ("mouse", "no classes"),
        ("a device", "too general, it covers 129"),
        ("some food", "too general"),
        ("a container", "too general"),
        ("an arrow", "a kind of projectile, which is more general"),
        ("a flying drone", "a kind of bee, which is more general"),
        ("an anchor", "a kind of hook, which is more general"),
        ("a bulldozer", "a kind of tractor, which is more general"),
    ],
)
def test_words_that_say_too_little_or_nothing_are_unknown(phrase: str, reason: str) -> None:
    with pytest.raises(UnscorableError, match=reason) as told:
        classes_of(phrase)
    assert told.value.reason == "unknown_word"


@pytest.mark.slow
@needs_wordnet
def test_no_word_for_many_things_of_no_common_look_is_used() -> None:
    wordnet = wordnet_here()
    assert wordnet is not None
    general = []
    for sense, classes in ImageNetVocabulary(wordnet).senses_above_classes():
        for name in wordnet.names(sense):
            with suppress(UnscorableError):
                coverage = coverage_of(name)
                if len(coverage.classes) > 30 and coverage.classes == classes and coverage.completeness < 0.6:
                    general.append(name)
    assert set(general) <= {
        "arthropod", "bird", "clothing", "article of clothing", "vesture", "wear", "wearable", "habiliment", "vehicle",
        "wheeled vehicle", "reptile", "reptilian", "diapsid", "diapsid reptile",
    }  # fmt: skip


@needs_wordnet
def test_every_class_has_a_meaning_of_its_own() -> None:
    wordnet = wordnet_here()
    assert wordnet is not None
    vocabulary = ImageNetVocabulary(wordnet)
    senses = [vocabulary.sense_of_class(number) for number in range(1000)]
    assert len(set(senses)) == 1000


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
