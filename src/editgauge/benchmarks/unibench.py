"""UniBench: four types of tasks drawn by chance from annotated candidates (Seoul National University, 2024)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path

from editgauge._util.datasets import Faults, find_data_file, read_json
from editgauge._util.images import ImageFile
from editgauge._util.text import format_count
from editgauge.benchmarks._unibench_annotations import Annotations, RecipeOf, TaskRecipes, as_edits, draw, faults_of
from editgauge.benchmarks.image_store import ImageFolder
from editgauge.benchmarks.sample import find
from editgauge.errors import BadInputError
from editgauge.types import Benchmark

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
    file = find_data_file(NAME, data, "unibench.json", NEEDED)
    annotations = read_annotations(file)
    faults = Faults(NAME, file)
    image_folder = ImageFolder(images or file.parent, faults)
    opened = {image.file: image_folder.picture(image.file, image.file) for image in annotations.images}
    pictures = {name: picture for name, picture in opened.items() if picture is not None}
    if faults.problems:
        faults.done()
    return _drawn(NAME, annotations, pictures, seed=seed, trials=trials)


def load_sample(seed: int = 0, trials: int = 1) -> Benchmark:
    """UniBench tasks drawn on available photographs, with masks and recipes; options seed, trials.

    Args:
        seed: which tasks are drawn.
        trials: how many sets of tasks are drawn.

    """
    return _on_available_photographs(f"{NAME}-sample", shipped_annotations(), seed, trials)


def load_photos(seed: int = 0, trials: int = 1) -> Benchmark:
    """UniBench tasks on four times as many photographs, outlined by networks; options seed, trials.

    Args:
        seed: which tasks are drawn.
        trials: how many sets of tasks are drawn.

    """
    sample, more = shipped_annotations(), shipped_annotations("unibench-photos.json")
    both = more.model_copy(update={"images": [*sample.images, *more.images]})
    return _on_available_photographs(f"{NAME}-photos", both, seed, trials)


@cache
def shipped_annotations(file: str = "unibench-sample.json") -> Annotations:
    """Read annotations that are part of the package."""
    return Annotations.model_validate_json(
        (resources.files("editgauge.benchmarks") / "data" / file).read_text(encoding="utf-8")
    )


def _on_available_photographs(name: str, annotations: Annotations, seed: int, trials: int) -> Benchmark:
    """Tasks with recipes for their right outcomes."""
    pictures = {image.file: ImageFile(image.file, find(image.file)) for image in annotations.images}
    recipe_of = TaskRecipes(annotations, pictures).recipe
    return _drawn(name, annotations, pictures, seed=seed, trials=trials, recipe_of=recipe_of)


def _drawn(
    name: str,
    annotations: Annotations,
    pictures: Mapping[str, ImageFile],
    *,
    seed: int,
    trials: int,
    recipe_of: RecipeOf = lambda _task: None,
) -> Benchmark:
    if seed < 0 or not 1 <= trials <= MOST_TRIALS:
        raise BadInputError(
            f"The benchmark '{name}' takes a seed of at least 0 and from 1 to {MOST_TRIALS} trials; "
            f"got seed={seed}, trials={trials}."
        )
    edits = as_edits(draw(annotations, seed, trials), pictures, recipe_of)
    sets = f" in {trials} trials" if trials > 1 else ""
    about = (
        f"{format_count(len(edits), 'task')} on {format_count(len(pictures), 'image')}{sets}, drawn with seed {seed}"
    )
    return Benchmark(name, edits, about, annotations.license)


def read_annotations(file: Path) -> Annotations:
    """Read annotations; one `BadInputError` lists all faults with their locations."""
    faults = Faults("unibench", file)
    value = read_json(file, faults, dict)
    problems = [*faults.problems, *(f"{file.name}: {fault}" for fault in faults_of(value))]
    if problems:
        raise BadInputError(
            f"The annotations in '{file}' have {'a fault' if len(problems) == 1 else f'{len(problems)} faults'}:",
            problems,
        )
    return Annotations.model_validate(value)
