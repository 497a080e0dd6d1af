"""UniBench annotations: what a file of them says, as fields; `docs/explanation/unibench-annotations.md` explains it.

Coordinates are pixels of the image as it is in its file: x to the right, y down. A box is [left, top, right, bottom],
right and bottom excluded. A mask is a list of COCO polygons or uncompressed COCO run lengths.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import PurePosixPath
from string import Formatter
from typing import Annotated, Any, Literal, TypeVar, get_args

import numpy as np
from pydantic import AfterValidator, ConfigDict, Discriminator, Field, Tag, ValidationError
from pydantic_core import ErrorDetails

from editgauge._util.coco import render_run_lengths
from editgauge._util.datasets import Ids
from editgauge._util.fields import Fields, Text, describe_unknown, format_value, usable_id
from editgauge._util.images import ImageFile
from editgauge._util.masks import BoolMask, Dilated, Mask, Polygons, bounding_box
from editgauge._util.text import with_article
from editgauge._vision.geometry import box_area
from editgauge.benchmarks._format import FARTHEST, LONGEST_SIDE
from editgauge.benchmarks._format import RunLengths as RowRuns
from editgauge.edit_types import vocabulary
from editgauge.recipes import MARGIN, Cutout, Move, Paste, Recipe, Recolor, Replace
from editgauge.types import Edit, PlaneRelation, Position

FORMAT = "unibench-annotations/1"
"""Raised whenever an older file would be read otherwise than it was meant."""
TaskType = Literal["change_class", "change_color", "move", "generate"]

Pixel = Annotated[float, Field(ge=-FARTHEST, le=FARTHEST)]
Side = Annotated[int, Field(ge=1, le=LONGEST_SIDE)]
Ring = Annotated[list[Pixel], Field(min_length=6)]
PolygonList = Annotated[list[Ring], Field(min_length=1)]


class StrictFields(Fields):
    """Fields of which none may be misspelled and none is converted."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, populate_by_name=True, use_attribute_docstrings=True
    )


class MaskRunLengths(StrictFields):
    """A mask as COCO's uncompressed run lengths."""

    size: Annotated[list[Side], Field(min_length=2, max_length=2)]
    """[height, width]."""
    counts: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)]
    """Lengths of runs down the columns, outside and inside by turns; the first is outside."""


def _form_of_mask(value: Any) -> str:
    return "runs" if isinstance(value, dict | MaskRunLengths) else "polygons"


MaskFields = Annotated[
    Annotated[PolygonList, Tag("polygons")] | Annotated[MaskRunLengths, Tag("runs")], Discriminator(_form_of_mask)
]


class Instance(StrictFields):
    """One object of an image."""

    id: Annotated[str, AfterValidator(usable_id)]
    """Its name within the image, such as `cat-1`."""
    class_: Annotated[Text, Field(alias="class")]
    """What it is: a word of the class list that targets come from."""
    color: Text | None = None
    """Its color, where it has one that can be named."""
    box: Annotated[list[Pixel], Field(min_length=4, max_length=4)]
    """[left, top, right, bottom]."""
    mask: MaskFields
    """Its outline."""


class RelativePosition(StrictFields):
    """A position relative to an anchor."""

    anchor: Text
    """The id of an instance of the same image."""
    words: Text
    """The position as it stands between the two: `to the left of`, `in front of`."""
    relation: PlaneRelation | None = None
    """What the words mean in the picture's plane; none for `in front of`, `next to` or `behind`."""


Templates = Annotated[list[Text], Field(min_length=1)]


def _unnamed_slot(name: str) -> AfterValidator:
    """Return a validator that names the slots written as `{}`, as in figure 1 of the paper."""
    return AfterValidator(lambda templates: [template.replace("{}", f"{{{name}}}") for template in templates])


Candidates = Annotated[list[Text], Field(min_length=1)]
Positions = Annotated[list[RelativePosition], Field(min_length=1)]


class ChangeClass(StrictFields):
    """What an instance may become."""

    type: Literal["change_class"]
    instance: Text
    """The id of the instance to edit."""
    classes: Candidates
    """Never its own class, nor one that is in the image."""
    templates: Annotated[Templates, _unnamed_slot("target")]
    """Captions of the edited image with the slot {target}."""


class ChangeColor(StrictFields):
    """Which colors an instance may get."""

    type: Literal["change_color"]
    instance: Text
    """The id of the instance to edit."""
    colors: Candidates
    """Never its own."""
    templates: Annotated[Templates, _unnamed_slot("color")]
    """Captions of the edited image with the slot {color}."""


