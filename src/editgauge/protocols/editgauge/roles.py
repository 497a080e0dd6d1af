"""What an edit asks of the things it names: which should come, go, stay; and where it may change the picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from editgauge.core.phrases import without_article

if TYPE_CHECKING:
    from editgauge.core.masks import BoolMask
    from editgauge.core.types import Edit

ADDITIONS = ("object_addition", "positional_addition")
REMOVALS = ("object_removal", "single_instance_removal")
EVERYWHERE = ("style", "viewpoint", "unspecified")
NEW_CONTENT = (*ADDITIONS, *REMOVALS, "object_replacement", "texture", "shape", "alter_parts")
"""After them, what is seen in the region has another structure."""
SAME_CONTENT = ("color",)
"""After them, the region has the structure it had."""


@dataclass(frozen=True, slots=True)
class Roles:
    """The words of an edit by what should become of the things they name."""

    comes: str | None = None
    goes: str | None = None
    stays: str | None = None
    anchor: str | None = None
    adds: bool = False
    everywhere: bool = False
    behind: bool = False
    """The edit is about what lies behind the things."""

    def words(self) -> dict[str, str | None]:
        """By role."""
        return {"comes": self.comes, "goes": self.goes, "stays": self.stays, "anchor": self.anchor}


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """Where an edit may change the picture; None stands for everywhere or nobody knows, and `why` says which."""

    mask: BoolMask | None
    why: str


def roles_of(edit: Edit) -> Roles:
    """What should come, go and stay."""
    subject, old, new = (_plain(word) for word in (edit.subject, edit.from_, edit.to))
    if edit.type in ADDITIONS:
        beside = _plain(edit.position.anchor) if edit.position else None
        return Roles(comes=new, stays=subject, anchor=beside or subject, adds=True)
    if edit.type == "object_replacement":
        return Roles(comes=new, goes=old or subject)
    if edit.type in REMOVALS:
        return Roles(goes=subject)
    if edit.type == "alter_parts":
        return Roles(comes=new, stays=subject)
    return Roles(stays=subject, everywhere=edit.type in EVERYWHERE, behind=edit.type == "background")


def _plain(word: str | None) -> str | None:
    return without_article(word) if word and word.strip() else None
