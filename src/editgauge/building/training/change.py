"""What an edit changes, in parts: what was there before, what is there after, and the way back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from editgauge.benchmarks._text.wording import PLACES
from editgauge.core.edit_types import EDIT_TYPES
from editgauge.core.errors import CannotTell
from editgauge.core.phrases import without_article
from editgauge.core.types import Edit, Step
from editgauge.instructions.readings import only_step
from editgauge.protocols.difference.triplets import Action

OPPOSITE: Mapping[Action, Action] = {
    "Add": "Remove",
    "Remove": "Add",
    "Replace": "Replace",
    "Change Attribute": "Change Attribute",
}
OTHER_SIZE = {"small": "large", "large": "small"}
WHOLE = "image"
"""What a change of style is about."""


@dataclass(frozen=True, slots=True)
class DescribedChange:
    """One change. For an attribute, `before` and `after` are the attributes, and `thing` is what has them."""

    action: Action
    before: str | None
    after: str | None
    thing: str | None = None
    where: str | None = None
    """Such as `to the left of the plate`; holds for the way back as well."""

    @property
    def goal(self) -> str:
        """What the request names: the thing that comes or goes, or the new attribute."""
        return (self.before if self.action == "Remove" else self.after) or ""


def backwards(change: DescribedChange) -> DescribedChange:
    """The change that undoes this one (section 5.2); raises `CannotTell` if what was there before is unknown.

    >>> backwards(DescribedChange("Replace", "apple", "pear"))
    DescribedChange(action='Replace', before='pear', after='apple', thing=None, where=None)
    """
    if change.action == "Change Attribute" and not change.before:
        raise CannotTell("not_applicable", f"it is unknown how the {change.thing} was before it became {change.after}")
    return replace(change, action=OPPOSITE[change.action], before=change.after, after=change.before)


def towards(change: DescribedChange, goal: str) -> DescribedChange:
    """The same change with another goal."""
    return replace(change, before=goal) if change.action == "Remove" else replace(change, after=goal)


def change_of(edit: Edit) -> DescribedChange:
    """The change that an edit asks for, from its parts or by reading its instruction; raises `CannotTell`."""
    parts = _parts(edit)
    read = _BY_EFFECT.get(EDIT_TYPES[parts.type].effect) or _BY_TYPE.get(parts.type)
    if read is None:
        raise CannotTell("no_rule", f"a change of {parts.type.replace('_', ' ')} has no negative that rules could tell")
    change = read(parts)
    if not change.goal or (change.action == "Replace" and not change.before):
        raise CannotTell("not_applicable", f"'{edit.id}' does not say what is to change")
    said = edit.extras.get("action")
    if said is not None and said != change.action:
        raise CannotTell("unparsable", f"'{edit.instruction}' reads as {change.action}, the benchmark has {said}")
    return change


def _parts(edit: Edit) -> Step:
    if edit.type != "unspecified" and (edit.subject or edit.to):
        return Step(type=edit.type, subject=edit.subject, from_=edit.from_, to=edit.to, position=edit.position)
    return only_step(edit.instruction)


def _added(parts: Step) -> DescribedChange:
    where = None
    if parts.position is not None:
        relation = parts.position.relation
        form = "on the {}" if relation == "on" else PLACES.get(relation, f"{relation} the {{}}")
        where = form.format(parts.position.anchor or parts.subject or WHOLE)
    return DescribedChange("Add", None, parts.to, where=where)


def _attached(parts: Step) -> DescribedChange:
    return DescribedChange("Add", None, parts.to, where=f"on the {parts.subject}" if parts.subject else None)


def _removed(parts: Step) -> DescribedChange:
    return DescribedChange("Remove", parts.subject, None)


def _replaced(parts: Step) -> DescribedChange:
    return DescribedChange("Replace", parts.from_ or parts.subject, parts.to)


def _altered(parts: Step) -> DescribedChange:
    return DescribedChange("Change Attribute", parts.from_, parts.to, thing=parts.subject or WHOLE)


def _styled(parts: Step) -> DescribedChange:
    """A style is that of the whole picture, whatever it shows."""
    return DescribedChange("Change Attribute", None, without_article(parts.to or ""), thing=WHOLE)


def _sized(parts: Step) -> DescribedChange:
    """A size is described by comparison, so its way back is known: what was made larger was smaller."""
    return DescribedChange("Change Attribute", OTHER_SIZE.get(parts.to or ""), parts.to, thing=parts.subject or WHOLE)


_BY_EFFECT: Mapping[str, Callable[[Step], DescribedChange]] = {
    "adds": _added,
    "removes": _removed,
    "replaces": _replaced,
}
_BY_TYPE: Mapping[str, Callable[[Step], DescribedChange]] = {
    "alter_parts": _attached,
    "color": _altered,
    "texture": _altered,
    "shape": _altered,
    "style": _styled,
    "size": _sized,
}
