"""Classes and operations as they come from a proposer: what can be used is taken, the rest is noted with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from editgauge.benchmarks.editval import NAMES
from editgauge.building.coco.annotations import CocoImage
from editgauge.building.editval.file import form_fault, overlap_fault
from editgauge.building.unibench.selection import OmittedTask

Pair = tuple[str, str]
"""A class and an edit type."""


@dataclass
class Proposed:
    """What was proposed so far, and what could not be used."""

    classes: dict[str, list[str]] = field(default_factory=dict)
    """By edit type."""
    operations: dict[Pair, list[str]] = field(default_factory=dict)
    left_out: list[OmittedTask] = field(default_factory=list)

    def take_image(self, image: CocoImage) -> bool:
        """Will the benchmark find the image by its number? If not, it is noted."""
        names = [name.format(image.number) for name in NAMES]
        if image.file in names:
            return True
        self.left_out.append(OmittedTask(image.file, f"is not found by its number: call it {names[1]}"))
        return False

    def take_classes(self, edit_type: str, words: Sequence[str], known: Sequence[str]) -> None:
        """Those of the list; the others are noted."""
        self.classes[edit_type] = [word for word in words if word in known]
        self.left_out += [
            OmittedTask(f"{edit_type}: {word}", "is no class of the annotations with a fitting image")
            for word in words
            if word not in known
        ]

    def take_operations(self, pair: Pair, words: Sequence[str]) -> None:
        """Those that can be read and belong to no other type of the class (appendix E); the others are noted."""
        class_, edit_type = pair
        taken = [(kind, word) for (owner, kind), found in self.operations.items() for word in found if owner == class_]
        fit: list[str] = []
        for word in words:
            earlier = [*taken, *((edit_type, each) for each in fit)]
            why = form_fault(edit_type, word) or overlap_fault(edit_type, word, earlier)
            if why is None and edit_type in {"object_addition", "object_replacement"} and word == class_:
                why = "is the class itself"
            if why:
                self.left_out.append(OmittedTask(f"{class_}, {edit_type}: {word}", why))
            else:
                fit.append(word)
        self.operations[pair] = fit
