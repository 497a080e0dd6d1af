"""PixLens as its released code computes it, where that differs from the paper."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import skimage.metrics

from editgauge._vision.geometry import Third, centroid, direction_score, third, third_score
from editgauge.edit_types import EDIT_TYPES
from editgauge.errors import UnscorableError
from editgauge.protocols._objects import picture
from editgauge.protocols._rules import RuleSet, require, score_with_evidence, subject_of
from editgauge.protocols.pixlens import _rules
from editgauge.protocols.pixlens._preservation import covered
from editgauge.protocols.pixlens._rules import PixLensScene, Rule, Things, must_be_seen, separate, with_outline
from editgauge.types import Score

if TYPE_CHECKING:
    from editgauge._util.images import Unit
    from editgauge._util.masks import BoolMask
    from editgauge.evidence import Side
    from editgauge.models.answers import Instances
    from editgauge.types import Edit, Relation

_structural_similarity: Any = skimage.metrics.structural_similarity  # says no types
RULES: RuleSet[Rule] = RuleSet(_rules.RULES)
rule = RULES.rule
TOWARDS: dict[Third, Relation] = {"left": "left", "right": "right"}
FROM_THE_SIDE: dict[str, Relation] = {"left": "right", "right": "left"}
"""The way to the center."""


class ReleasedScene(PixLensScene):
    """What the released code sees: all names of a picture in one question, whose boxes suppress each other.

    A name matches every phrase that contains it, so 'apple' is found where 'pineapple' was asked for.
    """

    async def things(self, on: Side, name: str) -> Things:
        """The objects whose phrase contains the name."""
        return await self._matching(on, name, lambda phrases: any(name in each for each in phrases))

    async def named_exactly(self, on: Side, name: str) -> Things:
        """The objects that answer this name and no other, which the background score asks for."""
        return await self._matching(on, name, lambda phrases: phrases == {name})

    async def everything(self, on: Side) -> Things:
        """All objects of the question about one picture."""
        seen, _ = await self._all(on)
        return Things("any object of the edit", on, with_outline(seen))

    async def _matching(self, on: Side, name: str, matches: Callable[[set[str]], bool]) -> Things:
        seen, phrases = await self._all(on)
        places = [place for place, its in enumerate(phrases) if matches(its)]
        return Things(name, on, with_outline(seen.only(places)))

    async def _all(self, on: Side) -> tuple[Instances, list[set[str]]]:
        """The objects of one picture, and the phrases that each of them answers."""
        instances = await self._perception.instances(picture(self.item, on), *phrases_asked(self.item.edit, on))
        answers: dict[tuple[float, ...], set[str]] = {}
        first: dict[tuple[float, ...], int] = {}
        for place, box in enumerate(map(tuple, instances.detections.boxes.tolist())):
            answers.setdefault(box, set()).add(instances.detections.phrases[place])
            first.setdefault(box, place)
        boxes = instances.only(list(first.values()))
        kept = separate(boxes.detections.boxes)
        phrases = list(answers.values())
        return boxes.only(kept), [phrases[place] for place in kept]


def phrases_asked(edit: Edit, on: Side) -> tuple[str, ...]:
    """What the released code asks its detector about one of the pictures."""
    kind = EDIT_TYPES[edit.type]
    if edit.type == "object_replacement":
        names = [edit.from_ if on == "source" else edit.to]
    elif on == "edited" and edit.type == "alter_parts":
        names = [edit.to]
    elif on == "edited" and kind.effect == "adds":
        names = [edit.subject, edit.to]
    else:
        names = [edit.subject]
    return tuple(dict.fromkeys(name for name in names if name))


@rule("size")
async def size(scene: PixLensScene) -> Score:
    """A change of size as asked is worth a half where the object did not stay in its place."""
    return await _rules.resized(scene, worth_elsewhere=0.5)


@rule("positional_addition")
async def positional_addition(scene: PixLensScene) -> Score:
    """Half of the score is whether the category is still there."""
    value, anchor, added = await _rules.placed(scene)
    kept = await scene.things("edited", subject_of(scene.item.edit))
    final = (value + (len(kept) > 0)) / 2 if value > 0 else 0
    return score_with_evidence(final, anchor, added, said=f"{added.words}, direction {value:.2f}, {kept.words}")


@rule("position_replacement")
async def position_replacement(scene: PixLensScene) -> Score:
    """Where the object was is what the edit says, not what is seen; a move to the center fails without it."""
    edit = scene.item.edit
    before, after = await scene.both(subject_of(edit))
    must_be_seen(before)
    if not len(after):
        return score_with_evidence(0, before, after, said=f"{after.words} in the edited image")
    wanted = _rules.asked_third(edit)
    towards = TOWARDS.get(wanted) or FROM_THE_SIDE.get(edit.from_ or "")
    if towards is None:
        raise UnscorableError("no_rule", "the released code fails for a move to the center from neither left nor right")
    start, end = centroid(before.largest), centroid(after.largest)
    now = third(end[0] - 0.5, scene.width)  # it counts pixels from 0, not from their centers
    relative = direction_score(start, end, towards, scene.diagonal)
    was = _rules.named_third(edit.from_)
    absolute = third_score(was, now, wanted) if was else float(now == wanted)
    value = (relative + absolute) / 2 if relative > 0 else 0
    said = f"the {before.name} is now in the {now}, asked was the {wanted}"
    return score_with_evidence(value, before, after, said=said, more=_rules.way_between(before, after))


@rule("object_replacement")
async def object_replacement(scene: PixLensScene) -> Score:
    """The old object is not looked for in the edited image."""
    value, old, new = await _rules.replaced(scene)
    where = "" if not len(new) else " in its place" if value else " elsewhere"
    return score_with_evidence(value, old, new, said=f"{new.words}{where}")


async def background_masks(scene: PixLensScene) -> BoolMask:
    """What is no background: a moved object's new place is background, and only exact names count."""
    if not isinstance(scene, ReleasedScene):
        raise TypeError("the released background score needs what the released code sees")
    edit = scene.item.edit
    if edit.type in {"object_addition", "positional_addition"}:
        return covered(scene, [await scene.named_exactly("edited", require(edit.to, "what to add"))])
    if edit.type in {"object_replacement", "alter_parts", "single_instance_removal"}:
        return covered(scene, [await scene.everything("source"), await scene.everything("edited")])
    return covered(scene, [await scene.named_exactly("source", subject_of(edit))])


def similarity(before: Unit, after: Unit) -> float:
    """SSIM with scikit-image's defaults: a plain window of 7 x 7 pixels."""
    return float(_structural_similarity(before, after, channel_axis=2, data_range=1.0))
