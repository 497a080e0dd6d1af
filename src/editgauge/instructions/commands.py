"""Commands: "add …", "put …", "remove …", "replace …", "move …", and what each verb asks for."""

from __future__ import annotations

from dataclasses import replace

from editgauge.instructions.becoming import ARTICLES, becomes, style_text, text_becomes, written
from editgauge.instructions.lexicon import is_ing_verb, match, singular, table, words
from editgauge.instructions.places import SIDED, Place, find_place, read_place
from editgauge.instructions.steps import (
    EarlierThings,
    Tokens,
    added_to,
    adding,
    becoming,
    becoming_place,
    new_things,
    owning,
    placed,
    removal,
    replacing,
    swap,
)
from editgauge.instructions.things import Thing, read_amount, read_number, read_thing, read_things
from editgauge.instructions.tokens import Token, skip
from editgauge.instructions.values import Value, read_value
from editgauge.types import Position, Step

STATES = {"state": "action", "shape": "shape", "surface": "texture", "parts": "alter_parts"}
"""The edit type of verbs that put a thing into another state."""
LOOKS = frozenset({"effect", "filter", "style", "look", "feel", "vibe", "aesthetic", "style's"})
"""Words for the manner of a picture: "give it a vintage look"."""
RESTYLED = {
    "cartoonize": "cartoon",
    "brighten": "brighter",
    "darken": "darker",
    "blur": "blurred",
    "lighten": "lighter",
}


def command(effect: str, verb: Tokens, rest: list[Token], context: EarlierThings) -> list[Step]:
    """What a verb of a request asks for, by its effect; empty when the words after it have no known form."""
    match effect:
        case "add" | "put":
            return adds(rest, context) if effect == "add" else puts(rest, context)
        case "give":
            return gives(rest, context)
        case "remove":
            return removes(rest, context)
        case "take" if {"off", "out", "away", "from"} & set(rest):
            return removes(rest, context)
        case "replace":
            return replaces(rest, context, str(verb[0]))
        case "move":
            return moves(rest, context)
        case "paint":
            return paints(rest, context)
        case "enlarge" | "reduce" | "resize":
            return resizes(effect, rest, context)
        case "write":
            return writes(rest, context)
        case "restyle" | "retouch":
            return restyles(str(verb[0]), rest, context)
        case "fill":
            return fills(rest, context)
        case "empty":
            return [Step(type="object_removal", position=Position("on", context.resolve(read_thing(rest)[0])))]
        case "dress":
            return dresses(rest, context)
        case "rotate":
            return turns_around(str(verb[0]), rest, context)
        case "state" | "shape" | "surface" | "parts":
            return done_to(effect, " ".join(verb), rest, context)
    return []


def adds(rest: list[Token], context: EarlierThings) -> list[Step]:
    """Something comes: "add a cat on the sofa", "add a hat to the dog", "add a car instead of the bike"."""
    if _is_writing(rest):
        return writes(rest, context)
    swapped = instead_of(rest, context)
    if swapped:
        return swapped
    things, end = read_things(rest)
    if not things:
        return []
    if match("in_its_place", rest, end) and context.named:
        return [swap(context.named[-1], things[0], context)]
    if "style" in things[0].words:
        return [Step(type="style", to=things[0].name.removesuffix(" style"), sure=True)]
    whom = _recipient(rest, end)
    if whom is not None:
        return [added_to(thing, whom, context) for thing in things]
    return new_things(things, rest[end:], context)


def _is_writing(rest: Tokens) -> bool:
    if rest[0].quoted:
        return True
    names_text = any(token.quoted or token in words("say") for token in rest)
    return names_text and bool(words("text_words") & set(rest[:3]))


def _recipient(rest: Tokens, end: int) -> Thing | None:
    """Whom something is added to: "add a hat to the dog"; None for "to the left of the dog"."""
    for at in range(end, len(rest)):
        if read_place(rest, at):
            return None
        if rest[at] in {"to", "onto"} and (at == end or rest[at - 1] not in words("look")):
            thing, _ = read_thing(rest, at + 1)
            return thing if thing and thing.head not in words("whole") | words("backgrounds") else None
    return None