class MoveTask(StrictFields):
    """Where an instance may go."""

    type: Literal["move"]
    instance: Text
    """The id of the instance to edit."""
    positions: Annotated[Positions, Field(alias="places")]
    """Never relative to itself."""
    templates: Templates
    """Captions of the edited image with the slots {position} and {anchor}."""


class Generate(StrictFields):
    """What may be added to the image, and where."""

    type: Literal["generate"]
    classes: Candidates
    """Never one that is in the image."""
    positions: Annotated[Positions, Field(alias="places")]
    templates: Templates
    """Captions of the edited image with the slots {target}, {position} and {anchor}."""


Task = Annotated[ChangeClass | ChangeColor | MoveTask | Generate, Field(discriminator="type")]


class AnnotatedImage(StrictFields):
    """One image, its objects, and what may be asked of them."""

    file: Text
    """Its path within the folder of images, with forward slashes."""
    width: Side
    height: Side
    captions: Annotated[list[Text], Field(default_factory=list)]
    """Captions of the unedited image; the first is the source caption of its tasks."""
    license: str = ""
    instances: Annotated[list[Instance], Field(min_length=1)]
    tasks: Annotated[list[Task], Field(min_length=1)]
    """At most one per instance and type, and at most one of type generate."""


class Annotations(StrictFields):
    """A file of UniBench annotations."""

    format: Literal["unibench-annotations/1"]
    name: str = ""
    about: str = ""
    license: str = ""
    """Of the annotations; each image has its own."""
    images: Annotated[list[AnnotatedImage], Field(min_length=1)]


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of an annotation file."""
    schema = Annotations.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def described(annotations: Annotations) -> dict[str, Any]:
    """Return annotations as a JSON value without unset fields; integral pixels are integers."""
    value: dict[str, Any] = _whole(annotations.model_dump(mode="json", by_alias=True, exclude_defaults=True))
    return value


def _whole(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _whole(element) for key, element in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


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
        broken = [_to_fault(detail) for detail in error.errors(include_url=False)]
        return [*broken, *_of_whole_images(value.get("images"))]
    return _of_whole_images(value["images"])


def _of_whole_images(images: Any) -> list[Fault]:
    """Check images as a whole after their fields."""
    if not isinstance(images, list):
        return []
    read = [(index, image) for index, value in enumerate(images) if (image := _image(value)) is not None]
    names = Counter(image.file for _, image in read)
    twice = [f"images[{index}].file: '{image.file}' is given twice" for index, image in read if names[image.file] > 1]
    return [*twice, *(f"images[{index}].{fault}" for index, image in read for fault in image_faults(image))]


def _image(value: Any) -> AnnotatedImage | None:
    try:
        return AnnotatedImage.model_validate(value)
    except ValidationError:
        return None


def image_faults(image: AnnotatedImage) -> Iterator[Fault]:
    """Yield the faults of one image whose fields are valid."""
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
    pixels = mask_of(mask).render(image.width, image.height)
    if not pixels.any():
        yield "mask: no part of it is inside the image"
    elif any(abs(edge - stated) > SLACK for edge, stated in zip(bounding_box(pixels), instance.box, strict=True)):
        yield f"box: {instance.box} is not the box of the mask, which is {list(bounding_box(pixels))}"


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
        yield from _position_faults(task.positions, by_id, instance_id(task))
    for index, template in enumerate(task.templates):
        problem = template_problem(template, task.type)
        if problem:
            yield f"templates[{index}]: {format_value(template)} {problem}"


def _position_faults(positions: Sequence[RelativePosition], by_id: dict[str, Instance], moved: str) -> Iterator[Fault]:
    pairs = Counter((position.anchor, position.words) for position in positions)
    yield from (f"places: '{words}' '{anchor}' is given twice" for (anchor, words), n in pairs.items() if n > 1)
    for at, position in enumerate(positions):
        if position.anchor not in by_id:
            yield f"places[{at}].anchor: {describe_unknown('instance', position.anchor, by_id)}"
        elif position.anchor == moved:
            yield f"places[{at}].anchor: '{moved}' cannot move relative to itself"


def forbidden_classes(classes: Sequence[str], image: AnnotatedImage) -> list[str]:
    """Return the classes that are in the image already: an added object would be confused with them."""
    present = {_plain(instance.class_) for instance in image.instances}
    return [word for word in classes if _plain(word) in present]


def forbidden_colors(colors: Sequence[str], instance: Instance | None) -> list[str]:
    """Return the colors that the instance already has."""
    current = _plain(instance.color) if instance and instance.color else None
    return [word for word in colors if _plain(word) == current]


def _plain(word: str) -> str:
    """Spelled the same whatever the capitals and the country."""
    return " ".join(word.casefold().replace("_", " ").split()).replace("grey", "gray")


def _repeated(field: str, words: Sequence[str]) -> Iterator[Fault]:
    counts = Counter(_plain(word) for word in words)
    yield from (f"{field}: '{word}' is given twice" for word, count in counts.items() if count > 1)


def _to_fault(detail: ErrorDetails) -> Fault:
    steps = [step for step in detail["loc"] if step not in TAGS]
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).lstrip(".")
    if detail["type"] == "missing":
        return f"{path}: is missing"
    if detail["type"] == "extra_forbidden":
        return f"{path}: is no key of this format"
    message = detail["msg"].removeprefix("Value error, ")
    return f"{path}: {message[0].lower()}{message[1:]}, got {format_value(detail['input'])}"


NEEDED: Mapping[TaskType, tuple[str, ...]] = {
    "change_class": ("target",),
    "change_color": ("color",),
    "move": ("position", "anchor"),
    "generate": ("target", "position", "anchor"),
}
"""The slots that say what was asked; a caption without one of them would fit several tasks."""
ALLOWED: Mapping[TaskType, tuple[str, ...]] = {
    **NEEDED,
    "change_color": ("color", "target"),
    "move": ("target", "position", "anchor"),
}
"""Where the object keeps its class, {target} is that class."""
_ARTICLE = re.compile(r"\b(an?) \{(\w+)\}", re.IGNORECASE)


def name_slots(template: str, kind: TaskType) -> str:
    """Name the slots that a template leaves unnamed, as the paper's figure 1 does, by the type of task.

    >>> name_slots("A cat sitting on a {}", "change_class"), name_slots("A {} {position} a {anchor}", "generate")
    ('A cat sitting on a {target}', 'A {target} {position} a {anchor}')
    """
    names = (name for name in NEEDED[kind] if f"{{{name}}}" not in template)
    return re.sub(r"\{\}", lambda _: f"{{{next(names, '')}}}", template)


def template_problem(template: str, kind: TaskType) -> str | None:
    """Return why a text cannot be a caption template of a type of task, or None when it can.

    >>> template_problem("A {target} on a mat", "change_class") is None
    True
    >>> template_problem("A {} on a {}", "change_class")
    'has a slot without a name; its slots are {target}'
    """
    allowed = _slot_names(ALLOWED[kind])
    try:
        parts = [part for part in Formatter().parse(name_slots(template, kind)) if part[1] is not None]
    except ValueError:
        return "has a brace that is not closed"
    slots = [str(name) for _, name, _, _ in parts]
    if "" in slots:
        return f"has a slot without a name; its slots are {allowed}"
    unknown = [name for name in slots if name not in ALLOWED[kind]]
    if unknown or any(form or conversion for _, _, form, conversion in parts):
        return f"has the slot {{{(unknown or slots)[0]}}}; its slots are {allowed}"
    missing = [name for name in NEEDED[kind] if name not in slots]
    return f"lacks {_slot_names(missing)}" if missing else None


def filled(template: str, words: Mapping[str, str]) -> str:
    """Fill a caption template; articles follow the inserted words.

    >>> filled("A {target} on a mat", {"target": "owl"}), filled("A {target} on a mat", {"target": "books"})
    ('An owl on a mat', 'Books on a mat')
    """

    def spoken(match: re.Match[str]) -> str:
        article, slot = match.groups()
        phrase = with_article(words[slot]) if slot in words else match.group()
        return phrase[0].upper() + phrase[1:] if article[0].isupper() else phrase

    return _ARTICLE.sub(spoken, template).format(**words)


def _slot_names(slots: tuple[str, ...] | list[str]) -> str:
    return ", ".join(f"{{{slot}}}" for slot in slots)


def mask_of(mask: PolygonList | MaskRunLengths) -> Mask:
    """Convert the mask to the type of protocols and editors."""
    if isinstance(mask, MaskRunLengths):
        height, width = mask.size
        return RowRuns(_row_runs(render_run_lengths(mask.counts, width, height)), width, height)
    return Polygons(tuple(tuple(ring) for ring in mask))


def run_lengths(mask: BoolMask) -> MaskRunLengths:
    """Encode a rendered mask as COCO run lengths.

    >>> run_lengths(np.array([[False, True], [True, True]])).counts
    [1, 3]
    """
    flat = np.concatenate([[False], mask.ravel(order="F")])
    starts = np.flatnonzero(flat[1:] != flat[:-1])
    edges = np.concatenate([[0], starts, [mask.size]])
    return MaskRunLengths(size=list(mask.shape), counts=np.diff(edges).tolist())


def _row_runs(mask: BoolMask) -> tuple[tuple[int, int], ...]:
    flat = np.concatenate([[False], mask.ravel(), [False]])
    edges = np.flatnonzero(flat[1:] != flat[:-1]).tolist()
    return tuple((start, end - start) for start, end in zip(edges[0::2], edges[1::2], strict=True))


Box = tuple[float, float, float, float]
GAP = 8.0
"""Pixels between an object and its anchor."""
LARGEST_SHARE = 0.45
"""Of the picture's height: how tall a new object is at most."""
SUNK = 0.2
"""Of the anchor's height: how far an object on top of it reaches down over it."""


