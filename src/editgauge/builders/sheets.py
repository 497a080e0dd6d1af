"""The verb `build sheets`: the source pictures of a benchmark as contact sheets, one for each class.

EditVal's figures 15 and 16 and appendix N show the photographs of some classes; with MS-COCO available anyone can.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from pathlib import Path

import cv2
import numpy as np

from editgauge._util.images import Pixels, read_image, write_png
from editgauge.benchmarks import open_benchmark
from editgauge.errors import BadImageError, BadInputError
from editgauge.types import Edit

WHITE = 255
GAP = 6
SIZES = 32, 1024


@dataclass(frozen=True, slots=True)
class ContactSheet:
    """One contact sheet."""

    group: str
    file: Path
    pictures: int
    missing: int
    """Pictures that are not there or cannot be read."""


def sheets(
    benchmark: str | Path,
    *,
    out: str | Path,
    data: str | Path | None = None,
    images: str | Path | None = None,
    size: int = 160,
) -> list[ContactSheet]:
    """Write contact sheets of a benchmark's source pictures, one for every class.

    Example:
        $ editgauge build sheets editval --data object.json --images train2017 --out sheets
        >>> editgauge.build.sheets("editval", data="object.json", images="train2017", out="sheets")

    Args:
        benchmark: name of a benchmark (`editgauge list benchmarks`) or a folder.
        out: folder for the sheets, `CLASS.png` each.
        data: folder or file with the benchmark's public files.
        images: folder of its source images, such as a COCO folder.
        size: longest side of a picture on a sheet, in pixels.

    """
    if not SIZES[0] <= size <= SIZES[1]:
        raise BadInputError(f"`size` goes from {SIZES[0]} to {SIZES[1]}, got {size}.")
    groups: dict[str, dict[str, Path]] = {}
    for edit in open_benchmark(benchmark, data=data, images=images).edits:
        groups.setdefault(_class_of(edit), {})[edit.source.name] = edit.source.path
    return [_sheet(group, list(pictures.values()), Path(out), size) for group, pictures in sorted(groups.items())]


def _class_of(edit: Edit) -> str:
    return str(edit.extras.get("class") or edit.subject or "pictures").replace("_", " ")


def _sheet(group: str, files: Sequence[Path], folder: Path, size: int) -> ContactSheet:
    pictures = [picture for file in files if (picture := _small(file, size)) is not None]
    file = folder / f"{re.sub(r'[^0-9A-Za-z]+', '_', group).strip('_') or 'pictures'}.png"
    if pictures:
        write_png(_grid(pictures, size), file)
    return ContactSheet(group, file, len(pictures), len(files) - len(pictures))


def _small(file: Path, size: int) -> Pixels | None:
    try:
        picture = read_image(file)
    except (BadImageError, OSError):
        return None
    height, width = picture.shape[:2]
    scale = size / max(height, width)
    shape = max(1, round(width * scale)), max(1, round(height * scale))
    return np.asarray(cv2.resize(picture, shape, interpolation=cv2.INTER_AREA), np.uint8)


def _grid(pictures: Sequence[Pixels], size: int) -> Pixels:
    columns = ceil(sqrt(len(pictures)))
    rows = ceil(len(pictures) / columns)
    step = size + GAP
    sheet = np.full((rows * step + GAP, columns * step + GAP, 3), WHITE, np.uint8)
    for index, picture in enumerate(pictures):
        top, left = GAP + index // columns * step, GAP + index % columns * step
        height, width = picture.shape[:2]
        sheet[top : top + height, left : left + width] = picture
    return sheet
