"""What an edit changes, in parts and in words: before, after, and the way back."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from editgauge._util.phrases import without_article
from editgauge._util.text import plural, with_article
from editgauge.benchmarks.wording import PLACES, instruction
from editgauge.builders.training.likeness import kind_of
from editgauge.edit_types import EDIT_TYPES
from editgauge.errors import UnscorableError
from editgauge.instructions.parsed import parse_single_step
from editgauge.models.vocabulary._phrases import singulars
from editgauge.protocols.difference._triplets import Action
from editgauge.types import Edit, ParsedStep

OPPOSITE: Mapping[Action, Action] = {
    "Add": "Remove",
    "Remove": "Add",
    "Replace": "Replace",
    "Change Attribute": "Change Attribute",
}
OTHER_SIZE = {"small": "large", "large": "small"}
WHOLE = "image"
"""What a change of style is about."""
COMPARED = {"large": "larger", "small": "smaller"}
TYPES: Mapping[str | None, str] = {"color": "color", "shape": "shape", "size": "size", "style": "style"}
LOOK = "appearance"
"""What changed when the attribute is in no table."""
_ARTICLE = r"(?:\b(?P<article>an?) )?"


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
    """Return the reverse change (section 5.2); raise `UnscorableError` if the original state is unknown.

    >>> backwards(DescribedChange("Replace", "apple", "pear"))
    DescribedChange(action='Replace', before='pear', after='apple', thing=None, where=None)
    """
    if change.action == "Change Attribute" and not change.before:
        raise UnscorableError(
            "not_applicable", f"it is unknown how the {change.thing} was before it became {change.after}"
        )
    return replace(change, action=OPPOSITE[change.action], before=change.after, after=change.before)


def towards(change: DescribedChange, goal: str) -> DescribedChange:
    """Return the change with another goal."""
    return replace(change, before=goal) if change.action == "Remove" else replace(change, after=goal)


def change_of(edit: Edit) -> DescribedChange:
    """Return the change that an edit asks for; raise `UnscorableError`."""
    parts = _parts(edit)
    read = _BY_EFFECT.get(EDIT_TYPES[parts.type].effect) or _BY_TYPE.get(parts.type)
    if read is None:
        raise UnscorableError(
            "no_rule", f"a change of {parts.type.replace('_', ' ')} has no negative that rules could tell"
        )
    change = read(parts)
    if not change.goal or (change.action == "Replace" and not change.before):
        raise UnscorableError("not_applicable", f"'{edit.id}' does not say what is to change")
    action = edit.extras.get("action")
    if action is not None and action != change.action:
        raise UnscorableError(
            "unparsable", f"'{edit.instruction}' reads as {change.action}, the benchmark has {action}"
        )
    return change


def _parts(edit: Edit) -> ParsedStep:
    if edit.type != "unspecified" and (edit.subject or edit.to):
        return ParsedStep(type=edit.type, subject=edit.subject, from_=edit.from_, to=edit.to, position=edit.position)
    return parse_single_step(edit.instruction)


def _added(parts: ParsedStep) -> DescribedChange:
    where = None
    if parts.position is not None:
        relation = parts.position.relation
        form = "on the {}" if relation == "on" else PLACES.get(relation, f"{relation} the {{}}")
        where = form.format(parts.position.anchor or parts.subject or WHOLE)
    return DescribedChange("Add", None, parts.to, where=where)


def _attached(parts: ParsedStep) -> DescribedChange:
    return DescribedChange("Add", None, parts.to, where=f"on the {parts.subject}" if parts.subject else None)


def _removed(parts: ParsedStep) -> DescribedChange:
    return DescribedChange("Remove", parts.subject, None)


def _replaced(parts: ParsedStep) -> DescribedChange:
    return DescribedChange("Replace", parts.from_ or parts.subject, parts.to)


def _altered(parts: ParsedStep) -> DescribedChange:
    return DescribedChange("Change Attribute", parts.from_, parts.to, thing=parts.subject or WHOLE)


def _styled(parts: ParsedStep) -> DescribedChange:
    """Return a style change of the whole image."""
    return DescribedChange("Change Attribute", None, without_article(parts.to or ""), thing=WHOLE)


def _sized(parts: ParsedStep) -> DescribedChange:
    """Return a size change, whose reverse is known."""
    return DescribedChange("Change Attribute", OTHER_SIZE.get(parts.to or ""), parts.to, thing=parts.subject or WHOLE)


_BY_EFFECT: Mapping[str, Callable[[ParsedStep], DescribedChange]] = {
    "adds": _added,
    "removes": _removed,
    "replaces": _replaced,
}
_BY_TYPE: Mapping[str, Callable[[ParsedStep], DescribedChange]] = {
    "alter_parts": _attached,
    "color": _altered,
    "texture": _altered,
    "shape": _altered,
    "style": _styled,
    "size": _sized,
}


def instruction_of(change: DescribedChange) -> str:
    """Word the request; a removal is not located, because its decoy is elsewhere.

    >>> instruction_of(DescribedChange("Add", None, "cup", where="on the table"))
    'Add a cup on the table.'
    """
    after = change.after or ""
    match change.action:
        case "Add":
            return f"Add {with_article(after)}{f' {change.where}' if change.where else ''}."
        case "Remove":
            return f"Remove the {change.before}."
        case "Replace":
            return instruction("object_replacement", change.before or "", change.before, after)
        case _:
            return instruction(TYPES.get(kind_of(after), "texture"), change.thing or WHOLE, None, after)


def caption_of(change: DescribedChange) -> str:
    """Describe the difference afterwards.

    >>> caption_of(DescribedChange("Replace", "apple", "orange"))
    'The apple was replaced by an orange.'
    """
    match change.action:
        case "Add":
            at = f" {change.where}" if change.where else ""
            sentence = f"{with_article(change.after or '')} {_was(change.after)} added{at}."
        case "Remove":
            sentence = f"the {change.before} {_was(change.before)} removed."
        case "Replace":
            sentence = f"the {change.before} {_was(change.before)} replaced by {with_article(change.after or '')}."
        case _:
            sentence = _altered_sentence(change)
    return sentence[0].upper() + sentence[1:]


def _altered_sentence(change: DescribedChange) -> str:
    kind = kind_of(change.after or "")
    if change.after in COMPARED:
        return f"the {change.thing} {_was(change.thing)} made {COMPARED[change.after]}."
    since = f" from {change.before}" if change.before else ""
    if kind == "color":
        return f"the {change.thing} {_was(change.thing)} changed{since} to {change.after}."
    return f"the {kind or LOOK} of the {change.thing} was changed{since} to {change.after}."


def reworded(caption: str, old: str, new: str) -> str | None:
    """Replace a name in an instruction; None unless it occurs exactly once and fits.

    A cup of coffee keeps its name: in its place would stand a plate of coffee.

    >>> reworded("Let there be an old car on the street", "old car", "bus")
    'Let there be a bus on the street'
    """
    matches = list(re.finditer(rf"{_ARTICLE}\b{re.escape(old)}\b(?! of )", caption, re.IGNORECASE))
    if len(matches) != 1 or (matches[0]["article"] and _is_plural(new)):
        return None
    (match,) = matches
    name = with_article(new) if match["article"] else new
    name = name.capitalize() if (match["article"] or "")[:1].isupper() else name
    return f"{caption[: match.start()]}{name}{caption[match.end() :]}"


def as_many(name: str, like: str) -> str:
    """Return the name in the number of another name.

    >>> as_many("peach", "apples"), as_many("peach", "apple")
    ('peaches', 'peach')
    """
    if not _is_plural(like) or _is_plural(name):
        return name
    return plural(name)


def _was(name: str | None) -> str:
    return "were" if _is_plural(name or "") else "was"


def _is_plural(name: str) -> bool:
    return bool(singulars(name)) and name != WHOLE
