"""Statements: what is said of a thing that is there, or of one that should be there."""

from __future__ import annotations

from dataclasses import replace

from editgauge.instructions.becoming import becomes, style_text, unsure, written
from editgauge.instructions.commands import (
    dresses,
    fills,
    instead_of,
    moves,
    paints,
    relocated,
    replaces,
    writes,
)
from editgauge.instructions.lexicon import (
    action_base,
    adjective_kinds,
    is_ing_verb,
    lists_in,
    match_any,
    singular,
    words,
)
from editgauge.instructions.places import SIDED, find_place, read_place
from editgauge.instructions.steps import (
    EarlierThings,
    Tokens,
    adding,
    becoming,
    becoming_place,
    kind_of,
    new_things,
    owning,
    placed,
    removal,
    same_thing,
)
from editgauge.instructions.things import Thing, read_thing, read_things
from editgauge.instructions.tokens import Token, skip
from editgauge.instructions.values import doing, is_style, read_value
from editgauge.types import Position, Step

VERBS = ("be", "modals", "have", "wear", "hold", "become", "contain", "show", "look", "say", "not")
SKIPPED = frozenset({"now", "also", "all", "both", "just", "then", "only"})
WAYS = frozenset(
    {"up", "down", "away", "back", "to", "over", "straight", "directly", "backwards", "left", "right", "sideways"}
)
"""Where one may look: "look up" is an action, "look old" is not."""
VIEWED = frozenset({"camera", "left", "right", "viewer", "front", "away", "us", "forward"})


def statement(clause: list[Token], context: EarlierThings, question: bool = False) -> list[Step]:
    """ "the dog should be removed", "could the dog be black", "a lake next to the hut"."""
    things, end = read_things(clause, predicate=True)
    if not things or end >= len(clause):
        return []
    first = things[0]
    has_verb = bool(match_any(VERBS, clause, end)[1])
    acts = (
        action_base(clause[end]) is not None
        or is_ing_verb(clause[end])
        or clause[end] in {"now", "disappear", "vanish"}
    )
    if not has_verb and not (acts and (question or first.is_definite)):
        place = read_place(clause, end)
        if place and place.anchor and place.anchor.is_definite and not first.is_definite:
            return [placed(thing, clause[end:], context, sure=False) for thing in things]
        if not place or not question:
            return []
    if clause[end] == "with" and not question:
        return []
    return said_of(things, clause[end:], context, new_ones=False)


def said_of(things: list[Thing], rest: list[Token], context: EarlierThings, new_ones: bool) -> list[Step]:
    """What is said of one or more things; with `new_ones`, a thing without an article may come by being named."""
    first = things[0]
    rest = rest[skip(rest, words("modals") | SKIPPED) :]
    if not rest:
        return [] if first.is_definite else [placed(thing, [], context, sure=new_ones) for thing in things]
    weather = _after_be(rest)[:1]
    if first.pronoun in {"it", "this"} and set(weather) & {"rain", "snow", "raining", "snowing", "storming"}:
        return [Step(type="style", to=str(weather[0]), sure=True)]
    if rest[0] in {"not", "never", "without"} or list(rest[:2]) in (["be", "not"], ["is", "not"]):
        return _negated(things, rest, context)
    if not first.is_definite and first.words and not match_any(lists_in("participles"), _after_be(rest))[1]:
        return _new_things(things, rest, context)
    return [step for thing in things for step in _predicate(thing, rest, context)]


def _after_be(rest: list[Token]) -> list[Token]:
    return rest[skip(rest, words("be") | SKIPPED | {"completely", "fully", "being"}) :]


