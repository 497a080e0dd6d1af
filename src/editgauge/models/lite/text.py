"""Text readers (OCR): PP-OCR, and Tesseract where that program is installed."""

from __future__ import annotations

import csv
import io
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from editgauge._util.images import Pixels
from editgauge.errors import EditGaugeError
from editgauge.models.answers import TextLines
from editgauge.models.lite._runtime import FromCatalog, onnx_session
from editgauge.models.roles import ModelCard
from editgauge.models.weights._store import measured_sha256

MIN_SHORTER_SIDE, MAX_LONGER_SIDE = 640, 1280
"""Small images are enlarged, so that small letters can be seen, and large ones reduced."""
SIDE_MULTIPLE = 32
MIN_PIXEL_PROBABILITY = 0.3
"""Minimum probability of a pixel of text."""
MIN_LINE_SCORE = 0.5
"""Minimum mean probability of the pixels of a line."""
OUTLINE_EXPANSION = 1.6
"""The network marks the middle of lines; each side is moved out by this times area over circumference."""
MIN_LINE_HEIGHT = 5
"""In pixels of the network's input."""
LETTER_HEIGHT = 48
MIN_TEXT_CONFIDENCE = 0.5
"""Minimum mean confidence of the characters or words of a line."""
MAX_LINES = 200

Corners = NDArray[np.float32]
"""4 x 2: x and y of the corners, from the top left one in the direction of a clock."""


class PpOcr(FromCatalog):
    """Role `text_reader`: lines of text in most scripts; 0.3 s per image, more with text.

    A first network marks the pixels of text; each line is cut out upright and decoded by a second one (Du et al. 2020,
    `arXiv:2009.09941`; the boxes after Liao et al. 2020). The steps between the networks follow those descriptions, so
    that nothing except OpenCV is needed. Text that is upside down is not turned.
    """

    role = "text_reader"
    batch = 1
    id = "PP-OCRv6 small"
    weights = ("pp-ocr",)

    def _settings(self) -> dict[str, str | int | float]:
        return {"shorter_side": MIN_SHORTER_SIDE, "longer_side": MAX_LONGER_SIDE, "threshold": MIN_TEXT_CONFIDENCE}

    def read(self, images: Sequence[Pixels]) -> list[TextLines]:
        """Read the lines of each image, from top to bottom."""
        return [self._lines(image) for image in images]

    def _lines(self, image: Pixels) -> TextLines:
        outlines = self._find(image)
        read = [(self._spell(_upright(image, corners)), corners) for corners in outlines]
        lines = [(text, sure, corners) for (text, sure), corners in read if text and sure >= MIN_TEXT_CONFIDENCE]
        lines.sort(key=lambda line: (round(float(line[2][:, 1].min()) / 10), float(line[2][:, 0].min())))
        return TextLines(
            tuple(text for text, _, _ in lines),
            np.array([corners for _, _, corners in lines], np.float32).reshape(-1, 4, 2),
            np.array([sure for _, sure, _ in lines], np.float32),
        )

    def _find(self, image: Pixels) -> list[Corners]:
        """Return the corners of every line, in pixels of the image."""
        height, width = image.shape[:2]
        scale = min(max(MIN_SHORTER_SIDE / min(height, width), 1.0), MAX_LONGER_SIDE / max(height, width))
        seen_width, seen_height = (
            max(round(side * scale / SIDE_MULTIPLE), 1) * SIDE_MULTIPLE for side in (width, height)
        )
        mode = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
        resized = cv2.resize(image, (seen_width, seen_height), interpolation=mode)
        sure = self._finder.run(None, {"x": _planes(np.asarray(resized, np.uint8))})[0][0, 0]
        back = np.array([width / seen_width, height / seen_height], np.float32)
        return [corners * back for corners in lines_in(sure)]

    def _spell(self, line: Pixels) -> tuple[str, float]:
        """Decode a line greedily (CTC) and return its text and confidence."""
        height, width = line.shape[:2]
        resized = cv2.resize(line, (max(round(width * LETTER_HEIGHT / height), 16), LETTER_HEIGHT))
        steps = self._reader.run(None, {"x": _planes(np.asarray(resized, np.uint8))})[0][0]
        best = steps.argmax(axis=1)
        starts = (best != 0) & (best != np.concatenate([[-1], best[:-1]]))
        text = "".join(self._letters[index] for index in best[starts].tolist()).strip()
        return text, float(steps.max(axis=1)[starts].mean()) if text else 0.0

    @cached_property
    def _letters(self) -> list[str]:
        """Characters by output index: the first is CTC's blank, the last a space."""
        listed = self._reader.get_modelmeta().custom_metadata_map["character"].splitlines()
        return ["", *listed, " "]

    @cached_property
    def _finder(self) -> Any:
        return onnx_session(self._file("PP-OCRv6_det_small.onnx"), self.id, self._threads)

    @cached_property
    def _reader(self) -> Any:
        return onnx_session(self._file("PP-OCRv6_rec_small.onnx"), self.id, self._threads)