def instead_of(rest: Tokens, context: EarlierThings) -> list[Step]:
    """ "a pizza instead of the sandwich"."""
    for at in range(1, len(rest)):
        length = match("instead", rest, at)
        if length and at + length < len(rest) and not is_ing_verb(rest[at + length]):
            new, end = read_thing(rest[:at])
            olds, _ = read_things(rest, at + length)
            place = find_place(rest[:at], end)
            if new.is_definite and place and place.anchor and not place.anchor.is_definite:
                new = place.anchor  # "put the rabbit on a rock instead of the trunk": the rock takes the trunk's place
            return [swap(old, new, context) for old in olds] if new else []
    return []


def puts(rest: list[Token], context: EarlierThings) -> list[Step]:
    """A new thing comes, or one that is there moves: the article tells."""
    if rest[0] == "on":
        return []
    things, end = read_things(rest)
    definite = bool(things) and things[0].is_definite and things[0].determiner != "all"
    if not definite or _is_writing(rest) or instead_of(rest, context) or match("in_its_place", rest, end):
        return adds(rest, context)
    return relocated(things[0], rest[end:], context)


def relocated(thing: Thing, rest: Tokens, context: EarlierThings) -> list[Step]:
    """Something that is there gets another place: a background, a side, or a thing that comes along."""
    subject = context.resolve(thing)
    place = find_place(rest)
    if place is None:
        return [Step(type="position_replacement", subject=subject, to=" ".join(rest) or None)]
    anchor = place.anchor
    said = " ".join(rest[place.start : place.end])
    if anchor is None:
        return [
            Step(type="position_replacement", subject=subject, to=place.relation, position=place.position, sure=True)
        ]
    comes_on = thing.is_worn or thing.is_part
    if anchor.is_scene and place.relation in {"in", "on", "next to"}:
        return [placed(thing, rest, context, sure=False)] if comes_on else [becoming_place(anchor, subject)]
    if anchor.is_definite or place.relation in SIDED:
        if comes_on and place.relation == "on":
            return [placed(thing, rest, context, sure=False)]
        return [Step(type="position_replacement", subject=subject, to=said, position=place.position)]
    if place.relation == "in" and anchor.head not in words("containers"):
        return [becoming_place(anchor, subject, sure=False)]
    return [adding(anchor, subject, sure=False)]


def gives(rest: list[Token], context: EarlierThings) -> list[Step]:
    """ "give the man a hat", "give a hat to the man", "give her jean pants"."""
    whom, end = read_thing(rest, predicate=True)
    if whom.owner == "her" and end >= len(rest) and not whom.is_part:
        return [owning(Thing(pronoun="her"), thing, context) for thing in read_things(rest, 1)[0]]
    if end >= len(rest):
        if len(whom.words) < 2:
            return []
        # "give the man glasses": no article between the two
        cut = 1 + next((at for at, word in enumerate(whom.words[:-1]) if Thing(words=(word,)).is_alive), 0)
        return [owning(replace(whom, words=whom.words[:cut]), Thing(words=whom.words[cut:]), context)]
    if rest[end] == "to":
        return [owning(read_thing(rest, end + 1)[0], whom, context)]
    gift = [token for token in rest[end:] if token != "the"]
    if whom.pronoun in {"it", "this"} or whom.head in words("whole"):
        looks = [token for token in gift if token not in LOOKS and token not in ARTICLES]
        if looks and len(looks) < len([token for token in gift if token not in ARTICLES]):
            return [Step(type="style", to=" ".join(looks), sure=True)]
    value = read_value(gift)
    if value.kind in {"texture", "color", "shape"}:
        return [becoming(whom, value, context.resolve(whom))]
    return [owning(whom, thing, context) for thing in read_things(rest, end)[0]]


def removes(rest: list[Token], context: EarlierThings) -> list[Step]:
    """Something goes: "remove the dog", "take the bowl off the table"."""
    if rest[0] in {"of", "away", "off", "out"} and len(rest) > 1:
        rest = rest[1:]
    return [removal(thing, rest, context) for thing in read_things(rest)[0]]


