"""The steps themselves: what comes, goes, takes another's place, belongs to something, or becomes something."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from editgauge.instructions.lexicon import (
    adjective_kinds,
    is_ing_verb,
    is_plural,
    match,
    match_any,
    singular,
    table,
    words,
)
from editgauge.instructions.places import SIDED, find_place
from editgauge.instructions.things import Thing, read_thing
from editgauge.instructions.tokens import Token
from editgauge.instructions.values import Value
from editgauge.types import Position, Step

Tokens = Sequence[Token]
UNREAD = "unspecified"
CROSSED = frozenset({"jumping", "leaping", "hopping", "stepping", "climbing"})
"""What does this over a thing is not above it."""
AIMED = frozenset({"looking", "pointing", "staring", "gazing", "waving", "barking", "smiling", "laughing", "shouting"})
"""What does this at a thing is not next to it."""
BODY = frozenset(
    {"hand", "hands", "foot", "feet", "head", "face", "leg", "legs", "arm", "arms", "eye", "eyes", "feather"}
)
"""Parts of living things: on anything else they are things of their own."""


@dataclass
class EarlierThings:
    """What was named before: what "it" and "him" stand for."""

    caption: Sequence[Thing] = ()
    """The things of the source caption."""
    named: list[Thing] = field(default_factory=list)
    """The things of the earlier clauses, the last one last."""

    def resolve(self, thing: Thing) -> str | None:
        """The name of a thing; a pronoun gives the thing it stands for, or None."""
        if not thing.pronoun:
            return thing.name or None
        kind = table("pronouns").get(thing.pronoun, "thing")
        candidates = [*reversed(self.named), *self.caption]
        referent = next((each for each in candidates if _FITS.get(kind, bool)(each)), None)
        if referent is None and kind in {"man", "woman"}:
            referent = next((each for each in candidates if singular(each.head) in words("people")), None)
        if referent is None and kind == "many":
            referent = next((inner for each in candidates if (inner := _contents(each))), None)
        return referent.without(referent.adjectives).name if referent else None

    def shown(self, noun: str) -> Thing | None:
        """What the source caption shows under this name, up to the noun itself."""
        for thing in self.caption:
            for at, word in enumerate(thing.words):
                if singular(str(word)) == singular(noun):
                    return replace(thing, words=thing.words[: at + 1])
        return None


def _contents(thing: Thing) -> Thing | None:
    """The tulips of "a vase of tulips"."""
    if "of" not in thing.words[:-1]:
        return None
    inner = Thing(words=thing.words[thing.words.index("of") + 1 :])
    return inner if inner.head != singular(inner.head) else None


_FITS: dict[str, Callable[[Thing], bool]] = {
    "man": lambda each: singular(each.head) in words("males") | {"person", "rider"},
    "woman": lambda each: singular(each.head) in words("females") | {"person"},
    "many": lambda each: each.head != singular(each.head) or (each.count or 1) > 1,
    "thing": lambda each: each.head not in words("people"),
}


def adding(thing: Thing, subject: str | None = None, position: Position | None = None, sure: bool = True) -> Step:
    """Something comes."""
    return Step(
        type="object_addition",
        subject=subject,
        to=thing.name,
        position=position,
        count=thing.count,
        attributes=thing.adjectives,
        sure=sure,
    )


def altering(owner: str | None, part: Thing) -> Step:
    """Something gets a part, or another one."""
    return replace(adding(part, owner), type="alter_parts")


def becoming_place(to: Thing, subject: str | None = None, sure: bool = True) -> Step:
    """What is behind becomes another place."""
    return Step(type="background", subject=subject, to=to.name or None, attributes=to.adjectives, sure=sure)


def added_to(thing: Thing, whom: Thing, context: EarlierThings) -> Step:
    """ "add a hat to the dog", "add cookies to the tray"."""
    owner = context.resolve(whom)
    if thing.is_part:
        return altering(owner, thing)
    if owner is None:
        return adding(thing)
    if thing.is_worn or whom.is_alive:
        return adding(thing, owner, Position("on", owner) if thing.is_worn else None)
    depicts = singular(thing.head) in words("depictions")
    inside = not depicts and whom.head in (words("places") - words("grounds")) | words("containers") | {"water", "air"}
    return adding(thing, position=Position("in" if inside else "on", owner))


def new_things(things: Sequence[Thing], rest: Tokens, context: EarlierThings, sure: bool = True) -> list[Step]:
    """New things with what is said of them: "a man holding an umbrella" asks for the umbrella too.

    "a kid holding the plate" does not ask for a plate: it is there already.
    """
    steps = [placed(thing, rest, context, sure) for thing in things]
    _, length = match_any(("wear", "hold"), rest)
    held = read_thing(rest, length)[0] if length else Thing()
    return [*steps, adding(held, things[0].name)] if held.words and not held.is_definite else steps


def placed(thing: Thing, rest: Tokens, context: EarlierThings, sure: bool = True) -> Step:
    """A new thing with what is said of it: its place, or what it does."""
    place = find_place(rest)
    doing_now = tuple(str(token) for token in rest[:1] if is_ing_verb(token))
    step = adding(thing, sure=sure)
    step = replace(step, attributes=(*step.attributes, *doing_now))
    if place is None or (place.preposition == "over" and rest[0] in CROSSED):
        return step
    if place.preposition == "at" and rest[0] in AIMED:
        return step
    anchor = place.anchor or Thing()
    if anchor.head in words("backgrounds") | words("moods") or place.preposition in {"with", "towards", "toward"}:
        return step
    position = place.position
    if anchor.pronoun:
        position = Position(place.relation, context.resolve(anchor))
    if position.relation in SIDED:
        return replace(step, type="positional_addition", subject=position.anchor, position=position)
    if thing.is_worn and anchor.is_alive and position.relation == "in":
        position = Position("on", position.anchor)
    rests_on = position.anchor if position.relation == "on" else None
    if rests_on and thing.is_part and (anchor.is_alive or thing.head not in BODY):
        return replace(step, type="alter_parts", subject=rests_on)
    if rests_on and thing.is_worn:
        return replace(step, subject=rests_on, position=position)
    return replace(step, position=position)


def owning(owner: Thing, thing: Thing, context: EarlierThings, how: str = "") -> Step:
    """Someone wears, holds or has something: a part of it, or a thing that comes; what is worn is on its wearer."""
    subject = context.resolve(owner)
    if thing.determiner == "no":
        return Step(type="object_removal", subject=thing.name, sure=True)
    looks = thing.words[:-1]
    if thing.head in words("hair") and looks and all(kind_of(word) == "color" for word in looks):
        hair = f"{subject}'s {thing.head}" if subject else thing.head
        return Step(type="color", subject=hair, to=" ".join(looks), sure=True)
    if looks and singular(thing.head) in {"pattern", "texture", "print"}:
        return becoming(owner, Value("texture", " ".join(looks)), subject)
    grows = singular(owner.head) in words("plants") and singular(thing.head) in words("grown")
    if (thing.is_part and not thing.is_worn) or grows:
        return altering(subject, thing)
    is_worn = how == "wear" or (thing.is_worn and how != "hold")
    return adding(thing, subject, Position("on", subject) if is_worn and subject else None)


def removal(thing: Thing, rest: Tokens, context: EarlierThings) -> Step:
    """Something goes: all of its kind, or one of several."""
    if thing.head in words("backgrounds"):
        return Step(type="background", sure=False)
    place = find_place(rest)
    on_a_side = place is not None and place.anchor is None and place.relation in {"left", "right", "center"}
    subject = context.resolve(thing)
    is_one = thing.count == 1 or (thing.determiner in {"a", "an"} and not is_plural(thing.head))
    if not (thing.which or on_a_side or is_one):
        return Step(
            type="object_removal", subject=subject, count=thing.count, attributes=thing.adjectives, sure=bool(subject)
        )
    ordinal = bool({"second", "third", "fourth", "fifth"} & set(thing.which))
    position = place.position if place and on_a_side and not ordinal else None
    for side in ("left", "right"):
        if {side, f"{side}most", f"{side}-most"} & set(thing.which):
            position = Position(side)
    return Step(
        type="single_instance_removal",
        subject=subject,
        position=position,
        count=thing.count or 1,
        attributes=thing.adjectives,
        sure=bool(subject),
    )


def swap(old: Thing, new: Thing, context: EarlierThings) -> Step:
    """One thing takes the place of another; the same thing with another color or material changes that."""
    before = context.resolve(old)
    if new.head in {"one", "ones"} or (old.words and singular(old.head) == singular(new.head)):
        return same_thing(old, new, before)
    if new.words and not new.determiner and all(word in adjective_kinds() for word in new.words):
        return replace(becoming(old, Value(kind_of(new.words[-1]), new.name), before), sure=False)
    return replacing(before, new, sure=bool(before))


def replacing(before: str | None, new: Thing, sure: bool) -> Step:
    """Another thing takes the place of one."""
    return Step(
        type="object_replacement",
        subject=before,
        from_=before,
        to=new.name,
        count=new.count,
        attributes=new.adjectives,
        sure=sure,
    )


def kind_of(word: str) -> str:
    """The edit type that changes what an adjective says; `other` for words of no list."""
    return adjective_kinds().get(word, "other")


def same_thing(old: Thing, new: Thing, before: str | None) -> Step:
    """The same kind of thing, described otherwise: "the bicycle" and "a blue bicycle"."""
    fresh = [word for word in new.words[:-1] if word not in old.words]
    gone = [word for word in old.words[:-1] if word not in new.words]
    kinds = {kind_of(word) for word in fresh}
    plain = old.without([word for word in gone if word in adjective_kinds()])
    if any(word not in adjective_kinds() for word in fresh) and len(kinds) > 1:
        return replacing(before, new, sure=True)  # "a brown leather luggage bag" is another bag
    for kind, beside in (("color", set[str]()), ("texture", {"color", "other"})):
        if kind in kinds and kinds <= {kind, *beside}:
            was = " ".join(word for word in gone if kind_of(word) == kind) or None
            to = " ".join(word for word in fresh if kind_of(word) == kind)
            attributes = tuple(map(str, fresh)) if kind == "texture" else ()
            return Step(type=kind, subject=plain.name, from_=was, to=to, attributes=attributes, sure=True)
    if len(kinds) == 1 and kinds & {"size", "shape"}:
        return becoming(plain, Value(kinds.pop(), size_or_words(fresh)), plain.name)
    named = new
    if new.head in {"one", "ones"}:
        named = replace(new, words=(*new.words[:-1], Token(old.head)))
    return replacing(before, named, sure=bool(fresh) or "of" in new.words or "of" in old.words)


def size_or_words(described: Sequence[Token]) -> str:
    """The size that a description names, or else its words."""
    sizes = [table("sizes")[str(word)] for word in described if word in words("sizes")]
    return sizes[0] if sizes else " ".join(described)


def becoming(thing: Thing, value: Value, subject: str | None) -> Step:
    """A thing gets another color, size, material, shape or state."""
    if value.kind in {"color", "texture"}:
        list_of = words("colors") if value.kind == "color" else words("materials") | words("patterns")
        worn = [word for word in thing.words[:-1] if word in list_of]
        plain = thing.without(worn) if match("compounds", thing.words[-2:]) != 2 else thing
        name = subject if thing.pronoun else plain.name
        return Step(type=value.kind, subject=name, from_=" ".join(worn) or None, to=value.text, sure=True)
    if value.kind == "style":
        return Step(type="style", to=value.text, sure=not subject or bool(thing.pronoun))
    if value.kind in {"size", "shape", "action", "text", "alter_parts"}:
        return Step(type=value.kind, subject=subject, to=value.text, sure=True)
    if thing.head in words("mood_subjects") and set(value.text.split()) & words("moods"):
        return Step(type="style", subject=subject, to=value.text, sure=True)
    if value.text == "empty":
        return Step(type="object_removal", position=Position("on", subject), sure=False)
    return Step(type=UNREAD, subject=subject, to=value.text or None, sure=False)