def _negated(things: list[Thing], rest: list[Token], context: EarlierThings) -> list[Step]:
    """ "make the man not swing but hold the bat": what follows "but" is asked for."""
    if "but" in rest[:-1]:
        at = list(rest).index(Token("but")) + 1
        if action_base(rest[at]) and action_base(rest[1]):
            to = doing(rest[at:])
            return [Step(type="action", subject=context.resolve(thing), to=to, sure=True) for thing in things]
        return [step for thing in things for step in _predicate(thing, rest[at:], context)]
    tail = [token for token in rest if token not in words("not") | words("be")]
    owned = bool(tail) and tail[0] in words("wear") | words("have") | words("hold")
    if rest[0] == "without" or owned:
        gone, _ = read_thing(tail, 1 if owned else 0)
        return [Step(type="object_removal", subject=gone.name, sure=True)] if gone else []
    if tail and tail[0] in {"there", "visible", "present", "in"}:
        return [removal(thing, [], context) for thing in things]
    to = f"not {doing(tail)}".strip()
    return [Step(type="action", subject=context.resolve(thing), to=to) for thing in things]


def comes_to_be(rest: list[Token], context: EarlierThings, sure: bool = True) -> list[Step]:
    """ "there should be a dog on the sofa", "no people"."""
    if not rest:
        return []
    if rest[0] in {"no", "not", "fewer", "less"}:
        return [removal(thing, [], context) for thing in read_things(rest, 1)[0]]
    swapped = instead_of(rest, context)
    if swapped:
        return swapped
    things, end = read_things(rest)
    if not things:
        return []
    first, tail = things[0], rest[end:]
    if first.is_scene and words("backgrounds") & set(tail):
        return [becoming_place(first, sure=False)]
    known = context.shown(first.head)
    place = find_place(tail)
    if first.is_definite and place and place.anchor and place.anchor.head in words("moods"):
        return [Step(type="style", to=place.anchor.name, sure=True)]  # "can we see the bridge at night?"
    colors = [word for word in first.adjectives if kind_of(word) == "color"]
    if not sure and len(things) == 1 and colors and (known or not context.caption) and not place:
        return [replace(same_thing(known or first.without(colors), first, None), sure=known is not None)]
    return new_things(things, tail, context, sure=sure or known is None)


def _new_things(things: list[Thing], rest: list[Token], context: EarlierThings) -> list[Step]:
    """ "let a child play nearby", "a dog should be near the sheep": the thing is new."""
    body = _after_be(rest)
    if body[:1] == ["the"] and set(body[1:2]) & words("backgrounds"):
        return [becoming_place(things[0])]
    swapped = instead_of([*things[0].words, *rest], context)
    if swapped:
        return swapped
    if body and (action_base(body[0]) or is_ing_verb(body[0])):
        body = [Token(doing(body[:1])), *body[1:]]
    return new_things(things, body, context)


def _predicate(thing: Thing, rest: list[Token], context: EarlierThings) -> list[Step]:
    """What is said of something that is there."""
    subject = context.resolve(thing)
    if rest[0] in words("be") and match_any(("wear", "hold"), rest, 1)[1]:
        rest = rest[1:]
    verb = rest[0]
    if verb in words("say") and len(rest) > 1 and _says_text(thing, rest):
        return [Step(type="text", subject=subject, to=written(rest[1:]), sure=True)]
    if verb in {"showing", "displaying"} | words("show") and len(rest) > 1 and not thing.is_alive:
        shown = _shows(thing, rest, context)
        if shown:
            return shown
    how, length = match_any(("wear", "hold", "have", "contain"), rest)
    if length and len(rest) > length:
        holds = thing.head in words("containers") and thing.name not in words("text_holders")
        holds = holds and not read_thing(rest, length)[0].is_part
        contains = (verb in words("contain") and (holds or how == "contain")) or (how == "have" and holds)
        return _owned(thing, "contain" if contains else how, rest[length:], context)
    if verb == "from" and len(rest) > 1:
        return [Step(type="viewpoint", subject=subject, to=" ".join(t for t in rest[1:] if t != "the"), sure=True)]
    into = next((at for at, token in enumerate(rest) if token in {"to", "into"}), None)
    if verb in {"change", "transform", "morph", "turn"} and into and into + 1 < len(rest):
        return [becomes(thing, rest[into + 1 :], context)]
    turns = verb in words("become") - {"go", "goes", "grow", "change", "transform", "get", "gets"} and len(rest) > 1
    if turns and rest[1] not in {"around", "away"}:
        return [becomes(thing, rest[2:] if rest[1] in {"into", "to", "in"} else rest[1:], context)]
    if verb in {"disappear", "vanish", "go"} and (len(rest) == 1 or rest[1] == "away"):
        return [removal(thing, [], context)]
    if verb in words("be"):
        return _is(thing, _after_be(rest), context)
    if verb in words("look") and len(rest) > 1 and not read_place(rest, 1) and rest[1] not in WAYS:
        return [_looks(thing, rest, context)]
    return _acts(thing, rest, context)


