"""`editgauge see`, as users type it, with the small models."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import skimage.data

from editgauge._util.images import Pixels, read_image, write_png
from editgauge.models.weights import available

Command = Callable[..., Any]
HERE = all(map(available, ("efficientdet-lite2", "u2netp", "wordnet", "efficientnet-lite2")))
pytestmark = pytest.mark.skipif(not HERE, reason="NOT TESTED: run `editgauge models pull lite`")


@pytest.fixture(scope="module")
def cat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("see") / "cat.png"
    chelsea: Callable[[], Pixels] = skimage.data.chelsea
    write_png(chelsea(), path)
    return path


def test_it_lists_and_draws_what_is_seen(editgauge: Command, cat: Path, tmp_path: Path) -> None:
    ended = editgauge("see", str(cat), "kitten", "unicorn", "pizza", "--out", "seen.png", cwd=tmp_path)

    assert "kitten" in ended.stdout
    assert "cat " in ended.stdout  # the model's own word
    assert "not seen: pizza" in ended.stdout
    assert "cannot tell: unicorn" in ended.stdout
    assert "detector: efficientdet-lite2" in ended.stdout
    drawn = read_image(tmp_path / "seen.png")
    assert drawn.shape[1] >= 800


def test_json_has_boxes_outlines_and_models(editgauge: Command, cat: Path) -> None:
    told = json.loads(editgauge("see", str(cat), "cat", "--json").stdout)

    (seen,) = told["seen"]
    left, top, right, bottom = seen["box"]
    assert (right - left) * (bottom - top) > 0.5 * 300 * 451
    assert 0.3 < seen["share"] < 0.95
    assert set(told["models"]) == {"detector", "segmenter", "classifier"}


def test_what_the_detector_does_not_know_the_classifier_may(editgauge: Command, cat: Path) -> None:
    sight = json.loads(editgauge("see", str(cat), "lynx", "tripod", "unicorn", "cat", "--json").stdout)

    assert next(iter(sight["classes"])) == "Egyptian cat"
    assert sight["named"]["lynx"] < 0.1
    assert sight["named"]["tripod"] < 0.01
    assert set(sight["cannot_tell"]) == {"unicorn"}
    (seen,) = sight["seen"]
    assert "cat" in next(iter(seen["classes"]))


@pytest.mark.skipif(
    not all(map(available, ("pp-ocr", "yunet-sface", "face-landmarker"))),
    reason="NOT TESTED: run `editgauge models pull lite-plus`",
)
@pytest.mark.slow
def test_text_and_faces_are_told_when_asked_for(editgauge: Command, tmp_path: Path) -> None:
    astronaut: Callable[[], Pixels] = skimage.data.astronaut
    path = tmp_path / "astronaut.png"
    write_png(astronaut(), path)
    asked = ("see", str(path), "person", "--text", "--faces", "--models", "lite-plus")
    sight = json.loads(editgauge(*asked, "--json").stdout)
    printed = editgauge(*asked).stdout

    (face,) = sight["faces"]
    assert face["smile"] > 0.7
    assert isinstance(sight["text"], list)
    assert "face: 0.9" in printed
    assert "smile 0.9" in printed


def test_without_phrases_it_tells_all_it_knows(editgauge: Command, cat: Path) -> None:
    told = json.loads(editgauge("see", str(cat), "--json").stdout)

    assert "cat" in {seen["word"] for seen in told["seen"]}


def test_a_role_can_be_played_by_another_model(editgauge: Command, cat: Path) -> None:
    if not available("efficientdet-lite0"):
        pytest.skip("NOT TESTED: run `editgauge models pull efficientdet-lite0`")
    told = json.loads(editgauge("see", str(cat), "cat", "--detector", "efficientdet-lite0", "--json").stdout)

    assert told["models"]["detector"]["name"] == "efficientdet-lite0"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nowhere.png"], "There is no image at 'nowhere.png'"),
        (["CAT", "--models", "lyte"], "There is no profile called 'lyte'. Did you mean 'lite'?"),
        (["CAT", "--models", "paper"], "Nothing can be seen without a detector.\n  - detector: owlvit-base is not on"),
        (
            ["CAT", "--faces"],
            "without a face reader.\n  - face_reader: the profile 'lite' has no model for it",
        ),
        (["CAT", "--detector", "owlet"], "There is no model called 'owlet'"),
        (["CAT", "--model", "eyes=owlvit-base"], "There is no role called 'eyes'"),
        (["CAT", "--detector", "lpips-alex"], "cannot play the role 'detector'"),
        (["CAT", "--detector", "owlvit-base"], "editgauge models pull"),
    ],
)
def test_a_mistake_is_one_message(editgauge: Command, cat: Path, words: list[str], told: str) -> None:
    ended = editgauge("see", *(str(cat) if word == "CAT" else word for word in words), code=2)

    assert told in ended.stderr
    assert "Traceback" not in ended.stderr
