from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from editgauge._util.images import Pixels
from editgauge.models.answers import Detections
from editgauge.models.hub.owl import MIN_CONFIDENCE, OwlDetector
from editgauge.models.roles import Detector

pytestmark = pytest.mark.slow

transformers: Any = import_module("transformers")  # hardly any of its functions say their types

WORDS = ("a cat", "the red cup", "a photo of a dog")


@pytest.fixture(scope="module", params=["owlvit", "owlv2"])
def folder(
    request: pytest.FixtureRequest,
    save: Callable[..., Path],
    layer: dict[str, int],
    clip_text: Callable[[int], dict[str, int]],
    clip_tokenizer: Callable[[int], Any],
) -> Path:
    name = {"owlvit": "OwlViT", "owlv2": "Owlv2"}[request.param]
    config = getattr(transformers, f"{name}Config")(
        text_config=clip_text(16), vision_config={**layer, "image_size": 32, "patch_size": 8}, projection_dim=16
    )
    torch.manual_seed(1)
    return save(
        getattr(transformers, f"{name}ForObjectDetection")(config),
        getattr(transformers, f"{name}ImageProcessorPil")(size={"height": 32, "width": 32}),
        clip_tokenizer(16),
    )


@pytest.fixture
def owl(folder: Path) -> OwlDetector:
    return OwlDetector(folder, device="cpu")


def whole_forward(folder: Path, image: Pixels, words: tuple[str, ...]) -> list[dict[str, Any]]:
    """What the library gives: for each word alone, boxes and confidences of all patches, most confident first."""
    model = transformers.AutoModelForZeroShotObjectDetection.from_pretrained(folder)
    processor = transformers.AutoImageProcessor.from_pretrained(folder, backend="pil")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    found = []
    for word in words:
        tokens = tokenizer([word], padding="max_length", max_length=16, return_tensors="pt")
        with torch.inference_mode():
            told = model(pixel_values=processor([image], return_tensors="pt")["pixel_values"], **tokens)
        found += processor.post_process_object_detection(told, threshold=MIN_CONFIDENCE, target_sizes=[image.shape[:2]])
    return found


def ask(owl: OwlDetector, image: Pixels, *words: str) -> Detections:
    return owl.find([(owl.look([image])[0], words)])[0]


@pytest.mark.parametrize("size", [(40, 60), (60, 40), (48, 48)])
def test_the_split_equals_the_whole_forward(
    owl: OwlDetector, folder: Path, picture: Callable[..., Pixels], size: tuple[int, int]
) -> None:
    image = picture(1, *size)
    found = ask(owl, image, *WORDS)
    for word, told in zip(WORDS, whole_forward(folder, image, WORDS), strict=True):
        order = torch.argsort(-told["scores"], stable=True)
        np.testing.assert_allclose(found.of(word).confidences, told["scores"][order], atol=1e-5)
        np.testing.assert_allclose(found.of(word).boxes, told["boxes"][order], atol=1e-3)
    assert len(found) == 3 * 16  # random weights are sure of nothing, and of nothing not


def test_words_do_not_depend_on_each_other(owl: OwlDetector, picture: Callable[..., Pixels]) -> None:
    together = ask(owl, picture(2), *WORDS)
    for word in WORDS:
        alone = ask(owl, picture(2), word)
        np.testing.assert_allclose(together.of(word).confidences, alone.confidences, atol=1e-6)
        np.testing.assert_array_equal(together.of(word).boxes, alone.boxes)


def test_the_batch_does_not_matter(owl: OwlDetector, folder: Path, picture: Callable[..., Pixels]) -> None:
    images = [picture(1, 40, 60), picture(2, 90, 30), picture(3, 32, 32)]
    together = owl.find([(features, WORDS) for features in owl.look(images)])
    other = OwlDetector(folder, device="cpu")
    for image, found in zip(images, together, strict=True):
        for word in reversed(WORDS):
            alone = ask(other, image, word)
            np.testing.assert_allclose(found.of(word).confidences, alone.confidences, atol=1e-5)
            np.testing.assert_allclose(found.of(word).boxes, alone.boxes, atol=1e-3)


def test_surest_first_and_labeled_as_asked(owl: OwlDetector, picture: Callable[..., Pixels]) -> None:
    found = ask(owl, picture(), *WORDS)
    assert (np.diff(found.confidences) <= 0).all()
    assert set(found.phrases) == set(WORDS)
    assert found.phrases == found.words


def test_no_words_no_detections(owl: OwlDetector, picture: Callable[..., Pixels]) -> None:
    assert len(ask(owl, picture())) == 0


def test_the_boxes_of_owlv2_are_fractions_of_the_padded_square(
    owl: OwlDetector, folder: Path, picture: Callable[..., Pixels]
) -> None:
    """A small box of the last patch sits at the lower right of what the network saw: the picture, or its square."""
    tall = owl.look([picture(0, 80, 40)])[0]["boxes"]
    far_right = tall[:, [0, 2]].mean(axis=1).max()
    assert far_right > 45 if "owlv2" in (folder / "config.json").read_text() else far_right < 45


def test_it_is_a_detector_for_any_phrase(owl: OwlDetector) -> None:
    assert isinstance(owl, Detector)
    assert owl.word_for("a purple unicorn") == "a purple unicorn"
    assert owl.card.settings["operating_point"] == 0.1
    assert owl.card.input_size == (32, 32)


def test_what_was_kept_on_disk_and_cannot_be_written_answers_the_same(
    owl: OwlDetector, picture: Callable[..., Pixels]
) -> None:
    image = picture(3)
    image.setflags(write=False)
    features = owl.look([image, picture(4)])[0]
    assert all(array.base is None for array in features.values())  # no row keeps its batch alive
    before = owl.find([(features, WORDS)])[0]
    for array in features.values():
        array.setflags(write=False)
    np.testing.assert_array_equal(owl.find([(features, WORDS)])[0].confidences, before.confidences)
