"""Everything that is wrong with UniBench annotations, listed at once, each fault with its place in the file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import prod
from pathlib import PurePosixPath
from typing import Any, get_args

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from editgauge._util.fields import describe_unknown, format_value
from editgauge._util.masks import bounding_box
from editgauge.benchmarks.unibench._annotations import (
    FORMAT,
    AnnotatedImage,
    Annotations,
    ChangeClass,
    ChangeColor,
    Generate,
    Instance,
    MaskRunLengths,
    MoveTask,
    RelativePlace,
    Task,
    TaskType,
    instance_id,
    mask_of,
    template_problem,
)

SLACK = 2.0
"""Pixels by which a box may differ from its mask: outlines are rounded."""
TAGS = (*get_args(TaskType), "polygons", "runs")
"""Which of several forms a part has: a step on the way to a field that is not in the file."""
Fault = str
"""`images[3].instances[0].box: what is wrong`."""


def faults_of(value: Any) -> list[Fault]:
    """All faults of a JSON value that should be annotations; none means that it can be used."""
    if not isinstance(value, dict):
        return [f"the file must hold a mapping with 'format' and 'images', got {format_value(value)}"]
    if value.get("format") != FORMAT:
        return [f"format: must be '{FORMAT}', got {format_value(value.get('format'))}"]
    try:
        Annotations.model_validate(value)
    except ValidationError as error:
        broken = [_in_words(detail) for detail in error.errors(include_url=False)]
        return [*broken, *_of_whole_images(value.get("images"))]
    return _of_whole_images(value["images"])


def _of_whole_images(images: Any) -> list[Fault]:
    """What no single field shows: of every image whose fields are all right."""
    if not isinstance(images, list):
        return []
    read = [(place, image) for place, value in enumerate(images) if (image := _image(value)) is not None]
    names = Counter(image.file for _, image in read)
    twice = [f"images[{place}].file: '{image.file}' is given twice" for place, image in read if names[image.file] > 1]
    return [*twice, *(f"images[{place}].{fault}" for place, image in read for fault in image_faults(image))]


def _image(value: Any) -> AnnotatedImage | None:
    try:
        return AnnotatedImage.model_validate(value)
    except ValidationError:
        return None


def image_faults(image: AnnotatedImage) -> Iterator[Fault]:
    """What is wrong with one image whose fields are all right; the builder asks this, too."""
    path = PurePosixPath(image.file)
    if path.is_absolute() or ".." in path.parts or "\\" in image.file:
        yield f"file: {format_value(image.file)} must be a path inside the folder of images, with forward slashes"
    ids = Counter(instance.id for instance in image.instances)
    for index, instance in enumerate(image.instances):
        at = f"instances[{index}]"
        if ids[instance.id] > 1:
            yield f"{at}.id: '{instance.id}' is given twice"
        yield from (f"{at}.{fault}" for fault in _outline_faults(instance, image))
    owners = Counter((task.type, instance_id(task)) for task in image.tasks)
    for index, task in enumerate(image.tasks):
        at = f"tasks[{index}]"
        if owners[task.type, instance_id(task)] > 1:
            whose = f" of '{instance_id(task)}'" if instance_id(task) else ""
            yield f"{at}: {task.type}{whose} is given twice"
        yield from (f"{at}.{fault}" for fault in _task_faults(task, image))


def _outline_faults(instance: Instance, image: AnnotatedImage) -> Iterator[Fault]:
    left, top, right, bottom = instance.box
    if not (0 <= left < right <= image.width and 0 <= top < bottom <= image.height):
        size = f"{image.width} x {image.height}"
        yield f"box: [left, top, right, bottom] must have an area inside the image of {size}, got {instance.box}"
        return
    mask = instance.mask
    height_and_width = [image.height, image.width]
    if isinstance(mask, MaskRunLengths) and (mask.size != height_and_width or sum(mask.counts) != prod(mask.size)):
        yield f"mask: size must be [height, width] of the image and the counts sum up to its pixels, got {mask.size}"
        return
    if not isinstance(mask, MaskRunLengths) and any(len(ring) % 2 for ring in mask):
        yield "mask: a polygon has an odd count of numbers; it needs pairs of x and y"
        return
    rendered = mask_of(mask).render(image.width, image.height)
    if not rendered.any():
        yield "mask: no part of it is inside the image"
    elif any(abs(one - other) > SLACK for one, other in zip(bounding_box(rendered), instance.box, strict=True)):
        yield f"box: {instance.box} is not the box of the mask, which is {list(bounding_box(rendered))}"


def _task_faults(task: Task, image: AnnotatedImage) -> Iterator[Fault]:
    by_id = {instance.id: instance for instance in image.instances}
    target = by_id.get(instance_id(task))
    if not isinstance(task, Generate) and target is None:
        yield f"instance: {describe_unknown('instance', task.instance, by_id)}"
    if isinstance(task, ChangeClass | Generate):
        yield from _repeated("classes", task.classes)
        for word in forbidden_classes(task.classes, image):
            yield f"classes: '{word}' is in the image already"
    if isinstance(task, ChangeColor):
        yield from _repeated("colors", task.colors)
        for word in forbidden_colors(task.colors, target):
            yield f"colors: '{word}' is the color of '{task.instance}' already"
    if isinstance(task, MoveTask | Generate):
        yield from _place_faults(task.places, by_id, instance_id(task))
    for index, template in enumerate(task.templates):
        problem = template_problem(template, task.type)
        if problem:
            yield f"templates[{index}]: {format_value(template)} {problem}"


def _place_faults(places: Sequence[RelativePlace], by_id: dict[str, Instance], moved: str) -> Iterator[Fault]:
    pairs = Counter((place.anchor, place.words) for place in places)
    yield from (f"places: '{words}' '{anchor}' is given twice" for (anchor, words), n in pairs.items() if n > 1)
    for at, place in enumerate(places):
        if place.anchor not in by_id:
            yield f"places[{at}].anchor: {describe_unknown('instance', place.anchor, by_id)}"
        elif place.anchor == moved:
            yield f"places[{at}].anchor: '{moved}' cannot move relative to itself"


def forbidden_classes(classes: Sequence[str], image: AnnotatedImage) -> list[str]:
    """Those that are in the image already, its own class included: what was added could not be distinguished from
    them.
    """
    present = {_plain(instance.class_) for instance in image.instances}
    return [word for word in classes if _plain(word) in present]


def forbidden_colors(colors: Sequence[str], instance: Instance | None) -> list[str]:
    """Those that would ask for nothing new."""
    own = _plain(instance.color) if instance and instance.color else None
    return [word for word in colors if _plain(word) == own]


def _plain(word: str) -> str:
    """Spelled the same whatever the capitals and the country."""
    return " ".join(word.casefold().replace("_", " ").split()).replace("grey", "gray")


def _repeated(field: str, words: Sequence[str]) -> Iterator[Fault]:
    counts = Counter(_plain(word) for word in words)
    yield from (f"{field}: '{word}' is given twice" for word, count in counts.items() if count > 1)


def _in_words(detail: ErrorDetails) -> Fault:
    steps = [step for step in detail["loc"] if step not in TAGS]
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).lstrip(".")
    if detail["type"] == "missing":
        return f"{place}: is missing"
    if detail["type"] == "extra_forbidden":
        return f"{place}: is no key of this format"
    message = detail["msg"].removeprefix("Value error, ")
    return f"{place}: {message[0].lower()}{message[1:]}, got {format_value(detail['input'])}"
