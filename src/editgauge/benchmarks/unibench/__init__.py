"""UniBench: four types of tasks drawn by chance from annotated candidates (Seoul National University, 2024)."""

from __future__ import annotations

from pathlib import Path

from editgauge.benchmarks.image_store import Shelf
from editgauge.benchmarks.unibench.annotations import Annotations
from editgauge.benchmarks.unibench.edits import as_edits
from editgauge.benchmarks.unibench.sampling import draw
from editgauge.benchmarks.unibench.validate import faults_of
from editgauge.core.errors import BadInput
from editgauge.core.reading.sources import Faults, file_in, read_json
from editgauge.core.text import counted
from editgauge.core.types import Benchmark

NAME = "unibench"
NEEDED = "a file of UniBench annotations, such as `editgauge build unibench` writes, or the folder with `unibench.json`"
MOST_TRIALS = 1000


def load(data: Path | None = None, images: Path | None = None, seed: int = 0, trials: int = 1) -> Benchmark:
    """UniBench: tasks drawn from annotations; --data FILE.json, --images a folder; options seed, trials.

    Args:
        data: the annotations.
        images: the folder of their images; the annotations' own folder when left out.
        seed: which tasks are drawn.
        trials: how many sets of tasks are drawn.
    """
    file = file_in(NAME, data, "unibench.json", NEEDED)
    annotations = read_annotations(file)
    faults = Faults(NAME, file)
    shelf = Shelf(images or file.parent, faults)
    opened = {image.file: shelf.picture(image.file, image.file) for image in annotations.images}
    pictures = {name: picture for name, picture in opened.items() if picture is not None}
    if faults.problems:
        faults.done()
    edits = as_edits(draw(annotations, *checked(NAME, seed, trials)), lambda name: pictures[name])
    return Benchmark(NAME, edits, described(len(edits), len(pictures), seed, trials), annotations.license)


def checked(benchmark: str, seed: int, trials: int) -> tuple[int, int]:
    """Seed and number of trials, if tasks can be drawn with them."""
    if seed < 0 or not 1 <= trials <= MOST_TRIALS:
        raise BadInput(
            f"The benchmark '{benchmark}' takes a seed of at least 0 and from 1 to {MOST_TRIALS} trials; "
            f"got seed={seed}, trials={trials}."
        )
    return seed, trials


def described(tasks: int, images: int, seed: int, trials: int) -> str:
    """How large the set is, and how it was drawn."""
    sets = f" in {trials} trials" if trials > 1 else ""
    return f"{counted(tasks, 'task')} on {counted(images, 'image')}{sets}, drawn with seed {seed}"


def read_annotations(file: Path) -> Annotations:
    """The annotations of a file; raises `BadInput` that lists every fault with its place."""
    faults = Faults("unibench", file)
    value = read_json(file, faults, dict)
    problems = [*faults.problems, *(f"{file.name}: {fault}" for fault in faults_of(value))]
    if problems:
        raise BadInput(
            f"The annotations in '{file}' have {'a fault' if len(problems) == 1 else f'{len(problems)} faults'}:",
            problems,
        )
    return Annotations.model_validate(value)