def lines_in(sure: NDArray[np.float32]) -> list[Corners]:
    """Extract the corners of text lines from a probability map."""
    marked = (sure > MIN_PIXEL_PROBABILITY).astype(np.uint8)
    outlines, _ = cv2.findContours(marked, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
    rectangles = [cv2.minAreaRect(outline) for outline in sorted(outlines, key=cv2.contourArea)[::-1][:MAX_LINES]]
    return [
        _ordered_corners(_grown(rectangle))
        for rectangle in rectangles
        if min(rectangle[1]) >= MIN_LINE_HEIGHT / 2 and _mean_inside(sure, rectangle) >= MIN_LINE_SCORE
    ]


def _grown(rectangle: Any) -> Any:
    (x, y), (width, height), angle = rectangle
    out = OUTLINE_EXPANSION * width * height / max(2 * (width + height), 1e-6)
    return (x, y), (width + 2 * out, height + 2 * out), angle


def _mean_inside(sure: NDArray[np.float32], rectangle: Any) -> float:
    corners = cv2.boxPoints(rectangle)
    left, top = np.maximum(np.floor(corners.min(axis=0)).astype(int), 0)
    right, bottom = np.ceil(corners.max(axis=0)).astype(int) + 1
    part = sure[top:bottom, left:right]
    mask = np.zeros(part.shape, np.uint8)
    cv2.fillPoly(mask, [np.round(corners - (left, top)).astype(np.int32)], 1)
    return float(part[mask > 0].mean()) if mask.any() else 0.0


def _ordered_corners(rectangle: Any) -> Corners:
    """Order corners clockwise from the top left."""
    points = np.asarray(cv2.boxPoints(rectangle), np.float32)
    by_x = points[np.argsort(points[:, 0], kind="stable")]
    left, right = by_x[:2], by_x[2:]
    left, right = left[np.argsort(left[:, 1], kind="stable")], right[np.argsort(right[:, 1], kind="stable")]
    return np.array([left[0], right[0], right[1], left[1]], np.float32)


def _upright(image: Pixels, corners: Corners) -> Pixels:
    """Warp the area between the corners to a rectangle; rotate a vertical line by 90 degrees."""
    top, right, bottom, left = (float(np.linalg.norm(corners[index] - corners[index - 3])) for index in range(4))
    size = (max(round(max(top, bottom)), 1), max(round(max(left, right)), 1))
    target = np.array([[0, 0], [size[0], 0], [size[0], size[1]], [0, size[1]]], np.float32)
    matrix = cv2.getPerspectiveTransform(corners, target)
    line = cv2.warpPerspective(image, matrix, size, flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
    line = np.rot90(line) if size[1] >= 1.5 * size[0] else line
    return np.ascontiguousarray(line, np.uint8)


def _planes(image: Pixels) -> NDArray[np.float32]:
    """Convert to 1 x 3 x height x width in BGR from -1 to 1, as in training."""
    return np.ascontiguousarray((image[..., ::-1].astype(np.float32) / 127.5 - 1).transpose(2, 0, 1)[np.newaxis])


TESSERACT = "tesseract"
TESSERACT_LANGUAGE = "eng"
SPARSE_TEXT_MODE = "11"
"""Page segmentation mode that finds text anywhere in an image; the others expect a page."""
WORD_LEVEL = "5"
"""Level of a word in the table; lower ones are pages, blocks, paragraphs and lines."""
TIMEOUT_SECONDS = 120


class Tesseract:
    """Role `text_reader`: lines of English text, read by an external program (Smith 2007)."""

    batch = 1
    weights: tuple[str, ...] = ()
    missing = (
        f"The model '{TESSERACT}' is the program `{TESSERACT}`, which is not installed. Install it (Debian and Ubuntu: "
        "`apt-get install tesseract-ocr`; macOS: `brew install tesseract`), or pass `model=text_reader=pp-ocr`."
    )

    @property
    def available(self) -> bool:
        """Whether the program is installed."""
        return shutil.which(TESSERACT) is not None

    @cached_property
    def card(self) -> ModelCard:
        """Identity: version of the installed program and hash of its language data."""
        version, sha256 = self._installed() if self.available else ("not installed", "")
        return ModelCard(
            role="text_reader",
            id="Tesseract",
            revision=version,
            sha256=sha256,
            license="Apache-2.0",
            settings={
                "language": TESSERACT_LANGUAGE,
                "segmentation": SPARSE_TEXT_MODE,
                "threshold": MIN_TEXT_CONFIDENCE,
            },
        )

    def read(self, images: Sequence[Pixels]) -> list[TextLines]:
        """Read the lines of each image, from top to bottom."""
        return [parse_tesseract_table(self._table(image)) for image in images]

    def _table(self, image: Pixels) -> str:
        content = io.BytesIO()
        Image.fromarray(image).save(content, "png", compress_level=1)
        return _run_tesseract(
            ["stdin", "stdout", "-l", TESSERACT_LANGUAGE, "--psm", SPARSE_TEXT_MODE, "tsv"], content.getvalue()
        )

    @staticmethod
    def _installed() -> tuple[str, str]:
        version = re.search(r"tesseract v?([\w.-]+)", _run_tesseract(["--version"]))
        folder = re.search(r'languages in "?([^"\n]*?)"? \(\d', _run_tesseract(["--list-langs"]))
        data = Path(folder[1]) / f"{TESSERACT_LANGUAGE}.traineddata" if folder else None
        return version[1] if version else "unknown", measured_sha256(data) if data and data.is_file() else ""


def parse_tesseract_table(table: str) -> TextLines:
    """Group Tesseract's table of words (line, box, confidence) into lines."""
    lines: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for row in csv.DictReader(io.StringIO(table), delimiter="\t", quoting=csv.QUOTE_NONE):
        if row["level"] == WORD_LEVEL and float(row["conf"]) >= 0 and row["text"].strip():
            line = tuple(row[name] for name in ("page_num", "block_num", "par_num", "line_num"))
            lines.setdefault(line, []).append(row)
    read = [
        (" ".join(word["text"].strip() for word in words), _word_corners(words), _word_confidence(words))
        for words in lines.values()
    ]
    accepted = sorted(
        (line for line in read if line[2] >= MIN_TEXT_CONFIDENCE), key=lambda line: (line[1][0, 1], line[1][0, 0])
    )
    return TextLines(
        tuple(text for text, _, _ in accepted),
        np.array([corners for _, corners, _ in accepted], np.float32).reshape(-1, 4, 2),
        np.array([confidence for _, _, confidence in accepted], np.float32),
    )


def _word_confidence(words: Sequence[dict[str, str]]) -> float:
    return sum(float(word["conf"]) for word in words) / (100 * len(words))


def _word_corners(words: Sequence[dict[str, str]]) -> NDArray[np.float32]:
    boxes = np.array([[float(word[side]) for side in ("left", "top", "width", "height")] for word in words], np.float32)
    left, top = boxes[:, :2].min(axis=0)
    right, bottom = (boxes[:, :2] + boxes[:, 2:]).max(axis=0)
    return np.array([[left, top], [right, top], [right, bottom], [left, bottom]], np.float32)


def _run_tesseract(arguments: Sequence[str], content: bytes = b"") -> str:
    """Run the program and return its output; raise `EditGaugeError` with its message when it fails."""
    one_thread = {**os.environ, "OMP_THREAD_LIMIT": "1"}
    try:
        done = subprocess.run(  # noqa: S603 - a fixed program with fixed arguments
            [TESSERACT, *arguments],
            input=content,
            capture_output=True,
            check=True,
            timeout=TIMEOUT_SECONDS,
            env=one_thread,
        )
    except FileNotFoundError as error:
        raise EditGaugeError(Tesseract.missing) from error
    except subprocess.TimeoutExpired as error:
        raise EditGaugeError(f"`{TESSERACT}` did not answer within {TIMEOUT_SECONDS} s.") from error
    except subprocess.CalledProcessError as error:
        words = " ".join(error.stderr.decode("utf-8", "replace").split())[:300]
        raise EditGaugeError(f"`{TESSERACT}` failed (exit status {error.returncode}): {words}") from error
    return done.stdout.decode("utf-8", "replace") or done.stderr.decode("utf-8", "replace")
