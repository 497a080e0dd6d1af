from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from editgauge import Benchmark, Edit, ImageFile, Rectangle


def load() -> Benchmark:
    """Three photographs that come with scikit-image."""
    return Benchmark(
        "plugin-benchmark",
        (
            Edit(
                id="cat-black",
                source=ImageFile("chelsea", _photo("chelsea.png")),
                type="color",
                instruction="Make the cat black.",
                subject="cat",
                to="black",
                mask=Rectangle(100, 20, 350, 300),
            ),
            Edit(id="no-cup", source=ImageFile("coffee", _photo("coffee.png")), type="size", instruction="Gone."),
            Edit(
                id="at-sea", source=ImageFile("rocket", _photo("rocket.jpg")), type="background", instruction="At sea."
            ),
        ),
        about="For tests.",
        license="as scikit-image",
    )


def _photo(name: str) -> Path:
    spec = find_spec("skimage")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return Path(spec.submodule_search_locations[0]) / "data" / name