def _says_text(thing: Thing, rest: Tokens) -> bool:
    if rest[1].quoted or rest[0] in {"say", "says", "saying", "spell", "spells"}:
        return True
    holds_text = singular(thing.head) in words("text_holders") | words("text_words")
    return holds_text and rest[0] in {"read", "reads", "reading"}


def _shows(thing: Thing, rest: Tokens, context: EarlierThings) -> list[Step]:
    """ "let the laptop show a cat", "let the window show a garden", "make the traffic light show red"."""
    shown, _ = read_thing(rest, 1)
    subject = context.resolve(thing)
    value = read_value(rest[1:])
    if value.kind == "color":
        return [becoming(thing, value, subject)]
    if not shown or shown.is_definite:
        return []
    if singular(thing.head) == "window":
        return [becoming_place(shown, subject, sure=False)]
    return [adding(shown, position=Position("on", subject), sure=False)]


def _looks(thing: Thing, rest: Tokens, context: EarlierThings) -> Step:
    """ "look like a painting", "look older"."""
    whole = bool(thing.pronoun) or thing.head in words("whole")
    as_a_whole = list(rest[2:4]) in (["it", "was"], ["it", "were"], ["it", "is"], ["if", "it"])
    if whole and (as_a_whole or ("like" in rest and is_style(rest))):
        return Step(type="style", to=style_text(rest[1:]), sure=True)
    return unsure(becomes(thing, [token for token in rest[1:] if token not in {"like", "as", "if"}], context))


def _owned(thing: Thing, how: str, rest: list[Token], context: EarlierThings) -> list[Step]:
    """ "… wear a hat", "… have its eyes closed", "… contain ice cream"."""
    if how == "have" and rest[0] in {"been", "to", "be"}:
        return _is(thing, _after_be(rest), context)
    things, end = read_things(rest, predicate=True)
    if not things:
        return []
    first, tail, subject = things[0], rest[end:], context.resolve(thing)
    if first.head in words("text_words") and any(token.quoted for token in rest):
        return [Step(type="text", subject=subject, to=written(rest), sure=True)]
    if how == "contain":
        return [adding(each, position=Position("in", subject)) for each in things]
    if first.is_definite and how != "wear" and tail and first.is_part:
        value = read_value(tail)
        named = replace(first, owner=subject or "") if first.owner in {"his", "her", "its", "their"} else first
        if value.kind in {"action", "color", "texture", "shape", "size"}:
            return [becoming(named, value, named.name)]
        return [Step(type="action", subject=subject, to=" ".join(["with", *rest]))]
    if (
        how == "have"
        and first.is_part
        and tail
        and tail[0] in {"up", "down", "in", "open", "closed", "crossed", "raised"}
    ):
        return [Step(type="action", subject=subject, to=" ".join(rest))]
    steps = [owning(thing, each, context, how) for each in things]
    place = find_place(tail)
    if how == "have" and place and place.relation in SIDED and place.anchor and not place.anchor.pronoun:
        return [replace(step, position=place.position) for step in steps]
    return steps


