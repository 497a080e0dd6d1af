"""Describe changes in words and choose wrong alternatives for them."""

from __future__ import annotations

import re
from asyncio import gather
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib import resources
from random import Random

import numpy as np
import yaml
from numpy.typing import NDArray

from editgauge._util.images import Pixels
from editgauge._util.masks import BoolMask, bounding_box
from editgauge._util.phrases import POSITION_PHRASES, instruction, without_article
from editgauge._util.text import plural, with_article
from editgauge._vision.object_changes import LOW_CONFIDENCE_FACTOR
from editgauge.edit_types import EDIT_TYPES
from editgauge.errors import UnscorableError
from editgauge.instructions.parsed import parse_single_step
from editgauge.models.answers import Detections
from editgauge.models.perception import Perception
from editgauge.models.vocabulary import siblings, wordnet_here, words_for_the_same
from editgauge.models.vocabulary._words import plain_words, sense_of, singulars
from editgauge.protocols._objects import detect_everything, operating_point
from editgauge.protocols.difference._triplets import Action, head
from editgauge.types import Edit, ParsedStep

MAX_WORDNET_STEPS = 10
"""Largest WordNet distance of two related objects, by way of their common hypernym."""
CACHE_SIZE = 65_536
"""Compared pairs of names; benchmarks repeat the same few thousand."""
ADJECTIVE_FORM, NOUN_FORM = 0, 1
"""Columns of an attribute's row."""
Rows = tuple[tuple[str, ...], ...]


@cache
def tables() -> dict[str, Rows]:
    """Return the attribute tables by kind; a row holds attributes that can be confused."""
    groups = yaml.safe_load((resources.files(__package__) / "_training_attributes.yaml").read_text(encoding="utf-8"))
    return {kind: tuple(tuple(map(str, row)) for row in rows) for kind, rows in groups.items()}


def other_attributes(attribute: str, *taken: str | None) -> tuple[str, ...]:
    """Return clearly different attributes of the same kind and form, without the taken ones; raise `UnscorableError`.

    >>> other_attributes("bigger"), "maroon" in other_attributes("red"), "stone" in other_attributes("wood")
    (('small',), False, True)
    """
    mine = _table_row(attribute)
    if mine is None:
        raise UnscorableError("unknown_word", f"'{attribute}' is in no table of attributes")
    kind, row = mine
    avoided = {row, *(location[1] for item in taken if item and (location := _table_row(item)) and location[0] == kind)}
    forms = tables()[kind][row]
    is_adjective = attribute.casefold() == forms[ADJECTIVE_FORM] != forms[NOUN_FORM] and kind != "style"
    form = ADJECTIVE_FORM if is_adjective else NOUN_FORM
    return tuple(words[form] for number, words in enumerate(tables()[kind]) if number not in avoided)


def kind_of(attribute: str) -> str | None:
    """Return color, material, pattern, shape, style or size; None for an attribute that is in no table."""
    location = _table_row(attribute)
    return location[0] if location else None


def exclude_each_other(one: str, other: str) -> bool:
    """Return whether two attributes certainly exclude each other."""
    first, second = _table_row(one), _table_row(other)
    if first and second:
        return first[0] == second[0] and first[1] != second[1]
    if first or second:
        return False
    words = set(plain_words(one)), set(plain_words(other))
    synonyms = frozenset[str]().union(*(words_for_the_same(word) for word in words[0]))
    return not (words[0] & words[1] or words[1] & synonyms)


@lru_cache(CACHE_SIZE)
def may_name_same_object(one: str, other: str) -> bool:
    """Return whether two names may refer to the same object; without WordNet only equal words do."""
    if set(_forms(one)) & set(_forms(other)):
        return True
    wordnet = wordnet_here()
    if wordnet is None:
        return False
    senses = [{sense for form in _forms(name) for sense in wordnet.senses(form)} for name in (one, other)]
    above = [{kind for sense in item for kind in wordnet.ancestors(sense)} for item in senses]
    return bool(senses[0] & above[1] or senses[1] & above[0])