class TaskRecipes:
    """Recipes for tasks whose target classes are seen in other photographs of the same annotations."""

    def __init__(self, annotations: Annotations, pictures: Mapping[str, ImageFile]) -> None:
        self._images = annotations.images
        self._pictures = pictures

    def recipe(self, task: Drawn) -> Recipe | None:
        """Return the recipe of the outcome; None without a suitable cutout or room."""
        outline = _outline(task.instance) if task.instance else None
        if isinstance(task.task, ChangeColor) and outline:
            return Recolor(outline, str(task.target))
        if isinstance(task.task, ChangeClass) and outline:
            cutout = self._cutout(str(task.target), task.image)
            return Replace(outline, cutout) if cutout else None
        relation = task.position.relation if task.position else None
        anchor = _outline(task.anchor) if task.anchor else None
        if relation is None or anchor is None:
            return None
        if task.instance is not None:
            return Move(outline, _moved_to(outline.box(), anchor.box(), relation)) if outline else None
        cutout = self._cutout(str(task.target), task.image)
        return _pasted(cutout, anchor.box(), relation, task.image) if cutout else None

    def _cutout(self, name: str, image: AnnotatedImage) -> Cutout | None:
        """Return the largest outlined object of a class in another photograph."""
        outlines = [
            (outline, other.file)
            for other in self._images
            for instance in other.instances
            if other.file != image.file and instance.class_ == name and (outline := _outline(instance))
        ]
        if not outlines:
            return None
        outline, file = max(outlines, key=lambda item: box_area(item[0].box()))
        return Cutout(self._pictures[file], outline)


