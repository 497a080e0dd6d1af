"""What an edit asks of the things it names: which should come, go, stay; and where it may change the picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from editgauge._util.phrases import without_article
from editgauge.edit_types import EDIT_TYPES

if TYPE_CHECKING:
    from editgauge._util.masks import BoolMask
    from editgauge.types import Edit


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
class EditableRegion:
    """Where an edit may change the picture; None stands for everywhere or unknown, and `why` says which."""

    mask: BoolMask | None
    why: str


def roles_of(edit: Edit) -> Roles:
    """What should come, go and stay."""
    subject, old, new = (_plain(word) for word in (edit.subject, edit.from_, edit.to))
    kind = EDIT_TYPES[edit.type]
    if kind.effect == "adds":
        beside = _plain(edit.position.anchor) if edit.position else None
        return Roles(comes=new, stays=subject, anchor=beside or subject, adds=True)
    if kind.effect == "replaces":
        return Roles(comes=new, goes=old or subject)
    if kind.effect == "removes":
        return Roles(goes=subject)
    if edit.type == "alter_parts":
        return Roles(comes=new, stays=subject)
    if kind.region == "background":
        return Roles(comes=new, stays=subject, behind=True)
    return Roles(stays=subject, everywhere=kind.region == "everywhere")


def removes(edit: Edit) -> bool:
    """True when something should be gone and nothing should take its place."""
    return EDIT_TYPES[edit.type].effect == "removes"


def _plain(word: str | None) -> str | None:
    return without_article(word) if word and word.strip() else None
