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

from editgauge._util.images import Pixels, write_png
from editgauge.engine.score import score

Command = Callable[..., subprocess.CompletedProcess[str]]
KEYS = {"protocol", "name", "value", "status", "reason", "higher_is_better", "range", "evidence"}
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


def asked(*more: str, after: str = "after.png", kind: str = "color") -> list[str]:
    return ["score", "before.png", after, "make it dark", "--edit-type", kind, "--protocol", "preservation", *more]


def scores(editgauge: Command, *words: str, **options: Any) -> list[dict[str, Any]]:
    told = json.loads(editgauge(*words, "--json", **options).stdout)
    assert set(told) == {"verdict", "reading", "scores"}
    for each in told["scores"]:
        assert set(each) == KEYS
        assert each["status"] in {"scored", "unscored"}
        assert (each["value"] is None) == (each["status"] == "unscored") == (each["reason"] is not None)
        assert each["value"] is None or each["range"][0] <= each["value"] <= each["range"][1]
    found: list[dict[str, Any]] = told["scores"]
    return found


def test_json_has_every_score_with_all_that_is_needed_to_read_it(editgauge: Command, pictures: Path) -> None:
    found = {each["name"]: each for each in scores(editgauge, *asked(), cwd=pictures)}
    assert list(found) == [*METRICS, *(f"{name}_outside" for name in METRICS)]
    assert all(found[name]["status"] == "scored" for name in METRICS)
    assert found["psnr"]["higher_is_better"]
    assert found["l1"]["value"] > 0
    without = found["l1_outside"]
    assert (without["reason"], without["evidence"]) == ("not_applicable", [{"note": "the edit has no mask"}])


def test_with_a_mask_what_lies_outside_is_scored_too(editgauge: Command, pictures: Path) -> None:
    found = {each["name"]: each for each in scores(editgauge, *asked("--mask", "mask.png"), cwd=pictures)}
    assert found["l1_outside"]["value"] == 0
    assert found["psnr_outside"]["value"] == 100
    assert {"note": "0.0% of the pixels outside the mask changed visibly."} in found["l1_outside"]["evidence"]


def test_every_option_of_an_edit_is_accepted(editgauge: Command, pictures: Path) -> None:
    words = ["--subject", "cat", "--from", "white", "--to", "black", "--position", "left", "--anchor", "dog"]
    assert scores(editgauge, *asked(*words, kind="Object-Addition"), cwd=pictures)


def test_the_table_says_what_is_better_and_why_something_is_missing(editgauge: Command, pictures: Path) -> None:
    told = editgauge(*asked(), cwd=pictures)
    psnr = next(line.split() for line in told.stdout.splitlines() if " psnr " in line)
    assert psnr[-1] == "higher"
    assert "unscored (not_applicable): the edit has no mask" in told.stdout
    assert told.stderr == ""


def test_another_size_is_resized_and_said(editgauge: Command, pictures: Path) -> None:
    told = editgauge(*asked(after="small.png"), cwd=pictures).stdout
    assert "The edited image was 64 x 64 and was resized to the source's 128 x 128." in told


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (asked(kind="colour"), "called 'colour'. Did you mean 'color'? `editgauge list edit-types` shows all "),
        (asked(after="gone.png"), "There is no image at 'gone.png'."),
        (asked(after="text.png"), "'text.png' is not an image"),
        (asked(after="half.png"), "'half.png' cannot be decoded"),
        (asked("--mask", "gone.png"), "There is no image at 'gone.png'."),
        (asked("--protocol", "preservatoin"), "no protocol called 'preservatoin'. Did you mean 'preservation'?"),
        (asked("--anchor", "dog"), "--anchor needs --position: left, right, above, below, on, center, next to, in"),
        (asked("--position", "lefft"), "There is no position called 'lefft'. Did you mean 'left'?"),
        (asked("--model", "detector"), "--model takes ROLE=NAME, got 'detector'."),
        (asked("--model", "image_embedder=clip"), "There is no model called 'clip'."),
        (asked("--model", "image_embeder=clip"), "There is no role called 'image_embeder'. Did you mean"),
    ],
)
def test_a_mistake_is_one_message(editgauge: Command, pictures: Path, words: list[str], told: str) -> None:
    ended = editgauge(*words, cwd=pictures, code=2)
    assert told in ended.stderr
    assert ended.stderr.startswith("editgauge: ")
    assert ended.stderr.count("\n") == 1
    assert ended.stdout == ""


@pytest.mark.parametrize("words", [["score", "before.png"], asked("--colour", "red")])
def test_a_wrong_command_shows_how_to_get_help(editgauge: Command, pictures: Path, words: list[str]) -> None:
    assert "editgauge score -h" in editgauge(*words, cwd=pictures, code=2).stderr


def test_python_gives_the_same_scores(editgauge: Command, pictures: Path) -> None:
    mine = score(
        pictures / "before.png", pictures / "after.png", "make it dark", edit_type="color", protocol=["preservation"]
    )
    theirs = scores(editgauge, *asked(), cwd=pictures)
    assert [(each.name, each.value, each.reason) for each in mine] == [
        (each["name"], each["value"], each["reason"]) for each in theirs
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
