"""Where PixLens's released code scores otherwise than its paper."""

from __future__ import annotations

from editgauge.core.types import Score
from editgauge.protocols._shared.looking import needed
from editgauge.protocols._shared.rule_set import RuleSet
from editgauge.protocols.pixlens import rules
from editgauge.protocols.pixlens.rules import Rule, verdict
from editgauge.protocols.pixlens.scene import Scene

RULES: RuleSet[Rule] = RuleSet(rules.RULES)
rule = RULES.rule


@rule("size")
async def size(scene: Scene) -> Score:
    """A change of size as asked is worth a half where the object did not stay in its place."""
    change, before, after = await rules.resized(scene)
    if change is None:
        return verdict(0, before, after, said=f"{after.words} in the edited image")
    ratio, inside = change
    value = (1 + (inside > rules.STAYED)) / 2 if rules.is_as_asked(ratio, scene.item.edit) else 0
    said = (
        f"the {before.name} has {ratio:.0%} of its former area, {inside:.0%} of the smaller outline lies in the other"
    )
    return verdict(value, before, after, said=said)


@rule("positional_addition")
async def positional_addition(scene: Scene) -> Score:
    """Half of the score is whether the category is still there."""
    value, anchor, added = await rules.placed(scene)
    kept = await scene.things("edited", needed(scene.item.edit.subject, "which object it is about"))
    final = (value + (len(kept) > 0)) / 2 if value > 0 else 0
    return verdict(final, anchor, added, said=f"{added.words}, direction {value:.2f}, {kept.words}")
