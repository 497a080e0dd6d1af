"""UniBench tasks on available photographs: annotations of the project's own, and recipes for the right outcomes."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources

from editgauge.benchmarks.sample import find
from editgauge.benchmarks.unibench import checked, told
from editgauge.benchmarks.unibench.annotations import Annotations
from editgauge.benchmarks.unibench.edits import as_edits
from editgauge.benchmarks.unibench.recipes import Cookbook
from editgauge.benchmarks.unibench.sampling import draw
from editgauge.core.images import Picture
from editgauge.core.types import Benchmark

NAME = "unibench-sample"


def load(seed: int = 0, trials: int = 1) -> Benchmark:
    """UniBench tasks drawn on available photographs, with masks and recipes; options seed, trials.

    Args:
        seed: which tasks are drawn.
        trials: how many sets of tasks are drawn.
    """
    annotations = shipped_annotations()
    pictures = {image.file: Picture(image.file, find(image.file)) for image in annotations.images}
    tasks = draw(annotations, *checked(NAME, seed, trials))
    edits = as_edits(tasks, pictures.__getitem__, Cookbook(annotations, pictures).recipe)
    return Benchmark(NAME, edits, told(len(edits), len(pictures), seed, trials), annotations.license)


@cache
def shipped_annotations() -> Annotations:
    """The annotations that are part of the project; the photographs are not."""
    text = (resources.files("editgauge.benchmarks.unibench") / "sample.json").read_text(encoding="utf-8")
    return Annotations.model_validate(json.loads(text))