def replaces(rest: list[Token], context: EarlierThings, verb: str) -> list[Step]:
    """ "replace X with Y", "swap X for Y"."""
    for at in range(1, len(rest) - 1):
        if rest[at] in {"with", "by", "for", "to", "into"}:
            olds, _ = read_things(rest[:at])
            new, _ = read_thing(rest, at + 1)
            if olds and (new or rest[at + 1].quoted):
                return _exchanged(olds, rest, at, context, verb)
    return instead_of(rest, context)


def _exchanged(olds: list[Thing], rest: list[Token], at: int, context: EarlierThings, verb: str) -> list[Step]:
    old, (new, _) = olds[0], read_thing(rest, at + 1)
    if old.head in words("text_words") or rest[at + 1].quoted or rest[at - 1].quoted:
        return [text_becomes(rest[:at], rest[at + 1 :], context)]
    if old.head in words("backgrounds") | {"color", "colour"}:
        return [becomes(old, rest[at + 1 :], context)]
    if verb.startswith("substitut") and rest[at] == "for" and new.is_definite and not old.is_definite:
        return [swap(new, old, context)]
    value = read_value(rest[at + 1 :])
    if value.kind == "color":
        return [becoming(old, value, context.resolve(old))]
    news, end = read_things(rest, at + 1)
    if rest[end : end + 1] == ["with"] and singular(old.head) == singular(new.head):
        held, _ = read_thing(rest, end + 1)
        article = [Token(held.determiner)] if held.determiner in {"a", "an"} else []
        whole = replace(new, words=(*new.words, Token("with"), *article, *held.words))
        return [replacing(context.resolve(old), whole, sure=True)]
    if len(olds) > 1 and len(news) == len(olds):
        return [swap(each, other, context) for each, other in zip(olds, news, strict=True)]
    return [swap(each, new, context) for each in olds]


def moves(rest: list[Token], context: EarlierThings) -> list[Step]:
    """ "move the dog from the right to the left"."""
    thing, at = read_thing(rest)
    if not thing:
        return []
    before = None
    if at < len(rest) and rest[at] == "from":
        start, at = read_thing(rest, at + 1)
        before = start.head or (start.which[0] if start.which else None)
    subject, tail = context.resolve(thing), rest[at:]
    place = find_place(tail)
    if place and place.anchor and place.anchor.is_scene and place.relation == "in":
        return [becoming_place(place.anchor, subject, sure=False)]
    if place:
        whole = place.position.anchor is None
        to = place.relation if whole else " ".join(tail[place.start : place.end])
        position = place.position
        return [Step(type="position_replacement", subject=subject, from_=before, to=to, position=position, sure=True)]
    side = next((table("sides")[str(token)] for token in tail if token in words("sides")), None)
    to_side = side or " ".join(tail) or None
    return [Step(type="position_replacement", subject=subject, from_=before, to=to_side, sure=side is not None)]


def paints(rest: list[Token], context: EarlierThings) -> list[Step]:
    """ "paint the fence white", "paint a tree on the wall"."""
    things, end = read_things(rest, predicate=rest[0] not in words("indefinite"))
    tail = [token for token in rest[end:] if token not in {"in", "with", "to", "into"}]
    value = read_value(tail) if tail else Value("color", "")
    if value.kind not in {"color", "texture"} and things and not things[0].is_definite:
        return [placed(thing, rest[end:], context, sure=False) for thing in things]
    if value.kind not in {"color", "texture"}:
        value = Value("color", " ".join(tail))
    steps = [becoming(thing, value, context.resolve(thing)) for thing in things]
    return [replace(step, to=step.to or None) for step in steps]


