"""`editgauge score`, as users type it."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import skimage.data

from editgauge._util.images import Pixels, read_image, write_png
from editgauge.engine.score import score
from editgauge.models.weights import available

Command = Callable[..., subprocess.CompletedProcess[str]]
KEYS = {"protocol", "name", "value", "status", "reason", "higher_is_better", "range", "evidence", "signature"}
METRICS = ("l1", "l2", "psnr", "ssim", "histogram_correlation", "edge_distance")


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory, photo: Pixels) -> Path:
    """A photograph, the same with a dark patch, the patch as a mask, and files that are no pictures."""
    folder = tmp_path_factory.mktemp("pictures")
    after = photo.copy()
    after[32:64, 32:64] //= 2
    mask = np.zeros_like(photo)
    mask[32:64, 32:64] = 255
    write_png(photo, folder / "before.png")
    write_png(after, folder / "after.png")
    write_png(mask, folder / "mask.png")
    write_png(np.asarray(cv2.resize(after, (64, 64)), dtype=np.uint8), folder / "small.png")
    (folder / "half.png").write_bytes((folder / "after.png").read_bytes()[:2000])
    (folder / "text.png").write_text("no picture")
    return folder


def requests(*more: str, after: str = "after.png", kind: str = "color") -> list[str]:
    return ["score", "before.png", after, "make it dark", "--edit-type", kind, "--protocol", "preservation", *more]


def scores(editgauge: Command, *words: str, **options: Any) -> list[dict[str, Any]]:
    output = json.loads(editgauge(*words, "--json", **options).stdout)
    assert set(output) == {"verdict", "reading", "scores"}
    for item in output["scores"]:
        assert set(item) == KEYS
        assert item["status"] in {"scored", "unscored"}
        assert (item["value"] is None) == (item["status"] == "unscored") == (item["reason"] is not None)
        assert item["value"] is None or item["range"][0] <= item["value"] <= item["range"][1]
    results: list[dict[str, Any]] = output["scores"]
    return results


def test_json_has_every_score_with_all_that_is_needed_to_read_it(editgauge: Command, pictures: Path) -> None:
    results = {item["name"]: item for item in scores(editgauge, *requests(), cwd=pictures)}
    assert list(results) == [*METRICS, *(f"{name}_outside" for name in METRICS)]
    assert all(results[name]["status"] == "scored" for name in METRICS)
    assert results["psnr"]["higher_is_better"]
    assert results["l1"]["value"] > 0
    without = results["l1_outside"]
    assert (without["reason"], without["evidence"]) == ("not_applicable", [{"note": "the edit has no mask"}])


def test_with_a_mask_what_lies_outside_is_scored_too(editgauge: Command, pictures: Path) -> None:
    results = {item["name"]: item for item in scores(editgauge, *requests("--mask", "mask.png"), cwd=pictures)}
    assert results["l1_outside"]["value"] == 0
    assert results["psnr_outside"]["value"] == 100
    assert {"note": "0.0% of the pixels outside the mask changed visibly."} in results["l1_outside"]["evidence"]


def test_every_option_of_an_edit_is_accepted(editgauge: Command, pictures: Path) -> None:
    words = ["--subject", "cat", "--from", "white", "--to", "black", "--position", "left", "--anchor", "dog"]
    assert scores(editgauge, *requests(*words, kind="Object-Addition"), cwd=pictures)


def test_the_table_says_what_is_better_and_why_something_is_missing(editgauge: Command, pictures: Path) -> None:
    output = editgauge(*requests(), cwd=pictures)
    psnr = next(line.split() for line in output.stdout.splitlines() if " psnr " in line)
    assert psnr[-1] == "higher"
    assert "unscored (not_applicable): the edit has no mask" in output.stdout
    assert output.stderr == ""


def test_another_size_is_resized_and_said(editgauge: Command, pictures: Path) -> None:
    output = editgauge(*requests(after="small.png"), cwd=pictures).stdout
    assert "The edited image was 64 x 64 and was resized to the source's 128 x 128." in output


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (requests(kind="colour"), "called 'colour'. Did you mean 'color'? `editgauge list edit-types` shows all "),
        (requests(after="gone.png"), "There is no image at 'gone.png'."),
        (requests(after="text.png"), "'text.png' is not an image"),
        (requests(after="half.png"), "'half.png' cannot be decoded"),
        (requests("--mask", "gone.png"), "There is no image at 'gone.png'."),
        (requests("--protocol", "preservatoin"), "no protocol called 'preservatoin'. Did you mean 'preservation'?"),
        (requests("--anchor", "dog"), "--anchor needs --position: left, right, above, below, on, center, next to, in"),
        (requests("--position", "lefft"), "There is no position called 'lefft'. Did you mean 'left'?"),
        (requests("--model", "detector"), "--model takes ROLE=NAME, got 'detector'."),
        (requests("--model", "image_embedder=clip"), "There is no model called 'clip'."),
        (requests("--model", "image_embeder=clip"), "There is no role called 'image_embeder'. Did you mean"),
    ],
)
def test_a_mistake_is_one_message(editgauge: Command, pictures: Path, words: list[str], output: str) -> None:
    ended = editgauge(*words, cwd=pictures, code=2)
    assert output in ended.stderr
    assert ended.stderr.startswith("editgauge: ")
    assert ended.stderr.count("\n") == 1
    assert ended.stdout == ""


@pytest.mark.parametrize("words", [["score", "before.png"], requests("--colour", "red")])
def test_a_wrong_command_shows_how_to_get_help(editgauge: Command, pictures: Path, words: list[str]) -> None:
    assert "editgauge score -h" in editgauge(*words, cwd=pictures, code=2).stderr


def test_python_gives_the_same_scores(editgauge: Command, pictures: Path) -> None:
    mine = score(
        pictures / "before.png", pictures / "after.png", "make it dark", edit_type="color", protocol=["preservation"]
    )
    theirs = scores(editgauge, *requests(), cwd=pictures)
    assert [(item.name, item.value, item.reason) for item in mine] == [
        (their["name"], their["value"], their["reason"]) for their in theirs
    ]


def test_one_protocol_need_not_be_put_into_a_list(pictures: Path) -> None:
    assert score(
        pictures / "before.png", pictures / "after.png", "make it dark", edit_type="color", protocol="preservation"
    )


def test_it_works_in_a_notebook(pictures: Path) -> None:
    """There an event loop is running already."""

    async def cell() -> int:
        given = pictures / "before.png", pictures / "after.png", "make it dark"
        return len(score(*given, edit_type="color", protocol=["preservation"]))

    assert asyncio.run(cell()) == 12


HAS_MODELS = all(map(available, ("efficientdet-lite2", "u2netp", "wordnet", "efficientnet-lite2")))
needs_models = pytest.mark.skipif(not HAS_MODELS, reason="NOT TESTED: run `editgauge models pull lite`")


@pytest.fixture(scope="module")
def cat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("see") / "cat.png"
    chelsea: Callable[[], Pixels] = skimage.data.chelsea
    write_png(chelsea(), path)
    return path


@needs_models
def test_it_lists_and_draws_what_is_seen(editgauge: Command, cat: Path, tmp_path: Path) -> None:
    ended = editgauge("see", str(cat), "kitten", "unicorn", "pizza", "--out", "seen.png", cwd=tmp_path)

    assert "kitten" in ended.stdout
    assert "cat " in ended.stdout  # the model's own word
    assert "not detected: pizza" in ended.stdout
    assert "cannot tell: unicorn" in ended.stdout
    assert "detector: efficientdet-lite2" in ended.stdout
    drawn = read_image(tmp_path / "seen.png")
    assert drawn.shape[1] >= 800


@needs_models
def test_json_has_boxes_outlines_and_models(editgauge: Command, cat: Path) -> None:
    output = json.loads(editgauge("see", str(cat), "cat", "--json").stdout)

    (detections,) = output["detected"]
    left, top, right, bottom = detections["box"]
    assert (right - left) * (bottom - top) > 0.5 * 300 * 451
    assert 0.3 < detections["share"] < 0.95
    assert set(output["models"]) == {"detector", "segmenter", "classifier"}


@needs_models
def test_what_the_detector_does_not_know_the_classifier_may(editgauge: Command, cat: Path) -> None:
    sight = json.loads(editgauge("see", str(cat), "lynx", "tripod", "unicorn", "cat", "--json").stdout)

    assert next(iter(sight["classes"])) == "Egyptian cat"
    assert sight["named"]["lynx"] < 0.1
    assert sight["named"]["tripod"] < 0.01
    assert set(sight["cannot_tell"]) == {"unicorn"}
    (detections,) = sight["detected"]
    assert "cat" in next(iter(detections["classes"]))


@pytest.mark.skipif(
    not all(map(available, ("pp-ocr", "yunet-sface", "face-landmarker"))),
    reason="NOT TESTED: run `editgauge models pull lite-plus`",
)
@pytest.mark.slow
@needs_models
def test_text_and_faces_are_told_when_asked_for(editgauge: Command, tmp_path: Path) -> None:
    astronaut: Callable[[], Pixels] = skimage.data.astronaut
    path = tmp_path / "astronaut.png"
    write_png(astronaut(), path)
    requests = ("see", str(path), "person", "--text", "--faces", "--models", "lite-plus")
    sight = json.loads(editgauge(*requests, "--json").stdout)
    printed = editgauge(*requests).stdout

    (face,) = sight["faces"]
    assert face["smile"] > 0.7
    assert isinstance(sight["text"], list)
    assert "face: 0.9" in printed
    assert "smile 0.9" in printed


@needs_models
def test_without_phrases_it_tells_all_it_knows(editgauge: Command, cat: Path) -> None:
    output = json.loads(editgauge("see", str(cat), "--json").stdout)

    assert "cat" in {detections["word"] for detections in output["detected"]}


@needs_models
def test_a_role_can_be_played_by_another_model(editgauge: Command, cat: Path) -> None:
    if not available("efficientdet-lite0"):
        pytest.skip("NOT TESTED: run `editgauge models pull efficientdet-lite0`")
    output = json.loads(editgauge("see", str(cat), "cat", "--detector", "efficientdet-lite0", "--json").stdout)

    assert output["models"]["detector"]["name"] == "efficientdet-lite0"


@needs_models
@pytest.mark.parametrize(
    ("words", "output"),
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
def test_see_reports_a_mistake_in_one_message(editgauge: Command, cat: Path, words: list[str], output: str) -> None:
    ended = editgauge("see", *(str(cat) if word == "CAT" else word for word in words), code=2)

    assert output in ended.stderr
    assert "Traceback" not in ended.stderr
