"""UniBench tasks on available photographs: annotations of the project's own, and recipes for the right outcomes."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources

from editgauge.benchmarks.sample import find
from editgauge.benchmarks.unibench import checked, described
from editgauge.benchmarks.unibench.annotations import Annotations
from editgauge.benchmarks.unibench.edits import as_edits
from editgauge.benchmarks.unibench.recipes import Cookbook
from editgauge.benchmarks.unibench.sampling import draw
from editgauge.core.images import Picture
from editgauge.core.types import Benchmark

NAME = "unibench-sample"
PHOTOS = "unibench-photos"


def load(seed: int = 0, trials: int = 1) -> Benchmark:
    """UniBench tasks drawn on available photographs, with masks and recipes; options seed, trials.

    Args:
        seed: which tasks are drawn.
        trials: how many sets of tasks are drawn.
    """
    return _drawn(NAME, shipped_annotations(), seed, trials)


def load_photos(seed: int = 0, trials: int = 1) -> Benchmark:
    """UniBench tasks on four times as many photographs, outlined by networks; options seed, trials.

    Args:
        seed: which tasks are drawn.
        trials: how many sets of tasks are drawn.
    """
    sample, more = shipped_annotations(), shipped_annotations("photos.json")
    return _drawn(PHOTOS, more.model_copy(update={"images": [*sample.images, *more.images]}), seed, trials)


def _drawn(name: str, annotations: Annotations, seed: int, trials: int) -> Benchmark:
    pictures = {image.file: Picture(image.file, find(image.file)) for image in annotations.images}
    tasks = draw(annotations, *checked(name, seed, trials))
    edits = as_edits(tasks, pictures.__getitem__, Cookbook(annotations, pictures).recipe)
    return Benchmark(name, edits, described(len(edits), len(pictures), seed, trials), annotations.license)


@cache
def shipped_annotations(file: str = "sample.json") -> Annotations:
    """The annotations that are part of the project; the photographs are not."""
    text = (resources.files("editgauge.benchmarks.unibench") / file).read_text(encoding="utf-8")
    return Annotations.model_validate(json.loads(text))