def _outline(instance: Instance) -> Polygons | None:
    mask = mask_of(instance.mask)
    return mask if isinstance(mask, Polygons) else None


def _moved_to(box: Box, anchor: Box, relation: PlaneRelation) -> tuple[float, float]:
    """Return the new center of an object next to, above or below its anchor."""
    half_width, half_height = (box[2] - box[0]) / 2, (box[3] - box[1]) / 2
    x, y = (anchor[0] + anchor[2]) / 2, (anchor[1] + anchor[3]) / 2
    match relation:
        case "left":
            return anchor[0] - GAP - half_width, y
        case "right":
            return anchor[2] + GAP + half_width, y
        case "above":
            return x, anchor[1] - GAP - half_height
        case "on":
            return x, anchor[1] + SUNK * (anchor[3] - anchor[1]) - half_height
        case "below":
            return x, anchor[3] + GAP + half_height
        case "center":
            return x, y


def _pasted(cutout: Cutout, anchor: Box, relation: PlaneRelation, image: AnnotatedImage) -> Paste | None:
    """Paste the new object on the anchor's ground, at most as tall as the anchor."""
    left, top, right, bottom = cutout.outline.box()
    narrow = (right - left) / (bottom - top)
    room = _room(anchor, relation, image)
    height = min(anchor[3] - anchor[1], LARGEST_SHARE * image.height, room[1], room[0] / narrow)
    if height < GAP:
        return None
    half = height * narrow / 2
    x = (anchor[0] + anchor[2]) / 2
    foot = {
        "left": (anchor[0] - GAP - half, anchor[3]),
        "right": (anchor[2] + GAP + half, anchor[3]),
        "above": (x, anchor[1] - GAP),
        "on": (x, anchor[1] + SUNK * (anchor[3] - anchor[1])),
        "below": (x, anchor[3] + GAP + height),
        "center": (x, anchor[3]),
    }[relation]
    return Paste(cutout, (min(max(foot[0], half), image.width - half), foot[1]), height)


