"""ImageNet classifiers: photographs named rightly, and phrases that cover the right classes."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest
import skimage.data

from editgauge._util.concurrency import run_async
from editgauge._util.images import Pixels
from editgauge.errors import UnscorableError
from editgauge.models.answers import ClassScores
from editgauge.models.lite.classifiers import EfficientNetLite2, EfficientNetLite3
from editgauge.models.perception import ModelService
from editgauge.models.roles import Classifier
from editgauge.models.vocabulary import wordnet_here
from editgauge.models.vocabulary.imagenet import ImageNetVocabulary, class_names, class_words, classes_of, coverage_of
from editgauge.models.weights import available

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
