"""Text readers: PP-OCR and Tesseract."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import skimage.data
from PIL import Image, ImageDraw, ImageFont

from editgauge._util.batching import run_async
from editgauge._util.images import Pixels
from editgauge.errors import EditGaugeError
from editgauge.evidence import Box
from editgauge.models._cache import pack, unpack
from editgauge.models.lite.text import PpOcr, Tesseract, lines_in, parse_tesseract_table
from editgauge.models.perception import ModelService
from editgauge.models.roles import TextReader
from editgauge.models.weights import MissingWeightsError, available

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
    assert [item.label for item in lines.evidence("source") if isinstance(item, Box)] == [
        f"“{text}”" for text in lines.texts
    ]


def test_slanted_words_are_read_too() -> None:
    board = np.full((300, 500, 3), 230, np.uint8)
    cv2.putText(board, "MUSEUM", (110, 165), cv2.FONT_HERSHEY_SIMPLEX, 2, (20, 20, 60), 5)
    turned = cv2.warpAffine(board, cv2.getRotationMatrix2D((250, 150), 18, 1), (500, 300), borderValue=(230, 230, 230))
    assert READER.read([np.asarray(turned, np.uint8)])[0].texts == ("MUSEUM",)


def test_a_picture_without_words_has_none() -> None:
    lines = READER.read([photographs.chelsea(), np.zeros((5, 9, 3), np.uint8)])
    assert [len(line) for line in lines] == [0, 0]
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


BOARD = np.full((120, 400, 3), 255, np.uint8)
HEAD = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext"
TABLE = "\n".join(
    [
        HEAD,
        "1\t1\t0\t0\t0\t0\t0\t0\t400\t120\t-1\t",
        "2\t1\t1\t0\t0\t0\t30\t70\t200\t20\t-1\t",
        "3\t1\t1\t1\t0\t0\t30\t70\t200\t20\t-1\t",
        "4\t1\t1\t1\t1\t0\t30\t70\t200\t20\t-1\t",
        "5\t1\t1\t1\t1\t1\t30\t72\t80\t18\t96.060005\tOPEN",
        '5\t1\t1\t1\t1\t2\t120\t70\t110\t20\t91.5\t24"h',
        "5\t1\t2\t1\t1\t1\t300\t10\t40\t20\t12.25\tqz",
        "5\t1\t3\t1\t1\t1\t10\t10\t60\t20\t88\tBAKERY",
        "5\t1\t3\t1\t1\t2\t80\t10\t4\t20\t95\t ",
    ]
)
STUB = """#!{python}
import hashlib, pathlib, sys
if sys.argv[1:] == ["--version"]:
    print("tesseract 5.3.0\\n leptonica-1.82.0")
elif sys.argv[1:] == ["--list-langs"]:
    print('List of available languages in "{folder}/" (1):\\neng')
elif sys.argv[1:] == ["stdin", "stdout", "-l", "eng", "--psm", "11", "tsv"]:
    if not sys.stdin.buffer.read().startswith(b"\\x89PNG"):
        sys.exit("Error during processing.")
    print(pathlib.Path("{folder}/table.tsv").read_text())
else:
    sys.exit(f"unknown arguments {{sys.argv[1:]}}")
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program on the path that answers as Tesseract 5 does."""
    stub = tmp_path / "tesseract"
    stub.write_text(STUB.format(python=sys.executable, folder=tmp_path))
    stub.chmod(0o755)
    (tmp_path / "table.tsv").write_text(TABLE)
    (tmp_path / "eng.traineddata").write_bytes(b"letters")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return stub


def test_words_of_one_line_are_put_together_and_doubtful_ones_left_out() -> None:
    lines = parse_tesseract_table(TABLE)
    assert lines.texts == ("BAKERY", 'OPEN 24"h')
    np.testing.assert_array_equal(lines.boxes, [[10, 10, 70, 30], [30, 70, 230, 90]])
    np.testing.assert_allclose(lines.confidences, [0.88, 0.9378], atol=1e-4)
    assert len(parse_tesseract_table(HEAD)) == 0


def test_an_installed_program_plays_the_role(program: Path, tmp_path: Path) -> None:
    with ModelService({"text_reader": "tesseract"}, tmp_path / "answers") as see:
        assert run_async(see.read_text(BOARD)).texts == ("BAKERY", 'OPEN 24"h')
        card = see.card("text_reader")
    assert card.revision == "5.3.0"
    assert len(card.sha256) == 64
    assert isinstance(Tesseract(), TextReader)


def test_what_the_program_says_when_it_fails_is_said(program: Path) -> None:
    program.write_text(f"#!{sys.executable}\nimport sys\nsys.exit('Failed loading language eng')\n")
    with pytest.raises(EditGaugeError, match=r"exit status 1.*Failed loading language eng"):
        Tesseract().read([BOARD])


def test_without_the_program_the_message_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert Tesseract().card.revision == "not installed"
    with pytest.raises(MissingWeightsError, match=r"apt-get install tesseract-ocr.*text_reader=pp-ocr"):
        ModelService({"text_reader": "tesseract"})


@pytest.mark.skipif(shutil.which("tesseract") is None, reason="NOT TESTED: the program tesseract is not installed")
def test_the_real_program_reads_words_where_they_stand() -> None:
    picture = Image.fromarray(BOARD)
    ImageDraw.Draw(picture).text((40, 40), "BAKERY 1984", fill=0, font=ImageFont.load_default(36))
    lines = Tesseract().read([np.asarray(picture)])[0]
    assert lines.texts == ("BAKERY 1984",)
    np.testing.assert_allclose(lines.boxes[0], [40, 46, 260, 80], atol=15)
