"""Tesseract (Smith 2007) as a second reader of text, where the program `tesseract` is installed.

The program is given an image and writes a table with a row per word; words of one line are put together here.
"""

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

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from editgauge._util.images import Pixels
from editgauge.errors import EditGaugeError
from editgauge.models.answers import TextLines
from editgauge.models.roles import ModelCard
from editgauge.models.weights._store import measured_sha256

PROGRAM = "tesseract"
LANGUAGE = "eng"
SPARSE = "11"
"""Its way to look for text anywhere in an image, in no order; the others expect a page."""
WORD = "5"
"""The level of a word in its table; lower ones are pages, blocks, paragraphs and lines."""
MIN_CONFIDENCE = 0.5
"""Least mean confidence of the words of a line."""
TIMEOUT_SECONDS = 120


class Tesseract:
    """Role `text_reader`: lines of English text, read by an external program."""

    batch = 1
    weights: tuple[str, ...] = ()
    missing = (
        f"The model '{PROGRAM}' is the program `{PROGRAM}`, which is not installed. Install it (Debian and Ubuntu: "
        "`apt-get install tesseract-ocr`; macOS: `brew install tesseract`), or pass `model=text_reader=pp-ocr`."
    )

    @property
    def available(self) -> bool:
        """Whether the program is installed."""
        return shutil.which(PROGRAM) is not None

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
            settings={"language": LANGUAGE, "segmentation": SPARSE, "threshold": MIN_CONFIDENCE},
        )

    def read(self, images: Sequence[Pixels]) -> list[TextLines]:
        """Read the lines of each image, from top to bottom."""
        return [lines_of(self._table(image)) for image in images]

    def _table(self, image: Pixels) -> str:
        content = io.BytesIO()
        Image.fromarray(image).save(content, "png", compress_level=1)
        return _output(["stdin", "stdout", "-l", LANGUAGE, "--psm", SPARSE, "tsv"], content.getvalue())

    @staticmethod
    def _installed() -> tuple[str, str]:
        version = re.search(r"tesseract v?([\w.-]+)", _output(["--version"]))
        folder = re.search(r'languages in "?([^"\n]*?)"? \(\d', _output(["--list-langs"]))
        data = Path(folder[1]) / f"{LANGUAGE}.traineddata" if folder else None
        return version[1] if version else "unknown", measured_sha256(data) if data and data.is_file() else ""


def lines_of(table: str) -> TextLines:
    """Group Tesseract's table of words (line, box, confidence) into lines."""
    lines: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for row in csv.DictReader(io.StringIO(table), delimiter="\t", quoting=csv.QUOTE_NONE):
        if row["level"] == WORD and float(row["conf"]) >= 0 and row["text"].strip():
            line = tuple(row[name] for name in ("page_num", "block_num", "par_num", "line_num"))
            lines.setdefault(line, []).append(row)
    read = [
        (" ".join(word["text"].strip() for word in words), _corners(words), _confidence(words))
        for words in lines.values()
    ]
    accepted = sorted(
        (line for line in read if line[2] >= MIN_CONFIDENCE), key=lambda line: (line[1][0, 1], line[1][0, 0])
    )
    return TextLines(
        tuple(text for text, _, _ in accepted),
        np.array([corners for _, corners, _ in accepted], np.float32).reshape(-1, 4, 2),
        np.array([confidence for _, _, confidence in accepted], np.float32),
    )


def _confidence(words: Sequence[dict[str, str]]) -> float:
    return sum(float(word["conf"]) for word in words) / (100 * len(words))


def _corners(words: Sequence[dict[str, str]]) -> NDArray[np.float32]:
    boxes = np.array([[float(word[side]) for side in ("left", "top", "width", "height")] for word in words], np.float32)
    left, top = boxes[:, :2].min(axis=0)
    right, bottom = (boxes[:, :2] + boxes[:, 2:]).max(axis=0)
    return np.array([[left, top], [right, top], [right, bottom], [left, bottom]], np.float32)


def _output(arguments: Sequence[str], content: bytes = b"") -> str:
    """Run the program and return its output; raise `EditGaugeError` with its message when it fails."""
    one_thread = {**os.environ, "OMP_THREAD_LIMIT": "1"}
    try:
        done = subprocess.run(  # noqa: S603 - a fixed program with fixed arguments
            [PROGRAM, *arguments],
            input=content,
            capture_output=True,
            check=True,
            timeout=TIMEOUT_SECONDS,
            env=one_thread,
        )
    except FileNotFoundError as error:
        raise EditGaugeError(Tesseract.missing) from error
    except subprocess.TimeoutExpired as error:
        raise EditGaugeError(f"`{PROGRAM}` did not answer within {TIMEOUT_SECONDS} s.") from error
    except subprocess.CalledProcessError as error:
        words = " ".join(error.stderr.decode("utf-8", "replace").split())[:300]
        raise EditGaugeError(f"`{PROGRAM}` failed (exit status {error.returncode}): {words}") from error
    return done.stdout.decode("utf-8", "replace") or done.stderr.decode("utf-8", "replace")
