"""Table of edit types: meaning, fields, and their names in papers and benchmarks.

To add a type, add an entry here and its prompt templates (`methods/data/templates/plain/*/NAME.v1.txt`). Rules that
score it register themselves in their protocol with `@rule("NAME")`. Nothing else lists the types.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from editgauge.errors import UnknownNameError

Effect = Literal["adds", "removes", "replaces", "changes"]
Region = Literal["object", "background", "everywhere"]
Value = Literal["thing", "attribute", "place"]
UNSPECIFIED = "unspecified"


@dataclass(frozen=True, slots=True, kw_only=True)
class EditType:
    """One edit type. `Edit.type` holds its name."""

    name: str
    meaning: str
    example: str
    """An instruction of this type."""
    needs: tuple[str, ...]
    """The fields of an edit that rules read: `subject`, `from`, `to`, `position`."""
    effect: Effect = "changes"
    """What happens to an object: a new one comes, it goes, another takes its place, or it changes."""
    region: Region = "object"
    """The part of the picture that changes."""
    value: Value | None = None
    """What the field `to` names: something to be seen on its own, a property of the subject, or a place."""
    values: tuple[str, ...] = ()
    """Examples of `to`."""
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What benchmarks and papers call the type; see `vocabulary`."""


_ENTRIES = (
    EditType(
        name="object_addition",
        meaning="something new is added to the picture, in addition to the object",
        example="Add a ball to the image.",
        needs=("to",),
        effect="adds",
        value="thing",
        values=("ball", "wine glass"),
        names={
            "editval": ("object_addition",),
            "pie_bench": ("add object",),
            "gedit": ("subject-add",),
            "editinspector": ("Add",),
            "imgedit": ("add",),
            "hatie": ("obj_add",),
            "emu_edit": ("add",),
            "compbench": ("add", "multi_object_add", "multi_turn_add", "turn1_add", "turn2_add"),
            "edival": ("subject_add",),
        },
    ),
    EditType(
        name="positional_addition",
        meaning="something new is put at a named side of the object",
        example="Add a ball to the left of the dog.",
        needs=("subject", "to", "position"),
        effect="adds",
        value="thing",
        values=("ball",),
        names={"editval": ("positional_addition",), "unibench": ("generate",)},
    ),
    EditType(
        name="object_replacement",
        meaning="the object is replaced by another one",
        example="Replace the sofa with a chair.",
        needs=("subject", "to"),
        effect="replaces",
        value="thing",
        values=("chair",),
        names={
            "editval": ("object_replacement",),
            "unibench": ("change_class",),
            "pie_bench": ("change object",),
            "gedit": ("subject-replace",),
            "editinspector": ("Replace",),
            "imgedit": ("replace",),
            "hatie": ("obj_rep",),
            "compbench": ("replace",),
            "edival": ("subject_replace",),
        },
    ),
    EditType(
        name="position_replacement",
        meaning="the object moves to another side of the picture",
        example="Move the dog to the left of the image.",
        needs=("subject", "to"),
        value="place",
        values=("left", "right", "center"),
        names={"editval": ("position_replacement",), "unibench": ("move",)},
    ),
    EditType(
        name="object_removal",
        meaning="all objects of a kind are removed",
        example="Remove the dog.",
        needs=("subject",),
        effect="removes",
        names={
            "pie_bench": ("delete object",),
            "gedit": ("subject-remove",),
            "editinspector": ("Remove",),
            "imgedit": ("remove",),
            "hatie": ("obj_remove",),
            "emu_edit": ("remove",),
            "compbench": ("remove", "multi_object_remove", "multi_turn_remove", "turn1_remove", "turn2_remove"),
            "edival": ("subject_remove",),
        },
    ),
    EditType(
        name="single_instance_removal",
        meaning="one of several objects of a kind is removed",
        example="Remove the leftmost cup.",
        needs=("subject",),
        effect="removes",
    ),
    EditType(
        name="size",
        meaning="the object becomes smaller or larger",
        example="Make the dog larger.",
        needs=("subject", "to"),
        value="attribute",
        values=("small", "large"),
        names={"editval": ("size",), "hatie": ("obj_resize",)},
    ),
    EditType(
        name="alter_parts",
        meaning="a part of the object is added or changed",
        example="Add a handle to the cup.",
        needs=("subject", "to"),
        value="thing",
        values=("handle",),
        names={"editval": ("alter_parts",)},
    ),
    EditType(
        name="color",
        meaning="the object gets another color",
        example="Make the car red.",
        needs=("subject", "to"),
        value="attribute",
        values=("red",),
        names={
            "editval": ("color",),
            "unibench": ("change_color",),
            "pie_bench": ("change color",),
            "gedit": ("color_alter",),
            "emu_edit": ("color",),
            "edival": ("color_alter",),
        },
    ),
    EditType(
        name="texture",
        meaning="the surface of the object becomes another material or pattern",
        example="Give the bench a wooden texture.",
        needs=("subject", "to"),
        value="attribute",
        values=("wooden",),
        names={
            "editval": ("texture",),
            "pie_bench": ("change material",),
            "gedit": ("material_alter",),
            "edival": ("material_alter",),
        },
    ),
    EditType(
        name="shape",
        meaning="the object gets another outline",
        example="Make the plate square.",
        needs=("subject", "to"),
        value="attribute",
        values=("square",),
        names={"editval": ("shape",)},
    ),
    EditType(
        name="style",
        meaning="the whole picture is rendered in another manner",
        example="Change the style of the image to an oil painting.",
        needs=("to",),
        region="everywhere",
        value="attribute",
        values=("oil painting",),
        names={
            "editval": ("style",),
            "pie_bench": ("change style",),
            "gedit": ("style_change", "tone_transfer"),  # tone: season, light and mood of the whole picture
            "imgedit": ("style",),
            "hatie": ("style_chg",),
            "emu_edit": ("style",),
        },
    ),
    EditType(
        name="background",
        meaning="what is behind the object becomes another place",
        example="Change the background to a snowy road.",
        needs=("subject", "to"),
        region="background",
        value="thing",
        values=("snowy road",),
        names={
            "editval": ("background",),
            "pie_bench": ("change background",),
            "gedit": ("background_change",),
            "imgedit": ("background",),
            "hatie": ("bg_chg",),
            "emu_edit": ("background",),
            "edival": ("background_change",),
        },
    ),
    EditType(
        name="text",
        meaning="the words that can be read on the object become others",
        example='Make the sign say "OPEN".',
        needs=("to",),
        value="attribute",
        values=("OPEN",),
        names={"gedit": ("text_change",), "emu_edit": ("text",), "edival": ("text_change",)},
    ),
    EditType(
        name="action",
        meaning="the object does something else",
        example="Make the dog sleep.",
        needs=("subject", "to"),
        value="attribute",
        values=("sleeping",),
        names={
            "editval": ("action",),
            "pie_bench": ("change pose",),
            "gedit": ("motion_change",),
            "imgedit": ("action",),
            "compbench": ("action",),
        },
    ),
    EditType(
        name="viewpoint",
        meaning="the object is seen from another side",
        example="Show the car from the back.",
        needs=("subject", "to"),
        region="everywhere",
        value="attribute",
        values=("back",),
        names={"editval": ("viewpoint",), "compbench": ("view",)},
    ),
    EditType(
        name=UNSPECIFIED,
        meaning="the benchmark does not say, and the instruction does not tell",
        example="Make it look happier.",
        needs=(),
        region="everywhere",
    ),
)
EDIT_TYPES: dict[str, EditType] = {entry.name: entry for entry in _ENTRIES}
"""All edit types by name, in the order in which tables show them."""


def read_edit_type(word: str) -> str:
    """Return the name of an edit type; hyphens, spaces and capitals are accepted.

    >>> read_edit_type("Object-Addition")
    'object_addition'
    """
    name = word.strip().lower().replace("-", "_").replace(" ", "_")
    if name not in EDIT_TYPES:
        raise UnknownNameError("edit type", word, EDIT_TYPES, "editgauge list edit-types")
    return name


def vocabulary(benchmark: str) -> dict[str, str]:
    """Return a benchmark's names for edit types, each with the name of our type.

    >>> vocabulary("unibench")["generate"]
    'positional_addition'
    """
    return {word: entry.name for entry in EDIT_TYPES.values() for word in entry.names.get(benchmark, ())}