def _room(anchor: Box, relation: PlaneRelation, image: AnnotatedImage) -> tuple[float, float]:
    """Width and height of the picture's part on that side of the anchor, less a gap at both ends."""
    aside: dict[PlaneRelation, float] = {"left": anchor[0], "right": image.width - anchor[2]}
    along: dict[PlaneRelation, float] = {"above": anchor[1], "below": image.height - anchor[3]}
    return aside.get(relation, image.width) - 2 * GAP, along.get(relation, image.height) - 2 * GAP


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Drawn:
    """One task: what was drawn, and what it was drawn from."""

    image: AnnotatedImage
    task: Task
    trial: int
    """Which of the task sets it belongs to, counted from 1."""
    template: str
    instance: Instance | None = None
    """The object to edit; none where one is to be generated."""
    target: str | None = None
    """The class or color that was drawn."""
    position: RelativePosition | None = None
    anchor: Instance | None = None

    @property
    def name(self) -> str:
        """The class of the object that should be seen after the edit."""
        if self.instance is None or isinstance(self.task, ChangeClass):
            return str(self.target)
        return self.instance.class_


def draw(annotations: Annotations, seed: int, trials: int = 1) -> list[Drawn]:
    """One task per image, editable instance and type, that many times over; sorted by trial and file.

    What is drawn for an instance depends on the seed, the trial, the file's name, the instance and the type alone.
    """
    images = sorted(annotations.images, key=lambda image: image.file)
    return [drawn for trial in range(1, trials + 1) for image in images for drawn in _of_image(image, seed, trial)]


def _of_image(image: AnnotatedImage, seed: int, trial: int) -> Iterator[Drawn]:
    order = {instance.id: index for index, instance in enumerate(sorted(image.instances, key=lambda item: item.id))}
    for task in sorted(image.tasks, key=lambda element: (order.get(instance_id(element), len(order)), element.type)):
        yield _drawn(image, task, trial, chance_by_key(seed, trial, image.file, instance_id(task), task.type))


def instance_id(task: Task) -> str:
    """Return the id of the instance that a task edits, or an empty text."""
    return "" if isinstance(task, Generate) else task.instance


def _drawn(image: AnnotatedImage, task: Task, trial: int, chance: np.random.Generator) -> Drawn:
    by_id = {instance.id: instance for instance in image.instances}
    target = _one(targets_of(task), chance)
    position = _one(positions_of(task), chance, _describe_position)
    template = _one(task.templates, chance)
    return Drawn(
        image,
        task,
        trial,
        str(template),
        by_id.get(instance_id(task)),
        target,
        position,
        by_id[position.anchor] if position else None,
    )


def targets_of(task: Task) -> Sequence[str]:
    """Return the candidate classes or colors of a task."""
    if isinstance(task, ChangeClass | Generate):
        return task.classes
    return task.colors if isinstance(task, ChangeColor) else ()


def positions_of(task: Task) -> Sequence[RelativePosition]:
    """Return the candidate positions of a task."""
    return task.positions if isinstance(task, MoveTask | Generate) else ()


def _describe_position(position: RelativePosition) -> str:
    return f"{position.anchor}\0{position.words}"


def _one(candidates: Iterable[T], chance: np.random.Generator, spelled: Callable[[T], str] = str) -> T | None:
    """One of them, each as likely as any other; which one does not depend on their order."""
    ordered = sorted(candidates, key=spelled)
    return ordered[int(chance.integers(len(ordered)))] if ordered else None


def chance_by_key(*key: object) -> np.random.Generator:
    """Random numbers that are the same on every machine and differ as soon as a part of the key does."""
    digest = hashlib.sha256("\0".join(map(str, key)).encode("utf-8", "surrogatepass")).digest()
    return np.random.default_rng(np.frombuffer(digest, dtype="<u4").tolist())


EXTRA = "unibench"
"""Under this key of an edit's extras lies what was drawn, from what, and which objects it is about."""
TRIAL = "trial"
"""And under this one, to which of several sets of tasks it belongs; `analysis.trials` reads it."""
RecipeOf = Callable[[Drawn], Recipe | None]
"""How the right outcome of a task can be made, where that is known."""


