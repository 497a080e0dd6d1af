"""Why a number came out as it did, in sentences."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from editgauge.evidence import Box, Evidence, Note, Region
from editgauge.protocols.editgauge.further import JUDGED, WORDS

if TYPE_CHECKING:
    from editgauge.protocols.editgauge.asked import Values
    from editgauge.protocols.editgauge.features import Question
    from editgauge.protocols.editgauge.model import Prediction
    from editgauge.protocols.editgauge.view import View

MOST = 3
"""This many reasons are reported on each side."""
FAINT = 0.1
"""In log-odds: what moves the answer less is no reason."""

MEANINGS: MappingProxyType[str, str] = MappingProxyType(
    {
        "asks_presence": "something new was looked for",
        "untouched": "how little even the most changed patch changed, 0 where something was clearly edited",
        "presence": "how confidently the requested thing is seen, 0.5 at a model's operating point",
        "presence_gain": "how much more confidently the requested thing is seen than before",
        "new_seen": "how confidently it is seen at a changed place where it was not before",
        "new_by_both": "the mean of that and of the classifier's gain, or the one that there is",
        "gone": "how much less confidently the thing that should go is seen than before",
        "replaced": "how confidently the new thing is seen, times how much less confidently the old one",
        "count_wrong": "whether another number is seen than was asked for",
        "color_gain": "how much nearer the requested color came, in hundredths of CIE Lab's lightness",
        "color_rank": "the share of everyday colors that fit worse than the requested one",
        "color_rank_gain": "how the requested color rose among everyday colors that fit",
        "style_fit": "how well the picture fits the plain meaning of the style",
        "style_gain": "how much better it fits than the other way round",
        "place_fit": "how well the thing lies or went in the asked direction, from -1 to 1",
        "third_fit": "whether the thing is in the asked third of the picture",
        "size_fit": "how often the thing doubled in area as asked",
        "text_fit": "how well the requested words can be read, letter by letter",
        "text_gain": "how much better than before they can be read",
        WORDS: "how much nearer the picture came to the requested words, by the joint embedder, from -1 to 1",
        JUDGED: "how well the judge says it was done, from -1 to 1",
        "most_changed": "how much the most changed patches changed, from 0 to 2",
        "mean_changed": "how much patches changed on average, from 0 to 2",
        "least_changed": "how much even the least changed quarter of the patches changed, from 0 to 2",
        "unmatched": "how unlike every patch of the source the edited picture's patches are on average",
        "novelty": "how unlike every patch of the source the newest patches are",
        "token_length": "how much longer the patches' tokens became",
        "clipped": "the root of the share of pixels that are black or white without detail",
        "sharper": "how much finest detail came, as a log ratio",
        "frame_lost": "the share of the source's texture that is not found at its place",
        "frame_moved": "how far the frame moved, where 1 is a twentieth of the diagonal",
        "rest_changed": "the root of the share of the rest that changed clearly",
        "rest_away": "how far the rest's colors are from what they were, as log of CIE Lab",
        "rest_far": "the share of the rest's pixels that have another color for everyone",
        "rest_cast": "the color cast over the rest, as log of CIE Lab",
        "rest_unlike": "how unlike the rest's structure is, as one minus SSIM",
        "rest_blurred": "how much fine structure the rest lost, in halvings",
        "rest_noisier": "how much fine structure the rest gained, in doublings",
        "rim": "how much a line along the outline stands out from both its sides, in tens of CIE Lab",
        "rim_gain": "how much more than before a line along the outline stands out from both its sides",
        "rim_change": "how much more than both its sides a line along the outline changed",
        "rim_even": "how evenly the changed part's edge became brighter or darker",
        "edge": "how steep the edge of the changed part is beside its surroundings, in doublings",
        "step": "how far the filled part's colors are from those just around it, in tens of CIE Lab",
        "soft": "how much fine structure the changed part lost, in halvings",
        "soft_beside": "how much less fine structure the changed part has than its surroundings, in halvings",
        "blurred": "how much less sharp the changed part is than the rest, in halvings",
        "off_shade": "how much farther than before its lightness is from that of its surroundings",
        "darker": "the share of the changed part that became clearly darker",
        "foot": "how much darker the changed part's lower half is than what lies beside it, in tens of CIE Lab",
        "shines_through": "the share of the structure that was there before and is still there",
        "left_over": "the share of the thing that should go which is as it was",
        "uneven": "how differently one brightness changed at one place and another, in tens of CIE Lab",
        "beyond": "the share of the change beyond the region that may change",
        "beyond_near": "the share of what lies just around the region that may change which did change",
        "lopsided": "how far the change lies aside from the region that may change, in sizes of it",
        "still": "the share of the region's edge that is as it was",
        "misfit": "how much of the change and of the thing's outline does not lie on the other",
        "again": "how much better than before a half of the thing is found once more beside itself",
    }
)
"""What each feature says, for people."""

EXPECTED: MappingProxyType[str, str] = MappingProxyType(
    {"comes": "; it should appear", "goes": "; it should go", "stays": "; it should stay"}
)
"""What should become of a thing, by its role in the edit."""


def reasons(answer: Prediction, values: Values, claim: str) -> tuple[Evidence, ...]:
    """What spoke for a claim and what against it, most weighty first, and what is not known."""
    ranked = sorted(answer.effects.items(), key=lambda each: -abs(each[1]))
    strongest = [(name, effect) for name, effect in ranked if abs(effect) >= FAINT]
    known = [(name, effect) for name, effect in strongest if values[name] is not None]
    pieces = [
        _listed(f"For '{claim}'", [each for each in known if each[1] > 0], values),
        _listed(f"Against '{claim}'", [each for each in known if each[1] < 0], values),
    ]
    missing = sum(effect for name, effect in answer.effects.items() if values[name] is None)
    if abs(missing) >= FAINT:
        pieces.append(f"Features that do not apply here or could not be measured count {missing:+.1f}.")
    said = [piece for piece in pieces if piece]
    return tuple(Note(piece) for piece in said or [f"No clear evidence for or against '{claim}'."])


def _listed(head: str, effects: list[tuple[str, float]], values: Values) -> str:
    if not effects:
        return ""
    parts = [f"{MEANINGS[name]}, {values[name]:.2f} ({effect:+.1f})" for name, effect in effects[:MOST]]
    return f"{head}: {'; '.join(parts)}."


def shown(view: View) -> tuple[Evidence, ...]:
    """The region that may change, what did change, and the things that were looked for."""
    region = view.expected
    pieces: list[Evidence] = []
    if region.mask is not None:
        pieces.append(Region("source", region.mask, "may change"))
    if view.changes.mask.any():
        pieces.append(Region("edited", view.changes.mask, "changed"))
    for pair in {pair.name: pair for pair in view.pairs.values()}.values():
        pieces += [Box("source", *thing.box, pair.name, thing.confidence) for thing in pair.before[:MOST]]
        pieces += [Box("edited", *thing.box, pair.name, thing.confidence) for thing in pair.after[:MOST]]
    pieces.append(Note(f"Region that may change: {region.why}."))
    for role, named in view.named.items():
        seen = f"'{named.word}' {named.before:.2f} before, {named.after:.2f} after"
        pieces.append(Note(f"Classifier: {seen}{EXPECTED.get(role, '')}."))
    pieces += [Note(f"The detector did not look for it: {why}.") for why in dict.fromkeys(view.unknown.values())]
    pieces += [Note(f"Not used: {role.replace('_', ' ')}: {why}.") for role, why in view.further.missing.items()]
    return tuple(pieces)


CLAIMS: MappingProxyType[Question, str] = MappingProxyType(
    {
        "asked": "the requested change is there",
        "contained": "nothing else was redrawn",
        "quality": "the picture is well made",
        "disturbed": "the rest was changed",
        "flawed": "there is an artifact",
    }
)
