"""UniBench annotations: what a file of them says, as fields; `docs/explanation/unibench-annotations.md` explains it.

Coordinates are pixels of the image as it is in its file: x to the right, y down. A box is [left, top, right, bottom],
right and bottom excluded. A mask is a list of COCO polygons or uncompressed COCO run lengths.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Discriminator, Field, Tag

from editgauge._util.fields import Fields, Text, usable_id
from editgauge.benchmarks.format.regions import FARTHEST, LONGEST_SIDE
from editgauge.types import PlaneRelation

FORMAT = "unibench-annotations/1"
"""Raised whenever an older file would be read otherwise than it was meant."""
TaskType = Literal["change_class", "change_color", "move", "generate"]

Pixel = Annotated[float, Field(ge=-FARTHEST, le=FARTHEST)]
Side = Annotated[int, Field(ge=1, le=LONGEST_SIDE)]
Ring = Annotated[list[Pixel], Field(min_length=6)]
Polygons = Annotated[list[Ring], Field(min_length=1)]


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
    Annotated[Polygons, Tag("polygons")] | Annotated[MaskRunLengths, Tag("runs")], Discriminator(_form_of_mask)
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


class RelativePlace(StrictFields):
    """A position relative to an anchor."""

    anchor: Text
    """The id of an instance of the same image."""
    words: Text
    """The position as it stands between the two: `to the left of`, `in front of`."""
    relation: PlaneRelation | None = None
    """What the words mean in the picture's plane; none for `in front of`, `next to` or `behind`."""


Templates = Annotated[list[Text], Field(min_length=1)]
Candidates = Annotated[list[Text], Field(min_length=1)]
Places = Annotated[list[RelativePlace], Field(min_length=1)]


class ChangeClass(StrictFields):
    """What an instance may become."""

    type: Literal["change_class"]
    instance: Text
    """The id of the instance to edit."""
    classes: Candidates
    """Never its own class, nor one that is in the image."""
    templates: Templates
    """Captions of the edited image with the slot {target}."""


class ChangeColor(StrictFields):
    """Which colors an instance may get."""

    type: Literal["change_color"]
    instance: Text
    """The id of the instance to edit."""
    colors: Candidates
    """Never its own."""
    templates: Templates
    """Captions of the edited image with the slot {color}."""


class MoveTask(StrictFields):
    """Where an instance may go."""

    type: Literal["move"]
    instance: Text
    """The id of the instance to edit."""
    places: Places
    """Never relative to itself."""
    templates: Templates
    """Captions of the edited image with the slots {position} and {anchor}."""


class Generate(StrictFields):
    """What may be added to the image, and where."""

    type: Literal["generate"]
    classes: Candidates
    """Never one that is in the image."""
    places: Places
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
    """The form of the file as JSON Schema, for editors and for programs in other languages."""
    schema = Annotations.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def described(annotations: Annotations) -> dict[str, Any]:
    """The annotations as a JSON value, without what was left out; whole pixels are whole numbers."""
    value: dict[str, Any] = _whole(annotations.model_dump(mode="json", by_alias=True, exclude_defaults=True))
    return value


def _whole(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _whole(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_whole(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
