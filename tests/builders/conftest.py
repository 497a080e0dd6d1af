"""COCO files for the builders.

- `coco`: instances, captions and images of the `sample` benchmark's photographs, in COCO's form, from its own outlines.
- `toys`: three drawn pictures of a cat left and a suitcase right, whose every pixel is known.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from editgauge._util.images import read_image
from editgauge._util.masks import Polygons
from editgauge._util.text import with_article
from editgauge.benchmarks import open_benchmark
from editgauge.errors import BadInputError, UnscorableError
from editgauge.models.vocabulary import resolve
from tests.builders.toys import NUMBER, CocoFiles, annotated, make_toys, write_coco


def known_word(name: str) -> str | None:
    try:
        return resolve(name, tuple(NUMBER)).word
    except UnscorableError:
        return None


@pytest.fixture(scope="session")
def coco(tmp_path_factory: pytest.TempPathFactory) -> CocoFiles:
    try:
        sample = open_benchmark("sample")
    except BadInputError as lacking:
        pytest.skip(f"NO PHOTOGRAPHS HERE: {lacking}")
    folder = tmp_path_factory.mktemp("coco")
    (folder / "images").mkdir()
    images: list[Any] = []
    objects: list[Any] = []
    captions: list[Any] = []
    for number, edit in enumerate({edit.source.name: edit for edit in sample.edits}.values(), start=1):
        pixels = read_image(edit.source.path)
        height, width = pixels.shape[:2]
        file = f"{number:012d}{edit.source.path.suffix}"
        shutil.copy(edit.source.path, folder / "images" / file)
        images.append({"id": number, "file_name": file, "width": width, "height": height, "license": 4})
        names = []
        for name, mask in edit.objects.items():
            word = known_word(name)
            if word and isinstance(mask, Polygons):
                names.append(word)
                outline = [list(ring) for ring in mask.rings]
                objects.append(annotated(len(objects) + 1, number, word, mask.render(width, height), outline))
        told = [edit.source_caption or "a photo", "A photo of " + " and ".join(with_article(name) for name in names)]
        captions += [
            {"id": len(captions) + index, "image_id": number, "caption": item} for index, item in enumerate(told)
        ]
    return write_coco(folder, images, objects, captions)


@pytest.fixture
def toys(tmp_path: Path) -> CocoFiles:
    return make_toys(tmp_path / "toys")
