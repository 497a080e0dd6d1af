"""EditVal, appendix K: what a detector says about the types that it is not asked about, so that people can be compared.

The paper correlates detector scores with people for viewpoint, color, action, texture, shape and style, finds little,
and leaves these types to people. The appendix does not say how the detector is asked: here, for the object as the edit
wants it, in one phrase.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from editgauge.core.evidence import Note
from editgauge.core.types import Item, Score
from editgauge.protocols._shared.looking import look_for, needed
from editgauge.protocols._shared.rule_set import RuleSet
from editgauge.protocols.editval import rules

if TYPE_CHECKING:
    from editgauge.models.interfaces import Perception
    from editgauge.protocols.editval.rules import EditValOptions, Rule

PHRASES = {
    "action": "{thing} {to}",
    "color": "{to} {thing}",
    "shape": "{thing} in the shape of {to}",
    "style": "{thing} in {to} style",
    "texture": "{to} {thing}",
    "viewpoint": "{thing} from the {to}",
}
RULES: RuleSet[Rule] = RuleSet(rules.RULES)


def _rule(phrase: str) -> Rule:
    async def seen_as_asked(item: Item, see: Perception, options: EditValOptions) -> Score:
        """The detector finds the object as the edit wants it."""
        thing, to = needed(item.edit.subject, "which object it is about"), needed(item.edit.to, "what it becomes")
        seen = await look_for(see, item, "edited", phrase.format(thing=thing, to=to), rules.QUERY)
        return Score(float(seen.found), (*seen.evidence, Note(f"{seen.words[:1].upper()}{seen.words[1:]}.")))

    return seen_as_asked


for _edit_type, _phrase in PHRASES.items():
    RULES.rule(_edit_type)(_rule(_phrase))
