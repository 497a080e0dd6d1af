"""What an edit asks of the objects it names: which should come, go or stay."""

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
    """The labels of an edit by what should become of the objects they name."""

    comes: str | None = None
    goes: str | None = None
    stays: str | None = None
    anchor: str | None = None
    adds: bool = False
    everywhere: bool = False
    behind: bool = False
    """The edit is about the background."""

    def words(self) -> dict[str, str | None]:
        """Return the labels by role."""
        return {"comes": self.comes, "goes": self.goes, "stays": self.stays, "anchor": self.anchor}


@dataclass(frozen=True, slots=True, eq=False)
class EditableRegion:
    """Where an edit may change the image; None stands for everywhere or unknown, and `reason` says which."""

    mask: BoolMask | None
    reason: str


def roles_of(edit: Edit) -> Roles:
    """Return what should come, go and stay."""
    subject, old, new = (_plain(label) for label in (edit.subject, edit.from_, edit.to))
    kind = EDIT_TYPES[edit.type]
    if kind.effect == "adds":
        anchor = _plain(edit.position.anchor) if edit.position else None
        return Roles(comes=new, stays=subject, anchor=anchor or subject, adds=True)
    if kind.effect == "replaces":
        return Roles(comes=new, goes=old or subject)
    if kind.effect == "removes":
        return Roles(goes=subject)
    if edit.type == "alter_parts":
        return Roles(comes=new, stays=subject)
    if kind.region == "background":
        return Roles(comes=new, stays=subject, behind=True)
    return Roles(stays=subject, everywhere=kind.region == "everywhere")


def _plain(label: str | None) -> str | None:
    return without_article(label) if label and label.strip() else None
