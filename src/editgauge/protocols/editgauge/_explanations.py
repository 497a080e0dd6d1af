"""Why a score came out as it did, in sentences."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from editgauge.evidence import Box, Evidence, Note, Region
from editgauge.protocols.editgauge._further import JUDGED, WORDS

if TYPE_CHECKING:
    from editgauge.protocols.editgauge._models import Prediction
    from editgauge.protocols.editgauge._request import Values
    from editgauge.protocols.editgauge._view import View

MAX_REASONS = 3
"""Reasons listed on each side, and boxes drawn for each label."""
MIN_EFFECT = 0.1
"""Least effect on the log-odds that is a reason."""

MEANINGS: MappingProxyType[str, str] = MappingProxyType(
    {
        "asks_presence": "a new object was looked for",
        "untouched": "hardly anything changed",
        "presence": "confidence that the requested object is there",
        "presence_gain": "gain of that confidence over the source",
        "new_seen": "confidence of a new detection in a changed region",
        "new_by_both": "confidence of detector and classifier in a new object",
        "gone": "drop of confidence in the object to remove",
        "replaced": "new object detected and old object gone",
        "count_wrong": "wrong number of objects",
        "color_gain": "color moved toward the requested one",
        "color_rank": "share of everyday colors that fit worse than the requested one",
        "color_rank_gain": "gain of that share over the source",
        "style_fit": "fit to the requested style",
        "style_gain": "gain of that fit over the source",
        "place_fit": "position in the requested direction",
        "third_fit": "position in the requested third of the image",
        "size_fit": "doublings of the object's area as requested",
        "text_fit": "legibility of the requested text",
        "text_gain": "gain of that legibility over the source",
        WORDS: "image embedding moved toward the requested words",
        JUDGED: "judge's answer, from -1 to 1",
        "mean_changed": "mean change of the image's content (DINOv2 patches)",
        "median_changed": "median change of the image's content (DINOv2 patches)",
        "least_changed": "change of the least changed quarter of the image",
        "upper_changed": "change of the most changed tenth of the image",
        "most_changed": "change of the most changed patches",
        "greatest_changed": "change of the most changed patch",
        "unmatched": "content unlike anything in the source, on average",
        "novelty": "most novel content, compared with every patch of the source",
        "token_length": "DINOv2 token norm increased",
        "clipped": "more pixels are plain black or white",
        "detail_lost": "fine detail lost",
        "detail_gained": "fine detail or noise gained",
        "region_look": "look of the changed region (DINOv2, close range)",
        "focus": "how much more the changed region changed than the rest",
        "region_share": "share of the image in the changed region",
        "region_count": "number of changed regions",
        "outside_mean": "mean change outside the changed region",
        "outside_greatest": "greatest change outside the changed region",
        "color_shift": "color shift of the whole image",
        "chroma_shift": "saturation or hue shift of the whole image",
        "structure_lost": "structure of the whole image lost",
        "adds": "an object should be added",
        "replaces": "an object should be replaced",
        "removes": "an object should be removed",
        "recolors": "a color should change",
        "acts": "an action or pose should change",
    }
)
"""What each feature says, for people."""

EXPECTATIONS: MappingProxyType[str, str] = MappingProxyType(
    {"comes": "; it should appear", "goes": "; it should go", "stays": "; it should stay"}
)
"""What should become of an object, by its role in the edit."""


def reasons(answer: Prediction, values: Values, claim: str) -> tuple[Evidence, ...]:
    """List what speaks for and against a claim, strongest first, with values and effects on the log-odds."""
    ranked = sorted(answer.effects.items(), key=lambda effect: -abs(effect[1]))
    strong = [(name, effect) for name, effect in ranked if abs(effect) >= MIN_EFFECT]
    texts = [
        _list_effects(f"For '{claim}'", [(name, effect) for name, effect in strong if effect > 0], values),
        _list_effects(f"Against '{claim}'", [(name, effect) for name, effect in strong if effect < 0], values),
    ]
    return tuple(Note(text) for text in texts if text) or (Note(f"No clear evidence for or against '{claim}'."),)


def _list_effects(head: str, effects: list[tuple[str, float]], values: Values) -> str:
    if not effects:
        return ""
    parts = [f"{MEANINGS[name]}{_shown(values.get(name))} ({effect:+.1f})" for name, effect in effects[:MAX_REASONS]]
    return f"{head}: {'; '.join(parts)}."


def _shown(value: float | None) -> str:
    return "" if value is None else f" {value:.2f}"


def request_evidence(view: View) -> tuple[Evidence, ...]:
    """Return the region that may change, what did change, and what was looked for."""
    region = view.expected
    pieces: list[Evidence] = []
    if region.mask is not None:
        pieces.append(Region("source", region.mask, "may change"))
    if view.changes.mask.any():
        pieces.append(Region("edited", view.changes.mask, "changed"))
    for pair in {pair.name: pair for pair in view.pairs.values()}.values():
        for side, detections in (("source", pair.before), ("edited", pair.after)):
            pieces += [
                Box(side, *detection.box, pair.name, detection.confidence)  # type: ignore[arg-type]
                for detection in detections[:MAX_REASONS]
            ]
    pieces.append(Note(f"Region that may change: {region.reason}."))
    for role, answer in view.classes.items():
        probabilities = f"'{answer.label}' {answer.before:.2f} before, {answer.after:.2f} after"
        pieces.append(Note(f"Classifier: {probabilities}{EXPECTATIONS.get(role, '')}."))
    if view.related is not None:
        probabilities = f"{view.related.before:.2f} before, {view.related.after:.2f} after"
        pieces.append(Note(f"Classifier, nearest known words ({view.related.label}): {probabilities}; not used."))
    if view.edit.type == "color" and view.subject_colors is not None and not view.has_subject:
        pieces.append(Note("The subject was not detected; its color was measured where the image changed most."))
    pieces += [Note(f"The detector did not look for it: {reason}.") for reason in dict.fromkeys(view.unknown.values())]
    pieces += [Note(f"Not used: {role.replace('_', ' ')}: {why}.") for role, why in view.further.missing.items()]
    return tuple(pieces)
