"""The embedded benchmark: outlines and instructions drawn by the project on photographs that it fetches."""

from __future__ import annotations

from dataclasses import replace
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from editgauge._util.documents import read_yaml
from editgauge.benchmarks import photos
from editgauge.benchmarks._format import read_benchmark
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
    available = photos.PHOTOS.info()
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
        return photos.path(name)
    spec = find_spec(origin) if origin in FOLDERS else None
    if spec is None or not spec.submodule_search_locations:
        raise BadInputError(f"'{word}' is on no shelf of the sample's photographs (photos, {', '.join(FOLDERS)})")
    path = Path(spec.submodule_search_locations[0]) / FOLDERS[origin] / name
    if not path.is_file():
        raise BadInputError(f"the installed {origin} has no photograph '{name}'")
    return path