def as_edits(tasks: Sequence[Drawn], pictures: Mapping[str, ImageFile], recipe_of: RecipeOf) -> tuple[Edit, ...]:
    """Convert tasks to edits; ids name the trial if there are several."""
    ids = Ids()
    several = any(task.trial > 1 for task in tasks)
    return tuple(
        _edit(task, ids.give(*_id_parts(task, several=several)), pictures[task.image.file], recipe_of(task))
        for task in tasks
    )


def _id_parts(task: Drawn, *, several: bool) -> list[str]:
    whose = [task.instance.id] if task.instance else []
    return [PurePosixPath(task.image.file).stem, *whose, task.task.type, *([f"trial{task.trial}"] if several else [])]


def _edit(task: Drawn, name: str, source: ImageFile, recipe: Recipe | None) -> Edit:
    relation = task.position.relation if task.position else None
    captions = task.image.captions
    return Edit(
        id=name,
        source=source,
        type=vocabulary("unibench")[task.task.type],
        instruction=_instruction(task),
        subject=task.instance.class_ if task.instance else task.name,
        from_=_before(task),
        to=_after(task),
        position=Position(relation, task.anchor.class_) if relation and task.anchor else None,
        source_caption=captions[0] if captions else None,
        target_caption=filled(name_slots(task.template, task.task.type), _words(task)),
        mask=_region(task, recipe),
        objects={instance.id: mask_of(instance.mask) for instance in task.image.instances},
        recipe=recipe,
        groups={"task": task.task.type},
        extras={EXTRA: _fields(task), TRIAL: task.trial},
    )


def _instruction(task: Drawn) -> str:
    at = f"{task.position.words} the {task.anchor.class_}" if task.position and task.anchor else ""
    if task.instance is None:
        return f"Add {with_article(task.name)} {at}."
    subject = task.instance.class_
    if isinstance(task.task, ChangeClass):
        return f"Replace the {subject} with {with_article(task.name)}."
    if isinstance(task.task, ChangeColor):
        return f"Make the {subject} {task.target}."
    return f"Move the {subject} {at}."


def _before(task: Drawn) -> str | None:
    if task.instance is None:
        return None
    return {"change_class": task.instance.class_, "change_color": task.instance.color}.get(task.task.type)


def _after(task: Drawn) -> str:
    if task.target is None and task.position and task.anchor:
        return f"{task.position.words} the {task.anchor.class_}"
    return str(task.target)


def _words(task: Drawn) -> dict[str, str]:
    """Return the values of the slots of a caption."""
    words = {"target": task.name}
    if isinstance(task.task, ChangeColor):
        words["color"] = str(task.target)
    if task.position and task.anchor:
        words |= {"position": task.position.words, "anchor": task.anchor.class_}
    return words


def _region(task: Drawn, recipe: Recipe | None) -> Mask | None:
    """Return the region that the edit may change; None where the method chooses the position."""
    if recipe is not None:
        return recipe.footprint()
    if task.instance is None or task.position is not None:
        return None
    return Dilated(mask_of(task.instance.mask), MARGIN)


def _fields(task: Drawn) -> dict[str, Any]:
    """Plain values, for they are written into runs."""
    fields: dict[str, Any] = {"task": task.task.type, "template": task.template, "name": task.name}
    if task.instance:
        fields |= {"object": task.instance.id, "class": task.instance.class_}
        fields |= {"color": task.instance.color} if task.instance.color else {}
    if task.target:
        fields |= {"target": task.target, "candidates": sorted(targets_of(task.task))}
    if task.position and task.anchor:
        fields |= {"anchor": task.anchor.id, "anchor_class": task.anchor.class_, "words": task.position.words}
        fields |= {"relation": task.position.relation} if task.position.relation else {}
        fields["anchor_others"] = _others(task, task.anchor.class_, task.anchor)
        fields["places"] = [[_class_of(position.anchor, task), position.words] for position in positions_of(task.task)]
    fields["classes"] = sorted({instance.class_ for instance in task.image.instances})
    fields["others"] = _others(task, task.name, task.instance)
    return fields


def _others(task: Drawn, name: str, meant: Instance | None) -> list[str]:
    """Objects of the same class that are not meant: they must not be taken for the one that is."""
    return [instance.id for instance in task.image.instances if instance.class_ == name and instance is not meant]


def _class_of(anchor: str, task: Drawn) -> str:
    return next(instance.class_ for instance in task.image.instances if instance.id == anchor)
