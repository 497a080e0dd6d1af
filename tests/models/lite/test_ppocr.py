"""Words in pictures: read where they stand, and none where there are none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import skimage.data
from PIL import Image, ImageDraw, ImageFont

from editgauge._util.concurrency import run_async
from editgauge._util.images import Pixels
from editgauge.evidence import Box
from editgauge.models._cache import pack, unpack
from editgauge.models.lite.text import PpOcr, lines_in
from editgauge.models.perception import ModelService
from editgauge.models.roles import TextReader
from editgauge.models.weights import available

pytestmark = pytest.mark.skipif(not available("pp-ocr"), reason="NOT TESTED: run `editgauge models pull lite`")
photographs: Any = skimage.data
READER = PpOcr()


def written(*lines: tuple[int, int, str], size: int = 36) -> Pixels:
    """A photograph with words on it."""
    picture = Image.fromarray(photographs.coffee())
    font = ImageFont.load_default(size)
    for left, top, text in lines:
        ImageDraw.Draw(picture).text((left, top), text, fill=(255, 255, 255), font=font, stroke_width=2, stroke_fill=0)
    return np.asarray(picture)


def test_words_are_read_where_they_stand() -> None:
    lines = READER.read([written((40, 30, "BAKERY"), (330, 330, "Fresh 1984"))])[0]
    assert [text.replace(" ", "") for text in lines.texts] == ["BAKERY", "Fresh1984"]
    assert lines.text == "\n".join(lines.texts)
    np.testing.assert_allclose(lines.boxes[0], [40, 36, 190, 66], atol=12)
    assert lines.boxes[1][0] > 300
    assert lines.confidences.min() > 0.8
    assert [each.label for each in lines.evidence("source") if isinstance(each, Box)] == [
        f"“{text}”" for text in lines.texts
    ]


def test_slanted_words_are_read_too() -> None:
    board = np.full((300, 500, 3), 230, np.uint8)
    cv2.putText(board, "MUSEUM", (110, 165), cv2.FONT_HERSHEY_SIMPLEX, 2, (20, 20, 60), 5)
    turned = cv2.warpAffine(board, cv2.getRotationMatrix2D((250, 150), 18, 1), (500, 300), borderValue=(230, 230, 230))
    assert READER.read([np.asarray(turned, np.uint8)])[0].texts == ("MUSEUM",)


def test_a_picture_without_words_has_none() -> None:
    lines = READER.read([photographs.chelsea(), np.zeros((5, 9, 3), np.uint8)])
    assert [len(each) for each in lines] == [0, 0]
    assert lines[0].boxes.shape == (0, 4)
    assert lines_in(np.zeros((32, 64), np.float32)) == []


def test_the_service_remembers_what_was_read(tmp_path: Path) -> None:
    picture = written((40, 30, "OPEN"))
    with ModelService({"text_reader": "pp-ocr"}, tmp_path) as see:
        lines = run_async(see.read_text(picture))
    assert lines.texts == ("OPEN",)
    assert isinstance(READER, TextReader)
    again = unpack("key", pack("key", lines))
    assert again.texts == lines.texts  # type: ignore[union-attr]
    np.testing.assert_array_equal(again.polygons, lines.polygons)  # type: ignore[union-attr]
