"""Building steps: what is added, removed, replaced, or gets another property."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from editgauge._util.text import to_gerund
from editgauge.instructions._lexicon import (
    action_base,
    adjective_kinds,
    in_list,
    is_activity,
    is_plural,
    kind_of,
    known_kind,
    match,
    match_any,
    mentions,
    singular,
    table,
    words,
)
from editgauge.instructions._phrases import SIDES, Phrase, Words, find_placement, read_phrase
from editgauge.instructions._words import Word, text_of
from editgauge.types import ParsedStep, Position

NOT_UNDERSTOOD = "unspecified"
ARTICLES = frozenset({"a", "an", "the"})
_MADE_OF = (
    "carved from",
    "carved out of",
    "carved of",
    "built from",
    "constructed of",
    "constructed from",
    "crafted from",
    "knitted from",
    "woven from",
    "sculpted from",
    "composed of",
    "made with",
    "made out of",
    "made of",
    "made from",
    "made by",
    "out of",
    "built of",
    "in",
)
_LOOKS = frozenset({"look", "form", "design"})
_SURFACES = frozenset({"texture", "pattern", "patterns", "print", "material", "surface", "finish", "shape"})
"""Nouns after adjectives: "a wooden look", "a striped pattern"."""
_AFTER_COLORS = frozenset(
    {"color", "colored", "colour", "coloured", "in", "one", "ones", "instead", "and", ",", "tone", "hue", "pattern"}
)
_BEFORE_MOODS = frozenset(
    {"a", "an", "the", "like", "it", "'s", "is", "its", "at", "in", "look", "be", "more", "very", "during", "to"}
)
_CROSSING = frozenset({"jumping", "leaping", "hopping", "stepping", "climbing"})
"""Doing this over an object is not being above it."""
_AIMING = frozenset(
    {"looking", "pointing", "staring", "gazing", "waving", "barking", "smiling", "laughing", "shouting"}
)
"""Doing this at an object is not being next to it."""
_BODY_PARTS = frozenset(
    {"hand", "hands", "foot", "feet", "head", "face", "leg", "legs", "arm", "arms", "eye", "eyes", "feather"}
)
"""On anything but a living being, these are objects of their own."""


@dataclass
class Discourse:
    """Objects named earlier, which pronouns refer to."""

    caption: Sequence[Phrase] = ()
    """Objects of the source caption."""
    mentioned: list[Phrase] = field(default_factory=list)
    """Objects of earlier clauses, the latest last."""

    def resolve(self, phrase: Phrase) -> str | None:
        """Return the name of a phrase; for a pronoun, the name of what it refers to, or None."""
        if not phrase.pronoun:
            return phrase.name or None
        kind = table("pronouns").get(phrase.pronoun, "thing")
        candidates = [*reversed(self.mentioned), *self.caption]
        referent = next((candidate for candidate in candidates if _AGREES.get(kind, bool)(candidate)), None)
        if referent is None and kind in {"man", "woman"}:
            referent = next((candidate for candidate in candidates if in_list("people", candidate.head)), None)
            referent = referent or next((candidate for candidate in candidates if candidate.is_alive), None)
        if referent is None and kind == "many":
            contents = (inner for candidate in candidates if (inner := _contents(candidate)))
            referent = next(contents, self.mentioned[-1] if self.mentioned else None)
        return referent.without(referent.adjectives).name if referent else None

    def in_caption(self, noun: str) -> Phrase | None:
        """Return the object of the source caption with this noun, up to the noun itself."""
        for phrase in self.caption:
            for at, word in enumerate(phrase.words):
                if singular(str(word)) == singular(noun):
                    return replace(phrase, words=phrase.words[: at + 1])
        return None


def _contents(phrase: Phrase) -> Phrase | None:
    """Return the tulips of "a vase of tulips"."""
    if "of" not in phrase.words[:-1]:
        return None
    inner = Phrase(words=phrase.words[phrase.words.index("of") + 1 :])
    return inner if is_plural(inner.head) else None


_AGREES: dict[str, Callable[[Phrase], bool]] = {
    "man": lambda phrase: singular(phrase.head) in words("males") | {"person", "rider"},
    "woman": lambda phrase: singular(phrase.head) in words("females") | {"person"},
    "many": lambda phrase: is_plural(phrase.head) or (phrase.count or 1) > 1,
    "thing": lambda phrase: phrase.head not in words("people"),
}


def build_step(kind: str, subject: str | None = None, to: str | None = None, **fields: Any) -> ParsedStep:
    """Build a step of an edit type; without `sure=True` it is in doubt."""
    return ParsedStep(type=kind, subject=subject, to=to, **fields)


def add(
    phrase: Phrase, subject: str | None = None, position: Position | None = None, *, sure: bool = True
) -> ParsedStep:
    """Build the addition of an object."""
    return build_step(
        "object_addition",
        subject,
        phrase.name,
        position=position,
        count=phrase.count,
        attributes=phrase.adjectives,
        sure=sure,
    )


def alter(owner: str | None, part: Phrase, *, sure: bool = True) -> ParsedStep:
    """Build the addition or change of a part."""
    return replace(add(part, owner, sure=sure), type="alter_parts")


def set_background(scene: Phrase, subject: str | None = None, *, sure: bool = True) -> ParsedStep:
    """Build a change of the background."""
    return build_step("background", subject, scene.name or None, attributes=scene.adjectives, sure=sure)


def add_to(phrase: Phrase, recipient: Phrase, context: Discourse) -> ParsedStep:
    """Build "add a hat to the dog", "add cookies to the tray"."""
    owner = context.resolve(recipient)
    if phrase.is_part and not (phrase.is_worn and recipient.is_alive):
        return alter(owner, phrase)
    if owner is None:
        return add(phrase)
    if phrase.is_worn or recipient.is_alive:
        return add(phrase, owner, Position("on", owner) if phrase.is_worn else None)
    scenes = (words("places") - words("grounds")) | words("containers") | {"water", "air"}
    inside = not in_list("depictions", phrase.head) and recipient.head in scenes
    return add(phrase, position=Position("in" if inside else "on", owner))


def add_all(phrase: Phrase, tail: Words, context: Discourse, *, sure: bool = True) -> list[ParsedStep]:
    """Build an addition with what follows it: "a man holding an umbrella" also asks for the umbrella.

    "a kid holding the plate" does not ask for a plate: it is in the image already.
    """
    step = add_placed(phrase, tail, context, sure=sure)
    _, length = match_any(("wear", "hold"), tail)
    item = read_phrase(tail, length)[0] if length else Phrase()
    return [step, add(item, phrase.name)] if item.words and not item.is_definite else [step]


def add_placed(phrase: Phrase, tail: Words, context: Discourse, *, sure: bool = True) -> ParsedStep:
    """Build an addition with its placement or activity."""
    placement = find_placement(tail)
    activity = tuple(str(token) for token in tail[:1] if is_activity(token))
    step = add(phrase, sure=sure)
    step = replace(step, attributes=(*step.attributes, *activity))
    if placement is None or (placement.preposition == "over" and tail[0] in _CROSSING):
        return step
    anchor = placement.anchor or Phrase()
    aims = placement.preposition == "at" and tail[0] in _AIMING
    if (
        aims
        or anchor.head in words("backgrounds") | words("moods")
        or placement.preposition in {"with", "towards", "toward"}
    ):
        return step
    position = placement.position
    if anchor.pronoun:
        position = Position(placement.relation, context.resolve(anchor))
    if position.relation in SIDES:
        return replace(step, type="positional_addition", subject=position.anchor, position=position)
    if phrase.is_worn and anchor.is_alive and position.relation == "in":
        position = Position("on", position.anchor)
    support = position.anchor if position.relation == "on" else None
    if support and phrase.is_part and (anchor.is_alive or phrase.head not in _BODY_PARTS):
        return replace(step, type="alter_parts", subject=support)
    return replace(
        step, subject=support if phrase.is_worn and not in_list("parts", anchor.head) else None, position=position
    )


def give(owner: Phrase, phrase: Phrase, context: Discourse, how: str = "") -> ParsedStep:
    """Build what somebody wears, holds or has: a part, or an addition; what is worn is on its wearer."""
    subject = context.resolve(owner)
    if phrase.determiner == "no":
        return build_step("object_removal", phrase.name, sure=True)
    described = phrase.words[:-1]
    if (
        phrase.head in words("hair")
        and described
        and all(kind_of(word) == "color" or word in words("shades") for word in described)
    ):
        hair = f"{subject}'s {phrase.head}" if subject else phrase.head
        return build_step("color", hair, " ".join(described), sure=True)
    if described and singular(phrase.head) in {"pattern", "texture", "print"}:
        return describe(owner, Value("texture", " ".join(described)), subject)
    grows = in_list("plants", owner.head) and in_list("grown", phrase.head)
    if (phrase.is_part and not phrase.is_worn) or grows:
        return alter(subject, phrase)
    is_worn = how == "wear" or (phrase.is_worn and how != "hold")
    return add(phrase, subject, Position("on", subject) if is_worn and subject else None)


def remove(phrase: Phrase, tail: Words, context: Discourse) -> ParsedStep:
    """Build a removal: of all objects of a kind, or of one of several."""
    if phrase.head in words("backgrounds"):
        return build_step("background", sure=False)
    placement = find_placement(tail)
    selects = placement is not None and placement.anchor is None and placement.relation in {"left", "right", "center"}
    subject = context.resolve(phrase)
    is_one = phrase.count == 1 or (phrase.determiner in {"a", "an"} and not is_plural(phrase.head))
    if not (phrase.which or selects or is_one):
        return build_step(
            "object_removal", subject, count=phrase.count, attributes=phrase.adjectives, sure=bool(subject)
        )
    is_ordinal = bool({"second", "third", "fourth", "fifth"} & set(phrase.which))
    position = placement.position if placement and selects and not is_ordinal else None
    for side in ("left", "right"):
        if {side, f"{side}most", f"{side}-most"} & set(phrase.which):
            position = Position(side)
    return build_step(
        "single_instance_removal",
        subject,
        position=position,
        count=phrase.count or 1,
        attributes=phrase.adjectives,
        sure=bool(subject),
    )


def swap(old: Phrase, new: Phrase, context: Discourse) -> ParsedStep:
    """Build a replacement; the same object with another property is a change of that property."""
    before = context.resolve(old)
    if new.head in {"one", "ones"} or (old.words and singular(old.head) == singular(new.head)):
        return redescribe(old, new, before)
    if new.words and not new.determiner and all(word in adjective_kinds() for word in new.words):
        return replace(describe(old, Value(kind_of(new.words[-1]), new.name), before), sure=False)
    return replace_by(before, new, sure=bool(before))


def replace_by(before: str | None, new: Phrase, *, sure: bool) -> ParsedStep:
    """Build the replacement of an object by another."""
    return build_step(
        "object_replacement", before, new.name, from_=before, count=new.count, attributes=new.adjectives, sure=sure
    )


def redescribe(old: Phrase, new: Phrase, before: str | None) -> ParsedStep:
    """Build the step from "red lights" to "green lights": the property that differs, or else a replacement."""
    added = [word for word in new.front[:-1] if word not in old.front]
    dropped = [word for word in old.front[:-1] if word not in new.front]
    plain = old.without([word for word in dropped if word in adjective_kinds()])
    kinds = {kind_of(word) for word in added} if added and len(new.front) > 1 else set()
    if any(word not in adjective_kinds() for word in added) and len(kinds) > 1:
        return replace_by(before, new, sure=True)  # "a brown leather luggage bag" is another bag
    for kind, companions in (("color", set[str]()), ("texture", {"color", "other"})):
        if kind in kinds and kinds <= {kind, *companions}:
            before_value = " ".join(word for word in dropped if kind_of(word) == kind) or None
            value = " ".join(word for word in added if kind_of(word) == kind)
            attributes = tuple(map(str, added)) if kind == "texture" else ()
            return build_step(kind, plain.name, value, from_=before_value, attributes=attributes, sure=True)
    if len(kinds) == 1 and kinds & {"size", "shape"}:
        return describe(plain, Value(kinds.pop(), size_or_text(added)), plain.name)
    named = new
    if new.head in {"one", "ones"}:
        named = replace(new, words=(*new.words[:-1], Word(old.head)))
    return replace_by(before, named, sure=bool(added) or "of" in new.words or "of" in old.words)


def alternatives(step: ParsedStep) -> tuple[ParsedStep, ...]:
    """Return neighboring readings of a step: what another careful reader may label it."""
    to = step.to or ""
    head = to.split(" of ")[0].split()[-1] if to else ""
    plain = replace(step, from_=None, position=None, sure=False)
    if step.type == "object_addition" and step.subject and (in_list("worn", head) or in_list("parts", head)):
        return (replace(plain, type="alter_parts"),)
    if step.type == "alter_parts" and to:
        return (replace(plain, type="object_addition", position=Position("on", step.subject)),)
    if step.type in {"color", "texture"} and head in words("colors") & words("materials"):
        return (replace(step, type="texture" if step.type == "color" else "color", sure=False),)
    if (
        step.type == "object_replacement"
        and mentions("places", to.split())
        and mentions("places", (step.from_ or "").split())
    ):
        return (replace(plain, type="background", subject=None, from_=step.from_),)
    if step.type == "texture" and in_list("natural", (step.subject or "").split()[-1] if step.subject else ""):
        return (replace(plain, type="object_replacement", from_=step.subject),)
    if step.type == "object_addition" and head in words("moods"):
        return (replace(plain, type="style", subject=None),)
    return ()


def size_or_text(described: Sequence[str]) -> str:
    """Return `large` or `small` if the words name a size, or else the words."""
    sizes = [table("sizes")[str(word)] for word in described if word in words("sizes")]
    return sizes[0] if sizes else " ".join(described)


@dataclass(frozen=True, slots=True)
class Value:
    """What an object becomes, and the kind of change."""

    kind: str
    """An edit type; `object` for another object, `other` for an unlisted description."""
    text: str
    phrase: Phrase | None = None


def describe(phrase: Phrase, value: Value, subject: str | None) -> ParsedStep:
    """Build a change of color, size, material, shape or state."""
    if value.kind in {"color", "texture"}:
        listed = words("colors") if value.kind == "color" else words("materials") | words("patterns")
        old = [word for word in phrase.words[:-1] if word in listed]
        plain = phrase.without(old) if match("compounds", phrase.words[-2:]) != 2 else phrase
        name = subject if phrase.pronoun else plain.name
        return build_step(value.kind, name, value.text, from_=" ".join(old) or None, sure=True)
    if value.kind == "style":
        return build_step("style", to=value.text, sure=not subject or bool(phrase.pronoun))
    if value.kind in {"size", "shape", "action", "text", "alter_parts"}:
        return build_step(value.kind, subject, value.text, sure=True)
    if phrase.head in words("mood_subjects") and set(value.text.split()) & words("moods"):
        return build_step("style", subject, value.text, sure=True)
    if value.text == "empty":
        return build_step("object_removal", position=Position("on", subject), sure=False)
    return build_step(NOT_UNDERSTOOD, subject, value.text or None, sure=False)


def read_value(tokens: Words) -> Value:
    """Classify what an object becomes: a color, a material, a size, a state, a style, or another object."""
    value = _stripped(tokens)
    if not value:
        return Value("other", "")
    if value[0].quoted:
        return Value("text", value[0].raw)
    if list(value[:2]) == ["shaped", "like"]:
        return Value("shape", text_of(value))
    for read in (_made_of, _color, _size, _listed, _activity, _manner):
        if parsed_value := read(value):
            return parsed_value
    phrase, end = read_phrase(value)
    if phrase.words == ("rainbow",):
        return Value("color", "rainbow")
    if value[0].endswith("ed") and value[0].tag[:2] != "NN" and end <= 1:
        has_particle = len(value) == 2 and value[1] in {"up", "down", "over", "open", "shut"}
        return Value("action" if has_particle else "other", text_of(value))
    if len(value) == 1 and value[0].tag in {"JJ", "JJR"}:
        return Value("other", text_of(value))
    if phrase:
        return Value("object", phrase.name, phrase)
    return Value("other", " ".join(value))


def _stripped(tokens: Words) -> Words:
    """Drop words such as "much", "a bit", "instead" around a value."""
    start, end = 0, len(tokens)
    while start < end and (tokens[start] in words("before_values") or _is_degree(tokens, start)):
        start += 1
    while end > start and tokens[end - 1] in {".", ",", "instead", "now", "please", "again", "too"}:
        end -= 1
    return tokens[start:end]


def _is_degree(tokens: Words, at: int) -> bool:
    """Tell whether "a" begins "a bit older"."""
    if list(tokens[at : at + 1]) not in (["a"], ["an"]) or list(tokens[at + 1 : at + 2]) not in (
        ["bit"],
        ["little"],
        ["lot"],
    ):
        return False
    after = tokens[at + 2 : at + 3]
    return not after or bool(known_kind(after[0])) or after[0] in {"more", "less"}


def _made_of(tokens: Words) -> Value | None:
    for opening in map(str.split, _MADE_OF):
        if list(tokens[: len(opening)]) == opening:
            remainder = [token for token in tokens[len(opening) :] if token not in ARTICLES | {"pure", "solid"}]
            if not remainder or (opening == ["in"] and not all(token in words("materials") for token in remainder)):
                return None
            return Value("texture", " ".join(remainder))
    return None


def _color(tokens: Words) -> Value | None:
    """Read one or several colors: "light blue", "red and white", "a shade of green"."""
    remainder = [token for token in tokens if token not in ARTICLES | {"shade", "of"}]
    if tokens[0] in {"a", "an"} and not set(tokens) & {"color", "colour", "shade", "tone", "hue"}:
        return None
    if not remainder or match("compounds", tokens) == len(tokens):
        return None
    if remainder in (["black", "and", "white"], ["darker"], ["brighter"], ["lighter"]):
        return Value("color", " ".join(remainder))
    allowed = words("colors") | words("shades") | _AFTER_COLORS
    if remainder[0] in words("colors") and "with" in remainder[1:-1]:  # "purple with yellow spots"
        return Value("color", text_of(remainder))
    if not any(token in words("colors") for token in remainder) or not all(
        token in allowed or "-" in token for token in remainder
    ):
        return None
    named = [token for token in remainder if token in words("colors") | words("shades") | {"and"} or "-" in token]
    while named and named[-1] == "and":
        named.pop()
    return Value("color", " ".join(named))


def _size(tokens: Words) -> Value | None:
    if list(tokens[:3]) == ["the", "size", "of"]:
        return Value("size", "large")
    tokens = tokens[: tokens.index(Word("than"))] if "than" in tokens[1:] else tokens
    sizes = {table("sizes")[str(token)] for token in tokens if token in words("sizes")}
    allowed = words("sizes") | words("before_values") | words("around_sizes")
    if len(sizes) != 1 or not all(token in allowed or token.isdigit() or not at for at, token in enumerate(tokens)):
        return None
    return Value("size", sizes.pop()) if tokens[0] in allowed or tokens[0] in table("numbers") else None


def _listed(tokens: Words) -> Value | None:
    """Read adjectives of the lists: materials, patterns, shapes, states, feelings."""
    remainder = [token for token in tokens if token not in {"a", "an", "with"}]
    if len(remainder) > 2 and remainder[-2] == "in":  # "oval in shape"
        remainder.pop(-2)
    core = [token for token in remainder if token not in _LOOKS | _SURFACES]
    if not core:
        return None
    has_article = tokens[0] in {"a", "an"}
    text = " ".join(core)
    if text in words("states") | words("shapes") and not has_article:
        return Value("action" if text in words("states") else "shape", text)
    kinds = [known_kind(token) for token in core if token not in {"and", "or", ","}]
    if kinds and all(kinds) and (not has_article or len(core) < len(remainder)):
        kind = (
            "texture"
            if "texture" in kinds
            else next((kind for kind in kinds if kind not in {"other", "age"}), None) or "other"
        )
        return Value("shape" if {"shape", "form"} & set(remainder) else kind, text)
    if len(core) < len(remainder) and _SURFACES & set(remainder):
        return Value("shape" if "shape" in remainder else "texture", text.removeprefix("of ").removesuffix(" of"))
    return None if has_article else _state_with_particle(core, text)


def _state_with_particle(core: Words, text: str) -> Value | None:
    if core[0] in words("shapes") and core[1:2] and core[1] in {"in", "up", "into"}:
        return Value("shape", text)
    if core[0] in words("states") and len(core) == 2 and core[1] in {"over", "down", "up", "wide"}:
        return Value("action", text)
    return None


def _activity(tokens: Words) -> Value | None:
    """Read an activity: "sleeping", "jumping over a fence"."""
    opens = is_activity(tokens[0]) and (
        len(tokens) == 1 or action_base(tokens[0]) or tokens[1] in {"the", "a", "at", "in", "on"}
    )
    return Value("action", " ".join(tokens)) if opens else None


def _manner(tokens: Words) -> Value | None:
    """Read a style: "in the style of Monet", "anime style"."""
    text = " ".join(token for token in tokens if token not in ARTICLES)
    if "style of " in text:
        return Value("style", text.split("style of ", 1)[1])
    if tokens[-1] == "style" or tokens[-1].endswith("-style"):
        return Value("style", text.removeprefix("in "))
    return None


def to_activity(tokens: Words) -> str:
    """Return a verb phrase with its verb as -ing: "press the keyboard" is "pressing the keyboard"."""
    if not tokens:
        return ""
    first = str(tokens[0]) if is_activity(tokens[0]) else to_gerund(action_base(tokens[0]) or str(tokens[0]))
    return " ".join([first, *tokens[1:]])


def is_style(tokens: Words) -> bool:
    """Tell whether words name a style of the whole image."""
    return mentions("styles", tokens)


def is_mood(tokens: Words) -> bool:
    """Tell whether words name a season, an hour, a weather or a light."""
    content = [token for token in tokens if token not in _BEFORE_MOODS]
    return bool(content) and len(content) <= 3 and (mentions("moods", content[-2:]) or content[0] in words("moods"))