def _is(thing: Thing, rest: list[Token], context: EarlierThings) -> list[Step]:
    """What something is: changed by a participle, in a place, or another thing or look."""
    if not rest:
        return []
    subject = context.resolve(thing)
    name, length = match_any(lists_in("participles"), rest)
    if length:
        steps = _passive(name.removeprefix("participles."), thing, rest[length:], rest, context)
        if steps:
            return steps
    how, length = match_any(("wear", "hold"), rest)
    if length and len(rest) > length:
        return _owned(thing, how, rest[length:], context)
    if rest[0] in {"full", "filled"} and len(rest) > 2:
        return fills([*thing.words, Token("with"), *rest[2:]], context)
    if list(rest) in (["on"], ["off"], ["on", "fire"]):
        return [Step(type="action", subject=subject, to=" ".join(rest), sure=True)]
    place = read_place(rest, 0)
    if place and read_value(rest).kind != "texture" and rest[0] not in {"with", "out"}:
        anchor = place.anchor or Thing()
        if thing.head in words("backgrounds"):
            return [becoming_place(anchor)]
        if rest[0] == "in" and anchor.is_worn:
            return [owning(thing, anchor, context, "wear")]
        if rest[0] == "in" and is_style(rest):
            return [Step(type="style", to=style_text(rest), sure=True)]
        return relocated(thing, rest, context)
    if rest[0] in {"outside", "outdoors", "indoors", "underwater"}:
        return [Step(type="background", subject=subject, to=str(rest[0]), sure=True)]
    if rest[0] in {"from", "seen"}:
        to = " ".join(token for token in rest if token not in {"from", "the", "seen"})
        return [Step(type="viewpoint", subject=subject, to=to, sure=True)]
    if rest[0] in {"showing", "displaying"} and not thing.is_alive:
        return _predicate(thing, rest, context)
    if is_ing_verb(rest[0]) and adjective_kinds().get(str(rest[0]), "action") == "action":
        return _acts(thing, rest, context)
    return [becomes(thing, rest, context)]


def _passive(effect: str, thing: Thing, rest: list[Token], whole: list[Token], context: EarlierThings) -> list[Step]:
    """ "… be removed", "… be replaced by a cat": the command, with the thing as its object."""
    owner = [*map(Token, thing.owner.split()), Token("'s")] if thing.owner else []
    named = [Token(thing.determiner or "the"), *owner, *thing.words] if thing.words else [Token(thing.pronoun)]
    subject = context.resolve(thing)
    if effect in {"paint", "change"} and rest and rest[0] in {"of", "from", "out", "by"}:
        return [becoming(thing, read_value(whole), subject)]
    if whole[0] in {"turned", "switched"} and rest and rest[0] in {"on", "off"}:
        return [Step(type="action", subject=subject, to=f"turned {rest[0]}", sure=True)]
    match effect:
        case "remove":
            return [removal(thing, rest, context)]
        case "replace" if rest:
            return replaces([*named, *rest], context, "replace")
        case "change":
            return [becomes(thing, rest[1:] if rest and rest[0] in {"to", "into", "for"} else rest, context)]
        case "add" if thing.is_definite and rest:
            return relocated(thing, rest, context)
        case "add" if not thing.is_definite:
            return [placed(thing, rest, context)]
        case "move":
            return moves([*named, *rest], context)
        case "paint":
            return paints([*named, *rest], context)
        case "fill":
            return fills([*named, *rest], context)
        case "dress":
            return dresses([*named, *rest], context)
        case "write":
            return writes([*thing.words, *rest], context)
        case "enlarge" | "reduce":
            return [Step(type="size", subject=subject, to="large" if effect == "enlarge" else "small", sure=True)]
        case "rotate":
            return [Step(type="viewpoint", subject=subject, to=" ".join(whole))]
    return []


def _acts(thing: Thing, rest: list[Token], context: EarlierThings) -> list[Step]:
    """ "… sleep", "… jump over a ball", "… face the camera"."""
    subject = context.resolve(thing)
    base = action_base(rest[0])
    if (base == "face" and VIEWED & set(rest)) or (base == "turn" and rest[1:2] in (["around"], ["away"])):
        to = " ".join([doing(rest[:1]), *(token for token in rest[1:] if token != "the")])
        return [Step(type="viewpoint", subject=subject, to=to, sure=base == "face")]
    if base or is_ing_verb(rest[0]):
        to = doing([token for token in rest if token not in {"now", "instead", "also"}])
        return [Step(type="action", subject=subject, to=to, sure=True)]
    step = becomes(thing, rest, context)
    bare = read_value(rest).kind == "thing" and not thing.pronoun and rest[0] not in words("indefinite")
    return [unsure(step) if bare else step]
