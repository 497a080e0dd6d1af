"""The verb `changes`, with the small models on a real photograph."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import skimage.data
from typer.testing import CliRunner

from editgauge._cli import app
from editgauge._util.images import Pixels, read_image, resize_image, write_png
from editgauge.engine.changes import changes
from editgauge.models.weights import available

HERE = all(map(available, ("efficientdet-lite2", "u2netp", "dinov2-s14", "efficientnet-lite2")))
pytestmark = pytest.mark.skipif(not HERE, reason="NOT TESTED: run `editgauge models pull lite`")
CHELSEA: Callable[[], Pixels] = skimage.data.chelsea
CAT = CHELSEA()


@pytest.fixture
def room(tmp_path: Path) -> tuple[Path, Path]:
    """A plain wall, and the same with a cat before it."""
    wall = np.full((480, 640, 3), (150, 160, 170), np.uint8)
    with_cat = wall.copy()
    with_cat[150:450, 100:551] = CAT
    before, after = tmp_path / "before.png", tmp_path / "after.png"
    write_png(wall, before)
    write_png(with_cat, after)
    return before, after


def test_what_appeared_is_named_and_drawn(room: tuple[Path, Path], tmp_path: Path) -> None:
    result = changes(*room, out=tmp_path / "drawn.png")
    assert result.sentences == ("A cat appeared in the middle.",)
    assert result.extent == "places"
    (change,) = result.changes
    assert (change.kind, change.before) == ("appeared", None)
    assert result.share == pytest.approx(300 * 451 / (480 * 640), rel=0.2)
    drawn = read_image(tmp_path / "drawn.png")
    assert drawn.shape[1] > 2 * drawn.shape[0]  # both pictures, side by side


def test_the_other_way_round_it_vanished(room: tuple[Path, Path]) -> None:
    assert changes(room[1], room[0]).sentences == ("The cat in the middle vanished.",)


def test_the_same_picture_did_not_change(room: tuple[Path, Path]) -> None:
    result = changes(room[1], room[1])
    assert result.sentences == ("Nothing changed.",)
    assert result.share == 0
    assert result.regions == ()


def test_things_are_seen_in_the_own_size_of_the_image_after(tmp_path: Path) -> None:
    empty, large = np.full((60, 80, 3), 255, np.uint8), np.full((900, 1200, 3), 255, np.uint8)
    large[600:, :451] = CAT
    write_png(empty, tmp_path / "before.png")
    write_png(resize_image(large, 80, 60), tmp_path / "shrunk.png")
    write_png(large, tmp_path / "after.png")

    shrunk, own = (changes(tmp_path / "before.png", tmp_path / name).changes for name in ("shrunk.png", "after.png"))

    assert [change.sentence for change in own] == ["A cat appeared at the lower left."]
    assert shrunk[0].after is not None
    assert own[0].after is not None
    assert own[0].after.confidence > shrunk[0].after.confidence
    assert own[0].after.box == pytest.approx((0, 40, 28, 60), abs=2)


def test_a_picture_of_another_size_is_compared_at_the_size_of_the_first_and_it_is_said(
    room: tuple[Path, Path], tmp_path: Path
) -> None:
    write_png(resize_image(read_image(room[1]), 320, 240), tmp_path / "small.png")
    result = changes(room[1], tmp_path / "small.png")
    assert result.sentences == ("Nothing changed.",)
    assert (
        "The image after is 320 x 240: it was looked at in its own size, and compared by pixels at 640 x 480."
        in result.remarks
    )


def test_the_command_says_it_in_words_and_in_json(room: tuple[Path, Path]) -> None:
    said = CliRunner().invoke(app, ["changes", *map(str, room)])
    assert said.stdout == "A cat appeared in the middle.\n"
    told = json.loads(CliRunner().invoke(app, ["changes", *map(str, room), "--json"]).stdout)
    assert told["changes"][0]["after"]["word"] == "cat"
    assert set(told["models"]) == {"detector", "segmenter", "image_embedder", "classifier", "text_reader"}
