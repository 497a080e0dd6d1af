"""What a UniBench task asks for, read from the edit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

from editgauge.errors import UnscorableError

if TYPE_CHECKING:
    from editgauge._util.masks import BoolMask
    from editgauge.types import Item, Relation

EXTRA = "unibench"
Kind = Literal["change_class", "change_color", "move", "generate"]
KINDS: tuple[Kind, ...] = ("change_class", "change_color", "generate", "move")


@dataclass(frozen=True, slots=True)
class TargetPlace:
    """Where the target should be: words between it and its anchor."""

    anchor: str
    """The anchor's class."""
    words: str

    def phrase(self, target: str) -> str:
        """As CLIP is asked: `cat in front of suitcase`."""
        return f"{target} {self.words} {self.anchor}"


class Task:
    """A task and the outlines of its objects in the source image."""

    def __init__(self, item: Item) -> None:
        fields = item.edit.extras.get(EXTRA)
        if not isinstance(fields, dict) or fields.get("task") not in KINDS:
            raise UnscorableError("not_applicable", "this is no task of UniBench; use `editgauge list benchmarks`")
        self._fields: dict[str, Any] = fields
        self._item = item
        self.kind = cast(Kind, fields["task"])
        self.name: str = fields["name"]
        """The class of the object that should be seen after the edit."""

    @property
    def text(self) -> str:
        """What the target should look like, in words."""
        return f"{self._fields['target']} {self.name}" if self.kind == "change_color" else self.name

    @property
    def alternatives(self) -> list[str]:
        """What else it could look like: the annotated candidates, and what it was before."""
        if self.kind == "change_color":
            colors = [*self._fields["candidates"], *filter(None, [self._fields.get("color")])]
            return [f"{color} {self.name}" for color in dict.fromkeys(colors)]
        return list(dict.fromkeys([*self._fields.get("candidates", ()), *self._fields["classes"], self.name]))

    @property
    def color(self) -> str:
        """The color that is asked for."""
        return str(self._fields["target"])

    @property
    def place(self) -> TargetPlace:
        """Where the target is asked to be."""
        return TargetPlace(self._fields["anchor_class"], self._fields["words"])

    @property
    def places(self) -> list[TargetPlace]:
        """All places that it could have been asked to be at."""
        return list(dict.fromkeys(TargetPlace(anchor, words) for anchor, words in self._fields["places"]))

    @property
    def relation(self) -> Relation | None:
        """What the words of the place mean in the picture's plane, where they mean anything there."""
        return cast("Relation | None", self._fields.get("relation"))

    @property
    def original(self) -> BoolMask | None:
        """The object to edit as it is in the source image; none where one is to be generated."""
        return self._rendered(self._fields["object"]) if "object" in self._fields else None

    @property
    def anchor(self) -> BoolMask:
        """The anchor as it is in the source image."""
        return self._rendered(self._fields["anchor"])

    @property
    def others(self) -> list[BoolMask]:
        """Objects of the target's class that are not meant."""
        return [self._rendered(name) for name in self._fields["others"]]

    @property
    def other_anchors(self) -> list[BoolMask]:
        """Objects of the anchor's class that are not meant."""
        return [self._rendered(name) for name in self._fields["anchor_others"]]

    def _rendered(self, name: str) -> BoolMask:
        height, width = self._item.source.shape[:2]
        return self._item.edit.objects[name].render(width, height)