def resizes(effect: str, rest: list[Token], context: EarlierThings) -> list[Step]:
    """ "enlarge the dog", "reduce the size of the cup", "resize the cup to be smaller"."""
    to: str | None = {"enlarge": "large", "reduce": "small"}.get(effect)
    if amount := read_amount(rest):
        thing, end = amount
        if count := read_number(rest[end + 1]) if rest[end : end + 1] == ["to"] and end + 1 < len(rest) else None:
            return [replace(adding(thing, sure=False), count=count)]
        more = effect == "enlarge"
        return [adding(thing, sure=False) if more else replace(removal(thing, [], context), sure=False)]
    if list(rest[:3]) == ["the", "size", "of"]:
        rest = rest[3:]
    things, end = read_things(rest, predicate=True)
    if to is None:
        value = read_value([token for token in rest[end:] if token != "to"])
        to = value.text if value.kind == "size" else None
    names = [thing.owner if thing.head == "size" and thing.owner else context.resolve(thing) for thing in things]
    return [Step(type="size", subject=name, to=to, sure=True) for name in names]


def writes(rest: list[Token], context: EarlierThings) -> list[Step]:
    """ "write HELLO on the wall", "add the word OPEN to the sign"."""
    place = find_place(rest, 1)
    if place is None:
        for at in range(1, len(rest) - 1):
            if rest[at] == "to" and rest[at + 1] in words("definite"):
                anchor, end = read_thing(rest, at + 1)
                place = Place("on", anchor, at, end)
                break
    cut = place.start if place else len(rest)
    subject = context.resolve(place.anchor) if place and place.anchor else None
    position = Position(place.relation, subject) if place else None
    return [Step(type="text", subject=subject, to=written(rest[:cut]), position=position, sure=True)]


def restyles(verb: str, rest: list[Token], context: EarlierThings) -> list[Step]:
    """ "render the image as a sketch", "blur the background", "apply a watercolor effect"."""
    thing, end = read_thing(rest)
    if verb in {"apply", "use"}:
        looks = [str(word) for word in thing.words if word not in LOOKS]
        return [Step(type="style", to=" ".join(looks) or None, sure=True)] if looks else []
    if verb == "draw" and not thing.is_definite:
        return adds(rest, context)
    if verb == "blur" and thing.head in words("backgrounds"):
        return [Step(type="background", to="blurred")]
    subject = None if thing.pronoun or thing.head in words("whole") else context.resolve(thing)
    to = style_text(rest[end:]) or RESTYLED.get(verb, verb)
    if subject and verb in {"darken", "brighten", "lighten", "colorize"}:
        return [Step(type="color", subject=subject, to=to)]
    return [Step(type="style", subject=subject, to=to, sure=subject is None)]


def fills(rest: list[Token], context: EarlierThings) -> list[Step]:
    """ "fill the vase with roses", "cover the car in snow"."""
    for at in range(1, len(rest) - 1):
        if rest[at] in {"with", "in", "by"}:
            holder, _ = read_thing(rest[:at])
            inside = holder.head in words("containers")
            position = Position("in" if inside else "on", context.resolve(holder))
            return [adding(thing, position=position) for thing in read_things(rest, at + 1)[0]]
    return []


def dresses(rest: list[Token], context: EarlierThings) -> list[Step]:
    """ "dress the man in a kilt"."""
    whom, end = read_thing(rest)
    clothes, _ = read_things(rest, skip(rest, {"up", "in", "with", "as"}, end))
    return [owning(whom, thing, context, "wear") for thing in clothes]


def turns_around(verb: str, rest: list[Token], context: EarlierThings) -> list[Step]:
    """ "rotate the car", "zoom in on the face"."""
    thing, end = read_thing(rest)
    subject = None if thing.head in words("whole") | {"camera", "view"} else context.resolve(thing)
    return [Step(type="viewpoint", subject=subject, to=" ".join(rest[end:]) or verb)]


def done_to(effect: str, verb: str, rest: list[Token], context: EarlierThings) -> list[Step]:
    """ "open the door", "slice the banana": the thing is in another state afterwards."""
    if effect == "shape" and rest[0] in {"out", "off"} and len(rest) > 1:
        return removes(rest, context)
    things, end = read_things(rest)
    more = " ".join(rest[end:])
    to = table(f"verbs.{effect}")[verb]
    if more and (more.startswith("in half") or not find_place(rest, end)):
        to = f"{to} {more}"
    sure = effect != "parts"
    return [Step(type=STATES[effect], subject=context.resolve(thing), to=to, sure=sure) for thing in things]