@lru_cache(CACHE_SIZE)
def similar_objects(name: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return other objects of the same kind, nearest first; raise `UnscorableError` for a name unknown to WordNet.

    Args:
        name: the object.
        names: words of a closed vocabulary, which are considered too.

    """
    beside = (
        sibling for sibling in _siblings(name) if sibling == sibling.lower()
    )  # others are the names of one of them
    similar = dict.fromkeys([*beside, *_nearest(name, names)])
    return tuple(item for item in similar if not may_name_same_object(item, name))


def _siblings(name: str) -> tuple[str, ...]:
    try:
        return siblings(name)
    except UnscorableError:
        if head(name) == name:
            raise
        return siblings(head(name))


def _nearest(name: str, names: Sequence[str]) -> Iterator[str]:
    """Sort words by their WordNet distance to a common hypernym."""
    wordnet = wordnet_here()
    if wordnet is None:
        return
    senses = (sense_of(form, wordnet) for form in _forms(name))
    mine = next((sense for sense in senses if sense is not None), None)
    if mine is None:
        return
    above = {kind: step for step, kind in enumerate(wordnet.ancestors(mine))}
    steps: list[tuple[int, str]] = []
    for word in names:
        sense = sense_of(word, wordnet)
        met = ((up, kind) for up, kind in enumerate(wordnet.ancestors(sense)) if kind in above) if sense else iter(())
        shared = next(met, None)
        if shared is not None:
            steps.append((shared[0] + above[shared[1]], word))
    yield from (word for step, word in sorted(steps) if step <= MAX_WORDNET_STEPS)


def _forms(name: str) -> list[str]:
    """Return dictionary forms of a name: complete, singular, and its noun."""
    phrase = " ".join(plain_words(name))
    noun = head(phrase) if phrase else ""
    return list(dict.fromkeys([phrase, *singulars(phrase), noun, *singulars(noun)])) if phrase else []


def _table_row(attribute: str) -> tuple[str, int] | None:
    """Return the kind and row of an attribute, or of its last word."""
    words = " ".join(attribute.casefold().split())
    for form in dict.fromkeys([words, *words.split()[-1:]]):
        for kind, rows in tables().items():
            for number, row in enumerate(rows):
                if form in row:
                    return kind, number
    return None


OPPOSITE: Mapping[Action, Action] = {
    "Add": "Remove",
    "Remove": "Add",
    "Replace": "Replace",
    "Change Attribute": "Change Attribute",
}
OTHER_SIZE = {"small": "large", "large": "small"}
WHOLE_IMAGE = "image"
"""Subject of a change of style."""
COMPARATIVES = {"large": "larger", "small": "smaller"}
TYPES: Mapping[str | None, str] = {"color": "color", "shape": "shape", "size": "size", "style": "style"}
LOOK = "appearance"
"""Noun for attributes that are in no table."""
_ARTICLE = r"(?:\b(?P<article>an?) )?"


@dataclass(frozen=True, slots=True)
class DescribedChange:
    """One change. For an attribute, `before` and `after` are the attributes, and `subject` is what has them."""

    action: Action
    before: str | None
    after: str | None
    subject: str | None = None
    where: str | None = None
    """Position such as `to the left of the plate`, also of the reverse change."""

    @property
    def goal(self) -> str:
        """What the request names: the thing that comes or goes, or the new attribute."""
        return (self.before if self.action == "Remove" else self.after) or ""


def reverse_change(change: DescribedChange) -> DescribedChange:
    """Return the reverse change (section 5.2); raise `UnscorableError` if the original state is unknown.

    >>> reverse_change(DescribedChange("Replace", "apple", "pear"))
    DescribedChange(action='Replace', before='pear', after='apple', subject=None, where=None)
    """
    if change.action == "Change Attribute" and not change.before:
        raise UnscorableError(
            "not_applicable", f"it is unknown how the {change.subject} was before it became {change.after}"
        )
    return replace(change, action=OPPOSITE[change.action], before=change.after, after=change.before)


def with_goal(change: DescribedChange, goal: str) -> DescribedChange:
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
        form = "on the {}" if relation == "on" else POSITION_PHRASES.get(relation, f"{relation} the {{}}")
        where = form.format(parts.position.anchor or parts.subject or WHOLE_IMAGE)
    return DescribedChange("Add", None, parts.to, where=where)


def _attached(parts: ParsedStep) -> DescribedChange:
    return DescribedChange("Add", None, parts.to, where=f"on the {parts.subject}" if parts.subject else None)


def _removed(parts: ParsedStep) -> DescribedChange:
    return DescribedChange("Remove", parts.subject, None)


def _replaced(parts: ParsedStep) -> DescribedChange:
    return DescribedChange("Replace", parts.from_ or parts.subject, parts.to)


def _altered(parts: ParsedStep) -> DescribedChange:
    return DescribedChange("Change Attribute", parts.from_, parts.to, subject=parts.subject or WHOLE_IMAGE)


def _styled(parts: ParsedStep) -> DescribedChange:
    """Return a style change of the whole image."""
    return DescribedChange("Change Attribute", None, without_article(parts.to or ""), subject=WHOLE_IMAGE)


def _sized(parts: ParsedStep) -> DescribedChange:
    """Return a size change, whose reverse is known."""
    return DescribedChange(
        "Change Attribute", OTHER_SIZE.get(parts.to or ""), parts.to, subject=parts.subject or WHOLE_IMAGE
    )


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
            return instruction(TYPES.get(kind_of(after), "texture"), change.subject or WHOLE_IMAGE, None, after)


def caption_of(change: DescribedChange) -> str:
    """Describe the difference afterwards.

    >>> caption_of(DescribedChange("Replace", "apple", "orange"))
    'The apple was replaced by an orange.'
    """
    match change.action:
        case "Add":
            at = f" {change.where}" if change.where else ""
            sentence = f"{with_article(change.after or '')} {_past_verb(change.after)} added{at}."
        case "Remove":
            sentence = f"the {change.before} {_past_verb(change.before)} removed."
        case "Replace":
            sentence = (
                f"the {change.before} {_past_verb(change.before)} replaced by {with_article(change.after or '')}."
            )
        case _:
            sentence = _altered_sentence(change)
    return sentence[0].upper() + sentence[1:]


def _altered_sentence(change: DescribedChange) -> str:
    kind = kind_of(change.after or "")
    if change.after in COMPARATIVES:
        return f"the {change.subject} {_past_verb(change.subject)} made {COMPARATIVES[change.after]}."
    since = f" from {change.before}" if change.before else ""
    if kind == "color":
        return f"the {change.subject} {_past_verb(change.subject)} changed{since} to {change.after}."
    return f"the {kind or LOOK} of the {change.subject} was changed{since} to {change.after}."


def replace_name(caption: str, old: str, new: str) -> str | None:
    """Replace a name in an instruction; None unless it occurs exactly once and fits.

    A cup of coffee keeps its name: in its place would stand a plate of coffee.

    >>> replace_name("Let there be an old car on the street", "old car", "bus")
    'Let there be a bus on the street'
    """
    matches = list(re.finditer(rf"{_ARTICLE}\b{re.escape(old)}\b(?! of )", caption, re.IGNORECASE))
    if len(matches) != 1 or (matches[0]["article"] and _is_plural(new)):
        return None
    (match,) = matches
    name = with_article(new) if match["article"] else new
    name = name.capitalize() if (match["article"] or "")[:1].isupper() else name
    return f"{caption[: match.start()]}{name}{caption[match.end() :]}"


def match_number(name: str, like: str) -> str:
    """Return the name in the number of another name.

    >>> match_number("peach", "apples"), match_number("peach", "apple")
    ('peaches', 'peach')
    """
    if not _is_plural(like) or _is_plural(name):
        return name
    return plural(name)


def _past_verb(name: str | None) -> str:
    return "were" if _is_plural(name or "") else "was"


def _is_plural(name: str) -> bool:
    return bool(singulars(name)) and name != WHOLE_IMAGE


MAX_COMPARED = 10
"""WordNet neighbors that are compared by the meaning of their names."""
MAX_DECOYS = 3
"""Decoys to draw from, so that an object does not always have the same one."""
SIMILAR_AREA_RATIO = 4.0
"""Largest ratio of the areas of similarly large boxes."""
SAME_POSITION_OVERLAP = 0.5
"""Intersection over union from which an object has not moved."""


@dataclass(frozen=True, slots=True, eq=False)
class ChangeScene:
    """Both images of a change in one size, with the models that look at them."""

    before: Pixels
    after: Pixels
    see: Perception
    mask: BoolMask | None = None
    is_accurate: bool = False
    """Whether the requested change is known to have happened."""

    def swapped(self) -> ChangeScene:
        """Return the scene of the reverse change."""
        return ChangeScene(self.after, self.before, self.see, self.mask, self.is_accurate)


async def decoy(change: DescribedChange, scene: ChangeScene, chance: Random) -> str:
    """Return another goal that was certainly not reached; raise `UnscorableError` if there is none."""
    if change.action == "Remove":
        return chance.choice((await unchanged_objects(change, scene))[:MAX_DECOYS])
    if change.action == "Change Attribute":
        _check_known(change, scene)
        alternatives = other_attributes(change.goal, change.before) or other_attributes(change.goal)
        if not alternatives:
            raise UnscorableError("not_applicable", f"nothing else than '{change.goal}' is left in its table")
        return chance.choice(alternatives)
    candidates = similar_objects(change.goal, tuple(scene.see.vocabulary() or ()))
    sure = await gather(*(is_absent(candidate, change, scene) for candidate in candidates))
    absent = [item for item, is_sure in zip(candidates, sure, strict=True) if is_sure]
    if not absent:
        raise UnscorableError(
            "unknown_word", f"nothing similar to '{change.goal}' is known to be absent from both pictures"
        )
    return chance.choice((await _sort_by_similarity(change.goal, absent[:MAX_COMPARED], scene.see))[:MAX_DECOYS])


async def _sort_by_similarity(name: str, names: Sequence[str], see: Perception) -> list[str]:
    """Sort names by similarity of meaning to a name, most similar first."""
    similarities = await gather(*(see.similarity(name, other) for other in names))
    return [other for _, other in sorted(zip((-item for item in similarities), names, strict=True))]


async def check(goal: str, change: DescribedChange, scene: ChangeScene) -> None:
    """Raise `UnscorableError` unless the change towards this goal certainly did not happen."""
    if change.action == "Remove":
        wrong = goal not in await unchanged_objects(change, scene)
    elif change.action == "Change Attribute":
        _check_known(change, scene)
        wrong = not exclude_each_other(goal, change.goal)
    else:
        wrong = not await is_absent(goal, change, scene)
    if wrong:
        raise UnscorableError("not_applicable", f"it is not sure that '{goal}' is wrong where '{change.goal}' is right")


async def unchanged_objects(change: DescribedChange, scene: ChangeScene) -> list[str]:
    """Return objects that did not move, the most similar in size to the removed one first.

    Raises:
        UnscorableError: there is none, or the size of the removed object is unknown.

    """
    taken = await _size(change.goal, scene)
    before, after = await gather(
        *(detect_everything(scene.see, item, (), None) for item in (scene.before, scene.after))
    )
    ratios: dict[str, float] = {}
    for word, box in zip(before.words, before.boxes, strict=True):
        ratio = abs(float(np.log(_area(box) / taken)))
        stayed = any(_box_iou(box, other) >= SAME_POSITION_OVERLAP for other in _boxes_of(after, word))
        if stayed and ratio <= np.log(SIMILAR_AREA_RATIO) and not may_name_same_object(word, change.goal):
            ratios[word] = min(ratio, ratios.get(word, ratio))
    if not ratios:
        raise UnscorableError("not_detected", f"nothing of the size of '{change.goal}' is seen in both pictures")
    return sorted(ratios, key=lambda word: (ratios[word], word))


async def is_absent(name: str, change: DescribedChange, scene: ChangeScene) -> bool:
    """Return whether an object is of another kind and certainly in neither image, by a detector that knows it."""
    if any(may_name_same_object(name, true) for true in (change.before, change.after) if true):
        return False
    least = LOW_CONFIDENCE_FACTOR * operating_point(scene.see)
    try:
        detections = await gather(
            *(scene.see.detect(element, name, least=least) for element in (scene.before, scene.after))
        )
    except UnscorableError:
        return False
    return not any(item.found for item in detections)


def _check_known(change: DescribedChange, scene: ChangeScene) -> None:
    """Raise `UnscorableError` unless the new attribute is known to be present: detectors do not see attributes."""
    if not scene.is_accurate:
        raise UnscorableError("not_applicable", f"it is unknown whether the {change.subject} became {change.goal}")


async def _size(name: str, scene: ChangeScene) -> float:
    """Return the area of an object's box, by detection or mask."""
    try:
        detections = (await scene.see.detect(scene.before, name)).best
    except UnscorableError:
        detections = Detections.none()
    if detections.found:
        return _area(detections.boxes[0])
    around = bounding_box(scene.mask) if scene.mask is not None and scene.mask.any() else None
    if around is None:
        raise UnscorableError(
            "not_detected", f"how large '{name}' was is not known: it is not seen, and there is no mask"
        )
    return _area(np.asarray(around, np.float32))


def _boxes_of(detections: Detections, word: str) -> NDArray[np.float32]:
    return detections.boxes[[index for index, label in enumerate(detections.words) if label == word]]


def _area(box: NDArray[np.float32]) -> float:
    return float(max((box[2] - box[0]) * (box[3] - box[1]), 1.0))


def _box_iou(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    size = np.clip(np.minimum(one[2:], other[2:]) - np.maximum(one[:2], other[:2]), 0, None)
    shared = float(size[0] * size[1])
    return shared / (_area(one) + _area(other) - shared)
